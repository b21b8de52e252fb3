//! Finds the message whose card or button a user's activity answers.
//!
//! Teams names this message in `replyToId`, and bots change or delete it by this id. Clients of A2A do not name it, so it is
//! found by what it offers:
//!
//! | the activity | answers a message with |
//! |-|-|
//! | a message with a value | an `Action.Submit` whose `data` is in the value |
//! | a message with a text, a value or both | a button `messageBack` or `postBack` with the same |
//! | the invoke `adaptiveCard/action` | an `Action.Execute` with its `verb`, whose `data` is in its data |
//! | the invoke `task/fetch` | an `Action.Submit` whose `data` is in its data, or a button `invoke` with this value |
//! | the invoke `fileConsent/invoke` | a card that asks for consent with its context |
//! | the invoke `message/submitAction` of feedback | `feedbackLoop` in its `channelData`, which asks for feedback |
//! | another invoke | a button `invoke` with its value |
//!
//! Buttons `imBack` and suggested actions are not looked for: their text comes as if the user had typed it.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
};

use serde_json::{Map, Value};

use super::{
    answer,
    keys::{FIELDS, FOLLOWS},
};
use bridge_protocol::{
    a2a::{Artifact, Message, Metadata, Part, Role, Task},
    activity::{Activity, ActivityType},
};

/// The number of messages and artifacts of a task in which cards are looked for.
const SEARCHED: usize = 256;

/// The member of `data` for Teams alone, which clients may leave out.
const TEAMS: &str = "msteams";

/// What a user's activity may have clicked.
#[derive(Clone, Copy, Debug)]
pub struct Click<'a> {
    control: Control,
    text: Option<&'a str>,
    data: &'a Value,
    verb: Option<&'a str>,
}

/// The kind of the clicked control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// A button or an action that sends a message.
    Message,
    /// An `Action.Execute`.
    Execute,
    /// An action or a button that opens a dialog.
    Dialog,
    /// A card that asks for consent to a file.
    Consent,
    /// The buttons for feedback, which Teams shows below a message.
    Feedback,
    /// Another button that invokes.
    Invoke,
}

impl<'a> Click<'a> {
    /// Returns what the activity may have clicked; `None` if it can be no click.
    pub fn of(activity: &'a Activity) -> Option<Self> {
        let value = activity.value.as_ref().unwrap_or(&Value::Null);
        let (control, data) = match (&activity.kind, activity.name.as_deref()) {
            (ActivityType::Message, _) => (Control::Message, value),
            (ActivityType::Invoke, Some("adaptiveCard/action")) => {
                (Control::Execute, &value["action"]["data"])
            }
            (ActivityType::Invoke, Some("task/fetch")) => (Control::Dialog, &value["data"]),
            (ActivityType::Invoke, Some("fileConsent/invoke")) => {
                (Control::Consent, &value["context"])
            }
            (ActivityType::Invoke, Some("message/submitAction"))
                if value["actionName"] == "feedback" =>
            {
                (Control::Feedback, value)
            }
            (ActivityType::Invoke, _) => (Control::Invoke, value),
            _ => return None,
        };
        let text = activity.text.as_deref().filter(|text| !text.is_empty());
        let verb = value["action"]["verb"].as_str();
        let says_something = control != Control::Message || text.is_some() || !data.is_null();
        says_something.then_some(Self { control, text, data, verb })
    }

    /// Returns the id of the newest message of the bot in the task that offers the click, except those of the turn that answers
    /// the activity with the id `turn`. A new version of a message has the id of that message, by which the bot knows it.
    pub fn answered(&self, task: &Task, turn: &str) -> Option<String> {
        let artifacts = task.artifacts.iter().rev();
        let artifacts = artifacts.map(|one| (artifact_id(one), &one.parts, &one.metadata));
        let messages = task.history.iter().chain(&task.status.message).rev();
        let messages = messages.filter(|one| one.role == Role::Agent);
        let messages =
            messages.map(|one: &Message| (one.message_id.clone(), &one.parts, &one.metadata));
        let is_before = |id: &str| !id.strip_prefix(turn).is_some_and(|rest| rest.starts_with('.'));
        let searched = artifacts.chain(messages).take(SEARCHED);
        let mut newest_first = searched.filter(|(id, ..)| is_before(id));
        let (id, _, metadata) = newest_first.find(|(_, parts, metadata)| match self.control {
            Control::Feedback => metadata.as_ref().is_some_and(asks_for_feedback),
            _ => parts.iter().any(|part| self.is_offered(part)),
        })?;
        Some(followed(metadata.as_ref()).unwrap_or(id))
    }

    fn is_offered(&self, part: &Part) -> bool {
        let kind = part.media_type.as_deref().unwrap_or_default();
        let is_card = kind.starts_with("application/vnd.microsoft.") && kind.contains(".card.");
        let card = part.as_data().filter(|_| is_card);
        card.is_some_and(|card| {
            let mut inputs = BTreeSet::new();
            objects(card, &mut |object| inputs.extend(input(object)));
            let mut is_offered = false;
            objects(card, &mut |object| is_offered |= self.is_offered_by(object, &inputs));
            is_offered
        })
    }

    /// Returns whether an object of a card is what was clicked.
    fn is_offered_by(&self, object: &Map<String, Value>, inputs: &BTreeSet<&str>) -> bool {
        let member = |name: &str| object.get(name).unwrap_or(&Value::Null);
        let kind = member("type").as_str().unwrap_or_default();
        match (kind, self.control) {
            ("Action.Submit", Control::Message | Control::Dialog) => {
                self.has_data(member("data"), inputs)
            }
            ("Action.Execute", Control::Execute) => {
                member("verb").as_str() == self.verb && self.has_data(member("data"), inputs)
            }
            ("messageBack", Control::Message) => {
                self.sends(member("text").as_str(), member("value"))
            }
            ("postBack", Control::Message) => match member("value") {
                Value::String(text) => self.text == Some(text),
                value => self.sends(None, value),
            },
            ("invoke", Control::Dialog | Control::Invoke) => {
                !self.data.is_null() && is_same(member("value"), self.data)
            }
            (_, Control::Consent) => {
                let contexts = ["acceptContext", "declineContext"].map(|name| object.get(name));
                contexts.contains(&Some(self.data))
            }
            _ => false,
        }
    }

    /// Returns whether an action with this `data` sends what was clicked: its own data, and the values of the card's inputs. An
    /// action without data of its own sends values of inputs only.
    fn has_data(&self, own: &Value, inputs: &BTreeSet<&str>) -> bool {
        let empty = Map::new();
        let own = match own {
            Value::Null => &empty,
            Value::Object(own) => own,
            other => return other == self.data,
        };
        let Value::Object(given) = self.data else {
            return false;
        };
        let is_given = own.iter().all(|(key, value)| key == TEAMS || given.get(key) == Some(value));
        let is_known = |key: &String| key == TEAMS || inputs.contains(key.as_str());
        is_given && (own.keys().any(|key| key != TEAMS) || given.keys().all(is_known))
    }

    /// Returns whether a button with this text and value sends the message. Clients may leave the value out.
    fn sends(&self, text: Option<&str>, value: &Value) -> bool {
        match text.filter(|text| !text.is_empty()) {
            Some(text) => {
                let is_value = || is_same(value, self.data);
                self.text == Some(text) && (self.data.is_null() || is_value())
            }
            None => !value.is_null() && is_same(value, self.data),
        }
    }
}

/// Returns the id of the message that became this artifact.
fn artifact_id(artifact: &Artifact) -> String {
    answer::message_id(artifact).unwrap_or_else(|| artifact.artifact_id.clone())
}

/// Returns the id of the message whose new version has this metadata.
fn followed(metadata: Option<&Metadata>) -> Option<String> {
    let id = metadata?.get(FOLLOWS)?.get("messageId")?.as_str()?;
    Some(id.to_string())
}

/// Returns whether a message with this metadata asks for feedback.
fn asks_for_feedback(metadata: &Metadata) -> bool {
    let channel_data = metadata.get(FIELDS).and_then(|fields| fields.get("channelData"));
    channel_data
        .is_some_and(|data| data["feedbackLoopEnabled"] == true || data["feedbackLoop"].is_object())
}

/// Returns whether two values are the same. Buttons may have JSON as a string, which Teams parses.
fn is_same(own: &Value, given: &Value) -> bool {
    let parsed = || own.as_str().and_then(|own| serde_json::from_str(own).ok());
    own == given || parsed().is_some_and(|own: Value| own == *given)
}

/// Returns the id of an input.
fn input(object: &Map<String, Value>) -> Option<&str> {
    let kind = object.get("type")?.as_str()?;
    kind.starts_with("Input.").then(|| object.get("id")?.as_str()).flatten()
}

/// Visits all objects in a card.
fn objects<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            object.values().for_each(|value| objects(value, visit));
        }
        Value::Array(values) => values.iter().for_each(|value| objects(value, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::wire::Wire as _;
    use serde_json::json;

    use super::*;

    /// Returns the id of the message that the activity answers in a task with these messages of the bot.
    fn answered(said: &[(&str, &str, Value)], activity: Value) -> Option<String> {
        let message = |(id, card, content): &(&str, &str, Value)| {
            json!({"messageId": id, "role": "ROLE_AGENT", "parts": [
                {"mediaType": std::format!("application/vnd.microsoft.{card}"), "data": content}]})
        };
        let history: Value = said.iter().map(message).collect();
        let status = json!({"state": "TASK_STATE_WORKING"});
        let task = json!({"id": "t", "contextId": "c", "status": status, "history": history});
        let activity = Activity::read(activity).unwrap();
        Click::of(&activity)?.answered(&Task::read(task).unwrap(), "t.1")
    }

    fn adaptive(id: &'static str, action: &Value) -> (&'static str, &'static str, Value) {
        let inputs = json!([{"type": "Input.Text", "id": "name"}]);
        let nested = json!({"type": "ActionSet", "actions": [action]});
        (id, "card.adaptive", json!({"type": "AdaptiveCard", "body": [inputs, nested]}))
    }

    fn hero(id: &'static str, button: &Value) -> (&'static str, &'static str, Value) {
        (id, "card.hero", json!({"buttons": [button]}))
    }

    #[test]
    fn a_value_answers_the_newest_card_whose_action_has_its_data() {
        let submit = |data: Value| json!({"type": "Action.Submit", "data": data});
        let said = [
            adaptive("old", &submit(json!({"do": "buy"}))),
            adaptive("buy", &submit(json!({"do": "buy", "msteams": {"type": "task/fetch"}}))),
            adaptive("bare", &json!({"type": "Action.Submit"})),
            // A turn that is resumed after a restart has already said this.
            adaptive("t.1.1", &submit(json!({"do": "buy"}))),
            adaptive("text", &submit(json!("refresh"))),
            adaptive("run", &json!({"type": "Action.Execute", "verb": "buy", "data": {"n": 1}})),
        ];
        let message = |value: Value| json!({"type": "message", "value": value});
        let invoke =
            |name: &str, value: Value| json!({"type": "invoke", "name": name, "value": value});
        let execute = |action: Value| invoke("adaptiveCard/action", json!({"action": action}));
        for (activity, expected) in [
            (message(json!({"do": "buy"})), Some("buy")),
            (message(json!({"do": "buy", "name": "Ann"})), Some("buy")),
            (message(json!({"do": "sell"})), None),
            (message(json!({"name": "Ann"})), Some("bare")),
            (message(json!({})), Some("bare")),
            (message(json!({"name": "Ann", "age": 7})), None),
            (message(json!("refresh")), Some("text")),
            (message(json!("other")), None),
            (message(json!({"n": 1})), None),
            (invoke("task/fetch", json!({"data": {"do": "buy"}})), Some("buy")),
            (execute(json!({"verb": "buy", "data": {"n": 1, "name": "Ann"}})), Some("run")),
            (execute(json!({"verb": "sell", "data": {"n": 1}})), None),
            (execute(json!({"verb": "buy"})), None),
            (invoke("signin/verifyState", json!({"state": "1"})), None),
            (json!({"type": "event", "value": {"do": "buy"}}), None),
        ] {
            assert_eq!(answered(&said, activity.clone()).as_deref(), expected, "{activity}");
        }
    }

    #[test]
    fn a_button_is_found_by_its_text_and_value() {
        let back = json!({"type": "messageBack", "text": "more", "value": "{\"page\": 2}"});
        let in_action = json!({"type": "Action.Submit", "data": {"msteams": {"type": "messageBack", "text": "less"}}});
        let consent = json!({"acceptContext": {"file": 1}, "declineContext": {"file": 2}});
        let said = [
            hero("more", &back),
            hero("silent", &json!({"type": "messageBack", "value": {"page": 3}})),
            hero("typed", &json!({"type": "imBack", "value": "yes"})),
            hero("post", &json!({"type": "postBack", "value": "go"})),
            hero("called", &json!({"type": "invoke", "value": {"option": 1}})),
            adaptive("less", &in_action),
            ("file", "teams.card.file.consent", consent),
            ("entity", "entity.x", json!({"type": "messageBack", "text": "never"})),
        ];
        let message =
            |text: &str, value: Value| json!({"type": "message", "text": text, "value": value});
        let invoke =
            |name: &str, value: Value| json!({"type": "invoke", "name": name, "value": value});
        for (activity, expected) in [
            (message("more", Value::Null), Some("more")),
            (message("more", json!({"page": 2})), Some("more")),
            (message("more", json!({"page": 4})), None),
            (message("", json!({"page": 3})), Some("silent")),
            (message("yes", Value::Null), None),
            (message("go", Value::Null), Some("post")),
            (message("less", Value::Null), Some("less")),
            (message("never", Value::Null), None),
            (message("", Value::Null), None),
            (invoke("any", json!({"option": 1})), Some("called")),
            (invoke("any", json!({"option": 2})), None),
            (invoke("fileConsent/invoke", json!({"context": {"file": 2}})), Some("file")),
            (invoke("fileConsent/invoke", json!({"context": {"file": 3}})), None),
        ] {
            assert_eq!(answered(&said, activity.clone()).as_deref(), expected, "{activity}");
        }
    }

    #[test]
    fn feedback_is_about_the_newest_message_that_asks_for_it() {
        let said = |id: &str, channel_data: Value| {
            json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}],
                "metadata": {FIELDS: {"channelData": channel_data}}})
        };
        let history = json!([
            said("a", json!({"feedbackLoopEnabled": true})),
            said("b", json!({"feedbackLoop": {"type": "custom"}})),
            said("c", json!({"feedbackLoopEnabled": false})),
        ]);
        let task =
            json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "history": history});
        let task = Task::read(task).unwrap();
        for (action, expected) in [("feedback", Some("b")), ("other", None)] {
            let value = json!({"actionName": action, "actionValue": {"reaction": "like"}});
            let activity =
                json!({"type": "invoke", "name": "message/submitAction", "value": value});
            let activity = Activity::read(activity).unwrap();
            let answered = Click::of(&activity).unwrap().answered(&task, "t.1");
            assert_eq!(answered.as_deref(), expected);
        }
    }
}
