//! Renders cards as text: Adaptive Cards by their elements, and older bot cards by titles, texts and buttons.
//! Buttons become choices.

use bridge_translate::card_text;
use serde_json::{Map, Value, json};

use super::choice::{CARD_ACTION, Choice, Payload, Required};

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
    /// The input fields that must be filled in.
    required: Vec<Required>,
    /// The choices that send no input fields.
    alone: Vec<Choice>,
    /// Whether a button of the card shows what is hidden. The terminal shows it at once.
    shows_hidden: bool,
}

/// Reads data as a card; `None` if it is none.
pub(super) fn read(data: &Value, media_type: Option<&str>) -> Option<Card> {
    let fields = data.as_object()?;
    let is_adaptive = member(fields, "type") == "AdaptiveCard";
    let is_other = media_type.is_some_and(|kind| kind.starts_with(MEDIA_TYPE));
    let mut card = Card { shows_hidden: card_text::has_toggle(data), ..Card::default() };
    match (is_adaptive, is_other) {
        (true, _) => card.adaptive(fields),
        (false, true) => card.older(fields),
        (false, false) => return None,
    }
    card.lines.truncate(LINES);
    card.close();
    Some(card)
}

impl Card {
    fn adaptive(&mut self, card: &Map<String, Value>) {
        self.elements(card.get("body"), DEPTH);
        self.actions(card.get("actions"), DEPTH);
        self.select(card, 0);
        if self.lines.is_empty() && self.choices.is_empty() {
            let instead = ["fallbackText", "speak"].map(|name| member(card, name));
            self.say(
                instead.into_iter().find(|text| !text.is_empty()).unwrap_or("[an empty card]"),
            );
        }
    }

    /// Renders hero cards and similar ones: title, subtitle, text, pictures, facts, receipts, media, buttons.
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
        card_text::receipt(card).iter().for_each(|line| self.say(line));
        for medium in list(card.get("media")).filter_map(Value::as_object) {
            self.say(member(medium, "url"));
        }
        let buttons = list(card.get("buttons")).filter_map(super::choice::of_button);
        self.choices.extend(buttons);
        let tap = card.get("tap").and_then(super::choice::of_button);
        let is_new = |tap: &Choice| !self.choices.iter().any(|known| known.sends == tap.sends);
        self.choices.extend(tap.filter(is_new));
    }

    fn elements(&mut self, elements: Option<&Value>, depth: usize) {
        for element in list(elements).filter_map(Value::as_object) {
            self.element(element, depth);
        }
    }

    fn element(&mut self, element: &Map<String, Value>, depth: usize) {
        let is_hidden = element.get("isVisible") == Some(&Value::Bool(false));
        let Some(depth) = depth.checked_sub(1).filter(|_| self.shows_hidden || !is_hidden) else {
            return;
        };
        let before = (self.lines.len(), self.choices.len());
        match member(element, "type") {
            "RichTextBlock" => self.rich(element),
            "Image" => self.picture(element),
            "ImageSet" => self.elements(element.get("images"), depth),
            "Media" => self.say(&format!(
                "[media: {}]",
                [Some(member(element, "altText")), card_text::media(element)]
                    .into_iter()
                    .flatten()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join(" ")
            )),
            "FactSet" => self.facts(element.get("facts"), "title"),
            "ColumnSet" => self.beside(element.get("columns"), depth),
            "Table" => {
                for row in list(element.get("rows")) {
                    self.beside(row.get("cells"), depth);
                }
            }
            "ActionSet" => self.actions(element.get("actions"), depth),
            kind if kind.starts_with("Input.") => self.input(element),
            // Unknown elements may have texts, and columns have no type.
            _ => {
                for name in ["title", "text", "description", "codeSnippet"] {
                    self.say(member(element, name));
                }
                self.elements(element.get("items").or(element.get("pages")), depth);
            }
        }
        if before == (self.lines.len(), self.choices.len())
            && let Some(instead) = card_text::fallback(element)
        {
            self.element(instead, depth);
        }
        self.select(element, before.0);
    }

    /// Renders columns, in one line if each of them is one line.
    fn beside(&mut self, columns: Option<&Value>, depth: usize) {
        let columns = list(columns).filter_map(Value::as_object).map(|column| {
            let mut one = Self { shows_hidden: self.shows_hidden, ..Self::default() };
            one.element(column, depth);
            self.inputs.append(&mut one.inputs);
            self.required.append(&mut one.required);
            self.choices.append(&mut one.choices);
            self.alone.append(&mut one.alone);
            one.lines
        });
        let columns: Vec<Vec<String>> = columns.filter(|lines| !lines.is_empty()).collect();
        match columns.iter().all(|lines| lines.len() == 1) {
            true => self.say(&columns.concat().join("  ")),
            false => self.lines.extend(columns.concat()),
        }
    }

    fn rich(&mut self, element: &Map<String, Value>) {
        let text = |inline: &Value| match inline {
            Value::String(text) => text.clone(),
            other => text_of(other.get("text")),
        };
        let inlines = element.get("inlines");
        self.say(&list(inlines).map(text).collect::<String>());
        for inline in list(inlines) {
            let action = inline.get("selectAction").and_then(Value::as_object);
            action.into_iter().for_each(|action| self.action(action, &text(inline), 0));
        }
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
            self.say(&card_text::fact(member(fact, title), member(fact, "value")));
        }
    }

    /// Renders an input field: its label, the accepted values, and its name.
    fn input(&mut self, element: &Map<String, Value>) {
        let id = member(element, "id");
        let is_toggle = member(element, "type") == "Input.Toggle";
        // The title of a toggle says what is chosen, which its label may not say.
        let names = if is_toggle { ["title", "label"] } else { ["label", "placeholder"] };
        let texts = names.map(|name| member(element, name));
        let label = texts.into_iter().find(|text| !text.is_empty()).unwrap_or(id);
        if is_toggle && label != texts[1] {
            self.say(texts[1]);
        }
        let mut value = text_of(element.get("value"));
        let value_of = |name: &str, default: &str| match text_of(element.get(name)) {
            value if value.is_empty() => default.to_owned(),
            value => value,
        };
        let choices = list(element.get("choices")).map(|one| {
            let (title, value) = (text_of(one.get("title")), text_of(one.get("value")));
            if title == value { value } else { format!("{value} ({title})") }
        });
        let mut offered: Vec<String> = choices.collect();
        if is_toggle {
            let (on, off) = (value_of("valueOn", "true"), value_of("valueOff", "false"));
            value = if value == on { value } else { off.clone() };
            offered = vec![on, off];
        }
        let hint = if offered.is_empty() { value.clone() } else { offered.join(" | ") };
        let is_required = element.get("isRequired") == Some(&Value::Bool(true));
        let mark = if is_required { " *" } else { "" };
        self.say(&card_text::fact(&format!("{label}{mark}"), &format!("[{id}] {hint}")));
        if is_required {
            let message = value_of("errorMessage", "a field is required");
            let accepted = offered.first().filter(|_| is_toggle).cloned();
            self.required.push(Required { id: id.to_owned(), message, accepted });
        }
        // Like other hosts of cards, the terminal sends texts, and nothing for an empty field.
        if !id.is_empty() && !value.is_empty() {
            self.inputs.insert(id.to_owned(), value.into());
        }
        let inline = element.get("inlineAction").and_then(Value::as_object);
        inline.into_iter().for_each(|action| self.action(action, label, 0));
    }

    fn actions(&mut self, actions: Option<&Value>, depth: usize) {
        let actions = list(actions).filter_map(Value::as_object);
        actions.for_each(|action| self.action(action, "", depth));
    }

    /// Adds what happens if the user selects an element whose lines begin at `before`.
    fn select(&mut self, element: &Map<String, Value>, before: usize) {
        let Some(action) = element.get("selectAction").and_then(Value::as_object) else {
            return;
        };
        let label = self.lines.get(before).cloned().unwrap_or_default();
        self.action(action, &label, 0);
    }

    /// Adds an action as a choice, which is named by what is selected if the action has no label. Cards that actions show are read to
    /// this depth.
    fn action(&mut self, action: &Map<String, Value>, selected: &str, depth: usize) {
        let kind = member(action, "type");
        let label = card_text::label(action).unwrap_or(selected);
        let title = match (label, member(action, "verb")) {
            ("", "") if kind != "Action.OpenUrl" => kind.trim_start_matches("Action."),
            ("", verb) => verb,
            (label, _) => label,
        };
        let sends = match kind {
            "Action.Submit" => super::choice::of_submit(title, action.get("data")).sends,
            "Action.Execute" => Payload::Invoke(
                CARD_ACTION,
                json!({"action": {
                    "type": "Action.Execute", "verb": action.get("verb"), "data": action.get("data"),
                }}),
            ),
            "Action.OpenUrl" => Payload::Nothing(member(action, "url").to_owned()),
            "Action.ShowCard" => {
                let card = action.get("card").and_then(Value::as_object);
                if let (Some(card), Some(depth)) = (card, depth.checked_sub(1)) {
                    self.say(title);
                    self.shown(card, depth);
                }
                return;
            }
            _ => return,
        };
        let takes_inputs = !member(action, "associatedInputs").eq_ignore_ascii_case("none");
        let choices = if takes_inputs { &mut self.choices } else { &mut self.alone };
        choices.push(Choice::new(title, sends));
    }

    /// Adds a card that an action shows. Only its own actions send its input fields.
    fn shown(&mut self, card: &Map<String, Value>, depth: usize) {
        let mut shown = Self { shows_hidden: self.shows_hidden, ..Self::default() };
        shown.elements(card.get("body"), depth);
        shown.actions(card.get("actions"), depth);
        shown.close();
        self.lines.append(&mut shown.lines);
        self.choices.append(&mut shown.choices);
    }

    /// Gives the choices of a card its input fields.
    fn close(&mut self) {
        let inputs = std::mem::take(&mut self.inputs);
        let required = std::mem::take(&mut self.required);
        for choice in &mut self.choices {
            choice.fill(&inputs);
            choice.require(&required);
        }
        self.choices.append(&mut self.alone);
    }

    /// Adds the lines of a text.
    fn say(&mut self, text: &str) {
        let text = card_text::shown(text);
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
            {"type": "Input.Text", "id": "note", "label": "Note:"},
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
        let filled = Payload::Data(json!({"do": "send", "size": "s"}));
        let run =
            json!({"action": {"type": "Action.Execute", "verb": "run", "data": {"size": "s"}}});
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
    fn what_is_selected_or_toggled_in_a_card_can_be_chosen() {
        let text = |text: &str| json!({"type": "TextBlock", "text": text});
        let submit = |id: u8| json!({"type": "Action.Submit", "data": {"id": id}});
        let card = json!({"type": "AdaptiveCard", "body": [
            {"type": "ColumnSet", "columns": [
                {"items": [text("Alps")], "selectAction": submit(1)},
                {"items": [text("Sea")], "selectAction": {"type": "Action.OpenUrl", "url": "https://h.test/"}},
            ]},
            {"type": "Container", "items": [text("more")], "isVisible": false,
                "selectAction": {"type": "Action.ToggleVisibility"}},
            {"type": "Input.Text", "id": "reply", "label": "Reply", "inlineAction": submit(3)},
            {"type": "Input.Toggle", "id": "terms", "label": "Terms", "title": "I accept"},
            {"type": "Input.Number", "id": "guests", "label": "Guests", "value": 2},
            {"type": "Rating", "value": 4, "fallback": text("4 stars")},
            {"type": "Media", "sources": [{"url": "https://h.test/film.mp4"}]},
        ], "actions": [{"type": "Action.Submit", "tooltip": "Send"}]});
        let card = read(&card, None).unwrap();
        let expected = [
            "Alps  Sea",
            "more",
            "Reply: [reply]",
            "Terms",
            "I accept: [terms] true | false",
            "Guests: [guests] 2",
            "4 stars",
            "[media: https://h.test/film.mp4]",
        ];
        assert_eq!(card.lines, expected);
        let data = |data: Value| {
            let mut filled = json!({"terms": "false", "guests": "2"});
            filled.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
            Payload::Data(filled)
        };
        assert_eq!(
            card.choices,
            [
                Choice::new("Alps", data(json!({"id": 1}))),
                Choice::new("Sea", Payload::Nothing("https://h.test/".to_owned())),
                Choice::new("Reply", data(json!({"id": 3}))),
                Choice::new("Send", data(json!({}))),
            ]
        );
    }

    #[test]
    fn the_fields_of_a_card_are_sent_by_its_own_actions_if_they_are_filled_in() {
        let submit = |title: &str| json!({"type": "Action.Submit", "title": title});
        let show = |title: &str, card: Value| json!({"type": "Action.ShowCard", "title": title, "card": card});
        let field = |id: &str| json!({"type": "Input.Text", "id": id, "isRequired": true, "errorMessage": "Who?"});
        let toggle = json!({"type": "Input.Toggle", "id": "terms", "title": "I accept", "isRequired": true, "valueOn": "yes"});
        let inner = json!({"body": [field("street")], "actions": [submit("Send")]});
        let card = json!({"type": "AdaptiveCard", "body": [field("name"), toggle], "actions": [
            show("Address", json!({"actions": [show("Street", inner)]})),
            submit("Save"),
            {"type": "Action.Submit", "title": "Cancel", "associatedInputs": "none"},
        ]});
        let card = read(&card, None).unwrap();
        assert_eq!(
            card.lines,
            [
                "name *: [name]",
                "I accept *: [terms] yes | false",
                "Address",
                "Street",
                "street *: [street]"
            ]
        );
        let [send, save, cancel] = &card.choices[..] else { panic!("{card:?}") };
        assert_eq!(save.parts("").unwrap_err(), "Who?: add name=VALUE after the number");
        let error = save.parts("name=Ann").unwrap_err();
        assert_eq!(error, "a field is required: add terms=yes after the number");
        save.parts("name=Ann terms=yes").unwrap();
        assert!(send.parts("name=Ann terms=yes").unwrap_err().contains("street=VALUE"));
        cancel.parts("").unwrap();
    }

    #[test]
    fn a_receipt_has_its_items_and_sums() {
        let card = json!({"title": "T", "facts": [{"key": "Order:", "value": "7"}],
            "items": [{"title": "Tea", "quantity": "2", "price": "3 EUR"}], "tax": "1 EUR", "total": "4 EUR"});
        let card = read(&card, Some("application/vnd.microsoft.card.receipt")).unwrap();
        assert_eq!(card.lines, ["T", "Order: 7", "Tea × 2: 3 EUR", "tax: 1 EUR", "total: 4 EUR"]);
    }

    #[test]
    fn an_older_card_is_text_and_buttons() {
        let card = json!({"title": "T", "text": "x", "images": [{"url": "data:,", "alt": ""}], "buttons": [
            {"type": "imBack", "title": "Yes", "value": "yes"}, {"type": "postBack", "title": "No", "value": {"a": 1}},
        ], "tap": {"type": "openUrl", "value": "https://h.test/"}, "media": [{"url": "https://h.test/film"}]});
        let card = read(&card, Some("application/vnd.microsoft.card.hero")).unwrap();
        assert_eq!(card.lines, ["T", "x", "[picture]", "https://h.test/film"]);
        assert_eq!(card.choices[0].sends, Payload::Text("yes".to_owned()));
        assert_eq!(card.choices[1].sends, Payload::Data(json!({"a": 1})));
        assert_eq!(card.choices[2].sends, Payload::Nothing("https://h.test/".to_owned()));
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
