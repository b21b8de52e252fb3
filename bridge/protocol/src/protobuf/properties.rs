//! What must hold for every value: it comes back from protocol buffers, but for what they cannot carry.

use alloc::string::String;
use core::fmt::Debug;

use proptest::prelude::*;
use prost::Message;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Proto, v1};
use crate::{
    a2a::{StreamResponse, Task},
    arbitrary,
    dialect::Call,
    wire::{Wire, to_value},
};

/// Names of fields that no type has, and of some that free-form data may have too.
const UNKNOWN: [&str; 8] = [
    "x-unknown",
    "kind",
    "final",
    "file",
    "blocking",
    "pushNotificationConfig",
    "transport",
    "stateTransitionHistory",
];

proptest! {
    #![proptest_config(arbitrary::config())]

    #[test]
    fn a_stream_item_comes_back(item in arbitrary::v1_0::stream_item()) {
        comes_back::<StreamResponse, v1::StreamResponse>(&item);
    }

    #[test]
    fn a_task_comes_back(task in arbitrary::v1_0::task()) {
        comes_back::<Task, v1::Task>(&task);
    }

    #[test]
    fn a_card_comes_back(card in arbitrary::card::card()) {
        comes_back::<_, v1::AgentCard>(&card);
    }

    #[test]
    fn a_call_comes_back(call in arbitrary::call::call()) {
        match &call {
            Call::SendMessage(request) | Call::SendStreamingMessage(request) => {
                comes_back::<_, v1::SendMessageRequest>(request);
            }
            Call::GetTask(request) => comes_back::<_, v1::GetTaskRequest>(request),
            Call::ListTasks(request) => comes_back::<_, v1::ListTasksRequest>(request),
            Call::CancelTask(request) => comes_back::<_, v1::CancelTaskRequest>(request),
            Call::SubscribeToTask(request) => comes_back::<_, v1::SubscribeToTaskRequest>(request),
            Call::CreateTaskPushNotificationConfig(config) => {
                comes_back::<_, v1::TaskPushNotificationConfig>(config);
            }
            Call::GetTaskPushNotificationConfig(request) => {
                comes_back::<_, v1::GetTaskPushNotificationConfigRequest>(request);
            }
            Call::ListTaskPushNotificationConfigs(request) => {
                comes_back::<_, v1::ListTaskPushNotificationConfigsRequest>(request);
            }
            Call::DeleteTaskPushNotificationConfig(request) => {
                comes_back::<_, v1::DeleteTaskPushNotificationConfigRequest>(request);
            }
            Call::GetExtendedAgentCard(request) => {
                comes_back::<_, v1::GetExtendedAgentCardRequest>(request);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(item) = v1::StreamResponse::decode(bytes.as_slice()) {
            let _ = StreamResponse::from_proto(item);
        }
        if let Ok(request) = v1::SendMessageRequest::decode(bytes.as_slice()) {
            let _ = crate::a2a::SendMessageRequest::from_proto(request);
        }
        super::status::error(3, "", &bytes);
    }
}

fn comes_back<T, P>(value: &T)
where
    T: Proto<P> + Wire + Serialize + PartialEq + Debug,
    P: Message + Default,
{
    let value = T::read(carried(to_value(value))).unwrap();
    let bytes = value.to_proto().encode_to_vec();
    let read = T::from_proto(P::decode(bytes.as_slice()).unwrap());
    assert_eq!(read, Ok(value));
}

/// The JSON without what protocol buffers cannot carry.
fn carried(json: Value) -> Value {
    match json {
        Value::Object(fields) => {
            let known = fields.into_iter().filter(|(key, _)| !UNKNOWN.contains(&key.as_str()));
            let fields = known.map(|(key, value)| match (key.as_str(), value) {
                ("timestamp", Value::String(_)) => (key, json!("2026-01-31T12:00:00Z")),
                ("statusTimestampAfter", _) => (key, json!("2026-01-31T12:00:00.5Z")),
                ("flows", Value::Object(flows)) => (key, carried(first(flows))),
                (_, value) => (key, carried(value)),
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(carried).collect(),
        Value::String(text) => match text.as_str() {
            "ROLE_CRITIC" => "ROLE_UNSPECIFIED".into(),
            "TASK_STATE_ASLEEP" => "TASK_STATE_UNSPECIFIED".into(),
            _ => text.into(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => json,
    }
}

/// The first flow of a scheme, in the specification's order of those in use.
fn first(flows: Map<String, Value>) -> Value {
    let order = ["authorizationCode", "clientCredentials", "deviceCode"];
    let first = order.iter().find(|name| flows.contains_key(**name));
    let is_first = |name: &str| !order.contains(&name) || Some(&name) == first;
    Value::Object(flows.into_iter().filter(|(name, _)| is_first(name)).collect())
}
