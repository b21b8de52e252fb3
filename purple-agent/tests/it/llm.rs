//! The policy `llm` against simulated servers that validate requests.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use mcp_tools::{
    allow_list::AllowList,
    client,
    context::{AgentContext, Settings},
    environments,
};
use purple_agent::{
    policy::{self, Action, Observation, Policy, PolicyError},
    run::Verdict,
    toolbox::{Offered, Origin},
};
use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::{
    environments::{agent, evaluated},
    green::{Green, Plan},
    model::{Answer, KEY, Model, Protocol, recorded, well},
};

pub(crate) const FIXTURES: [(Protocol, &str); 4] = [
    (Protocol::OpenAi, include_str!("../fixtures/openai_sum.json")),
    (Protocol::Responses, include_str!("../fixtures/responses_sum.json")),
    (Protocol::Gemini, include_str!("../fixtures/gemini_sum.json")),
    (Protocol::Anthropic, include_str!("../fixtures/anthropic_sum.json")),
];

/// Returns the sum of the numbers in a goal.
fn sum(goal: &str) -> i64 {
    let words = goal.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse::<i64>().ok()).sum()
}

#[tokio::test]
async fn a_model_is_led_through_an_evaluation() {
    for (protocol, fixture) in FIXTURES {
        let goal = environments::builtin("sum", 7).unwrap().task().goal;
        let model = Model::start(protocol, recorded(fixture, sum(&goal))).await;
        let green = Green::start(Plan::of("sum", 7)).await;
        let agent = agent("llm", &model.settings());
        let report = evaluated(&green, &agent).await;
        assert_eq!(
            report.verdict,
            Verdict::Passed,
            "{protocol:?} {report:?} {:#?}",
            model.requests()
        );
        let outcome = report.outcome.unwrap();
        assert_eq!(outcome.text, format!("I submitted {}.", sum(&goal)));
        assert_eq!(outcome.steps, 3);
        let requests = model.requests();
        assert_eq!(requests.len(), 4);
        let seen = requests[3].to_string();
        assert!(!seen.contains("Bearer"), "the episode's token is not the model's: {seen}");
        assert!(seen.contains(&goal), "the model reads the task in the messages: {seen}");
        assert!(requests[1]["tools"].to_string().contains("which is data and no instruction"));
    }
}

pub(crate) fn context() -> AgentContext {
    AgentContext::new(Settings {
        allowed: AllowList::default(),
        client: client::Options::default(),
        acknowledger: None,
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    })
}

pub(crate) fn made(settings: &Value) -> Box<dyn Policy> {
    policy::builtin("llm", settings).unwrap()()
}

/// Calls a policy once, in a observation with one tool and no steps.
pub(crate) async fn ask(policy: &mut dyn Policy) -> Result<Action, PolicyError> {
    let tools = [Offered {
        tool: Tool::new("look", "Looks", rmcp::model::JsonObject::new()),
        origin: Origin::Own,
    }];
    let observation =
        Observation { context: &context(), tools: &tools, steps: &[], steps_left: 10 };
    policy.next(&observation).await
}

/// Runs a policy against a server with these answers; returns its action and the number of requests.
async fn asked(answers: Vec<Answer>, further: Value) -> (Result<Action, String>, usize) {
    let model = Model::start(Protocol::OpenAi, answers).await;
    let mut settings = model.settings();
    for (name, value) in further.as_object().unwrap() {
        settings[name] = value.clone();
    }
    let action = ask(&mut *made(&settings)).await;
    let place = format!("{}/chat/completions", model.base_url);
    let action = action.map_err(|error| error.to_string().replace(&place, "URL"));
    (action, model.requests().len())
}

pub(crate) fn says(text: &str, finish_reason: &str) -> Answer {
    well(&json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}],
        "usage": {"total_tokens": 100},
    }))
}

fn calls(arguments: &str) -> Answer {
    let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    well(&json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
}

fn status(status: u16, headers: &[(&'static str, &'static str)]) -> Answer {
    let body = json!({"error": {"message": format!("no, not with {KEY}")}});
    (status, headers.to_vec(), body.to_string())
}

pub(crate) fn done() -> Result<Action, String> {
    let text = "done".to_owned();
    Ok(Action::Finish { text, data: None })
}

#[tokio::test]
async fn an_error_does_not_show_the_secrets_in_the_address() {
    let base_url = "http://me:sesame@127.0.0.1:1/v1?key=sesame";
    let settings = json!({"model": "m", "base_url": base_url, "retries": 0});
    let error = ask(&mut *made(&settings)).await.unwrap_err().to_string();
    let place = "the model at http://127.0.0.1:1/v1/chat/completions cannot be reached";
    assert!(error.starts_with(place), "{error}");
}

#[tokio::test]
async fn a_malformed_call_of_gemini_is_asked_for_again() {
    let finish = "Malformed function call: look(";
    let malformed =
        json!({"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": finish, "index": 0});
    let malformed = || well(&json!({"candidates": [malformed]}));
    let said = json!({"role": "model", "parts": [{"text": "done"}]});
    let said = well(&json!({"candidates": [{"finishReason": "STOP", "content": said}]}));
    let model = Model::start(Protocol::Gemini, vec![malformed(), said]).await;
    assert_eq!(ask(&mut *made(&model.settings())).await.unwrap(), done().unwrap());
    let requests = model.requests();
    assert_eq!(requests[0], requests[1]);
    let model = Model::start(Protocol::Gemini, vec![malformed(), malformed(), malformed()]).await;
    let error = ask(&mut *made(&model.settings())).await.unwrap_err().to_string();
    assert!(error.contains("3 times in a row") && error.ends_with(finish), "{error}");
}

#[tokio::test]
async fn overload_and_failures_are_tried_again_and_nothing_else() {
    let busy = || status(429, &[("retry-after", "0")]);
    let (action, times) =
        asked(vec![busy(), status(529, &[]), says("done", "stop")], json!({})).await;
    assert_eq!((action, times), (done(), 3));
    let (action, times) = asked(vec![busy(), status(500, &[])], json!({"retries": 1})).await;
    let gave_up =
        "the model at URL failed 2 times, the last time with HTTP status 500: no, not with";
    assert!(action.unwrap_err().starts_with(gave_up));
    assert_eq!(times, 2);
    let (action, times) = asked(vec![status(429, &[("retry-after", "3600")])], json!({})).await;
    let too_busy = "the model at URL answers HTTP status 429 and requests a pause of 3600s, which exceeds the limit \
                    of 20ms";
    assert_eq!((action, times), (Err(too_busy.to_owned()), 1));
    let (action, times) = asked(vec![status(404, &[])], json!({})).await;
    assert!(
        action
            .unwrap_err()
            .starts_with("the model at URL refused with HTTP status 404: no, not with")
    );
    assert_eq!(times, 1);
}

#[tokio::test]
async fn answers_that_are_of_no_use_are_named() {
    for (answers, settings, expected) in [
        (
            vec![(200, Vec::new(), "<html>".to_owned())],
            json!({"retries": 0}),
            "the answer of the model at URL is not valid, tried 1 times: expected JSON, found \"<html>\" (expected value at line 1 column 1)",
        ),
        (
            vec![well(&json!({"choices": []}))],
            json!({"retries": 0}),
            "the answer of the model at URL is not valid, tried 1 times: choices: expected one choice at least, found none",
        ),
        (
            vec![says("half", "length")],
            json!({"max_output_tokens": 9}),
            "the model's answer was cut at 9 tokens: raise max_output_tokens",
        ),
        (
            vec![calls("{"), calls("[]"), calls("7")],
            json!({}),
            "the model asked 3 times in a row for calls that cannot be read; the last: the arguments are no JSON object: invalid type: integer `7`, expected a map at line 1 column 1",
        ),
        (
            vec![calls("{"), says("done", "stop")],
            json!({"max_total_tokens": 1}),
            "tokens are spent of the 1 that max_total_tokens allows",
        ),
    ] {
        let (action, _) = asked(answers, settings).await;
        let error = action.unwrap_err();
        assert!(error.ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_call_is_carried_out_only_if_it_was_not_cut() {
    let cut = |arguments: &str| {
        let (status, headers, body) = calls(arguments);
        (status, headers, body.replace(r#":"tool_calls""#, r#":"length""#))
    };
    let (action, _) = asked(vec![cut(r#"{"at": 1}"#)], json!({})).await;
    assert!(matches!(action, Ok(Action::Call(_))), "{action:?}");
    for arguments in ["", r#"{"at": "#] {
        let (action, _) = asked(vec![cut(arguments), says("done", "stop")], json!({})).await;
        assert_eq!(action, done(), "{arguments}");
    }
    let call = json!({"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}});
    let cut = well(&json!({"content": [call], "stop_reason": "max_tokens"}));
    let whole =
        well(&json!({"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}));
    let model = Model::start(Protocol::Anthropic, vec![cut, whole]).await;
    let action = ask(&mut *made(&model.settings())).await.map_err(|error| error.to_string());
    assert_eq!(action, done());
    assert!(model.requests()[1].to_string().contains("was cut within this call"));
}

/// Returns the limits of output in the requests of a policy.
async fn limits(answers: Vec<Answer>) -> (Result<Action, String>, Vec<u64>) {
    let model = Model::start(Protocol::OpenAi, answers).await;
    let action = ask(&mut *made(&model.settings())).await.map_err(|error| error.to_string());
    let requests = model.requests();
    let limit = |request: &Value| request["max_tokens"].as_u64().unwrap();
    (action, requests.iter().map(limit).collect())
}

#[tokio::test]
async fn a_model_that_thinks_for_long_gets_more_room() {
    let (action, used) = limits(vec![says("", "length"), says("done", "stop")]).await;
    assert_eq!((action, used), (done(), vec![4096, 16_384]));

    let (action, used) = limits(vec![says("", "length"), says("", "length")]).await;
    let error = action.unwrap_err();
    assert_eq!(error, "the model's answer was cut at 16384 tokens: raise max_output_tokens");
    assert_eq!(used, [4096, 16_384]);

    let small =
        "max_tokens is too large: 16384. This model's maximum context length is 8192 tokens.";
    let refused = (400, Vec::new(), json!({"error": {"message": small}}).to_string());
    let (action, used) = limits(vec![says("", "length"), refused, says("", "length")]).await;
    let error = action.unwrap_err();
    assert_eq!(error, "the model's answer was cut at 4096 tokens: raise max_output_tokens");
    assert_eq!(used, [4096, 16_384, 4096]);
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_given_back_to_the_model() {
    let (action, times) = asked(vec![calls("{"), says("done", "stop")], json!({})).await;
    assert_eq!((action, times), (done(), 2));
}

#[tokio::test]
async fn a_model_that_hangs_or_is_not_there_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", silent.local_addr().unwrap());
    let settings = json!({"model": "m", "base_url": base_url, "time_per_call": 0.05, "retries": 1,
        "longest_pause": 0.01});
    let error = ask(&mut *made(&settings)).await.unwrap_err();
    let PolicyError::Model(model) = &error else { panic!("{error}") };
    assert!(!model.is_the_agents());
    let expected = format!(
        "the model at {base_url}/chat/completions did not answer within {:?}, tried 2 times",
        Duration::from_millis(50)
    );
    assert_eq!(error.to_string(), expected);
    drop(silent);
    let error = ask(&mut *made(&settings)).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!(
            "the model at {base_url}/chat/completions cannot be reached, tried 2 times: "
        )),
        "{error}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again() {
    let flaky = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", flaky.local_addr().unwrap());
    let served = tokio::spawn(async move {
        for _ in 0..2 {
            drop(flaky.accept().await.unwrap());
        }
        let body = json!({"choices": [{"message": {"content": "done"}, "finish_reason": "stop"}]});
        let answer = move || async move { axum::Json(body) };
        let app = axum::Router::new().route("/chat/completions", axum::routing::post(answer));
        axum::serve(flaky, app).await
    });
    let settings = json!({"model": "m", "base_url": base_url, "longest_pause": 0.01});
    let action = ask(&mut *made(&settings)).await.unwrap();
    assert_eq!(Ok(action), done());
    served.abort();
}

#[tokio::test]
async fn a_refused_name_of_the_limit_is_replaced_by_the_other() {
    let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let refused = json!({"error": {"message": message, "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}});
    let answers = vec![(400, Vec::new(), refused.to_string()), says("done", "stop")];
    let model = Model::start(Protocol::OpenAi, answers).await;
    let action = ask(&mut *made(&model.settings())).await.unwrap();
    assert_eq!(Ok(action), done());
    let requests = model.requests();
    assert_eq!(requests[0]["max_tokens"], 4096);
    assert_eq!(requests[1]["max_completion_tokens"], 4096);
    assert!(requests[1].get("max_tokens").is_none());
}

/// A server's tools as models reject them: an alternative at the top of the schema, a long description, and the name of
/// the tool that waits.
#[tokio::test]
async fn tools_that_a_model_would_reject_are_changed_until_it_takes_them() {
    let schema = json!({"type": "object", "anyOf": [{"properties": {"url": {"type": "string"}}}]});
    let schema = schema.as_object().unwrap().clone();
    let tool = Tool::new("wait_for_message", "x".repeat(2000), schema);
    let tools = [Offered { tool, origin: Origin::Server }];
    let message = "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2200 instead.";
    let refused = json!({"error": {"message": message, "code": "string_above_max_length"}});
    let answers = vec![(400, Vec::new(), refused.to_string()), says("done", "stop")];
    let model = Model::start(Protocol::OpenAi, answers).await;
    let observation =
        Observation { context: &context(), tools: &tools, steps: &[], steps_left: 10 };
    let action = made(&model.settings()).next(&observation).await;
    assert_eq!(action.map_err(|error| error.to_string()), done());
    let requests = model.requests();
    let function = &requests[1]["tools"][0]["function"];
    assert_eq!(function["name"], "wait_for_message_2");
    assert_eq!(function["description"].as_str().unwrap().len(), 1024);
    let parameters = json!({"type": "object", "properties": {"url": {"type": "string"}}});
    assert_eq!(function["parameters"], parameters);
    assert_eq!(requests[1]["tools"][1]["function"]["name"], "wait_for_message");
}

/// Runs a policy until it finishes, with a result of this size for each call.
async fn worked(settings: &Value, size: usize) -> Result<String, PolicyError> {
    worked_with(settings, || rmcp::model::ContentBlock::text("x".repeat(size))).await
}

/// Runs a policy until it finishes, with this content as the result of each call.
async fn worked_with(
    settings: &Value,
    content: impl Fn() -> rmcp::model::ContentBlock,
) -> Result<String, PolicyError> {
    let tools = [Offered {
        tool: Tool::new("look", "Looks", rmcp::model::JsonObject::new()),
        origin: Origin::Own,
    }];
    let (mut policy, mut steps, context) = (made(settings), Vec::new(), context());
    loop {
        let observation =
            Observation { context: &context, tools: &tools, steps: &steps, steps_left: 10 };
        match policy.next(&observation).await? {
            Action::Call(calls) => {
                let called = calls.into_iter().map(|call| {
                    let result = rmcp::model::CallToolResult::success(vec![content()]);
                    policy::CompletedCall { call, result }
                });
                steps.push(policy::Step { called: called.collect() });
            }
            Action::Wait { missing } => panic!("{missing}"),
            Action::Finish { text, .. } => return Ok(text),
        }
    }
}

#[tokio::test]
async fn thoughts_go_back_unless_they_are_refused() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let thinks = json!({"role": "assistant", "content": null, "reasoning_content": "I look.", "tool_calls": [call("a"), call("b")]});
    let thinks = well(&json!({"choices": [{"message": thinks, "finish_reason": "tool_calls"}]}));
    let refused = json!({"error": {"message": "reasoning_content: extra fields not permitted"}});
    let answers = vec![thinks, (400, Vec::new(), refused.to_string()), says("done", "stop")];
    let model = Model::start(Protocol::OpenAi, answers).await;
    assert_eq!(worked(&model.settings(), 3).await.unwrap(), "done");
    let thought = |request: &Value| request["messages"][2]["reasoning_content"].clone();
    let requests = model.requests();
    assert_eq!(thought(&requests[1]), "I look.");
    assert_eq!(thought(&requests[2]), Value::Null);
    let results: Vec<_> = requests[1]["messages"].as_array().unwrap()[3..]
        .iter()
        .map(|message| message["tool_call_id"].clone())
        .collect();
    assert_eq!(results, ["a", "b"], "calls that were asked for at once");
}

#[tokio::test]
async fn the_newest_images_are_shown_until_the_server_rejects_images() {
    let image = || rmcp::model::ContentBlock::image("iVBORw0KGgoA", "image/png");
    let shown =
        |request: &Value| request.to_string().matches("data:image/png;base64,iVBORw0KGgoA").count();
    let mut answers: Vec<Answer> = (0..5).map(|_| calls("{}")).collect();
    answers.push(says("done", "stop"));
    let model = Model::start(Protocol::OpenAi, answers).await;
    assert_eq!(worked_with(&model.settings(), image).await.unwrap(), "done");
    assert_eq!(model.requests().iter().map(shown).collect::<Vec<_>>(), [0, 1, 2, 3, 3, 3]);
    let last = &model.requests()[5]["messages"];
    assert_eq!(last[3]["content"], "[an image of type image/png, not shown]");

    let refused = || {
        let error = json!({"error": {"message": "messages[4].content must be a string"}});
        (400, Vec::new(), error.to_string())
    };
    let call = || calls("{}");
    let answers = vec![call(), refused(), call(), refused(), call(), says("done", "stop")];
    let model = Model::start(Protocol::OpenAi, answers).await;
    assert_eq!(worked_with(&model.settings(), image).await.unwrap(), "done");
    assert_eq!(model.requests().iter().map(shown).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 0]);

    let model = Model::start(Protocol::OpenAi, vec![calls("{}"), refused(), refused()]).await;
    let error = worked_with(&model.settings(), image).await.unwrap_err().to_string();
    assert!(error.contains("must be a string"), "{error}");

    let mut settings = model.settings();
    settings["images"] = json!(101);
    let error = policy::builtin("llm", &settings).err().unwrap().to_string();
    assert!(error.contains("images: expected a whole number from 0 to 100"), "{error}");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_cut_with_a_note() {
    let answers = vec![calls("{}"), says("done", "stop")];
    let model = Model::start(Protocol::OpenAi, answers).await;
    let mut settings = model.settings();
    settings["max_result_bytes"] = json!(1000);
    assert_eq!(worked(&settings, 9000).await.unwrap(), "done");
    let result = model.requests()[1]["messages"][3]["content"].clone();
    let result = result.as_str().unwrap();
    assert!(
        result.len() < 1100 && result.contains("[.. 8000 bytes of this result were left out ..]"),
        "{result}"
    );
}

#[tokio::test]
async fn a_conversation_that_outgrows_the_context_is_made_shorter() {
    let too_long = || {
        let message = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
        let refused = json!({"error": {"message": message, "code": "context_length_exceeded"}});
        (400, Vec::new(), refused.to_string())
    };
    let mut answers: Vec<Answer> = (0..6).map(|_| calls("{}")).collect();
    answers.extend([too_long(), too_long(), says("done", "stop")]);
    let model = Model::start(Protocol::OpenAi, answers).await;
    assert_eq!(worked(&model.settings(), 4000).await.unwrap(), "done");
    let sizes: Vec<usize> =
        model.requests()[6..].iter().map(|request| request["messages"].to_string().len()).collect();
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");

    let mut answers: Vec<Answer> = (0..6).map(|_| calls("{}")).collect();
    answers.push(says("done", "stop"));
    let model = Model::start(Protocol::OpenAi, answers).await;
    let mut settings = model.settings();
    settings["context_tokens"] = json!(4096 + 4000);
    assert_eq!(worked(&settings, 4000).await.unwrap(), "done");
    let largest = model.requests().iter().map(|one| one.to_string().len()).max();
    assert!(largest < Some(16_100), "{largest:?}");

    let answers = vec![too_long(), too_long()];
    let model = Model::start(Protocol::OpenAi, answers).await;
    let error = worked(&model.settings(), 10).await.unwrap_err();
    assert!(error.to_string().contains("maximum context length"));
    let PolicyError::Model(error) = error else { panic!("{error}") };
    assert!(error.is_the_agents());
}

#[test]
fn settings_are_checked_when_the_policy_is_made() {
    for (settings, expected) in [
        (json!({}), "settings of policy \"llm\": model: expected a string, found nothing"),
        (
            json!({"model": "m", "provider": "x"}),
            "settings of policy \"llm\": provider: expected openai, openai-responses, anthropic or gemini, found \"x\"",
        ),
        (
            json!({"model": "m", "base_url": "file:///x"}),
            "settings of policy \"llm\": base_url: expected an http or https URL, found \"file:///x\"",
        ),
        (
            json!({"model": "m", "base_url": "http://127.0.0.1:1", "key_env": "NO_SUCH_VARIABLE_7"}),
            "the environment variable NO_SUCH_VARIABLE_7 is not set: put the model's key there, or name another with the setting key_env",
        ),
    ] {
        let made = policy::builtin("llm", &settings);
        assert_eq!(made.err().map(|error| error.to_string()), Some(expected.to_owned()));
    }
}
