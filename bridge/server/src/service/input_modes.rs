//! Checks a message's media types against those in the agent's card (specification 3.1.1, 4.4.1).

use bridge_protocol::{
    a2a::{Content, Error, ErrorKind, Message, Part},
    dialect::skill::schema::is_typed,
    wire::FieldError,
};

use super::{Context, Result, Service};

impl Service {
    /// Refuses a message with a part whose media type is not among the input modes of the card and its skills. A card
    /// without input modes accepts everything. Parts without a media type are accepted, since most clients send text
    /// and data without one, and many agents that accept data name only text in their card. If a skill has a schema,
    /// JSON is accepted.
    pub(super) fn check_media_types(&self, context: &Context, message: &Message) -> Result<()> {
        if message.parts.iter().all(|part| part.media_type.is_none()) {
            return Ok(());
        }
        let Some(agent) = self.turns.agent(&context.agent) else {
            return Ok(());
        };
        let card = &agent.card;
        if card.default_input_modes.is_empty() {
            return Ok(());
        }
        let skills = card.skills.iter().flat_map(|skill| &skill.input_modes);
        let data = card.skills.iter().any(is_typed).then_some("application/json");
        let modes: Vec<&str> =
            card.default_input_modes.iter().chain(skills).map(String::as_str).chain(data).collect();
        let wrong = |part: &&Part| !modes.iter().any(|mode| is_taken(mode, part));
        let Some((index, part)) = message.parts.iter().enumerate().find(|(_, part)| wrong(part))
        else {
            return Ok(());
        };
        let expected = format!("a part of one of the types {}", modes.join(", "));
        let found = media_type(part).unwrap_or("another one");
        let error = FieldError::new(expected, found).at(index);
        Err(Error {
            kind: ErrorKind::ContentTypeNotSupported,
            ..error.inside("parts").inside("message").into()
        })
    }
}

/// Returns the media type of a part, without parameters.
fn media_type(part: &Part) -> Option<&str> {
    let media_type = part.media_type.as_deref()?;
    Some(media_type.split(';').next().unwrap_or_default().trim())
}

/// Returns whether an input mode covers a part. Modes may be kinds, as before 0.2: `text`, `file`, `data`.
fn is_taken(mode: &str, part: &Part) -> bool {
    let mode = mode.split(';').next().unwrap_or_default().trim();
    let (kind, Some(said)) = (mode.to_ascii_lowercase(), media_type(part)) else {
        return true;
    };
    let (family, _) = said.split_once('/').unwrap_or((said, ""));
    match kind.as_str() {
        "*" | "*/*" => true,
        "data" | "json" => matches!(part.content, Content::Data(_)),
        "file" => matches!(part.content, Content::Raw(_) | Content::Url(_)),
        whole if !whole.contains('/') => whole.eq_ignore_ascii_case(family),
        whole => match whole.strip_suffix("/*") {
            Some(wanted) => wanted.eq_ignore_ascii_case(family),
            None => whole.eq_ignore_ascii_case(said),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mode_takes_its_types() {
        let typed = |said: &str, part: Part| Part { media_type: Some(said.to_owned()), ..part };
        let text = typed("text/plain", Part::text("a"));
        let markdown = typed("Text/Markdown; charset=utf-8", Part::text("a"));
        let data = typed("application/json", Part::data(json!({})));
        let image = typed("image/png", Part::new(Content::Raw(vec![1])));
        let unsaid = Part::data(json!({}));
        for (mode, taken) in [
            ("text", [true, true, false, false, true]),
            ("text/plain", [true, false, false, false, true]),
            ("TEXT/*", [true, true, false, false, true]),
            ("application/json", [false, false, true, false, true]),
            ("data", [false, false, true, false, true]),
            ("image/*", [false, false, false, true, true]),
            ("image/png; q=1", [false, false, false, true, true]),
            ("file", [false, false, false, true, true]),
            ("*/*", [true, true, true, true, true]),
        ] {
            let parts = [&text, &markdown, &data, &image, &unsaid];
            assert_eq!(parts.map(|part| is_taken(mode, part)), taken, "{mode}");
        }
    }
}
