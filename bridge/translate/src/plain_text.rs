//! Describes the cards, buttons and cited sources of a message in plain text.
//!
//! Many clients of A2A show only text, or are language models that read only text. Without it they are asked to choose
//! and never learn between what.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::{Map, Value};

use crate::{keys::PLAIN_TEXT, markup, teams_card};
use bridge_protocol::{
    a2a::{Content, Metadata, Part},
    activity::{Activity, Attachment},
    wire::to_object,
};

/// The largest depth to which the elements of an adaptive card are read.
const DEEPEST: usize = 16;

/// The prefix of a choice.
const CHOICE: &str = "- ";

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
    let is_said = |line: &String| {
        let line = line.trim_start_matches(CHOICE).to_lowercase();
        text.contains(&line)
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

/// Puts a text that follows another one on a new line: most clients show the texts of parts without separators.
pub fn apart(part: &mut Part) {
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

/// Returns a line for each source that the message cites by a number, unless the text, in lower case, has it.
fn sources(activity: &Activity, text: &str) -> Vec<String> {
    let entities = activity.entities.iter();
    let cited = entities.flat_map(|entity| all(entity.extra.get("citation")));
    cited.filter_map(|one| source(one, text)).collect()
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
        return teams_card::describe(kind, attachment, content, lines);
    }
    let Some(kind) = kind.strip_prefix("application/vnd.microsoft.card.") else {
        return;
    };
    let before = lines.len();
    let is_silent = |lines: &[String]| lines[before..].iter().all(|line| line.trim().is_empty());
    if kind == "adaptive" {
        let shows_hidden = content.values().any(has_toggle);
        element(content, DEEPEST, shows_hidden, lines);
        // This is the card's text for hosts that cannot show the card.
        if is_silent(lines) {
            line(content.get("fallbackText").or(content.get("speak")), lines);
        }
        return;
    }
    for name in ["title", "subtitle", "text"] {
        line(content.get(name), lines);
    }
    facts(content, "key", lines);
    for item in all(content.get("items")) {
        pair(item, ["title", "price"], lines);
    }
    for name in ["tax", "total"] {
        if let Some(sum) = content.get(name).and_then(Value::as_str) {
            lines.push(format!("{name}: {sum}"));
        }
    }
    for medium in all(content.get("media")) {
        line(medium.get("url"), lines);
    }
    buttons(content.get("buttons"), lines);
    // Rasa, for example, sends pictures in cards without anything else.
    if is_silent(lines) {
        all(content.get("images")).for_each(|one| picture(one, lines));
    }
}

/// Adds what a picture shows, or else its address, unless the address is the picture itself (`data:`).
fn picture(image: &Value, lines: &mut Vec<String>) {
    let filled = |text: &&Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
    let remote = |url: &&Value| url.as_str().is_some_and(|url| url.starts_with("http"));
    let shown = image.get("alt").filter(filled);
    line(shown.or(image.get("url").filter(remote)), lines);
}

/// Returns whether the card has a button that shows hidden elements. In a card without one, hidden elements are shown.
fn has_toggle(within: &Value) -> bool {
    match within {
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str);
            kind == Some("Action.ToggleVisibility") || members.values().any(has_toggle)
        }
        Value::Array(items) => items.iter().any(has_toggle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Adds an element of an adaptive card and those in it, in the order in which they are shown.
fn element(
    element: &Map<String, Value>,
    depth: usize,
    shows_hidden: bool,
    lines: &mut Vec<String>,
) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    if !shows_hidden && element.get("isVisible") == Some(&Value::Bool(false)) {
        return;
    }
    let is_field =
        element.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("Input."));
    for name in ["label", "text", "altText"] {
        line(element.get(name), lines);
    }
    if is_field && !element.contains_key("label") {
        line(element.get("title").or(element.get("placeholder")), lines);
    }
    let runs =
        all(element.get("inlines")).filter_map(|run| run.as_str().or(run.get("text")?.as_str()));
    let runs: String = runs.collect();
    line(Some(&runs.into()), lines);
    facts(element, "title", lines);
    for one in all(element.get("choices")) {
        choice(one.get("title").and_then(Value::as_str), lines);
    }
    let within = ["body", "items", "columns", "rows", "cells", "pages", "images"].into_iter();
    for one in within.flat_map(|name| all(element.get(name))) {
        if let Value::Object(one) = one {
            self::element(one, depth, shows_hidden, lines);
        }
    }
    for action in all(element.get("actions")).filter_map(Value::as_object) {
        button(action, lines);
        if let Some(Value::Object(card)) = action.get("card") {
            self::element(card, depth, shows_hidden, lines);
        }
    }
}

pub(crate) fn facts(owner: &Map<String, Value>, title: &str, lines: &mut Vec<String>) {
    for fact in all(owner.get("facts")) {
        pair(fact, [title, "value"], lines);
    }
}

pub(crate) fn pair(owner: &Value, names: [&str; 2], lines: &mut Vec<String>) {
    let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
    let [title, value] = names.map(text);
    lines.push(format!("{title} {value}").trim().to_string());
}

pub(crate) fn buttons(buttons: Option<&Value>, lines: &mut Vec<String>) {
    for one in all(buttons).filter_map(Value::as_object) {
        button(one, lines);
    }
}

/// Adds a button, with the address that it opens.
fn button(button: &Map<String, Value>, lines: &mut Vec<String>) {
    let text = |name: &str| button.get(name).and_then(Value::as_str);
    let label = text("title").or(text("text")).or(text("value"));
    let address = text("url").or(text("value").filter(|_| text("type") == Some("openUrl")));
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
    lines.extend(text.and_then(Value::as_str).map(|text| markup::without_mentions(text.trim())));
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
            "items": [{"title": "Tea", "price": "3 EUR"}], "total": "3 EUR"});
        let video = json!({"title": "Film", "media": [{"url": "https://h/film.mp4"}],
            "buttons": [{"type": "openUrl", "title": "More", "value": "https://h/film"}]});
        let toggled = json!({"type": "AdaptiveCard", "body": [
            {"type": "TextBlock", "text": "<at>Ann</at>'s order", "selectAction": {"type": "Action.ToggleVisibility"}},
            {"type": "TextBlock", "text": "details", "isVisible": false}]});
        let newer = json!({"type": "AdaptiveCard", "fallbackText": "Please update."});
        let pictures = json!({"images": [{"url": "https://h/x.png"}, {"url": "https://h/y.png", "alt": "A tree"}, {"url": "data:,"}]});
        let hero = json!({"title": "Hero", "images": [{"url": "https://h/x.png"}], "text": "Of the day", "buttons": [{"type": "imBack", "title": "More", "value": "more"}]});
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
            (attached("receipt", receipt), Some("Receipt\nOrder 1234\nTea 3 EUR\ntotal: 3 EUR")),
            (attached("video", video), Some("Film\nhttps://h/film.mp4\n- More (https://h/film)")),
            (attached("adaptive", toggled), Some("Ann's order\ndetails")),
            (attached("adaptive", newer), Some("Please update.")),
            (attached("hero", hero), Some("Hero\nOf the day\n- More")),
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
