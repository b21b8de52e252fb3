//! The parts that 0.1 and 0.3 have in common except for unknown fields: requests about a task, states,
//! statuses and skills.

use alloc::vec::Vec;
use core::mem;

use serde_json::Value;

use super::{
    Call, Losses,
    call::{read_v1_0, write_v1_0},
    object::{CONFIG_ID, Object, ObjectDialect},
};
use crate::{
    a2a::{AgentSkill, Message, Metadata, Operation, SecurityRequirement, TaskState, TaskStatus},
    wire::{FieldError, Fields},
};

/// The names of parameters before 1.0, and their names in 1.0, where these differ.
fn older_names(operation: Operation) -> &'static [(&'static str, &'static str)] {
    match operation {
        Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig => {
            &[("id", "taskId"), (CONFIG_ID, "id")]
        }
        Operation::ListTaskPushNotificationConfigs => &[("id", "taskId")],
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => &[],
    }
}

impl ObjectDialect {
    /// Reads the parameters of an operation on a task or on one of its push notification settings. They are those of 1.0 under
    /// other names; the tenant and pages, which are new in 1.0, are accepted if they are valid.
    pub(crate) fn params_to_v1(
        &self,
        operation: Operation,
        params: Value,
    ) -> Result<Call, FieldError> {
        let mut fields = Fields::of(params)?;
        let mut params = Metadata::new();
        let names = older_names(operation);
        for (older, name) in names {
            params.extend(fields.take(older).map(|value| ((*name).into(), value)));
        }
        for key in ["tenant", "pageToken"] {
            params.extend(fields.text(key).map(|text| (key.into(), text.into())));
        }
        let page_size = fields.get("pageSize").and_then(Value::as_i64);
        if page_size.is_some_and(|size| i32::try_from(size).is_ok()) {
            params.extend(fields.take("pageSize").map(|size| ("pageSize".into(), size)));
        }
        // Without an id the task's first setting is meant.
        if operation == Operation::GetTaskPushNotificationConfig
            && params.get("id").is_none_or(Value::is_null)
        {
            params.insert("id".into(), "".into());
        }
        let new = ["tenant", "taskId", "pageSize", "pageToken"];
        params.extend(self.extra(fields, &new, Metadata::new()));
        read_v1_0(operation, params.into()).map_err(|error| {
            let renamed = names.iter().find(|(_, name)| *name == error.path);
            match renamed {
                Some((older, _)) => FieldError { path: (*older).into(), ..error },
                None => error,
            }
        })
    }

    /// Writes the parameters that [`ObjectDialect::params_to_v1`] reads.
    pub(crate) fn params_from_v1(&'static self, call: &Call, losses: &mut Losses) -> Value {
        let mut call = call.clone();
        let extra = mem::take(call.extra_mut());
        let mut object = self.object_from(write_v1_0(&call));
        let names = older_names(call.operation());
        for (older, name) in names.iter().rev() {
            let value = object.take(name);
            object.some(older, value);
        }
        if call.operation() == Operation::GetTaskPushNotificationConfig {
            // An empty id means the task's first setting; these versions leave it out.
            let setting = object.take(CONFIG_ID).filter(|id| *id != "");
            object.some(CONFIG_ID, setting);
        }
        for key in self.new_params {
            let value = object.take(key);
            object.skipped(key, value, losses);
        }
        let meant: Vec<&str> = names.iter().map(|(older, _)| *older).collect();
        object.finish(&extra, &meant, losses)
    }

    /// Reads a status. Each generation has its own readers for state and message.
    pub(crate) fn status_to_v1(
        &self,
        value: Value,
        state: impl Fn(Value) -> Result<TaskState, FieldError>,
        message: impl Fn(Value) -> Result<Message, FieldError>,
    ) -> Result<TaskStatus, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(TaskStatus {
            state: fields.required_by("state", state)?,
            message: fields.optional_by("message", message)?,
            timestamp: fields.filled("timestamp")?,
            extra: self.extra(fields, &[], Metadata::new()),
        })
    }

    /// Writes a status.
    pub(crate) fn status_from_v1(
        &'static self,
        status: &TaskStatus,
        state: impl FnOnce(&TaskState, &mut Losses) -> Value,
        message: impl FnOnce(&Message, &mut Losses) -> Value,
        losses: &mut Losses,
    ) -> Value {
        let mut object = self.object();
        object.put("state", state(&status.state, losses));
        let status_message = status.message.as_ref();
        let status_message =
            status_message.map(|one| losses.inside("message", |losses| message(one, losses)));
        object.some("message", status_message);
        object.some("timestamp", status.timestamp.clone());
        object.finish(&status.extra, &[], losses)
    }

    /// Reads a skill. `security` reads its security requirements from the fields, if the generation has them.
    pub(crate) fn skill_to_v1(
        &self,
        value: Value,
        requirements: impl FnOnce(&mut Fields) -> Result<Vec<SecurityRequirement>, FieldError>,
    ) -> Result<AgentSkill, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(AgentSkill {
            id: fields.required("id")?,
            name: fields.optional("name")?,
            description: fields.optional("description")?,
            tags: fields.optional("tags")?,
            examples: fields.optional("examples")?,
            input_modes: fields.optional("inputModes")?,
            output_modes: fields.optional("outputModes")?,
            security_requirements: requirements(&mut fields)?,
            extra: self.extra(fields, &["securityRequirements"], Metadata::new()),
        })
    }

    /// Writes a skill except for its security requirements.
    pub(crate) fn skill_from_v1(&'static self, skill: &AgentSkill) -> Object {
        let mut object = self.object();
        object.put("id", skill.id.as_str());
        object.put("name", skill.name.as_str());
        object.put("description", skill.description.as_str());
        object.put("tags", skill.tags.clone());
        object.list("examples", skill.examples.clone());
        object.list("inputModes", skill.input_modes.clone());
        object.list("outputModes", skill.output_modes.clone());
        object
    }
}

/// Reads a state by its name.
pub(crate) fn state_to_v1(
    value: Value,
    named: impl Fn(&str) -> TaskState,
) -> Result<TaskState, FieldError> {
    match value {
        Value::String(name) => Ok(named(&name)),
        other => Err(FieldError::unexpected("a task state such as working", &other)),
    }
}

/// Returns the state with this name. `unknown` is `Unspecified` in 1.0.
pub(crate) fn named_state(name: &str) -> TaskState {
    match name {
        "unknown" => TaskState::Unspecified,
        "submitted" => TaskState::Submitted,
        "working" => TaskState::Working,
        "completed" => TaskState::Completed,
        "failed" => TaskState::Failed,
        "canceled" => TaskState::Canceled,
        "input-required" => TaskState::InputRequired,
        "rejected" => TaskState::Rejected,
        "auth-required" => TaskState::AuthRequired,
        other => TaskState::from(other),
    }
}

/// Returns the name of a state since 0.2; an unknown state keeps its own.
pub(crate) fn state_name(state: &TaskState) -> &str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
        TaskState::Unknown(name) => name,
    }
}
