//! Property tests: every loss is reported, and nothing panics.

use proptest::prelude::*;
use serde_json::Value;

use super::{Losses, Version, card, v0_3};
use crate::{
    a2a::{
        AgentCard, ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse,
        Operation, SendMessageRequest, StreamResponse, Task, TaskPushNotificationConfig,
    },
    activity::Activity,
    arbitrary,
    jsonrpc::{Request, Response, RpcError},
    wire::{Wire, read_in_one_pass, to_value},
};
use alloc::{
    format,
    string::{String, ToString as _},
};

proptest! {
    #![proptest_config(arbitrary::config())]

    #[test]
    fn a_stream_item_of_0_3_comes_back(json in arbitrary::v0_3::stream_item()) {
        let item = Version::V0_3.stream_item_to_v1(json.clone()).unwrap();
        let back = Version::V0_3.stream_item_from_v1(&item, &mut Losses::new());
        prop_assert_eq!(back, json);
    }

    #[test]
    fn parameters_of_0_3_come_back((method, json) in arbitrary::v0_3::call()) {
        let operation = Version::V0_3.operation(method).unwrap();
        let call = Version::V0_3.params_to_v1(operation, json.clone(), "m").unwrap();
        prop_assert_eq!(Version::V0_3.method(call.operation()), Some(method));
        let back = Version::V0_3.params_from_v1(&call, &mut Losses::new());
        prop_assert_eq!(back, json);
    }

    #[test]
    fn converted_calls_of_0_3_are_valid_json_of_1_0(json in arbitrary::v0_3::stream_item()) {
        let item = Version::V0_3.stream_item_to_v1(json).unwrap();
        let read = StreamResponse::read(to_value(&item)).unwrap();
        prop_assert_eq!(read, item);
    }

    #[test]
    fn a_stream_item_of_1_0_comes_back(item in arbitrary::v1_0::stream_item()) {
        let mut losses = Losses::new();
        let json = Version::V0_3.stream_item_from_v1(&item, &mut losses);
        let back = Version::V0_3.stream_item_to_v1(json).unwrap();
        if losses.is_empty() {
            prop_assert_eq!(back, item);
        }
    }

    #[test]
    fn a_call_of_1_0_comes_back(call in arbitrary::call::call()) {
        for version in [Version::V0_3, Version::V1_0] {
            let mut losses = Losses::new();
            let json = version.params_from_v1(&call, &mut losses);
            let back = version.params_to_v1(call.operation(), json, "m").unwrap();
            if losses.is_empty() {
                prop_assert_eq!(&back, &call);
            }
        }
    }

    #[test]
    fn a_card_of_1_0_comes_back(agent in arbitrary::card::card()) {
        let (read, _) = card::read(to_value(&agent)).unwrap();
        prop_assert_eq!(&read, &agent);
        let mut losses = Losses::new();
        let json = card::to_v0_3(&agent, &mut losses);
        let (back, _) = card::read(json).unwrap();
        if losses.is_empty() {
            prop_assert_eq!(&back, &agent);
        }
        // After a first loss nothing more is lost.
        let (again, _) = card::read(card::to_v0_3(&back, &mut Losses::new())).unwrap();
        prop_assert_eq!(again, back);
    }

    #[test]
    fn a_card_of_0_3_comes_back(agent in arbitrary::card::card(), more in arbitrary::v0_3::more()) {
        let written = card::to_v0_3(&agent, &mut Losses::new());
        let mut json = arbitrary::assemble(written, more);
        let (agent, _) = card::read(json.clone()).unwrap();
        let mut back = card::to_v0_3(&agent, &mut Losses::new());
        // The main interface may be repeated there or not.
        for card in [&mut json, &mut back] {
            card.as_object_mut().unwrap().remove("additionalInterfaces");
        }
        prop_assert_eq!(back, json);
    }

    #[test]
    fn a_combined_card_says_in_both_forms_what_each_says_alone(agent in arbitrary::card::card()) {
        let combined = card::combined(&agent);
        let pure: AgentCard = Wire::read(to_value(&agent)).unwrap();
        let mut read: AgentCard = Wire::read(combined.clone()).unwrap();
        read.extra.retain(|key, _| agent.extra.contains_key(key));
        for (skill, alone) in read.skills.iter_mut().zip(&agent.skills) {
            skill.extra.retain(|key, _| alone.extra.contains_key(key));
        }
        prop_assert_eq!(read, pure);
        if agent.supported_interfaces.iter().any(v0_3::interface::is_reachable) {
            prop_assert!(combined["url"].is_string());
        }
    }

    #[test]
    fn text_is_read_in_one_pass_as_its_value_is(
        call in arbitrary::call::call(),
        item in arbitrary::v1_0::stream_item(),
        agent in arbitrary::card::card(),
        place in any::<prop::sample::Index>(),
        other in arbitrary::json(),
    ) {
        let call = Version::V1_0.params_from_v1(&call, &mut Losses::new());
        for document in [call, to_value(&item), to_value(&agent), other.clone()] {
            read_both_ways(&document)?;
            read_both_ways(&snake(&document))?;
            read_both_ways(&arbitrary::broken(document, &place, &other))?;
        }
    }

    #[test]
    fn no_json_makes_a_reader_panic(json in arbitrary::json()) {
        read_as_everything(&json);
    }

    #[test]
    fn no_broken_document_makes_a_reader_panic(
        document in arbitrary::v0_3::stream_item(),
        place in any::<prop::sample::Index>(),
        broken in arbitrary::json(),
    ) {
        read_as_everything(&arbitrary::broken(document, &place, &broken));
    }
}

/// Does the same with the names of protocol buffers.
fn snake(json: &Value) -> Value {
    let name = |name: &String| -> String {
        let letters = name.chars().map(|letter| match letter.is_ascii_uppercase() {
            true => format!("_{}", letter.to_ascii_lowercase()),
            false => letter.to_string(),
        });
        letters.collect()
    };
    match json {
        Value::Array(items) => items.iter().map(snake).collect(),
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (name(key), snake(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn read_both_ways(json: &Value) -> Result<(), TestCaseError> {
    fn both<T: Wire + PartialEq + core::fmt::Debug>(json: &Value) -> Result<(), TestCaseError> {
        let text = json.to_string();
        let read = read_in_one_pass::<T>(text.as_bytes());
        prop_assert_eq!(read, T::read(json.clone()).ok(), "{}", text);
        Ok(())
    }
    both::<SendMessageRequest>(json)?;
    both::<ListTasksRequest>(json)?;
    both::<TaskPushNotificationConfig>(json)?;
    both::<Task>(json)?;
    both::<StreamResponse>(json)?;
    both::<AgentCard>(json)?;
    both::<Activity>(json)
}

/// Reads `json` as every type, and writes the values that could be read.
fn read_as_everything(json: &Value) {
    for version in Version::ALL {
        let mut losses = Losses::new();
        for operation in Operation::ALL {
            if let Ok(call) = version.params_to_v1(operation, json.clone(), "m") {
                version.params_from_v1(&call, &mut losses);
            }
        }
        if let Ok(item) = version.stream_item_to_v1(json.clone()) {
            version.stream_item_from_v1(&item, &mut losses);
        }
        if let Ok(result) = version.send_result_to_v1(json.clone()) {
            version.send_result_from_v1(&result, &mut losses);
        }
        if let Ok(task) = version.task_to_v1(json.clone()) {
            version.task_from_v1(&task, &mut losses);
        }
        if let Ok(configs) = version.push_configs_to_v1(json.clone()) {
            version.push_configs_from_v1(&configs, &mut losses);
        }
    }
    if let Ok((agent, _)) = card::read(json.clone()) {
        card::to_v0_1(&agent, &mut Losses::new());
        card::to_v0_3(&agent, &mut Losses::new());
        card::combined(&agent);
    }
    let _ = v0_3::security::scheme_to_v1(json.clone());
    let _ = Request::from_value(json.clone());
    let _ = Response::read(json.clone());
    let _ = RpcError::read(json.clone()).map(|error| error.fields().len());
    let _ = Task::read(json.clone());
    let _ = ListTasksResponse::read(json.clone());
    let _ = ListTaskPushNotificationConfigsResponse::read(json.clone());
}
