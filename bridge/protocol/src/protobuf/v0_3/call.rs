//! Calls and their answers. Requests name tasks and push notification settings as resources: `tasks/TASK` and
//! `tasks/TASK/pushNotificationConfigs/ID`.

use alloc::{format, string::String, vec::Vec};

use serde_json::{Value, json};

use super::Messages;
use crate::{
    a2a::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Operation,
        SubscribeToTaskRequest,
    },
    dialect::{
        Call, Losses,
        v0_3::{Form, proto, request},
    },
    protobuf::ReadError,
    wire::{FieldError, Wire as _},
};

impl Messages {
    /// Reads the parameters of an operation, for servers.
    pub fn read_call(&self, operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
        Ok(call(operation, self.read(params(operation), bytes)?)?)
    }

    /// Writes the parameters of a call, for clients. [`super::method`] returns whether 0.3 has a method for it.
    pub fn write_call(&self, call: &Call, losses: &mut Losses) -> Vec<u8> {
        self.write(params(call.operation()), &written(call, losses))
    }

    /// Reads an answer, or one item of a stream, in ProtoJSON; a card in the form that 0.3 has otherwise.
    pub fn read_answer(&self, operation: Operation, bytes: &[u8]) -> Result<Value, ReadError> {
        let value = self.read(answered(operation), bytes)?;
        Ok(match operation {
            Operation::GetExtendedAgentCard => proto::card::read(value),
            _ => value,
        })
    }

    /// Writes an answer, or one item of a stream, from ProtoJSON. That of a deletion is empty.
    pub fn write_answer(&self, operation: Operation, value: &Value) -> Vec<u8> {
        self.write(answered(operation), value)
    }
}

/// Returns the name of the message with the parameters of an operation; empty if 0.3 does not have it.
pub(in crate::protobuf) fn params(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => "SendMessageRequest",
        Operation::GetTask => "GetTaskRequest",
        Operation::ListTasks => "",
        Operation::CancelTask => "CancelTaskRequest",
        Operation::SubscribeToTask => "TaskSubscriptionRequest",
        Operation::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfigRequest",
        Operation::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfigRequest",
        Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigRequest",
        Operation::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfigRequest",
        Operation::GetExtendedAgentCard => "GetAgentCardRequest",
    }
}

/// Returns the name of the message that answers an operation; empty if the answer has no fields.
pub(in crate::protobuf) fn answered(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage => "SendMessageResponse",
        Operation::SendStreamingMessage | Operation::SubscribeToTask => "StreamResponse",
        Operation::GetTask | Operation::CancelTask => "Task",
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            "TaskPushNotificationConfig"
        }
        Operation::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigResponse",
        Operation::GetExtendedAgentCard => "AgentCard",
        Operation::ListTasks | Operation::DeleteTaskPushNotificationConfig => "",
    }
}

fn call(operation: Operation, value: Value) -> Result<Call, FieldError> {
    Ok(match operation {
        Operation::SendMessage => Call::SendMessage(request::send_to_v1(value, Form::Proto)?),
        Operation::SendStreamingMessage => {
            Call::SendStreamingMessage(request::send_to_v1(value, Form::Proto)?)
        }
        Operation::GetTask => Call::GetTask(GetTaskRequest {
            history_length: number(&value, "historyLength"),
            ..GetTaskRequest::new(resource(&value, "name")?.0)
        }),
        Operation::ListTasks => Call::ListTasks(ListTasksRequest::read(value)?),
        Operation::CancelTask => {
            Call::CancelTask(CancelTaskRequest::new(resource(&value, "name")?.0))
        }
        Operation::SubscribeToTask => {
            Call::SubscribeToTask(SubscribeToTaskRequest::new(resource(&value, "name")?.0))
        }
        Operation::CreateTaskPushNotificationConfig => {
            let (task, _) = resource(&value, "parent")?;
            Call::CreateTaskPushNotificationConfig(proto::create_push_to_v1(value, &task)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            // Without an id the first setting is meant.
            let (task_id, id) = resource(&value, "name")?;
            Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest::new(
                task_id, id,
            ))
        }
        Operation::ListTaskPushNotificationConfigs => {
            Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                page_size: number(&value, "pageSize"),
                page_token: text(&value, "pageToken").map(String::from),
                ..ListTaskPushNotificationConfigsRequest::new(resource(&value, "parent")?.0)
            })
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let (task_id, id) = resource(&value, "name")?;
            Call::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest::new(
                task_id, id,
            ))
        }
        Operation::GetExtendedAgentCard => {
            Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
    })
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns a number, which is absent if it is 0.
fn number(value: &Value, key: &str) -> Option<i32> {
    let number = value.get(key).and_then(Value::as_i64)?;
    i32::try_from(number).ok().filter(|number| *number != 0)
}

/// Returns the ids of the task and of the setting that a resource's name contains. The latter is empty if there is none.
fn resource(value: &Value, key: &str) -> Result<(String, String), FieldError> {
    let name = text(value, key).unwrap_or_default();
    let mut parts = name.split('/');
    let (kind, task) = (parts.next(), parts.next().unwrap_or_default());
    if kind != Some("tasks") || task.is_empty() {
        return Err(FieldError::new("tasks/TASK", format!("{name:?}")).inside(key));
    }
    Ok((task.into(), parts.nth(1).unwrap_or_default().into()))
}

fn written(call: &Call, losses: &mut Losses) -> Value {
    proto::lose_tenant(call, losses);
    let task = |id: &str| format!("tasks/{id}");
    let setting = |task: &str, id: &str| match id {
        "" => format!("tasks/{task}"),
        id => format!("tasks/{task}/pushNotificationConfigs/{id}"),
    };
    match call {
        Call::SendMessage(send) | Call::SendStreamingMessage(send) => {
            request::send_from_v1(send, Form::Proto, losses)
        }
        Call::GetTask(get) => json!({"name": task(&get.id), "historyLength": get.history_length}),
        Call::CancelTask(cancel) => json!({"name": task(&cancel.id)}),
        Call::SubscribeToTask(subscribe) => json!({"name": task(&subscribe.id)}),
        Call::CreateTaskPushNotificationConfig(config) => {
            proto::create_push_from_v1(config, losses)
        }
        Call::GetTaskPushNotificationConfig(get) => json!({"name": setting(&get.task_id, &get.id)}),
        Call::ListTaskPushNotificationConfigs(list) => json!({
            "parent": task(&list.task_id), "pageSize": list.page_size, "pageToken": list.page_token,
        }),
        Call::DeleteTaskPushNotificationConfig(delete) => {
            json!({"name": setting(&delete.task_id, &delete.id)})
        }
        Call::ListTasks(_) | Call::GetExtendedAgentCard(_) => json!({}),
    }
}
