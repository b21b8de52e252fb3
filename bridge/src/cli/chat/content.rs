//! Renders the parts of a message or artifact for people.

use std::collections::BTreeSet;

use bridge_protocol::a2a::{Content, Part};
use bridge_translate::{keys::ENTITY, plain_text};
use serde_json::Value;

use super::{
    card,
    choice::{self, Choice},
};

/// The rendered content of parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RenderedParts {
    /// The texts, in order.
    pub(super) texts: Vec<String>,
    /// Everything else, one line each.
    pub(super) lines: Vec<String>,
    /// The choices.
    pub(super) choices: Vec<Choice>,
}

/// Renders these parts.
pub(super) fn read(parts: &[Part]) -> RenderedParts {
    let mut rendered = RenderedParts::default();
    for part in parts {
        let name = part.filename.as_deref().unwrap_or("a file");
        let kind = part.media_type.as_deref();
        let typed = kind.unwrap_or("unknown type");
        match &part.content {
            // The cards and choices are shown.
            Content::Text(_) if plain_text::is_repeated(part) => {}
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => rendered.texts.push(text.clone()),
            Content::Data(data) => rendered.data(data, kind, part.filename.as_deref()),
            Content::Raw(bytes) => {
                rendered.lines.push(format!("[{name}, {typed}, {} bytes]", bytes.len()));
            }
            Content::Url(url) => rendered.lines.push(format!("[{name}, {typed}, {url}]")),
            Content::Unknown => rendered.lines.push("[content of an unknown kind]".to_owned()),
        }
    }
    rendered.forget_repeated();
    rendered
}

impl RenderedParts {
    /// Removes the lines that a text repeats, such as that of a message with a card for signing in.
    fn forget_repeated(&mut self) {
        let lines = self.texts.iter().flat_map(|text| text.lines());
        let text_lines: BTreeSet<&str> = lines.map(str::trim).collect();
        self.lines.retain(|line| !text_lines.contains(line.trim()));
    }

    fn data(&mut self, data: &Value, kind: Option<&str>, name: Option<&str>) {
        if let Some(card) = card::read(data, kind) {
            self.lines.extend(card.lines);
            self.choices.extend(card.choices);
        } else if let Some(lines) = plain_text::of_teams(data, kind.unwrap_or_default(), name) {
            let buttons = data["buttons"].as_array().into_iter().flatten();
            let choices: Vec<Choice> = buttons.filter_map(choice::of_button).collect();
            let is_numbered = |line: &str| {
                let label = |choice: &Choice| format!("- {}", choice.title);
                choices.iter().any(|choice| line.starts_with(&label(choice)))
            };
            self.lines.extend(lines.into_iter().filter(|line| !is_numbered(line)));
            self.choices.extend(choices);
        } else if kind.is_some_and(|kind| kind.starts_with(ENTITY)) {
            self.lines.extend(citations(data));
        } else {
            self.lines.push(data.to_string());
        }
    }
}

/// Returns the sources that an entity cites. Other entities are for programs.
fn citations(entity: &Value) -> Vec<String> {
    let all = entity.get("citation").and_then(Value::as_array);
    let one = |citation: &Value| {
        let source = citation.get("appearance")?;
        let text = |name: &str| source.get(name).and_then(Value::as_str).unwrap_or_default();
        let position = citation.get("position").and_then(Value::as_i64).unwrap_or_default();
        Some(format!("[{position}] {} {}", text("name"), text("url")).trim_end().to_owned())
    };
    all.into_iter().flatten().filter_map(one).collect()
}

/// Returns the text without white space, to recognize the same words however they are divided into parts and lines.
pub(super) fn key(text: &str) -> String {
    text.chars().filter(|one| !one.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    #[test]
    fn parts_are_texts_and_lines() {
        let parts = [
            json!({"text": "a"}),
            json!({"text": "Sign in\nhttps://h.test/in"}),
            json!({"data": {"text": "Sign in"}, "mediaType": "application/vnd.microsoft.card.oauth"}),
            json!({"data": {"title": "Orders", "items": [{"title": "Tea", "subtitle": "3 EUR"}],
                "buttons": [{"type": "imBack", "title": "More", "value": "more"}]},
                "mediaType": "application/vnd.microsoft.teams.card.list"}),
            json!({"text": ""}),
            json!({"raw": "AAA=", "filename": "x.bin"}),
            json!({"url": "https://h.test/a", "mediaType": "image/png"}),
            json!({"data": {"a": 1}}),
            json!({"data": {"type": "AdaptiveCard", "body": [{"type": "TextBlock", "text": "card"}]}}),
            json!({"data": {"type": "mention"}, "mediaType": format!("{ENTITY}mention")}),
            json!({"data": {"citation": [{"position": 1, "appearance": {"name": "Book", "url": "https://b.test"}}]},
                "mediaType": format!("{ENTITY}https://schema.org/Message")}),
        ];
        let said = read(&parts.map(|part| Part::read(part).unwrap()));
        assert_eq!(said.texts, ["a", "Sign in\nhttps://h.test/in"]);
        let expected = [
            "Orders",
            "Tea: 3 EUR",
            "[x.bin, unknown type, 2 bytes]",
            "[a file, image/png, https://h.test/a]",
            "{\"a\":1}",
            "card",
            "[1] Book https://b.test",
        ];
        assert_eq!(said.lines, expected);
        let choices: Vec<&str> = said.choices.iter().map(|choice| choice.title.as_str()).collect();
        assert_eq!(choices, ["More"]);
    }
}
