//! Describes one path and method.

use bridge_protocol::{
    a2a::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksResponse, Operation,
        SendMessageResponse, StreamResponse, Task, TaskPushNotificationConfig,
    },
    dialect::{Call, Version},
    wire::{Schemas, Wire as _},
};
use serde_json::{Value, json};

use super::components;
use crate::server::rest::query;

/// A group of paths below an agent's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathGroup {
    Plain,
    /// The paths of 1.0 with a tenant before them.
    Tenant,
    Older,
}

impl PathGroup {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Tenant, Self::Older];

    fn version(self) -> Version {
        match self {
            Self::Plain | Self::Tenant => Version::V1_0,
            Self::Older => Version::V0_3,
        }
    }

    pub(super) fn path(self, operation: Operation) -> String {
        let path = self.version().path(operation);
        match self {
            Self::Tenant => format!("/{{tenant}}{path}"),
            Self::Plain | Self::Older => path.into_owned(),
        }
    }

    fn tag(self) -> &'static str {
        match self {
            Self::Plain => "A2A 1.0",
            Self::Tenant => "A2A 1.0, with a tenant in the path",
            Self::Older => "A2A 0.3",
        }
    }
}

/// Returns the tags of all groups.
pub(super) fn tags() -> impl Iterator<Item = &'static str> {
    PathGroup::ALL.into_iter().map(PathGroup::tag)
}

/// Describes an operation with one of its methods in a group of paths.
pub(super) fn of(
    operation: Operation,
    method: &str,
    group: PathGroup,
    schemas: &mut Schemas,
) -> Value {
    let mut described = json!({
        "operationId": format!("{operation}.{method}.{}", match group {
            PathGroup::Plain => "1.0",
            PathGroup::Tenant => "tenant",
            PathGroup::Older => "0.3",
        }),
        "tags": [group.tag()],
        "summary": summary(operation),
        "parameters": parameters(operation, method, group),
        "responses": components::responses(group.version(), operation.streams(), answer(operation, schemas)),
    });
    if let Some(body) = body(operation, schemas) {
        described["requestBody"] = components::body(group.version(), operation, body);
    }
    described
}

/// Returns a short description of an operation (specification 3.1).
fn summary(operation: Operation) -> &'static str {
    match operation {
        Operation::SendMessage => "Send a message; the response is a task or a message",
        Operation::SendStreamingMessage => "Send a message; the response is a stream",
        Operation::GetTask => "Get the current state of a task",
        Operation::ListTasks => "List the caller's tasks, newest status first",
        Operation::CancelTask => "Cancel a task",
        Operation::SubscribeToTask => "Get a running task, and then its further events",
        Operation::CreateTaskPushNotificationConfig => "Register a webhook for a task's events",
        Operation::GetTaskPushNotificationConfig => "Get a webhook of a task",
        Operation::ListTaskPushNotificationConfigs => "List the webhooks of a task",
        Operation::DeleteTaskPushNotificationConfig => "Remove a webhook of a task",
        Operation::GetExtendedAgentCard => "Get the card for authenticated callers",
    }
}

fn parameters(operation: Operation, method: &str, group: PathGroup) -> Value {
    let mut all = vec![components::version(&[group.version()]), components::extensions()];
    if group == PathGroup::Tenant {
        all.push(components::tenant());
    }
    all.extend(operation.path_fields().enumerate().map(components::in_path));
    if operation.streams() {
        all.push(components::last_event());
    }
    if method != "POST" {
        let docs = docs(operation);
        let in_query = query::parameters(operation).iter();
        let in_query = in_query.filter(|one| !(group == PathGroup::Tenant && one.name == "tenant"));
        all.extend(
            in_query
                .map(|one| components::in_query(operation, one, &docs[one.name]["description"])),
        );
    }
    all.into()
}

/// Returns the schemas of the fields of an operation's request.
fn docs(operation: Operation) -> Value {
    let mut schemas = Schemas::new();
    let reference = Call::describe_params(operation, &mut schemas);
    let name = reference["$ref"].as_str().and_then(|way| way.rsplit('/').next());
    schemas.into_value()[name.unwrap_or_default()]["properties"].take()
}

/// Returns the schema of a request's body, if it has one.
fn body(operation: Operation, schemas: &mut Schemas) -> Option<Value> {
    match operation {
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::CreateTaskPushNotificationConfig => {
            Some(Call::describe_params(operation, schemas))
        }
        // Its only required field is in the path.
        Operation::CancelTask => {
            let metadata = docs(operation)["metadata"].take();
            // A reference, because generators of clients make one type of each schema that has no name.
            Some(schemas.named(
                "CancelTaskBody",
                || json!({"type": "object", "properties": {"metadata": metadata}}),
            ))
        }
        _ => None,
    }
}

fn answer(operation: Operation, schemas: &mut Schemas) -> Value {
    match operation {
        Operation::SendMessage => SendMessageResponse::describe(schemas),
        Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            StreamResponse::describe(schemas)
        }
        Operation::GetTask | Operation::CancelTask => Task::describe(schemas),
        Operation::ListTasks => ListTasksResponse::describe(schemas),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            TaskPushNotificationConfig::describe(schemas)
        }
        Operation::ListTaskPushNotificationConfigs => {
            ListTaskPushNotificationConfigsResponse::describe(schemas)
        }
        Operation::DeleteTaskPushNotificationConfig => json!({"type": "object"}),
        Operation::GetExtendedAgentCard => AgentCard::describe(schemas),
    }
}
