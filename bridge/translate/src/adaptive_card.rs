//! Describes adaptive cards in plain text.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::{Map, Value};

use crate::{
    card_text::{self, member},
    plain_text::{CHOICE, all, button, choice, facts, line, picture},
};

/// The largest depth to which the elements are read.
const DEEPEST: usize = 16;

/// The texts of an element, in the order in which they are shown.
const TEXTS: [&str; 6] = ["label", "title", "text", "description", "codeSnippet", "altText"];

/// The lists of elements within an element.
const WITHIN: [&str; 5] = ["body", "items", "rows", "pages", "images"];

/// Adds the lines of a card.
pub(crate) fn describe(card: &Map<String, Value>, lines: &mut Vec<String>) {
    let shows_hidden = card.values().any(card_text::has_toggle);
    let mut described = Lines { shows_hidden, lines: Vec::new() };
    described.element(card, DEEPEST);
    // This is the card's text for hosts that cannot show the card.
    if described.lines.is_empty() {
        line(card.get("fallbackText").or(card.get("speak")), &mut described.lines);
    }
    if described.lines.is_empty() {
        card.values().for_each(|value| pictures(value, &mut described.lines));
    }
    lines.append(&mut described.lines);
}

/// Adds the pictures of a card that has nothing else.
fn pictures(within: &Value, lines: &mut Vec<String>) {
    match within {
        Value::Object(members) => {
            if member(members, "type") == Some("Image") {
                picture(within, lines);
            }
            members.values().for_each(|value| pictures(value, lines));
        }
        Value::Array(items) => items.iter().for_each(|item| pictures(item, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Lines {
    shows_hidden: bool,
    lines: Vec<String>,
}

impl Lines {
    /// Adds an element and those in it, in the order in which they are shown.
    fn element(&mut self, element: &Map<String, Value>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        if !self.shows_hidden && element.get("isVisible") == Some(&Value::Bool(false)) {
            return;
        }
        let before = self.lines.len();
        match member(element, "type").is_some_and(|kind| kind.starts_with("Input.")) {
            true => self.field(element),
            false => TEXTS.iter().for_each(|name| self.text(member(element, name))),
        }
        self.text(card_text::media(element));
        self.runs(element);
        facts(element, "title", &mut self.lines);
        for one in all(element.get("choices")) {
            choice(one.get("title").and_then(Value::as_str), &mut self.lines);
        }
        for one in WITHIN.iter().flat_map(|name| all(element.get(*name))) {
            one.as_object().into_iter().for_each(|one| self.element(one, depth));
        }
        self.beside(element.get("columns"), "  ", depth);
        self.beside(element.get("cells"), " | ", depth);
        for action in all(element.get("actions")).filter_map(Value::as_object) {
            button(action, &mut self.lines);
            if let Some(Value::Object(card)) = action.get("card") {
                self.element(card, depth);
            }
        }
        if self.lines.len() == before
            && let Some(instead) = card_text::fallback(element)
        {
            self.element(instead, depth);
        }
        if let Some(Value::Object(inline)) = element.get("inlineAction") {
            button(inline, &mut self.lines);
        }
        self.select(element.get("selectAction"), before);
    }

    fn text(&mut self, text: Option<&str>) {
        self.lines.extend(text.map(card_text::shown));
    }

    /// Adds the name and the value of an input field. What is said after a choice names the choice (`title`).
    fn field(&mut self, field: &Map<String, Value>) {
        let label = member(field, "label").or_else(|| match member(field, "title") {
            Some(_) => None,
            None => member(field, "placeholder"),
        });
        // The values of choices and of toggles are names for the bot.
        let is_shown = |kind: &str| !matches!(kind, "Input.ChoiceSet" | "Input.Toggle");
        let value = field.get("value").filter(|_| member(field, "type").is_some_and(is_shown));
        let value = match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        // Hosts of cards mark the fields that must be filled in with an asterisk.
        let mark = if field.get("isRequired") == Some(&Value::Bool(true)) { " *" } else { "" };
        let marked = |text: &str| format!("{text}{mark}");
        let line = card_text::fact(&label.map(marked).unwrap_or_default(), &value);
        self.lines.extend(Some(line).filter(|line| !line.is_empty()));
        let title = member(field, "title");
        self.text(
            title
                .map(|title| if label.is_none() { marked(title) } else { title.into() })
                .as_deref(),
        );
    }

    /// Adds the text of the runs of a `RichTextBlock`, and then their links and buttons.
    fn runs(&mut self, element: &Map<String, Value>) {
        let text = |run: &Value| {
            let text = run.as_str().or_else(|| run.get("text")?.as_str());
            text.unwrap_or_default().to_string()
        };
        let joined: String = all(element.get("inlines")).map(text).collect();
        self.text(Some(joined.as_str()).filter(|text| !text.trim().is_empty()));
        for run in all(element.get("inlines")) {
            let before = self.lines.len();
            self.text(Some(&text(run)));
            self.select(run.get("selectAction"), before);
            // Without an action, the run was only said again.
            if !self.lines[before..].iter().any(|line| line.starts_with(CHOICE)) {
                self.lines.truncate(before);
            }
        }
    }

    /// Adds elements that are side by side: in one line, if each of them is a line of text.
    fn beside(&mut self, elements: Option<&Value>, separator: &str, depth: usize) {
        let before = self.lines.len();
        let mut columns = 0;
        for element in all(elements).filter_map(Value::as_object) {
            let begin = self.lines.len();
            self.element(element, depth);
            columns += usize::from(self.lines.len() > begin);
        }
        let added = &self.lines[before..];
        let is_row = columns > 1 && added.len() == columns;
        if is_row && !added.iter().any(|line| line.starts_with(CHOICE) || line.contains('\n')) {
            let row = added.join(separator);
            self.lines.truncate(before);
            self.lines.push(row);
        }
    }

    /// Adds what happens if the user selects an element whose lines begin at `before`. An action without a label makes the first
    /// of these lines a choice.
    fn select(&mut self, action: Option<&Value>, before: usize) {
        let Some(action) = action.and_then(Value::as_object) else {
            return;
        };
        let kind = member(action, "type");
        if !kind.is_some_and(|kind| {
            matches!(kind, "Action.Submit" | "Action.Execute" | "Action.OpenUrl")
        }) {
            return;
        }
        let address = member(action, "url").map(|url| format!(" ({url})")).unwrap_or_default();
        match (card_text::label(action), self.lines.get_mut(before)) {
            (None, Some(first)) if !first.starts_with(CHOICE) => {
                *first = format!("{CHOICE}{first}{address}");
            }
            (Some(label), Some(first)) if *first == label => {
                *first = format!("{CHOICE}{first}{address}");
            }
            (None, Some(_)) => {}
            (Some(_), _) | (None, None) => button(action, &mut self.lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use serde_json::json;

    use super::*;

    fn lines(card: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        describe(card.as_object().unwrap(), &mut lines);
        lines
    }

    #[test]
    fn elements_are_lines_as_they_are_shown() {
        let text = |text: &str| json!({"type": "TextBlock", "text": text});
        let column = |texts: &[&str]| json!({"type": "Column", "items": texts.iter().map(|one| text(one)).collect::<Vec<_>>()});
        let rows = [["Tea", "3 EUR"], ["Cake", ""]].map(|row| {
            json!({"type": "TableRow", "cells": row.map(|one| json!({"type": "TableCell", "items": [text(one)]}))})
        });
        for (body, expected) in [
            (json!([{"type": "Table", "rows": rows}]), vec!["Tea | 3 EUR", "Cake"]),
            (
                json!([{"type": "ColumnSet", "columns": [column(&["Tea"]), column(&["3 EUR"])]}]),
                vec!["Tea  3 EUR"],
            ),
            (
                json!([{"type": "ColumnSet", "columns": [column(&["Tea", "hot"]), column(&["3 EUR"])]}]),
                vec!["Tea", "hot", "3 EUR"],
            ),
            (
                json!([{"type": "Input.Toggle", "label": "Terms", "title": "I accept", "value": "false"}]),
                vec!["Terms", "I accept"],
            ),
            (
                json!([{"type": "Input.Text", "label": "City", "isRequired": true, "placeholder": "Where?", "value": "Oslo"},
                    {"type": "Input.Number", "placeholder": "Guests", "value": 2},
                    {"type": "Input.ChoiceSet", "label": "Size", "value": "s", "choices": [{"title": "Small", "value": "s"}]}]),
                vec!["City *: Oslo", "Guests: 2", "Size", "- Small"],
            ),
            (
                json!([{"type": "Media", "altText": "A film", "sources": [{"url": "https://h/f.mp4"}]}]),
                vec!["A film", "https://h/f.mp4"],
            ),
            (json!([{"type": "Rating", "value": 4, "fallback": text("4 stars")}]), vec!["4 stars"]),
            (json!([{"type": "CodeBlock", "codeSnippet": "ls"}]), vec!["ls"]),
            (json!([text("{{DATE(2017-02-14T06:08:39Z, SHORT)}}")]), vec!["2017-02-14"]),
            (
                json!([{"type": "Image", "url": "https://h/a.png"}, {"type": "Image", "url": "data:,"}]),
                vec!["https://h/a.png"],
            ),
        ] {
            assert_eq!(lines(&json!({"type": "AdaptiveCard", "body": body})), expected, "{body}");
        }
    }

    #[test]
    fn what_can_be_selected_is_a_choice() {
        let submit = json!({"type": "Action.Submit", "data": {"id": 1}});
        let open = json!({"type": "Action.OpenUrl", "url": "https://h/"});
        let titled = json!({"type": "Action.Submit", "title": "Book"});
        let text = json!({"type": "TextBlock", "text": "Alps"});
        for (element, expected) in [
            (json!({"type": "Container", "items": [text], "selectAction": submit}), vec!["- Alps"]),
            (
                json!({"type": "Container", "items": [text], "selectAction": open}),
                vec!["- Alps (https://h/)"],
            ),
            (
                json!({"type": "Container", "items": [text], "selectAction": titled}),
                vec!["Alps", "- Book"],
            ),
            (
                json!({"type": "Input.Text", "label": "Reply", "inlineAction": {"type": "Action.Submit", "tooltip": "Send"}}),
                vec!["Reply", "- Send"],
            ),
            (json!({"type": "Image", "url": "data:,", "selectAction": open}), vec!["- https://h/"]),
            (
                json!({"type": "RichTextBlock", "inlines": ["See ", {"text": "here", "selectAction": open}, "."]}),
                vec!["See here.", "- here (https://h/)"],
            ),
            (
                json!({"type": "Container", "items": [text], "selectAction": {"type": "Action.ToggleVisibility"}}),
                vec!["Alps"],
            ),
        ] {
            assert_eq!(lines(&json!({"body": [element]})), expected, "{element}");
        }
    }
}
