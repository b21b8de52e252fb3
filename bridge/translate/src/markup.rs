//! Converts markup that only some chats understand to plain text: mentions, such as `<at>Ann</at>`, and texts in XML.

use alloc::{
    format,
    string::{String, ToString as _},
};

use serde_json::Value;

use bridge_protocol::activity::{Activity, Entity, TextFormat};

use crate::quote;

/// The type of the entity that describes a mention in the text.
const MENTION: &str = "mention";

/// The most mentions whose tags are removed, of which Teams allows fewer: each is looked for in the whole text.
const MOST_MENTIONS: usize = 256;

/// The tags around the name in a mention.
const MENTION_TAGS: [&str; 2] = ["<at>", "</at>"];

/// The tags after which a new line begins.
const LINE_BREAKS: [&str; 9] = ["br", "br/", "/p", "/div", "/li", "/tr", "/h1", "/h2", "/h3"];

/// Escape sequences and their characters. The ampersand is last, so that nothing is unescaped twice.
const ESCAPED: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

/// Returns the activity's text as people read it.
pub(crate) fn text(activity: &Activity) -> Option<String> {
    let text = quote::text(activity)?;
    if activity.text_format == Some(TextFormat::Xml) {
        return Some(without_tags(&text));
    }
    let mentions = activity.entities.iter().filter(|one| is_mention(one));
    let marks = mentions.filter_map(|one| one.extra.get("text").and_then(Value::as_str));
    Some(
        marks
            .take(MOST_MENTIONS)
            .fold(text, |text, mark| text.replace(mark, &without_mentions(mark))),
    )
}

pub(crate) fn is_mention(entity: &Entity) -> bool {
    entity.kind == MENTION
}

/// Removes the tags of mentions, so that only the names are left.
pub(crate) fn without_mentions(text: &str) -> String {
    MENTION_TAGS.iter().fold(text.to_string(), |text, tag| text.replace(tag, ""))
}

/// Removes the tags of XML. The address of a link follows its text. The time is linear in the length of the text.
pub(crate) fn without_tags(xml: &str) -> String {
    let mut text = String::new();
    let mut rest = xml;
    let mut link = None;
    while let Some((before, tagged)) = rest.split_once('<') {
        text.push_str(&unescaped(before));
        if !is_tag(tagged) {
            text.push('<');
            rest = tagged;
            continue;
        }
        let Some((tag, after)) = tagged.split_once('>') else {
            text.push('<');
            rest = tagged;
            break;
        };
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.to_lowercase().as_str() {
            "a" => link = address(tag),
            "/a" => text.extend(link.take().map(|link| format!(" ({link})"))),
            "li" => text.push_str("- "),
            name if LINE_BREAKS.contains(&name) => text.push('\n'),
            _ => {}
        }
        rest = after;
    }
    text.push_str(&unescaped(rest));
    text.trim().into()
}

/// Returns whether a tag begins here, after its `<`.
fn is_tag(text: &str) -> bool {
    text.starts_with(|first: char| first == '/' || first.is_alphabetic())
}

/// Returns the address in the tag of a link.
fn address(tag: &str) -> Option<String> {
    let (_, value) = tag.split_once("href=")?;
    let quote = value.chars().next().filter(|one| matches!(one, '"' | '\''))?;
    let address = value[1..].split(quote).next()?;
    Some(unescaped(address))
}

fn unescaped(text: &str) -> String {
    let text = text.to_string();
    ESCAPED.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use bridge_protocol::wire::Wire as _;

    #[test]
    fn a_text_is_read_without_its_markup() {
        let mention =
            json!([{"type": "mention", "text": "<at>Ann</at>", "mentioned": {"id": "1"}}]);
        let list = "<b>Two</b> &lt;things&gt;:<br/><ul><li>tea</li><li><a href=\"https://h/?a=1&amp;b\">cake</a></li></ul>";
        for (text, format, entities, expected) in [
            ("Hello <at>Ann</at>!", "markdown", mention.clone(), "Hello Ann!"),
            ("Hello <at>Ann</at>!", "markdown", json!([]), "Hello <at>Ann</at>!"),
            ("Hello <at>Ann</at> &amp; Bob", "xml", mention, "Hello Ann & Bob"),
            ("1 < 2 and <b>that", "xml", json!([]), "1 < 2 and that"),
            ("1 < 2", "xml", json!([]), "1 < 2"),
            ("a << b <i>c", "xml", json!([]), "a << b c"),
            ("<<i", "xml", json!([]), "<<i"),
            ("<b>1</b>", "plain", json!([]), "<b>1</b>"),
            (list, "xml", json!([]), "Two <things>:\n- tea\n- cake (https://h/?a=1&b)"),
        ] {
            let activity = json!({"type": "message", "text": text, "textFormat": format, "entities": entities});
            let activity = Activity::read(activity).unwrap();
            assert_eq!(super::text(&activity).as_deref(), Some(expected), "{text}");
        }
    }
}
