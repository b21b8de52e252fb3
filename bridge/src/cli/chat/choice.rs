//! The numbered choices: suggested actions and the buttons of cards.

use bridge_protocol::a2a::{Metadata, Part};
use bridge_translate::keys::{FIELDS, INVOKE};
use serde_json::{Map, Value, json};

/// The name of the invoke for a card's button.
pub(super) const CARD_ACTION: &str = "adaptiveCard/action";

/// The name of the invoke for a suggested action with data.
const SUGGESTED_ACTION: &str = "suggestedActions/submit";

/// The names of the invokes that open a dialog of Teams and submit its card.
const OPEN_DIALOG: &str = "task/fetch";
const SUBMIT_DIALOG: &str = "task/submit";

/// The number of choices offered at once.
pub(super) const MOST: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) title: String,
    pub(super) sends: Payload,
    /// The fields without which hosts of cards do not send it.
    required: Vec<Required>,
}

/// An input field that must be filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Required {
    pub(super) id: String,
    /// What the card says if the field is empty.
    pub(super) message: String,
    /// The only value that is accepted, which is that of a toggle that is on.
    pub(super) accepted: Option<String>,
}

/// The content that is sent when the choice is taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Payload {
    Text(String),
    Data(Value),
    /// A text, with data beside it.
    Both(String, Value),
    /// A data part that reaches a bot as the invoke of this name.
    Invoke(&'static str, Value),
    /// Nothing is sent, because the choice is a link to open.
    Nothing(String),
}

impl Payload {
    /// Creates the content for the data of a button.
    pub(super) fn data(data: Option<&Value>) -> Self {
        match data {
            Some(Value::String(text)) => Self::Text(text.clone()),
            Some(data) => Self::Data(data.clone()),
            None => Self::Data(json!({})),
        }
    }
}

impl Choice {
    pub(super) fn new(title: &str, sends: Payload) -> Self {
        let title = match &sends {
            Payload::Text(text) | Payload::Both(text, _) | Payload::Nothing(text)
                if title.is_empty() =>
            {
                text
            }
            _ => title,
        };
        Self { title: title.to_owned(), sends, required: Vec::new() }
    }

    /// Adds fields that must be filled in.
    pub(super) fn require(&mut self, fields: &[Required]) {
        self.required.extend_from_slice(fields);
    }

    /// Returns the data to which the values of input fields are added.
    fn data(&mut self) -> Option<&mut Value> {
        match &mut self.sends {
            Payload::Data(data) | Payload::Both(_, data) => Some(data),
            Payload::Invoke(CARD_ACTION, action) => Some(&mut action["action"]["data"]),
            Payload::Invoke(OPEN_DIALOG | SUBMIT_DIALOG, dialog) => Some(&mut dialog["data"]),
            Payload::Invoke(..) | Payload::Text(_) | Payload::Nothing(_) => None,
        }
    }

    /// Returns an error that names a field that must be filled in and is not.
    fn checked(&mut self) -> Result<(), String> {
        let required = std::mem::take(&mut self.required);
        let Some(data) = self.data() else {
            return Ok(());
        };
        let is_given = |field: &&Required| match (data[&field.id].as_str(), &field.accepted) {
            (Some(value), Some(accepted)) => value == accepted,
            (Some(value), None) => !value.trim().is_empty(),
            (None, _) => false,
        };
        match required.iter().find(|field| !is_given(field)) {
            None => Ok(()),
            Some(Required { id, message, accepted }) => {
                let value = accepted.as_deref().unwrap_or("VALUE");
                Err(format!("{message}: add {id}={value} after the number"))
            }
        }
    }

    /// Adds the values of the card's input fields, as hosts of cards do.
    pub(super) fn fill(&mut self, inputs: &Map<String, Value>) {
        if inputs.is_empty() {
            return;
        }
        let Some(data) = self.data() else {
            return;
        };
        if data.is_null() {
            *data = json!({});
        }
        if let Some(data) = data.as_object_mut() {
            data.extend(inputs.clone());
        }
    }

    /// Returns the same choice on the card of a dialog, where its data are submitted to the bot by an invoke.
    pub(super) fn of_dialog(self) -> Self {
        match self.sends {
            Payload::Data(data) => {
                let sends = Payload::Invoke(SUBMIT_DIALOG, json!({ "data": data }));
                Self { sends, ..self }
            }
            _ => self,
        }
    }

    /// Returns the parts to send, with these input fields: `NAME=VALUE`, separated by white space. Words without a name belong to the
    /// value before them.
    pub(super) fn parts(&self, fields: &str) -> Result<Vec<Part>, String> {
        let mut chosen = self.clone();
        let mut pairs: Vec<(&str, String)> = Vec::new();
        for word in fields.split_whitespace() {
            match (word.split_once('='), pairs.last_mut()) {
                (Some((name, value)), _) => pairs.push((name, value.to_owned())),
                (None, Some((_, value))) => *value += &format!(" {word}"),
                (None, None) => {
                    return Err(format!("expected fields as NAME=VALUE, found {word:?}"));
                }
            }
        }
        chosen.fill(
            &pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        );
        chosen.checked()?;
        match chosen.sends {
            Payload::Text(text) => Ok(vec![Part::text(text)]),
            Payload::Data(data) => Ok(vec![Part::data(data)]),
            Payload::Both(text, data) => Ok(vec![Part::text(text), Part::data(data)]),
            Payload::Invoke(name, value) => {
                let mark = json!({ "name": name });
                Ok(vec![Part {
                    metadata: Some(Metadata::from_iter([(INVOKE.to_owned(), mark)])),
                    ..Part::data(value)
                }])
            }
            Payload::Nothing(url) => {
                Err(format!("open {url} in a browser: there is nothing to send"))
            }
        }
    }
}

/// Returns the actions that a bot suggests with a message.
pub(super) fn suggested(metadata: Option<&Metadata>) -> Vec<Choice> {
    let actions = metadata
        .and_then(|all| all.get(FIELDS)?.get("suggestedActions")?.get("actions")?.as_array());
    actions.into_iter().flatten().filter_map(of_button).collect()
}

/// Returns whether these parts open or submit a dialog: the card in the answer then belongs to the dialog.
pub(super) fn is_of_dialog(parts: &[Part]) -> bool {
    let mut marks = parts.iter().filter_map(|part| part.metadata.as_ref()?.get(INVOKE));
    marks.any(|mark| matches!(mark["name"].as_str(), Some(OPEN_DIALOG | SUBMIT_DIALOG)))
}

/// Reads a button of suggested actions or of a card.
pub(super) fn of_button(button: &Value) -> Option<Choice> {
    let text = |name: &str| button.get(name).and_then(Value::as_str).unwrap_or_default();
    let title = text("title");
    let parsed = parsed_value(button);
    let sends = match (text("type"), parsed.as_ref().or(button.get("value"))) {
        (
            "openUrl" | "signin" | "downloadFile" | "playAudio" | "playVideo" | "showImage",
            Some(Value::String(url)),
        ) => Payload::Nothing(url.clone()),
        (_, Some(Value::Null) | None) if !text("text").is_empty() => {
            Payload::Text(text("text").to_owned())
        }
        (_, Some(Value::Null) | None) if title.is_empty() => return None,
        (_, Some(Value::Null) | None) => Payload::Text(title.to_owned()),
        ("messageBack", Some(data)) if !text("text").is_empty() => {
            Payload::Both(text("text").to_owned(), data.clone())
        }
        ("Action.Submit", Some(data)) => Payload::Invoke(SUGGESTED_ACTION, data.clone()),
        ("invoke", Some(data)) if data["type"] == OPEN_DIALOG => open_dialog(data),
        (_, data) => Payload::data(data),
    };
    Some(Choice::new(title, sends))
}

/// Returns the value of a button `messageBack` that has an object as a string, as in the documentation of Teams, which parses it.
fn parsed_value(button: &Value) -> Option<Value> {
    let text = button["value"].as_str().filter(|_| button["type"] == "messageBack")?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

fn open_dialog(data: &Value) -> Payload {
    Payload::Invoke(OPEN_DIALOG, json!({ "data": data }))
}

/// Reads a button of an adaptive card with this data, which may say under `msteams` that it opens a dialog or is like one of
/// other cards.
pub(super) fn of_submit(title: &str, data: Option<&Value>) -> Choice {
    let like = data.and_then(|data| {
        let button = data.get("msteams")?;
        match button["type"].as_str()? {
            OPEN_DIALOG => Some(open_dialog(data)),
            "imBack" | "messageBack" => of_button(button).map(|like| like.sends),
            _ => None,
        }
    });
    Choice::new(title, like.unwrap_or_else(|| Payload::data(data)))
}

/// Lists the choices, numbered from 1.
pub(super) fn listed(choices: &[Choice]) -> String {
    let numbered = choices.iter().enumerate().map(|(index, choice)| {
        let more = match &choice.sends {
            Payload::Nothing(url) if *url != choice.title => format!(" ({url})"),
            _ => String::new(),
        };
        format!("  {}. {}{more}\n", index + 1, choice.title)
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_actions_are_numbered_and_sent() {
        let metadata = json!({FIELDS: {"suggestedActions": {"actions": [
            {"type": "imBack", "title": "Yes", "value": "yes"},
            {"type": "openUrl", "title": "Read", "value": "https://h.test/"},
            {"type": "messageBack", "title": "No", "text": "no"},
            {"type": "messageBack", "title": "More", "text": "more", "value": {"count": 1}},
            {"type": "Action.Submit", "title": "Approve", "value": {"vote": "approve"}},
            {"type": "imBack"},
            {"type": "messageBack", "text": "less", "value": "{\"count\": 2}"},
            {"type": "messageBack", "text": "one", "value": "1"},
        ]}}});
        let choices = suggested(metadata.as_object());
        assert_eq!(
            listed(&choices),
            "  1. Yes\n  2. Read (https://h.test/)\n  3. No\n  4. More\n  5. Approve\n  6. less\n  7. one\n"
        );
        assert_eq!(choices[0].parts(""), Ok(vec![Part::text("yes")]));
        assert!(choices[1].parts("").unwrap_err().contains("https://h.test/"));
        assert_eq!(choices[2].parts(""), Ok(vec![Part::text("no")]));
        let more = vec![Part::text("more"), Part::data(json!({"count": 1}))];
        assert_eq!(choices[3].parts(""), Ok(more));
        let mark = json!({INVOKE: {"name": "suggestedActions/submit"}});
        let approve =
            Part { metadata: mark.as_object().cloned(), ..Part::data(json!({"vote": "approve"})) };
        assert_eq!(choices[4].parts(""), Ok(vec![approve]));
        let less = vec![Part::text("less"), Part::data(json!({"count": 2}))];
        assert_eq!(choices[5].parts(""), Ok(less));
        assert_eq!(choices[6].parts(""), Ok(vec![Part::text("one"), Part::data(json!("1"))]));
    }

    #[test]
    fn a_button_of_an_adaptive_card_may_be_like_one_of_other_cards() {
        for (data, expected) in [
            (
                json!({"msteams": {"type": "imBack", "value": "yes"}, "a": 1}),
                Payload::Text("yes".to_owned()),
            ),
            (
                json!({"msteams": {"type": "messageBack", "text": "more", "value": {"count": 1}}}),
                Payload::Both("more".to_owned(), json!({"count": 1})),
            ),
            (
                json!({"msteams": {"type": "task/fetch"}, "a": 1}),
                Payload::Invoke(
                    "task/fetch",
                    json!({"data": {"msteams": {"type": "task/fetch"}, "a": 1}}),
                ),
            ),
            (
                json!({"msteams": {"type": "other"}}),
                Payload::Data(json!({"msteams": {"type": "other"}})),
            ),
            (json!({"a": 1}), Payload::Data(json!({"a": 1}))),
        ] {
            assert_eq!(of_submit("Go", Some(&data)).sends, expected);
        }
    }

    #[test]
    fn a_dialog_is_opened_and_submitted_by_invokes() {
        let button = json!({"type": "invoke", "title": "Open", "value": {"type": "task/fetch"}});
        let open = of_button(&button).unwrap().parts("").unwrap();
        let invoke = |name: &str| json!({INVOKE: {"name": name}}).as_object().cloned();
        let data = json!({"data": {"type": "task/fetch"}});
        assert_eq!(open, [Part { metadata: invoke("task/fetch"), ..Part::data(data) }]);
        assert!(is_of_dialog(&open) && !is_of_dialog(&[Part::data(json!({}))]));
        let submit = Choice::new("Send", Payload::Data(json!({"name": null}))).of_dialog();
        let data = json!({"data": {"name": "Ann"}});
        let expected = Part { metadata: invoke("task/submit"), ..Part::data(data) };
        assert_eq!(submit.parts("name=Ann").unwrap(), [expected]);
        let link = Choice::new("Look", Payload::Nothing("https://h.test/".to_owned()));
        assert_eq!(link.clone().of_dialog(), link);
    }

    #[test]
    fn fields_of_a_card_are_filled_in() {
        let submit = Choice::new("Send", Payload::Data(json!({"a": 1, "note": ""})));
        assert_eq!(submit.parts("note=x"), Ok(vec![Part::data(json!({"a": 1, "note": "x"}))]));
        let filled = Part::data(json!({"a": "2", "note": "to be continued"}));
        assert_eq!(submit.parts("note=to be  continued a=2"), Ok(vec![filled]));
        assert!(submit.parts("note").unwrap_err().contains("NAME=VALUE"));
        let run = Choice::new(
            "Run",
            Payload::Invoke(CARD_ACTION, json!({"action": {"verb": "run", "data": null}})),
        );
        let parts = run.parts("n=1").unwrap();
        assert_eq!(
            parts,
            [Part {
                metadata: json!({INVOKE: {"name": "adaptiveCard/action"}}).as_object().cloned(),
                ..Part::data(json!({"action": {"verb": "run", "data": {"n": "1"}}}))
            }]
        );
    }
}
