//! Answers with the status 200 that are no answers: those of gateways, and those that a provider withholds.

use purple_agent::policy::PolicyError;
use serde_json::{Value, json};

use crate::{
    llm::{FIXTURES, ask, done, made},
    model::{Answer, Model, Protocol, well},
};

/// Returns an answer with this text and this end in the form of each provider.
fn answer(protocol: Protocol, text: Option<&str>, end: &str) -> Value {
    let texts = |kind: &str| -> Value {
        text.into_iter().map(|text| json!({"type": kind, "text": text})).collect()
    };
    match protocol {
        Protocol::OpenAi => {
            json!({"choices": [{"message": {"content": text}, "finish_reason": end}]})
        }
        Protocol::Responses => json!({
            "incomplete_details": {"reason": end},
            "output": [{"type": "message", "content": texts("output_text")}],
        }),
        Protocol::Anthropic => json!({"content": texts("text"), "stop_reason": end}),
        Protocol::Gemini => {
            let mut candidate = json!({"finishReason": end});
            if text.is_some() {
                candidate["content"] = json!({"parts": texts("text")});
            }
            json!({"candidates": [candidate]})
        }
    }
}

async fn asked(protocol: Protocol, answers: Vec<Answer>) -> Result<String, PolicyError> {
    let model = Model::start(protocol, answers).await;
    let action = ask(&mut *made(&model.settings())).await;
    action.map(|action| format!("{action:?}"))
}

#[tokio::test]
async fn an_answer_of_a_gateway_is_asked_for_again() {
    let down = json!({"error": {"code": 502, "message": "the provider is down"}});
    for (protocol, _) in FIXTURES {
        let good = well(&answer(protocol, Some("done"), "STOP"));
        for gateways in ["<html>Bad gateway</html>", "", "{\"id\": 1", "{}", &down.to_string()] {
            let answers = vec![(200, Vec::new(), gateways.to_owned()), good.clone()];
            let action = asked(protocol, answers).await.unwrap();
            assert_eq!(action, format!("{:?}", done().unwrap()), "{protocol:?} {gateways}");
        }
        let error = asked(protocol, vec![well(&down); 5]).await.unwrap_err();
        let expected =
            "is not valid, tried 5 times: error: expected an answer, found the provider is down";
        assert!(error.to_string().ends_with(expected), "{error}");
        let PolicyError::Model(error) = error else { panic!("{error}") };
        assert!(!error.is_the_agents());
    }
}

#[tokio::test]
async fn an_answer_that_a_provider_withholds_is_a_refusal_of_the_model() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let by_end = [
        (Protocol::OpenAi, "content_filter"),
        (Protocol::Responses, "content_filter"),
        (Protocol::Anthropic, "refusal"),
        (Protocol::Gemini, "SAFETY"),
    ];
    let withheld = by_end.map(|(protocol, end)| (protocol, end, answer(protocol, None, end)));
    let blocked = (Protocol::Gemini, "PROHIBITED_CONTENT", blocked);
    for (protocol, reason, answer) in withheld.into_iter().chain([blocked]) {
        let error = asked(protocol, vec![well(&answer)]).await.unwrap_err();
        let expected = format!("the model gave no answer: its provider withheld it ({reason})");
        assert_eq!(error.to_string(), expected, "{protocol:?}");
        let PolicyError::Model(error) = error else { panic!("{error}") };
        assert!(error.is_the_agents(), "{protocol:?}");
    }
    for (protocol, end) in by_end {
        let action = asked(protocol, vec![well(&answer(protocol, Some("done"), end))]).await;
        assert_eq!(action.unwrap(), format!("{:?}", done().unwrap()), "{protocol:?}");
    }
}
