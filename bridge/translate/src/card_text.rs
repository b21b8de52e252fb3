//! The rules by which cards are shown as text, for everyone who shows them.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::{Map, Value};

use crate::markup;

/// The marks after which the value of a fact needs no colon.
const ENDS: [char; 9] = [':', '?', '!', '.', ',', ';', '=', '-', '：'];

/// The number of characters of the longest macro for a date or time.
const LONGEST_DATE: usize = 100;

/// Returns a text of a card as people read it: the names in mentions, and dates without their macros.
pub fn shown(text: &str) -> String {
    with_dates(&markup::without_mentions(text.trim()))
}

/// Returns the line for a name and its value.
pub fn fact(name: &str, value: &str) -> String {
    let (name, value) = (shown(name), shown(value));
    // The colon may be within markup, as in `**Status:**`.
    let is_ended = name.trim_end_matches(['*', '_', ' ']).ends_with(ENDS);
    match (name.is_empty(), value.is_empty()) {
        (false, false) if is_ended => format!("{name} {value}"),
        (false, false) => format!("{name}: {value}"),
        _ => name + &value,
    }
}

/// Returns the lines of a receipt: its items and its sums.
pub fn receipt(card: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    let items = card.get("items").and_then(Value::as_array);
    for item in items.into_iter().flatten().filter_map(Value::as_object) {
        let text = |name: &str| member(item, name).unwrap_or_default();
        let title = match text("quantity") {
            "" | "1" => text("title").to_string(),
            quantity => format!("{} × {quantity}", text("title")),
        };
        lines.push(fact(&title, text("price")));
        lines.extend(["subtitle", "text"].iter().filter_map(|name| member(item, name)).map(shown));
    }
    let sums = ["tax", "vat", "total"].into_iter();
    lines.extend(sums.filter_map(|name| Some(fact(name, member(card, name)?))));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Returns whether the card has a button that shows hidden elements. In a card without one, hidden elements stay hidden.
pub fn has_toggle(within: &Value) -> bool {
    match within {
        Value::Object(members) => {
            member(members, "type") == Some("Action.ToggleVisibility")
                || members.values().any(has_toggle)
        }
        Value::Array(items) => items.iter().any(has_toggle),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the label of an action of an adaptive card; one that has only an icon has a tooltip.
pub fn label(action: &Map<String, Value>) -> Option<&str> {
    member(action, "title").or(member(action, "tooltip"))
}

/// Returns the address of the first source of a `Media` element.
pub fn media(element: &Map<String, Value>) -> Option<&str> {
    let mut sources = element.get("sources")?.as_array()?.iter();
    sources.find_map(|source| source.get("url")?.as_str().filter(|url| url.starts_with("http")))
}

/// Returns the element that is shown in place of an unknown one.
pub fn fallback(element: &Map<String, Value>) -> Option<&Map<String, Value>> {
    element.get("fallback")?.as_object()
}

/// Returns a member that is a text with something in it.
pub(crate) fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Replaces `{{DATE(2026-11-28T20:00:00Z, SHORT)}}` and `{{TIME(..)}}`. Hosts write them for the place and the language of their
/// user, whom only the client knows, so they stay in the form of ISO 8601 and in the zone that the bot chose.
fn with_dates(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("{{") {
        let (before, macro_) = rest.split_at(begin);
        shown.push_str(before);
        match date(macro_) {
            Some((date, after)) => {
                shown.push_str(&date);
                rest = after;
            }
            None => {
                shown.push_str("{{");
                rest = &macro_[2..];
            }
        }
    }
    shown + rest
}

/// Returns the date or time of the macro with which the text begins, and the text after it. Its end is looked for nearby only:
/// a text may have many beginnings without an end.
fn date(text: &str) -> Option<(String, &str)> {
    let near = text.char_indices().nth(LONGEST_DATE).map_or(text, |(end, _)| &text[..end]);
    let (macro_, _) = near.split_once(")}}")?;
    let after = &text[macro_.len() + ")}}".len()..];
    let (name, arguments) = macro_.strip_prefix("{{")?.split_once('(')?;
    let moment = arguments.split(',').next()?.trim();
    let (day, time) = moment.split_once('T')?;
    let is_number = |text: &str| text.bytes().all(|one| one.is_ascii_digit() || one == b'-');
    if day.len() != 10 || !is_number(day) {
        return None;
    }
    let shown = match name.trim() {
        "DATE" => day.to_string(),
        "TIME" => {
            let zone = time.find(['Z', '+', '-']).map_or("", |begin| &time[begin..]);
            let zone = match zone {
                "" => String::new(),
                "Z" => " UTC".into(),
                zone => format!(" UTC{zone}"),
            };
            format!("{}{zone}", time.get(..5)?)
        }
        _ => return None,
    };
    Some((shown, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_shown_without_their_macros() {
        for (text, expected) in [
            ("Created {{DATE(2017-02-14T06:08:39Z, SHORT)}}", "Created 2017-02-14"),
            (
                "{{DATE(2017-10-18T21:50:00Z, LONG)}} at {{TIME(2017-10-18T21:50:00.5Z)}}",
                "2017-10-18 at 21:50 UTC",
            ),
            ("{{TIME( 2017-10-18T21:50:00-07:00 )}}", "21:50 UTC-07:00"),
            (
                "{{DATE(tomorrow)}} {{name}} {{TIME(2017-10-18T21)}} {{",
                "{{DATE(tomorrow)}} {{name}} {{TIME(2017-10-18T21)}} {{",
            ),
            (
                "{{DATE(2017-1ü-18T1)}}{{TIME(2017-10-18Tüüü)}}",
                "{{DATE(2017-1ü-18T1)}}{{TIME(2017-10-18Tüüü)}}",
            ),
            (" <at>Ann</at> ", "Ann"),
            ("{{DATE({{DATE(2017-02-14T06:08:39Z)}}", "{{DATE(2017-02-14"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let long = format!("{{{{DATE(2017-02-14T06:08:39Z,{})}}}}", " ".repeat(LONGEST_DATE));
        assert_eq!(shown(&long), long);
    }

    #[test]
    fn a_fact_has_one_colon() {
        for (name, value, expected) in [
            ("Status", "open", "Status: open"),
            ("Status:", "open", "Status: open"),
            ("**Status:**", "open", "**Status:** open"),
            ("**Status**", "open", "**Status**: open"),
            ("Due", "{{DATE(2017-02-14T06:08:39Z)}}", "Due: 2017-02-14"),
            ("", "open", "open"),
            ("Status", " ", "Status"),
        ] {
            assert_eq!(fact(name, value), expected);
        }
    }
}
