//! The policy `llm` as an assistant, which has its own instructions and gets its user's messages as they are.

use jiff::Timestamp;
use mcp_tools::{connection::ConnectionDetails, context::AgentContext};
use purple_agent::policy::{self, Action, Observation, PolicyError};
use serde_json::{Value, json};

use crate::{
    llm::{context, done, made, says},
    model::{Model, Protocol},
};

/// Returns the first action of an assistant.
async fn assisted(settings: &Value, context: &AgentContext) -> Result<Action, PolicyError> {
    let observation = Observation { context, tools: &[], steps: &[], steps_left: 10 };
    made(settings).next(&observation).await
}

#[tokio::test]
async fn an_assistant_has_its_own_instructions_and_hears_its_user_word_for_word() {
    let prompt = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(prompt.path(), "You help.").unwrap();
    let model = Model::start(Protocol::OpenAi, vec![says("done", "stop")]).await;
    let mut settings = model.settings();
    settings["system_file"] = json!(prompt.path());
    let context = context();
    let message = json!({"messageId": "1", "parts": [{"text": "Is there a place?"}]});
    let inbox = context.incoming_messages();
    inbox.receive("user", message, Timestamp::UNIX_EPOCH);
    let action = assisted(&settings, &context).await;
    assert_eq!(action.map_err(|error| error.to_string()), done());
    let told = json!([
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Is there a place?"},
    ]);
    assert_eq!(model.requests()[0]["messages"], told);

    let model = Model::start(Protocol::OpenAi, vec![says("done", "stop")]).await;
    settings["base_url"] = model.settings()["base_url"].clone();
    let parts = json!([{"text": "And here?"}, {"raw": "iVBORw0KGgoA", "mediaType": "image/png"}]);
    inbox.receive("user", json!({"messageId": "2", "parts": parts}), Timestamp::UNIX_EPOCH);
    assisted(&settings, &context).await.unwrap();
    let content = json!([
        {"type": "text", "text": "Is there a place?\nAnd here?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoA"}},
    ]);
    assert_eq!(model.requests()[0]["messages"][1]["content"], content);

    let details = ConnectionDetails::http("tools", "http://127.0.0.1:1/mcp".parse().unwrap());
    context.set_mcp_connection_details(details);
    let action = assisted(&settings, &context).await.unwrap();
    assert!(matches!(action, Action::Call(calls) if calls[0].name == "connect_to_mcp_server"));

    settings["system_file"] = json!("/nowhere/prompt.md");
    let error = assisted(&settings, &context).await.unwrap_err().to_string();
    let expected = "the instructions in /nowhere/prompt.md (system_file) cannot be read: ";
    assert!(error.starts_with(expected), "{error}");
}

#[tokio::test]
async fn an_assistant_waits_for_words() {
    let prompt = tempfile::NamedTempFile::new().unwrap();
    let model = Model::start(Protocol::OpenAi, vec![says("done", "stop")]).await;
    let mut settings = model.settings();
    settings["system_file"] = json!(prompt.path());
    let context = context();
    let message = json!({"messageId": "1", "parts": [{"data": {"question": "Is there a place?"}}]});
    context.incoming_messages().receive("user", message, Timestamp::UNIX_EPOCH);
    let action = assisted(&settings, &context).await.unwrap();
    assert_eq!(action, Action::Wait { missing: "a request, in words".to_owned() });
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn images_that_make_a_request_too_large_are_removed() {
    let prompt = tempfile::NamedTempFile::new().unwrap();
    let refused = (413, Vec::new(), "request_too_large".to_owned());
    let model = Model::start(Protocol::OpenAi, vec![refused, says("done", "stop")]).await;
    let mut settings = model.settings();
    settings["system_file"] = json!(prompt.path());
    let context = context();
    let parts = json!([{"text": "What is it?"}, {"raw": "iVBORw0KGgoA", "mediaType": "image/png"}]);
    let message = json!({"messageId": "1", "parts": parts});
    context.incoming_messages().receive("user", message, Timestamp::UNIX_EPOCH);
    let action = assisted(&settings, &context).await;
    assert_eq!(action.map_err(|error| error.to_string()), done());
    let told = "What is it?\n[an image of type image/png, not shown]";
    assert_eq!(model.requests()[1]["messages"][1]["content"], told);
}

#[tokio::test]
async fn an_assistant_whose_server_refuses_it_ends_with_the_reason() {
    let prompt = tempfile::NamedTempFile::new().unwrap();
    let model = Model::start(Protocol::OpenAi, vec![says("done", "stop")]).await;
    let mut settings = model.settings();
    settings["system_file"] = json!(prompt.path());
    let context = context();
    let details = ConnectionDetails::http("tools", "http://127.0.0.1:1/mcp".parse().unwrap());
    context.set_mcp_connection_details(details);
    let (mut policy, mut steps) = (made(&settings), Vec::new());
    let observation = Observation { context: &context, tools: &[], steps: &steps, steps_left: 10 };
    let Action::Call(calls) = policy.next(&observation).await.unwrap() else {
        panic!("an assistant connects first");
    };
    let refused = rmcp::model::ContentBlock::text("only allowed at localhost");
    let result = rmcp::model::CallToolResult::error(vec![refused]);
    let called =
        calls.into_iter().map(|call| policy::CompletedCall { call, result: result.clone() });
    steps.push(policy::Step { called: called.collect() });
    let observation = Observation { context: &context, tools: &[], steps: &steps, steps_left: 9 };
    let error = policy.next(&observation).await.unwrap_err().to_string();
    assert_eq!(error, "its MCP server cannot be used: only allowed at localhost");
    assert!(model.requests().is_empty());
}
