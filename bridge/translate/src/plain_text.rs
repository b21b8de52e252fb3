//! Describes the cards, buttons and cited sources of a message in plain text.
//!
//! Many clients of A2A show only text, or are language models that read only text. Without it they are asked to choose
//! and never learn between what.

use alloc::{format, string::String, vec::Vec};

use serde_json::{Map, Value};

use crate::{adaptive_card, card_text, keys::PLAIN_TEXT, teams_card};
use bridge_protocol::{
    a2a::{Content, Metadata, Part},
    activity::{Activity, Attachment},
    wire::to_object,
};

/// The prefix of a choice.
pub(crate) const CHOICE: &str = "- ";

/// The most bytes of text that are searched for all lines together, and for all sources. Beyond it, none of them counts as said: a
/// long text beside a card of many lines would take minutes.
const SEARCHED: usize = if cfg!(test) { 1 << 16 } else { 64 << 20 };

/// Returns the part for the sources, the cards and the suggested actions of a message, unless its text says it all.
pub(crate) fn part(activity: &Activity) -> Option<Part> {
    let mut lines = Vec::new();
    let cards = activity.attachments.iter().filter(|one| !one.is_sign_in());
    cards.for_each(|one| card(one, &mut lines));
    let suggested = activity.suggested_actions.iter();
    for action in suggested.flat_map(|suggested| &suggested.actions) {
        button(&to_object(action), &mut lines);
    }
    lines.retain(|line| !line.trim().is_empty());
    let text = activity.text.as_deref().unwrap_or_default().to_lowercase();
    let is_searched = is_searched(lines.len(), &text);
    let is_said = |line: &String| {
        let line = line.trim_start_matches(CHOICE).to_lowercase();
        is_searched && text.contains(&line)
    };
    if lines.iter().all(is_said) {
        lines.clear();
    }
    // Either all choices are listed or none.
    lines.retain(|line| line.starts_with(CHOICE) || !is_said(line));
    lines.splice(0..0, sources(activity, &text));
    if lines.is_empty() {
        return None;
    }
    let mut part = Part::text(lines.join("\n"));
    part.metadata = Some(Metadata::from_iter([(PLAIN_TEXT.into(), true.into())]));
    Some(part)
}

/// Puts the parts of several messages into one, each message on a line of its own.
pub fn on_lines(messages: impl IntoIterator<Item = Vec<Part>>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for mut parts in messages {
        if !joined.is_empty() {
            parts.iter_mut().take(1).for_each(apart);
        }
        joined.append(&mut parts);
    }
    joined
}

/// Puts a text that follows another one on a new line: most clients show the texts of parts without separators.
pub(crate) fn apart(part: &mut Part) {
    if let Content::Text(text) = &mut part.content
        && !(text.is_empty() || text.starts_with('\n'))
    {
        text.insert(0, '\n');
    }
}

/// Returns whether a part only repeats what other parts and the metadata have.
pub fn is_repeated(part: &Part) -> bool {
    let metadata = part.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.contains_key(PLAIN_TEXT))
}

/// Returns the lines of a card that only Teams has, or `None` for other data. `name` is that of the file.
pub fn of_teams(data: &Value, media_type: &str, name: Option<&str>) -> Option<Vec<String>> {
    let kind = media_type.strip_prefix(teams_card::PREFIX)?;
    let mut lines = Vec::new();
    teams_card::describe(kind, name, data.as_object()?, &mut lines);
    Some(lines)
}

/// Returns a line for each source that the message cites by a number, unless the text, in lower case, has it.
fn sources(activity: &Activity, text: &str) -> Vec<String> {
    let entities = activity.entities.iter();
    let cited = entities.flat_map(|entity| all(entity.extra.get("citation")));
    let cited: Vec<&Value> = cited.collect();
    let text = if is_searched(cited.len(), text) { text } else { "" };
    cited.into_iter().filter_map(|one| source(one, text)).collect()
}

/// Returns whether the text is searched for this number of pieces.
fn is_searched(count: usize, text: &str) -> bool {
    count.saturating_mul(text.len()) <= SEARCHED
}

fn source(citation: &Value, message: &str) -> Option<String> {
    let appearance = citation.get("appearance")?;
    let text = |name: &str| appearance.get(name).and_then(Value::as_str);
    let filled = |text: &&str| !text.trim().is_empty();
    let name = text("name").filter(filled);
    // SDKs write `file:////` for a source without an address.
    let address = text("url").filter(|url| url.starts_with("http"));
    let line = match (name, address) {
        (Some(name), Some(address)) => format!("{name} ({address})"),
        (name, address) => name.or(address)?.into(),
    };
    let known = address.unwrap_or(&line).to_lowercase();
    let number = citation.get("position").filter(|one| one.is_number());
    let number = number.map(|one| format!("[{one}] ")).unwrap_or_default();
    (!message.contains(&known)).then(|| format!("{number}{line}"))
}

fn card(attachment: &Attachment, lines: &mut Vec<String>) {
    let Some(Value::Object(content)) = &attachment.content else {
        return;
    };
    let kind = attachment.content_type.as_deref().unwrap_or_default();
    if let Some(kind) = kind.strip_prefix(teams_card::PREFIX) {
        return teams_card::describe(kind, attachment.name.as_deref(), content, lines);
    }
    let Some(kind) = kind.strip_prefix("application/vnd.microsoft.card.") else {
        return;
    };
    if kind == "adaptive" {
        return adaptive_card::describe(content, lines);
    }
    let before = lines.len();
    for name in ["title", "subtitle", "text"] {
        line(content.get(name), lines);
    }
    facts(content, "key", lines);
    lines.extend(card_text::receipt(content));
    for medium in all(content.get("media")) {
        line(medium.get("url"), lines);
    }
    buttons(content.get("buttons"), lines);
    if let Some(Value::Object(tap)) = content.get("tap") {
        let mut tapped = Vec::new();
        button(tap, &mut tapped);
        // Many cards do the same when they are tapped as by one of their buttons.
        let is_known = |one: &String| {
            let named = one.trim_start_matches(CHOICE);
            lines[before..].iter().any(|line| line.contains(named))
        };
        tapped.retain(|one| !is_known(one));
        lines.append(&mut tapped);
    }
    // Rasa, for example, sends pictures in cards without anything else.
    if lines[before..].iter().all(|line| line.trim().is_empty()) {
        all(content.get("images")).for_each(|one| picture(one, lines));
    }
}

/// Adds what a picture shows, or else its address, unless the address is the picture itself (`data:`).
pub(crate) fn picture(image: &Value, lines: &mut Vec<String>) {
    let filled = |text: &&Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    let remote = |url: &&Value| url.as_str().is_some_and(|url| url.starts_with("http"));
    let shown = image.get("alt").filter(filled);
    line(shown.or(image.get("url").filter(remote)), lines);
}

pub(crate) fn facts(owner: &Map<String, Value>, title: &str, lines: &mut Vec<String>) {
    for fact in all(owner.get("facts")) {
        pair(fact, [title, "value"], lines);
    }
}

pub(crate) fn pair(owner: &Value, names: [&str; 2], lines: &mut Vec<String>) {
    let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
    let [title, value] = names.map(text);
    let fact = card_text::fact(title, value);
    lines.extend(Some(fact).filter(|fact| !fact.is_empty()));
}

pub(crate) fn buttons(buttons: Option<&Value>, lines: &mut Vec<String>) {
    for one in all(buttons).filter_map(Value::as_object) {
        button(one, lines);
    }
}

/// Adds a button, with the address that it opens.
pub(crate) fn button(button: &Map<String, Value>, lines: &mut Vec<String>) {
    let text = |name: &str| card_text::member(button, name);
    let address = text("url").or(text("value").filter(|_| text("type") == Some("openUrl")));
    let label = card_text::label(button).or(text("text")).or(text("value")).or(address);
    match (label, address) {
        (Some(label), Some(address)) if label != address => {
            choice(Some(&format!("{label} ({address})")), lines);
        }
        (label, _) => choice(label, lines),
    }
}

pub(crate) fn choice(label: Option<&str>, lines: &mut Vec<String>) {
    lines.extend(
        label.filter(|label| !label.trim().is_empty()).map(|label| format!("{CHOICE}{label}")),
    );
}

pub(crate) fn line(text: Option<&Value>, lines: &mut Vec<String>) {
    lines.extend(text.and_then(Value::as_str).map(card_text::shown));
}

pub(crate) fn all(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_text_is_not_searched_for_many_lines() {
        let of = |count: usize, text: &str| {
            let body: Vec<_> =
                (0..count).map(|n| json!({"type": "TextBlock", "text": format!("{n}")})).collect();
            let card = json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": {"type": "AdaptiveCard", "body": body}});
            let activity = json!({"type": "message", "text": text, "attachments": [card]});
            part(&Activity::read(activity).unwrap())
        };
        let text = "0 1 2 3 4 5 6 7 8 9 ".repeat(1_000);
        assert!(of(3, &text).is_none());
        assert!(of(4, &text).is_some());
    }

    #[test]
    fn a_long_text_is_not_searched_for_many_sources() {
        let of = |count: usize, text: &str| {
            let cited: Vec<_> =
                (0..count).map(|n| json!({"appearance": {"name": format!("{n}")}})).collect();
            let activity = json!({"type": "message", "text": text,
                "entities": [{"type": "https://schema.org/Message", "citation": cited}]});
            part(&Activity::read(activity).unwrap())
        };
        let text = "0 1 2 3 4 5 6 7 8 9 ".repeat(1_000);
        assert!(of(3, &text).is_none());
        assert!(of(4, &text).is_some());
    }

    #[test]
    fn cards_and_choices_are_lines() {
        let adaptive = json!({"type": "AdaptiveCard", "body": [
            {"type": "TextBlock", "text": "Order"},
            {"type": "ColumnSet", "columns": [{"items": [{"type": "TextBlock", "text": "2 apples"}]}]},
            {"type": "FactSet", "facts": [{"title": "Sum:", "value": "3 EUR"}]},
            {"type": "Input.ChoiceSet", "label": "Size", "placeholder": "Pick", "choices": [{"title": "Small", "value": "s"}]},
            {"type": "Input.Text", "placeholder": "Your name"},
            {"type": "Input.Toggle", "id": "gift", "title": "As a gift"},
            {"type": "TextBlock", "text": "hidden", "isVisible": false},
            {"type": "Image", "url": "https://h/x.png", "altText": "A basket"},
            {"type": "Carousel", "pages": [{"type": "CarouselPage", "items": [{"type": "TextBlock", "text": "Page"}]}]},
        ], "actions": [
            {"type": "Action.Submit", "title": "Buy"},
            {"type": "Action.OpenUrl", "title": "Terms", "url": "https://h/terms"},
            {"type": "Action.ShowCard", "title": "Comment", "card": {"body": [{"type": "Input.Text", "label": "What?"}]}},
        ]});
        let receipt = json!({"title": "Receipt", "facts": [{"key": "Order", "value": "1234"}],
            "items": [{"title": "Tea", "price": "3 EUR", "quantity": "2", "subtitle": "hot"}], "total": "3 EUR"});
        let video = json!({"title": "Film", "media": [{"url": "https://h/film.mp4"}],
            "buttons": [{"type": "openUrl", "title": "More", "value": "https://h/film"}]});
        let toggled = json!({"type": "AdaptiveCard", "body": [
            {"type": "TextBlock", "text": "<at>Ann</at>'s order", "selectAction": {"type": "Action.ToggleVisibility"}},
            {"type": "TextBlock", "text": "details", "isVisible": false}]});
        let newer = json!({"type": "AdaptiveCard", "fallbackText": "Please update."});
        let pictures = json!({"images": [{"url": "https://h/x.png"}, {"url": "https://h/y.png", "alt": "A tree"}, {"url": "data:,"}]});
        let hero = json!({"title": "Hero", "images": [{"url": "https://h/x.png"}], "text": "Of the day", "buttons": [{"type": "imBack", "title": "More", "value": "more"}]});
        let tapped = json!({"title": "Hero", "tap": {"type": "openUrl", "value": "https://h/x"}});
        let twice = json!({"title": "Hero", "tap": {"type": "openUrl", "value": "https://h/x"},
            "buttons": [{"type": "openUrl", "title": "More", "value": "https://h/x"}]});
        let attached = |kind: &str, content: Value| json!({"attachments": [{"contentType": format!("application/vnd.microsoft.card.{kind}"), "content": content}]});
        let suggested = |text: &str| json!({"text": text, "suggestedActions": {"actions": [{"title": "Car"}, {"value": "Bus"}]}});
        let cited = |text: &str| {
            let source = |position: u8, appearance: Value| json!({"position": position, "appearance": appearance});
            json!({"text": text, "entities": [{"type": "https://schema.org/Message", "citation": [
                source(1, json!({"name": "Times", "url": "https://h/t"})), source(2, json!({"name": "Map"})),
                source(3, json!({"name": "Said", "url": "https://h/said"})), source(4, json!({"name": " "})),
            ]}]})
        };
        for (activity, expected) in [
            (
                attached("adaptive", adaptive),
                Some(
                    "Order\n2 apples\nSum: 3 EUR\nSize\n- Small\nYour name\nAs a gift\nA basket\nPage\n- Buy\n\
                     - Terms (https://h/terms)\n- Comment\nWhat?",
                ),
            ),
            (
                attached("receipt", receipt),
                Some("Receipt\nOrder: 1234\nTea × 2: 3 EUR\nhot\ntotal: 3 EUR"),
            ),
            (attached("video", video), Some("Film\nhttps://h/film.mp4\n- More (https://h/film)")),
            (attached("adaptive", toggled), Some("Ann's order\ndetails")),
            (attached("adaptive", newer), Some("Please update.")),
            (attached("hero", hero), Some("Hero\nOf the day\n- More")),
            (attached("hero", tapped), Some("Hero\n- https://h/x")),
            (attached("hero", twice), Some("Hero\n- More (https://h/x)")),
            (attached("hero", pictures), Some("https://h/x.png\nA tree")),
            (suggested("Which?"), Some("- Car\n- Bus")),
            (suggested("A car or a bus?"), None),
            (suggested("A car, or?"), Some("- Car\n- Bus")),
            (attached("oauth", json!({"text": "Sign in"})), None),
            (
                json!({"attachments": [{"contentType": "image/png", "contentUrl": "https://h/x"}]}),
                None,
            ),
            (json!({"text": "Hello"}), None),
            (cited("By bus [1] [2] [3], https://h/said"), Some("[1] Times (https://h/t)\n[2] Map")),
        ] {
            let mut activity = activity;
            activity["type"] = "message".into();
            let part = part(&Activity::read(activity.clone()).unwrap());
            assert_eq!(part.as_ref().and_then(Part::as_text), expected, "{activity}");
            assert!(part.iter().all(is_repeated));
        }
    }
}
