//! Calls and their answers. Requests name tasks and push notification settings as resources: `tasks/TASK` and
//! `tasks/TASK/pushNotificationConfigs/ID`.

use alloc::{format, string::String, vec::Vec};

use serde_json::{Value, json};

use crate::{
    a2a::{Metadata, Operation},
    dialect::{
        Call, Losses, Version,
        object::CONFIG_ID,
        v0_3::{Form, proto, request},
    },
    protobuf::{Messages, ReadError},
    wire::{FieldError, Wire as _},
};

const V: Version = Version::V0_3;

/// The calls and answers of 0.3.
impl Messages {
    /// Reads the parameters of an operation, for servers.
    ///
    /// # Errors
    /// If the bytes are not the parameters of the operation, or a field of them is missing or invalid.
    pub fn read_call(&self, operation: Operation, bytes: &[u8]) -> Result<Call, ReadError> {
        Ok(call(operation, self.read(self.params(V, operation), bytes)?)?)
    }

    /// Writes the parameters of a call, for clients. [`super::method`] returns whether 0.3 has a method for it.
    pub fn write_call(&self, call: &Call, losses: &mut Losses) -> Vec<u8> {
        self.write(self.params(V, call.operation()), &written(call, losses))
    }

    /// Reads an answer, or one item of a stream, in ProtoJSON; a card in the form that 0.3 has otherwise.
    ///
    /// # Errors
    /// If the bytes are not an answer of the operation.
    pub fn read_answer(&self, operation: Operation, bytes: &[u8]) -> Result<Value, ReadError> {
        let value = self.read(self.answer(V, operation), bytes)?;
        Ok(match operation {
            Operation::GetExtendedAgentCard => proto::card::read(value),
            _ => value,
        })
    }

    /// Writes an answer, or one item of a stream, from ProtoJSON. That of a deletion is empty.
    pub fn write_answer(&self, operation: Operation, value: &Value) -> Vec<u8> {
        self.write(self.answer(V, operation), value)
    }
}

/// Reads a call. Calls that send or create something have their own readers. The other parameters are those of JSON-RPC, except
/// that the ids are parts of a resource name.
fn call(operation: Operation, value: Value) -> Result<Call, FieldError> {
    let name = match operation {
        Operation::SendMessage => {
            return request::send_to_v1(value, Form::Proto).map(Call::SendMessage);
        }
        Operation::SendStreamingMessage => {
            return request::send_to_v1(value, Form::Proto).map(Call::SendStreamingMessage);
        }
        Operation::CreateTaskPushNotificationConfig => {
            let (task, _) = resource(&value, "parent")?;
            let config = proto::create_push_to_v1(value, &task)?;
            return Ok(Call::CreateTaskPushNotificationConfig(config));
        }
        Operation::ListTasks | Operation::GetExtendedAgentCard => {
            return V.params_to_v1(operation, json!({}), "");
        }
        Operation::ListTaskPushNotificationConfigs => "parent",
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig => "name",
    };
    let (task, setting) = resource(&value, name)?;
    let mut params = Metadata::read(value)?;
    // A number is absent if it is 0.
    params.retain(|key, value| key != name && *value != 0);
    params.insert("id".into(), task.into());
    let has_setting = operation == Operation::GetTaskPushNotificationConfig
        || operation == Operation::DeleteTaskPushNotificationConfig;
    if has_setting {
        params.insert(CONFIG_ID.into(), setting.into());
    }
    V.params_to_v1(operation, params.into(), "")
}

/// Returns the ids of the task and of the setting that a resource's name contains. The latter is empty if there is none.
fn resource(value: &Value, key: &str) -> Result<(String, String), FieldError> {
    let name = value.get(key).and_then(Value::as_str).unwrap_or_default();
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
