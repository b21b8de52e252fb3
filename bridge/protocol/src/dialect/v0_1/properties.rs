//! Property tests for 0.1: every loss is reported, and nothing panics.

use proptest::prelude::*;
use serde_json::Value;

use super::{card, event, request, task};
use crate::{
    a2a::{AgentInterface, SendMessageRequest, StreamResponse},
    arbitrary::{self, v0_1},
    dialect::{Call, Generation, Losses, Version, card::read},
    wire::{Wire, to_value},
};

const V: Version = Version::V0_1;

proptest! {
    #![proptest_config(arbitrary::config())]

    #[test]
    fn a_stream_item_comes_back(json in v0_1::stream_item()) {
        let item = event::stream_item_to_v1(json.clone()).unwrap();
        let back = event::stream_item_from_v1(&item, &mut Losses::new());
        prop_assert_eq!(back, json);
    }

    #[test]
    fn a_task_comes_back(json in v0_1::task()) {
        let task = task::to_v1(json.clone()).unwrap();
        prop_assert_eq!(task::from_v1(&task, &mut Losses::new()), json);
    }

    #[test]
    fn parameters_come_back((method, json) in v0_1::call()) {
        let operation = V.operation(method).unwrap();
        let call = V.params_to_v1(operation, json.clone(), "given").unwrap();
        prop_assert_eq!(V.method(call.operation()), Some(method));
        let mut back = V.params_from_v1(&call, &mut Losses::new());
        if json.get("message").is_some_and(|message| message.get("messageId").is_none()) {
            let given = back["message"].as_object_mut().unwrap().remove("messageId");
            prop_assert_eq!(given, Some(Value::from("given")));
        }
        prop_assert_eq!(back, json);
    }

    #[test]
    fn a_card_comes_back(json in v0_1::card()) {
        let (agent, generation) = read(json.clone()).unwrap();
        prop_assert_eq!(generation, Generation::V0_1);
        prop_assert_eq!(card::from_v1(&agent, &mut Losses::new()), json);
    }

    #[test]
    fn converted_calls_are_valid_json_of_1_0(json in v0_1::stream_item()) {
        let item = event::stream_item_to_v1(json).unwrap();
        let read = StreamResponse::read(to_value(&item)).unwrap();
        prop_assert_eq!(read, item);
    }

    #[test]
    fn a_stream_item_of_1_0_comes_back(item in arbitrary::v1_0::stream_item()) {
        let mut losses = Losses::new();
        let json = event::stream_item_from_v1(&item, &mut losses);
        let back = event::stream_item_to_v1(json).unwrap();
        if losses.is_empty() {
            prop_assert_eq!(back, item);
        }
    }

    #[test]
    fn a_task_of_1_0_comes_back(item in arbitrary::v1_0::task()) {
        let mut losses = Losses::new();
        let back = task::to_v1(task::from_v1(&item, &mut losses)).unwrap();
        if losses.is_empty() {
            prop_assert_eq!(back, item);
        }
    }

    #[test]
    fn a_call_of_1_0_comes_back(call in arbitrary::call::call()) {
        let mut losses = Losses::new();
        let json = V.params_from_v1(&call, &mut losses);
        let back = V.params_to_v1(call.operation(), json, "given").unwrap();
        if losses.is_empty() {
            prop_assert_eq!(back, without_empty_configuration(call));
        }
    }

    #[test]
    fn a_card_of_1_0_comes_back(agent in arbitrary::card::card()) {
        let main = AgentInterface::new("http://a/", "JSONRPC", "0.1");
        card::from_v1(&agent, &mut Losses::new());
        let mut agent = agent;
        agent.supported_interfaces = [main].into();
        let mut losses = Losses::new();
        let back = card::to_v1(card::from_v1(&agent, &mut losses)).unwrap();
        if losses.is_empty() {
            prop_assert_eq!(back, agent);
        }
    }

    #[test]
    fn no_broken_document_makes_a_reader_panic(
        document in v0_1::stream_item(),
        (method, params) in v0_1::call(),
        place in any::<prop::sample::Index>(),
        broken in arbitrary::json(),
    ) {
        let document = arbitrary::broken(document, &place, &broken);
        let params = arbitrary::broken(params, &place, &broken);
        let mut losses = Losses::new();
        if let Ok(item) = event::stream_item_to_v1(document.clone()) {
            event::stream_item_from_v1(&item, &mut losses);
        }
        if let Ok(result) = event::send_result_to_v1(document) {
            event::send_result_from_v1(&result, &mut losses);
        }
        if let Ok(call) = V.params_to_v1(V.operation(method).unwrap(), params, "given") {
            V.params_from_v1(&call, &mut losses);
        }
        if let Ok(agent) = card::to_v1(broken.clone()) {
            card::from_v1(&agent, &mut losses);
        }
        let _ = request::send_to_v1(broken, "given");
    }
}

/// Removes an empty configuration, which has no meaning and is not written.
fn without_empty_configuration(call: Call) -> Call {
    let trim = |mut request: SendMessageRequest| {
        let says = |configuration: &_| to_value(configuration) != serde_json::json!({});
        request.configuration = request.configuration.filter(says);
        request
    };
    match call {
        Call::SendMessage(request) => Call::SendMessage(trim(request)),
        Call::SendStreamingMessage(request) => Call::SendStreamingMessage(trim(request)),
        other @ (Call::GetTask(_)
        | Call::ListTasks(_)
        | Call::CancelTask(_)
        | Call::SubscribeToTask(_)
        | Call::CreateTaskPushNotificationConfig(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_)) => other,
    }
}
