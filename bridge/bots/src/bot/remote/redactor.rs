//! Removes confidential parts from a bot's texts: the secret of its service URL, and URLs that only the bot can reach.

use serde_json::Value;

/// Makes a bot's texts and activities fit for clients.
#[derive(Clone)]
pub(super) struct Redactor {
    secret: String,
    /// URL prefixes and their replacements.
    replacements: Vec<(String, String)>,
}

impl Redactor {
    /// Creates a redactor for the bot with this secret, where the bot reaches the bridge at `callback_base`, fetches files at
    /// `file_base`, and clients reach the bridge at `public`.
    pub(super) fn new(secret: &str, callback_base: &str, file_base: &str, public: &str) -> Self {
        let files = |base: &str| format!("{base}/v3/attachments/");
        let own = format!("{callback_base}/bots/{secret}");
        // Bots without an SDK add a path with a slash to the service URL, which ends with one.
        let with_slash = format!("{own}/");
        let replacements = [&own, &with_slash, callback_base, file_base];
        let replacements = replacements.map(|base| (files(base), files(public)));
        Self { secret: secret.to_owned(), replacements: replacements.into() }
    }

    /// Returns an activity with files at the URLs for clients, and without the service URL. Renames a field that one
    /// SDK misspells.
    pub(super) fn activity(&self, mut activity: Value) -> Value {
        if let Value::Object(fields) = &mut activity {
            fields.remove("serviceUrl");
            if let Some(channel) = fields.remove("_channelId") {
                fields.entry("channelId").or_insert(channel);
            }
        }
        self.value(&mut activity);
        activity
    }

    /// Redacts a text for the log.
    pub(super) fn text(&self, text: &str) -> String {
        text.replace(&self.secret, "***")
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn string(&self, text: &mut String) {
        for (own, public) in &self.replacements {
            if own != public && text.contains(own) {
                *text = text.replace(own, public);
            }
        }
        if text.contains(&self.secret) {
            *text = self.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn clients_see_their_own_addresses_and_no_secret() {
        let redactor =
            Redactor::new("s3cret", "http://box:1", "http://localhost:1", "https://public");
        let said = json!({
            "type": "message", "serviceUrl": "http://box:1/bots/s3cret/", "_channelId": "a2a",
            "text": "see http://box:1/bots/s3cret/v3/attachments/a/views/original",
            "attachments": [{"contentUrl": "http://box:1/v3/attachments/b/views/original"},
                {"contentUrl": "http://localhost:1/v3/attachments/c/views/original"},
                {"contentUrl": "http://box:1/bots/s3cret//v3/attachments/d/views/original"}],
            "relatesTo": {"serviceUrl": "http://box:1/bots/s3cret"},
        });
        let expected = json!({
            "type": "message", "channelId": "a2a",
            "text": "see https://public/v3/attachments/a/views/original",
            "attachments": [{"contentUrl": "https://public/v3/attachments/b/views/original"},
                {"contentUrl": "https://public/v3/attachments/c/views/original"},
                {"contentUrl": "https://public/v3/attachments/d/views/original"}],
            "relatesTo": {"serviceUrl": "http://box:1/bots/***"},
        });
        assert_eq!(redactor.activity(said), expected);
        assert_eq!(redactor.activity(json!(["s3cret"])), json!(["***"]));
    }
}
