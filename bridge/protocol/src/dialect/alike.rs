//! The parts that 0.1 and 0.3 have in common except for unknown fields: requests about a task, states,
//! statuses and skills.

use alloc::vec::Vec;

use serde_json::Value;

use super::{
    Losses,
    object::{Object, ObjectDialect},
};
use crate::{
    a2a::{
        AgentSkill, CancelTaskRequest, GetTaskRequest, Message, Metadata, SecurityRequirement,
        SubscribeToTaskRequest, TaskState, TaskStatus,
    },
    wire::{FieldError, Fields},
};

impl ObjectDialect {
    /// Reads the parameters of `tasks/get`.
    pub(crate) fn get_task_to_v1(&self, value: Value) -> Result<GetTaskRequest, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(GetTaskRequest {
            tenant: fields.text("tenant"),
            id: fields.required("id")?,
            history_length: fields.optional("historyLength")?,
            extra: self.extra(fields, &["tenant"], Metadata::new()),
        })
    }

    /// Writes the parameters of `tasks/get`.
    pub(crate) fn get_task_from_v1(
        &'static self,
        request: &GetTaskRequest,
        losses: &mut Losses,
    ) -> Value {
        let mut object = self.of_task(&request.id, request.tenant.as_deref(), losses);
        object.some("historyLength", request.history_length);
        object.finish(&request.extra, &["historyLength"], losses)
    }

    /// Reads the parameters of `tasks/cancel`.
    pub(crate) fn cancel_task_to_v1(&self, value: Value) -> Result<CancelTaskRequest, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(CancelTaskRequest {
            tenant: fields.text("tenant"),
            id: fields.required("id")?,
            metadata: fields.optional("metadata")?,
            extra: self.extra(fields, &["tenant"], Metadata::new()),
        })
    }

    /// Writes the parameters of `tasks/cancel`.
    pub(crate) fn cancel_task_from_v1(
        &'static self,
        request: &CancelTaskRequest,
        losses: &mut Losses,
    ) -> Value {
        let mut object = self.of_task(&request.id, request.tenant.as_deref(), losses);
        object.some("metadata", request.metadata.clone());
        object.finish(&request.extra, &[], losses)
    }

    /// Reads the parameters of `tasks/resubscribe`.
    pub(crate) fn subscribe_to_v1(
        &self,
        value: Value,
    ) -> Result<SubscribeToTaskRequest, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(SubscribeToTaskRequest {
            tenant: fields.text("tenant"),
            id: fields.required("id")?,
            extra: self.extra(fields, &["tenant"], Metadata::new()),
        })
    }

    /// Writes the parameters of `tasks/resubscribe`.
    pub(crate) fn subscribe_from_v1(
        &'static self,
        request: &SubscribeToTaskRequest,
        losses: &mut Losses,
    ) -> Value {
        let object = self.of_task(&request.id, request.tenant.as_deref(), losses);
        object.finish(&request.extra, &[], losses)
    }

    /// Returns the common part of most parameters: the task, and the tenant, which older generations do not have.
    pub(crate) fn of_task(
        &'static self,
        id: &str,
        tenant: Option<&str>,
        losses: &mut Losses,
    ) -> Object {
        let mut object = self.object();
        object.put("id", id);
        object.skipped("tenant", tenant, losses);
        object
    }

    /// Reads a status. Each generation has its own readers for state and message.
    pub(crate) fn status_to_v1(
        &self,
        value: Value,
        state: impl Fn(&str) -> TaskState,
        message: impl Fn(Value) -> Result<Message, FieldError>,
    ) -> Result<TaskStatus, FieldError> {
        let mut fields = Fields::of(value)?;
        Ok(TaskStatus {
            state: fields.required_by("state", |value| state_to_v1(&value, &state))?,
            message: fields.optional_by("message", message)?,
            timestamp: fields.optional("timestamp")?,
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
    value: &Value,
    named: impl Fn(&str) -> TaskState,
) -> Result<TaskState, FieldError> {
    const STATE: &str = "a task state such as working";
    let name = value.as_str();
    name.map(named).ok_or_else(|| FieldError::unexpected(STATE, value))
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
