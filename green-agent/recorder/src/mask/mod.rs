//! Masks secrets in everything that is recorded. The messages that are passed on between the parties are
//! never changed.
//!
//! Secrets are found in three ways: by value, if the runner knows them, or a server handed them out as ids of MCP sessions; by
//! place: headers, members and parameters with telling names, and the text after `Bearer`; and by shape, such as the keys of
//! well-known services. A value that the runner knows is found in all of its [`forms`]. A secret that is split over several
//! messages, such as token by token in a stream, is not found.

mod forms;
mod known;
mod places;
mod sessions;
mod shapes;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use axum::http::{HeaderMap, HeaderName};
use serde_json::Value;

use green_agent_transcript::Body;
use known::{Known, changed};
use places::{is_secret_header, mask_credentials, mask_parameter, mask_service_urls};
use shapes::mask_shapes;

/// The text that replaces a secret.
pub const MASK: &str = "[masked]";

/// The minimum length of a secret value. Shorter values would be found in unrelated words.
const SHORTEST_SECRET: usize = 4;

/// The headers that are recorded, because they matter for the protocol.
const RECORDED_HEADERS: [&str; 12] = [
    "a2a-extensions",
    "a2a-version",
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "location",
    "mcp-protocol-version",
    "mcp-session-id",
    "retry-after",
    "www-authenticate",
    "x-a2a-extensions",
];

/// The header in which a server hands out the id of a session.
const MCP_SESSION_ID: &str = "mcp-session-id";

/// Masks secrets in recordings and in agents' output. Clones share the learned values.
#[derive(Clone, Default)]
pub struct Masker {
    known: Arc<RwLock<Known>>,
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masker({} secrets)", self.with_known(Known::len))
    }
}

impl Masker {
    /// Returns a masker for these values, each of which is masked wherever it occurs.
    ///
    /// Values of fewer than four bytes are ignored.
    pub fn new(secrets: Vec<String>) -> Self {
        let masker = Self::default();
        masker.known_mut().add(&long_enough(secrets));
        masker
    }

    /// Adds a value, such as a token that was created during the run. Call this before the value is sent:
    /// earlier recordings are not changed.
    pub fn learn(&self, secret: &str) {
        self.known_mut().learn(long_enough(vec![secret.to_owned()]));
    }

    /// Adds the id of an MCP session that a server hands out in these headers.
    pub(super) fn learn_session(&self, headers: &HeaderMap) {
        if let Some(id) = headers.get(MCP_SESSION_ID).and_then(|id| id.to_str().ok()) {
            self.known_mut().sessions.learn(id);
        }
    }

    /// Begins another trial of the same agents: values that were learned before the last trial are forgotten, so that
    /// their number does not grow with that of the trials. Those of the last trial are kept, because an agent may still
    /// print them.
    pub fn begin_trial(&self) {
        self.known_mut().begin_trial();
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a text, such as a line of an agent's output, with secrets masked.
    pub fn mask_text(&self, text: &str) -> String {
        self.masked(text).into_owned()
    }

    /// Masks secrets in a JSON value: the strings of members such as `token`, and the secrets that
    /// [`mask_text`](Self::mask_text) finds in any text.
    pub fn mask_json(&self, value: &mut Value) {
        if let Some(masked) = self.masked_json(value) {
            *value = masked;
        }
    }

    /// Masks secrets in a path with its query, or in a URL: known values, the secret part of a bot's service URL, and
    /// parameters such as `api_key`, also in the fragment, where OAuth returns tokens.
    pub fn mask_path(&self, path: &str) -> String {
        let path = mask_shapes(mask_service_urls(self.mask_known(path)));
        const SEPARATORS: [char; 3] = ['?', '&', '#'];
        let pieces = path.split_inclusive(SEPARATORS).map(|piece| {
            let (parameter, end) = piece.split_at(piece.trim_end_matches(SEPARATORS).len());
            mask_parameter(parameter) + end
        });
        pieces.collect()
    }

    /// Returns the headers for a transcript, by lowercase name, with secrets masked.
    ///
    /// The scheme of credentials is kept: `Bearer [masked]`. Repeated headers are joined by `, `.
    pub fn headers(&self, headers: &HeaderMap) -> BTreeMap<String, String> {
        let names = headers.keys().map(HeaderName::as_str);
        let recorded = names.filter(|name| RECORDED_HEADERS.contains(name)).map(|name| {
            let values: Vec<String> = headers
                .get_all(name)
                .iter()
                .map(|value| self.mask_header(name, &String::from_utf8_lossy(value.as_bytes())))
                .collect();
            (name.to_owned(), values.join(", "))
        });
        recorded.collect()
    }

    /// Returns the value of the header `name`, given in lowercase, with secrets masked.
    fn mask_header(&self, name: &str, value: &str) -> String {
        if is_secret_header(name) {
            mask_credentials(value)
        } else if name == "location" {
            self.mask_path(value)
        } else {
            self.mask_text(value)
        }
    }

    /// Masks a body; returns the original if anything was masked.
    pub(super) fn mask_body(&self, body: &mut Body) -> Option<Body> {
        let masked = match &*body {
            Body::Json(value) => Body::Json(self.masked_json(value)?),
            Body::Text(text) => Body::Text(changed(self.masked(text))?),
            Body::Omitted { .. } => return None,
        };
        Some(std::mem::replace(body, masked))
    }

    fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with_known(|known| known.masked(text))
    }

    fn mask_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.with_known(|known| known.mask_known(text))
    }

    fn masked_json(&self, value: &Value) -> Option<Value> {
        self.with_known(|known| known.masked_json(value))
    }

    fn with_known<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns these secrets without those that are too short.
fn long_enough(mut secrets: Vec<String>) -> Vec<String> {
    secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
    secrets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masker() -> Masker {
        Masker::new(
            ["sesame-123", "sesame", "a b\"c", "9876543210", "x"].map(str::to_owned).to_vec(),
        )
    }

    #[test]
    fn a_bots_secret_is_masked_everywhere() {
        let (masker, secret) = (Masker::default(), "0f".repeat(32));
        let path = masker.mask_path(&format!("/bots/{secret}/v3/conversations/c?x=1"));
        assert_eq!(path, "/bots/[masked]/v3/conversations/c?x=1");
        let line = masker.mask_text(&format!("POST http://h/bots/{secret}/v3 /bots/short/"));
        assert_eq!(line, "POST http://h/bots/[masked]/v3 /bots/short/");
    }

    #[test]
    fn longer_secrets_go_first_and_blanks_around_them_stay() {
        let secrets = ["abcd", "abcdefgh", "MIIEvQ"].map(str::to_owned);
        let masker = Masker::new(secrets.into());
        assert_eq!(masker.mask_text("abcdefgh abcd abc"), "[masked] [masked] abc");
        assert_eq!(masker.mask_text("  MIIEvQ"), "  [masked]");
    }

    #[test]
    fn secrets_added_later_are_masked_by_every_clone() {
        let masker = Masker::default();
        let clone = masker.clone();
        assert_eq!(clone.mask_text("a tok-en-1"), "a tok-en-1");
        masker.learn("tok-en-1");
        assert_eq!(clone.mask_text("a tok-en-1"), "a [masked]");
    }

    #[test]
    fn secrets_of_a_trial_are_masked_in_the_next_one_but_not_forever() {
        let masker = Masker::new(vec!["lasting-1".to_owned()]);
        masker.learn("tok-en-1");
        masker.learn("lasting-1");
        let text = "tok-en-1 tok-en-2 lasting-1";
        masker.begin_trial();
        masker.learn("tok-en-2");
        assert_eq!(masker.mask_text(text), "[masked] [masked] [masked]");
        masker.begin_trial();
        masker.learn("tok-en-2");
        assert_eq!(masker.mask_text(text), "tok-en-1 [masked] [masked]");
        masker.begin_trial();
        assert_eq!(masker.mask_text(text), "tok-en-1 [masked] [masked]");
    }

    #[test]
    fn texts() {
        for (text, expected) in [
            ("nothing to hide, x y z", "nothing to hide, x y z"),
            ("open sesame-123!", "open [masked]!"),
            ("open sesame now", "open [masked] now"),
            ("Authorization: Bearer abc.DEF-1", "Authorization: Bearer [masked]"),
            ("missing bearer token.", "missing bearer token."),
            ("the ring bearer walked on", "the ring bearer walked on"),
            ("bearer abcdefghijklmno", "bearer abcdefghijklmno"),
            ("bearer abcdefghijklmnop", "bearer [masked]"),
            (r#"Bearer realm="x""#, r#"Bearer realm="x""#),
            ("OPENAI_API_KEY=sk-1 next", "OPENAI_API_KEY=[masked] next"),
            ("GET /?api_key=k1&n=1", "GET /?api_key=[masked]&n=1"),
            (
                "GET http://h/a?tok=t1&n=1&sig=s1#code=c9 exit code=3 key=v",
                "GET http://h/a?tok=[masked]&n=1&sig=[masked]#code=[masked] exit code=3 key=v",
            ),
            ("\"/x?Key=k9\" 'y?auth=a9'", "\"/x?Key=[masked]\" 'y?auth=[masked]'"),
            ("max_tokens=100", "max_tokens=100"),
            (
                "grant_type=refresh_token&refresh_token=r1&code_verifier=v1",
                "grant_type=refresh_token&refresh_token=[masked]&code_verifier=[masked]",
            ),
            (
                "Who(api_key='sk-1', n=1) export TOKEN=\"a b\" PASSWORD=''",
                "Who(api_key='[masked]', n=1) export TOKEN=\"[masked]\" PASSWORD=''",
            ),
            (r#"{"text": "token=\"sk-1\" n=1"}"#, r#"{"text": "token=\"[masked]\" n=1"}"#),
            (
                r#"{"config": {"api_key": "k\"1", "n": 1}}"#,
                r#"{"config": {"api_key": "[masked]", "n": 1}}"#,
            ),
            ("{'Access-Token': 'k1'}", "{'Access-Token': '[masked]'}"),
            (r#"{"tokens": "many"}"#, r#"{"tokens": "many"}"#),
            (r#"json of it: a b\"c"#, "json of it: [masked]"),
            (
                "postgres://me:hunter2@db/x redis://:p%40ss@r 'mongodb://me:hunter2@one:1,two:2'",
                "postgres://me:[masked]@db/x redis://:[masked]@r 'mongodb://me:[masked]@one:1,two:2'",
            ),
            ("https://me@h:80/x@y pg://pg:pg@db/x", "https://me@h:80/x@y pg://pg:pg@db/x"),
        ] {
            assert_eq!(masker().mask_text(text), expected);
        }
    }

    #[test]
    fn paths() {
        for (path, expected) in [
            ("/a2a/x", "/a2a/x"),
            ("/hook/sesame-123/in?n=1", "/hook/[masked]/in?n=1"),
            (
                "/?api_key=k1&n=1&apiKey=k2&Key=k3",
                "/?api_key=[masked]&n=1&apiKey=[masked]&Key=[masked]",
            ),
            ("/callback?code=c-1&state=s", "/callback?code=[masked]&state=s"),
            ("http://h/#access_token=t-1&n=1", "http://h/#access_token=[masked]&n=1"),
            (
                "/?tok=t1&auth=a1&signature=s1&code=c9",
                "/?tok=[masked]&auth=[masked]&signature=[masked]&code=[masked]",
            ),
            ("/?q=a+b%22c&p=a%20b%22c", "/?q=[masked]&p=[masked]"),
        ] {
            assert_eq!(masker().mask_path(path), expected);
        }
    }

    #[test]
    fn json_values() {
        let mut value = json!({
            "configuration": {"pushNotificationConfig": {"token": "t-1", "authentication": {"credentials": "c-1"}}},
            "Authorization": "Bearer b-1",
            "headers": {"X-Api-Key": ["k-1", 1], "Accept": ["*/*"], "Authorization": []},
            "client_secret": "s-1",
            "X-API-Key": "k-2", "x-goog-api-key": "k-3", "session_token": "s-2", "auth_token": "a-1",
            "private_key": "p-1", "Cookie": "session=abc; other=def",
            "properties": {"password": {"type": "string"}},
            "number": 9_876_543_210_u64,
            "parts": [{"text": "say sesame"}, {"text": "{\"apiKey\": \"k-1\"}"}],
            "sesame": null,
            "usage": {"total_tokens": 12, "token": 5},
            "args": ["serve", "--api-key", "k-4", "--token", "--port", "80", "token", "x"],
        });
        masker().mask_json(&mut value);
        assert_eq!(
            value,
            json!({
                "configuration": {"pushNotificationConfig": {"token": "[masked]", "authentication": {"credentials": "[masked]"}}},
                "Authorization": "Bearer [masked]",
                "headers": {"X-Api-Key": ["[masked]", 1], "Accept": ["*/*"], "Authorization": []},
                "client_secret": "[masked]",
                "X-API-Key": "[masked]", "x-goog-api-key": "[masked]", "session_token": "[masked]",
                "auth_token": "[masked]", "private_key": "[masked]", "Cookie": "[masked]",
                "properties": {"password": {"type": "string"}},
                "number": "[masked]",
                "parts": [{"text": "say [masked]"}, {"text": "{\"apiKey\": \"[masked]\"}"}],
                "[masked]": null,
                "usage": {"total_tokens": 12, "token": 5},
                "args": ["serve", "--api-key", "[masked]", "--token", "--port", "80", "token", "x"],
            })
        );
    }

    #[test]
    fn headers_are_chosen_and_masked() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer abc"),
            ("content-type", "application/json"),
            ("a2a-extensions", "https://one.example"),
            ("a2a-extensions", "https://two.example"),
            ("location", "http://127.0.0.1/?token=abc"),
            ("user-agent", "test"),
            ("x-api-key", "abc"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let expected = [
            ("a2a-extensions", "https://one.example, https://two.example"),
            ("authorization", "Bearer [masked]"),
            ("content-type", "application/json"),
            ("location", "http://127.0.0.1/?token=[masked]"),
        ];
        let recorded = masker().headers(&headers);
        let recorded: Vec<(&str, &str)> =
            recorded.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(recorded, expected);
    }

    #[test]
    fn headers_that_hold_secrets() {
        for (name, value, expected) in [
            ("authorization", "abc", "[masked]"),
            ("proxy-authorization", "Basic abc", "Basic [masked]"),
            ("authorization", "correct horse", "[masked]"),
            ("cookie", "session=abc; other=def", "[masked]"),
            ("x-api-key", "abc", "[masked]"),
            ("x-agent-token", "abc", "[masked]"),
            ("mcp-session-id", "abc", "[masked]"),
            ("accept", "text/event-stream", "text/event-stream"),
        ] {
            assert_eq!(masker().mask_header(name, value), expected, "{name}");
        }
    }
}
