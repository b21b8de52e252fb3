//! Property tests: every value survives protocol buffers, except for those that they cannot represent.

use alloc::string::String;
use core::fmt::Debug;

use proptest::prelude::*;
use prost::Message;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Proto, v1};
use crate::{
    a2a::{ListTasksResponse, Operation, StreamResponse, Task},
    arbitrary,
    dialect::{Losses, Version},
    wire::{Wire, to_value},
};

/// Names of fields that no type has, and of some that may occur in free-form data.
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
        let json = carried(Version::V1_0.params_from_v1(&call, &mut Losses::new()));
        let call = Version::V1_0.params_to_v1(call.operation(), json.clone(), "m").unwrap();
        let bytes = super::write_call(&call);
        let tenant = super::tenant(call.operation(), &bytes).filter(|tenant| !tenant.is_empty());
        prop_assert_eq!(tenant.as_deref(), json["tenant"].as_str());
        let read = super::read_call(call.operation(), &bytes);
        prop_assert_eq!(read, Ok(call));
    }

    #[test]
    fn a_list_comes_back(tasks in proptest::collection::vec(arbitrary::v1_0::task(), 0..2)) {
        comes_back::<_, v1::ListTasksResponse>(&ListTasksResponse {
            tasks,
            next_page_token: String::from("next"),
            page_size: 2,
            total_size: 3,
            extra: Map::new(),
        });
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = super::read::<v1::StreamResponse, StreamResponse>(&bytes);
        for operation in Operation::ALL {
            let _ = super::read_call(operation, &bytes);
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
    let read = super::read::<P, T>(&super::write::<P, T>(&value));
    assert_eq!(read, Ok(value));
}

/// Returns the JSON without the values that protocol buffers cannot represent.
pub(super) fn carried(json: Value) -> Value {
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

/// Returns the first flow of a scheme, in the specification's order of the current flows.
fn first(flows: Map<String, Value>) -> Value {
    let order = ["authorizationCode", "clientCredentials", "deviceCode"];
    let first = order.iter().find(|name| flows.contains_key(**name));
    let is_first = |name: &str| !order.contains(&name) || Some(&name) == first;
    Value::Object(flows.into_iter().filter(|(name, _)| is_first(name)).collect())
}
