//! A policy that calls the tools in its settings in order.
//!
//! The settings are `steps` and `finish`. A step is `{"tool": NAME, "arguments": {..}, "on_error": ..}`, where
//! `on_error` says what follows a failed call: `continue` (the default) with the next step, `wait` for a message
//! and try again, or `finish`. `finish` is `{"text": .., "data": ..}`.
//!
//! In arguments and in `finish`, `${..}` is replaced by a value from an earlier result or message (see
//! [`placeholder`]).

mod placeholder;

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use super::{
    Action, NewPolicy, Observation, Policy, PolicyError, SettingsError, ToolCall,
    settings::Settings,
};
use placeholder::Values;

pub(super) fn new_policy(settings: &Value) -> Result<NewPolicy, SettingsError> {
    let script = Arc::new(Script::read(settings).map_err(SettingsError::of("scripted"))?);
    Ok(Arc::new(move || Box::new(Scripted { script: script.clone(), step: 0 })))
}

/// The steps and the final text of a script.
struct Script {
    steps: Vec<ScriptStep>,
    text: String,
    data: Option<Value>,
}

struct ScriptStep {
    tool: String,
    arguments: JsonObject,
    on_error: OnError,
}

/// The action after a failed call.
#[derive(Clone, Copy)]
enum OnError {
    Continue,
    Wait,
    Finish,
}

/// The policy, with the number of executed steps.
struct Scripted {
    script: Arc<Script>,
    step: usize,
}

#[async_trait]
impl Policy for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        if let Some(action) = self.after_failure(observation) {
            return Ok(action);
        }
        let script = self.script.clone();
        let values = Values::of(observation);
        let action = match script.steps.get(self.step) {
            Some(step) => step.call(&values),
            None => script.finish(&values),
        };
        self.step += 1;
        let step = self.step;
        action.map_err(|error| PolicyError::Script { step, error })
    }
}

impl Scripted {
    /// Returns the action that replaces the next step because the last call failed.
    fn after_failure(&mut self, observation: &Observation<'_>) -> Option<Action> {
        let last = observation.last().filter(|called| called.failed())?;
        let step = self.script.steps.get(self.step.checked_sub(1)?)?;
        match step.on_error {
            OnError::Continue => None,
            OnError::Wait => {
                // When the policy is called again, a message has arrived: the same step is repeated.
                self.step -= 1;
                let missing = last.text();
                Some(Action::Wait { missing })
            }
            OnError::Finish => Some(Action::finish(last.text())),
        }
    }
}

impl ScriptStep {
    fn call(&self, values: &Values<'_>) -> Result<Action, FieldError> {
        let arguments = values.fill_object(&self.arguments);
        let arguments = arguments.map_err(|error| error.inside("arguments"))?;
        Ok(Action::Call(vec![ToolCall::new(&self.tool, arguments)]))
    }

    fn read(step: &Value) -> Result<Self, FieldError> {
        let mut settings = Settings::of(step)?;
        let read = Self {
            tool: settings.required_string("tool")?,
            arguments: settings.object("arguments")?.unwrap_or_default(),
            on_error: on_error(&mut settings)?,
        };
        settings.end().map(|()| read)
    }
}

fn on_error(settings: &mut Settings) -> Result<OnError, FieldError> {
    match settings.string("on_error")?.as_deref() {
        None | Some("continue") => Ok(OnError::Continue),
        Some("wait") => Ok(OnError::Wait),
        Some("finish") => Ok(OnError::Finish),
        Some(other) => {
            let error = FieldError::new("continue, wait or finish", format!("{other:?}"));
            Err(error.inside("on_error"))
        }
    }
}

impl Script {
    fn read(value: &Value) -> Result<Self, FieldError> {
        let mut settings = Settings::of(value)?;
        let mut steps = Vec::new();
        for (index, step) in settings.list("steps")?.iter().flatten().enumerate() {
            let step = ScriptStep::read(step);
            steps.push(step.map_err(|error| error.at(index).inside("steps"))?);
        }
        let finish = settings.object("finish")?.map(Value::Object);
        settings.end()?;
        let inside = |error: FieldError| error.inside("finish");
        let mut finish = Settings::of(&finish.unwrap_or_default()).map_err(inside)?;
        let text = finish.string("text").map_err(inside)?;
        let data = finish.take("data");
        finish.end().map_err(inside)?;
        Ok(Self { steps, text: text.unwrap_or_else(|| "The script has ended.".to_owned()), data })
    }

    fn finish(&self, values: &Values<'_>) -> Result<Action, FieldError> {
        let mut finish = Map::from_iter([("text".to_owned(), Value::from(self.text.as_str()))]);
        finish.extend(self.data.clone().map(|data| ("data".to_owned(), data)));
        let mut finish = values.fill_object(&finish).map_err(|error| error.inside("finish"))?;
        let text = finish.remove("text").unwrap_or_default();
        Ok(Action::Finish { text: placeholder::text_of(&text), data: finish.remove("data") })
    }
}
