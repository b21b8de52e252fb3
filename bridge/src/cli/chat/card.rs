//! Renders cards as text: Adaptive Cards by their elements, and older bot cards by titles, texts and buttons.
//! Buttons become choices.

use serde_json::{Map, Value, json};

use super::choice::{CARD_ACTION, Choice, Payload};

/// The depth to which the elements of a card are read, since cards may have any depth.
const DEPTH: usize = 16;

/// The number of lines of a card that are shown.
const LINES: usize = 200;

/// The prefix of the media types of cards.
const MEDIA_TYPE: &str = "application/vnd.microsoft.card.";

#[derive(Debug, Default, PartialEq)]
pub(super) struct Card {
    pub(super) lines: Vec<String>,
    pub(super) choices: Vec<Choice>,
    /// The initial values of its input fields.
    inputs: Map<String, Value>,
}

/// Reads data as a card; `None` if it is none.
pub(super) fn read(data: &Value, media_type: Option<&str>) -> Option<Card> {
    let fields = data.as_object()?;
    let is_adaptive = member(fields, "type") == "AdaptiveCard";
    let is_other = media_type.is_some_and(|kind| kind.starts_with(MEDIA_TYPE));
    let mut card = Card::default();
    match (is_adaptive, is_other) {
        (true, _) => card.adaptive(fields),
        (false, true) => card.older(fields),
        (false, false) => return None,
    }
    card.lines.truncate(LINES);
    let inputs = std::mem::take(&mut card.inputs);
    for choice in &mut card.choices {
        choice.fill(&inputs);
    }
    Some(card)
}

impl Card {
    fn adaptive(&mut self, card: &Map<String, Value>) {
        self.elements(card.get("body"), DEPTH);
        self.actions(card.get("actions"));
        if self.lines.is_empty() && self.choices.is_empty() {
            let instead = ["fallbackText", "speak"].map(|name| member(card, name));
            self.say(
                instead.into_iter().find(|text| !text.is_empty()).unwrap_or("[an empty card]"),
            );
        }
    }

    /// Renders hero cards and similar ones: title, subtitle, text, pictures, facts, buttons.
    fn older(&mut self, card: &Map<String, Value>) {
        for name in ["title", "subtitle", "text"] {
            self.say(member(card, name));
        }
        self.facts(card.get("facts"), "key");
        for picture in list(card.get("images")).chain(card.get("image")) {
            if let Some(picture) = picture.as_object() {
                self.picture(picture);
            }
        }
        for item in list(card.get("items")).filter_map(Value::as_object) {
            self.say(&joined([member(item, "title"), member(item, "price")], ": "));
        }
        for button in list(card.get("buttons")) {
            self.choices.extend(super::choice::of_button(button));
        }
    }

    fn elements(&mut self, elements: Option<&Value>, depth: usize) {
        for element in list(elements).filter_map(Value::as_object) {
            if depth > 0 && element.get("isVisible") != Some(&Value::Bool(false)) {
                self.element(element, depth - 1);
            }
        }
    }

    fn element(&mut self, element: &Map<String, Value>, depth: usize) {
        match member(element, "type") {
            "TextBlock" => self.say(member(element, "text")),
            "RichTextBlock" => self.rich(element),
            "Image" => self.picture(element),
            "ImageSet" => self.elements(element.get("images"), depth),
            "Media" => self.say(&format!("[media: {}]", member(element, "altText"))),
            "FactSet" => self.facts(element.get("facts"), "title"),
            "Container" | "Column" | "TableCell" | "Carousel" | "CarouselPage" => {
                self.elements(element.get("items").or(element.get("pages")), depth);
            }
            "ColumnSet" => self.beside(element.get("columns"), depth),
            "Table" => {
                for row in list(element.get("rows")) {
                    self.beside(row.get("cells"), depth);
                }
            }
            "ActionSet" => self.actions(element.get("actions")),
            kind if kind.starts_with("Input.") => self.input(element),
            // Unknown elements may have a text.
            _ => self.say(member(element, "text")),
        }
    }

    /// Renders columns, in one line if each of them is one line.
    fn beside(&mut self, columns: Option<&Value>, depth: usize) {
        if depth == 0 {
            return;
        }
        let columns = list(columns).map(|column| {
            let mut one = Self::default();
            one.elements(column.get("items"), depth - 1);
            self.inputs.append(&mut one.inputs);
            self.choices.append(&mut one.choices);
            one.lines
        });
        let columns: Vec<Vec<String>> = columns.filter(|lines| !lines.is_empty()).collect();
        match columns.iter().all(|lines| lines.len() == 1) {
            true => self.say(&columns.concat().join("  ")),
            false => self.lines.extend(columns.concat()),
        }
    }

    fn rich(&mut self, element: &Map<String, Value>) {
        let pieces = list(element.get("inlines")).map(|inline| match inline {
            Value::String(text) => text.as_str(),
            other => other.get("text").and_then(Value::as_str).unwrap_or_default(),
        });
        self.say(&pieces.collect::<String>());
    }

    fn picture(&mut self, element: &Map<String, Value>) {
        let names = ["altText", "alt", "url"].map(|name| member(element, name));
        let name = names.into_iter().find(|name| !name.is_empty());
        // Pictures inside the card itself are long.
        let name = name.filter(|name| !name.starts_with("data:")).unwrap_or_default();
        self.say(&format!("[picture{}{name}]", if name.is_empty() { "" } else { ": " }));
    }

    fn facts(&mut self, facts: Option<&Value>, title: &str) {
        for fact in list(facts).filter_map(Value::as_object) {
            self.say(&joined([member(fact, title), member(fact, "value")], ": "));
        }
    }

    /// Renders an input field: its label, the accepted values, and its name.
    fn input(&mut self, element: &Map<String, Value>) {
        let id = member(element, "id");
        let texts = ["label", "title", "placeholder"].map(|name| member(element, name));
        let label = texts.into_iter().find(|text| !text.is_empty()).unwrap_or(id);
        let offered = list(element.get("choices")).map(|one| {
            let (title, value) = (text_of(one.get("title")), text_of(one.get("value")));
            if title == value { value } else { format!("{value} ({title})") }
        });
        let offered: Vec<String> = offered.collect();
        let value = element.get("value").cloned();
        let preset = value.as_ref().map(|value| text_of(Some(value))).unwrap_or_default();
        let hint = if offered.is_empty() { preset } else { offered.join(" | ") };
        self.say(format!("{label}: [{id}] {hint}").trim_end());
        if !id.is_empty() {
            self.inputs.insert(id.to_owned(), value.unwrap_or_default());
        }
    }

    fn actions(&mut self, actions: Option<&Value>) {
        for action in list(actions).filter_map(Value::as_object) {
            let title = member(action, "title");
            let sends = match member(action, "type") {
                "Action.Submit" => {
                    let choice = super::choice::of_submit(title, action.get("data"));
                    self.choices.push(choice);
                    continue;
                }
                "Action.Execute" => Payload::Invoke(
                    CARD_ACTION,
                    json!({"action": {
                        "type": "Action.Execute", "verb": action.get("verb"), "data": action.get("data"),
                    }}),
                ),
                "Action.OpenUrl" => Payload::Nothing(member(action, "url").to_owned()),
                "Action.ShowCard" => {
                    if let Some(card) = action.get("card").and_then(Value::as_object) {
                        self.say(title);
                        self.elements(card.get("body"), DEPTH / 2);
                        self.submits(card);
                    }
                    continue;
                }
                _ => continue,
            };
            self.choices.push(Choice::new(title, sends));
        }
    }

    /// Reads the actions of a nested card, none of which shows another card.
    fn submits(&mut self, card: &Map<String, Value>) {
        let is_plain =
            |action: &&Value| action.get("type").and_then(Value::as_str) != Some("Action.ShowCard");
        let plain: Value = list(card.get("actions")).filter(is_plain).cloned().collect();
        self.actions(Some(&plain));
    }

    /// Adds the lines of a text; of a mention, such as `<at>Ann</at>`, the name.
    fn say(&mut self, text: &str) {
        let text = text.replace("<at>", "").replace("</at>", "");
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        self.lines.extend(lines.map(str::to_owned));
    }
}

/// Returns a text member, or an empty text.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn joined(texts: [&str; 2], with: &str) -> String {
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adaptive_card_is_text_and_choices() {
        let card = json!({"type": "AdaptiveCard", "body": [
            {"type": "TextBlock", "text": "**<at>Ann</at>**'s order"},
            {"type": "ColumnSet", "columns": [
                {"type": "Column", "items": [{"type": "TextBlock", "text": "Tea"}]},
                {"type": "Column", "items": [{"type": "TextBlock", "text": "3 €"}]},
            ]},
            {"type": "Container", "items": [{"type": "RichTextBlock", "inlines": ["a", {"text": "b"}]}]},
            {"type": "FactSet", "facts": [{"title": "Status", "value": "open"}]},
            {"type": "Image", "url": "https://h.test/x.png"},
            {"type": "TextBlock", "text": "hidden", "isVisible": false},
            {"type": "Input.Text", "id": "note", "label": "Note"},
            {"type": "Input.ChoiceSet", "id": "size", "value": "s", "choices": [
                {"title": "Small", "value": "s"}, {"title": "l", "value": "l"}]},
        ], "actions": [
            {"type": "Action.Submit", "title": "Send", "data": {"do": "send"}},
            {"type": "Action.OpenUrl", "title": "Look", "url": "https://h.test/"},
            {"type": "Action.Execute", "title": "Run", "verb": "run"},
        ]});
        let card = read(&card, None).unwrap();
        let expected = [
            "**Ann**'s order",
            "Tea  3 €",
            "ab",
            "Status: open",
            "[picture: https://h.test/x.png]",
            "Note: [note]",
            "size: [size] s (Small) | l",
        ];
        assert_eq!(card.lines, expected);
        let sends: Vec<_> =
            card.choices.iter().map(|one| (one.title.as_str(), &one.sends)).collect();
        let filled = Payload::Data(json!({"do": "send", "note": null, "size": "s"}));
        let run = json!({"action": {"type": "Action.Execute", "verb": "run",
            "data": {"note": null, "size": "s"}}});
        assert_eq!(
            sends,
            [
                ("Send", &filled),
                ("Look", &Payload::Nothing("https://h.test/".to_owned())),
                ("Run", &Payload::Invoke(CARD_ACTION, run)),
            ]
        );
    }

    #[test]
    fn an_older_card_is_text_and_buttons() {
        let card = json!({"title": "T", "text": "x", "images": [{"url": "data:,", "alt": ""}], "buttons": [
            {"type": "imBack", "title": "Yes", "value": "yes"}, {"type": "postBack", "title": "No", "value": {"a": 1}},
        ]});
        let card = read(&card, Some("application/vnd.microsoft.card.hero")).unwrap();
        assert_eq!(card.lines, ["T", "x", "[picture]"]);
        assert_eq!(card.choices[0].sends, Payload::Text("yes".to_owned()));
        assert_eq!(card.choices[1].sends, Payload::Data(json!({"a": 1})));
    }

    #[test]
    fn invalid_and_endless_cards_are_harmless() {
        assert_eq!(read(&json!({"a": 1}), Some("application/json")), None);
        let deep = (0..200).fold(
            json!({"type": "TextBlock", "text": "x"}),
            |inner, _| json!({"type": "Container", "items": [inner]}),
        );
        let card = read(&json!({"type": "AdaptiveCard", "body": [deep]}), None).unwrap();
        assert_eq!(card.lines, ["[an empty card]"]);
        let wide: Value = (0..1000).map(|_| json!({"type": "TextBlock", "text": "x"})).collect();
        let card = read(&json!({"type": "AdaptiveCard", "body": wide}), None).unwrap();
        assert_eq!(card.lines.len(), LINES);
    }
}
