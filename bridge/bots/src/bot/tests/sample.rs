//! Tests that the bot `sample` behaves as its description says.

use bridge_protocol::a2a::Content;
use serde_json::json;

use super::*;
use crate::bot::Sample;

async fn said(texts: &[&str]) -> (Chat, Vec<String>) {
    let mut chat = Chat::with(Sample);
    for text in texts {
        chat.say(text).await.unwrap();
    }
    let log = log(&chat).await;
    (chat, log)
}

fn said_by(role: &str, text: &str) -> serde_json::Value {
    json!({"type": "message", "from": {"role": role}, "text": text})
}

#[tokio::test(start_paused = true)]
async fn anything_is_echoed_and_the_task_completed() {
    for text in ["hello", "end", "multi"] {
        let (_, log) = said(&[text]).await;
        assert_eq!(
            log,
            [format!("artifact = You said: {text} (last)").as_str(), "completed", "end of turn 1"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_ends_with_its_history() {
    let (chat, log) = said(&["-MULTI", "one", "-stream", "END"]).await;
    let expected = [
        "input-required: Say something, and \"end\" when you are done.",
        "end of turn 1",
        "user: one",
        "working",
        "input-required: You said: one",
        "end of turn 2",
        "user: -stream",
        "working",
        "input-required: You said: -stream",
        "end of turn 3",
        "user: END",
        "working",
        "artifact =  (last)",
        "artifact = All done. (last)",
        "completed",
        "end of turn 4",
    ];
    assert_eq!(log, expected);
    let task = chat.task().await.unwrap();
    let result = &task.artifacts[0];
    assert_eq!(result.name.as_deref(), Some("Result"));
    assert_eq!(
        result.parts[0].content,
        Content::Data(json!({"history": [
            said_by("user", "-MULTI"),
            said_by("agent", "Say something, and \"end\" when you are done."),
            said_by("user", "one"),
            said_by("agent", "You said: one"),
            said_by("user", "-stream"),
            said_by("agent", "You said: -stream"),
            said_by("user", "END"),
        ]}))
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_pieces_and_a_citation() {
    let (chat, log) = said(&["-stream"]).await;
    let expected = [
        "working: Thinking about it.",
        "artifact = A task is a log ",
        "artifact + of what was said and done. ",
        "artifact + Everyone who follows it ",
        "artifact + sees the same events ",
        "artifact + in the same order ",
        "artifact + [1].",
        "artifact + \n[1] Agent2Agent (A2A) Protocol Specification (https://a2a-protocol.org/latest/specification/) (last)",
        "completed",
        "end of turn 1",
    ];
    assert_eq!(log, expected);
    let task = chat.task().await.unwrap();
    let parts = &task.artifacts[0].parts;
    assert_eq!(
        text(&task.artifacts[0]),
        "A task is a log of what was said and done. Everyone who follows it sees the same events in the \
         same order [1].\n[1] Agent2Agent (A2A) Protocol Specification \
         (https://a2a-protocol.org/latest/specification/)"
    );
    let Content::Data(citation) = &parts.last().unwrap().content else {
        panic!("expected a citation, found {parts:?}");
    };
    assert_eq!(citation["type"], "https://schema.org/Message");
    assert_eq!(citation["citation"][0]["position"], 1);
    assert_eq!(
        citation["citation"][0]["appearance"]["url"],
        "https://a2a-protocol.org/latest/specification/"
    );
}

#[tokio::test(start_paused = true)]
async fn a_canceled_conversation_is_forgotten() {
    let (chat, _) = said(&["-multi", "one"]).await;
    let reference = chat.reference().unwrap();
    let records = async || {
        let store = chat.turns().store();
        store.records(&reference.caller, "bot-state", "bot").await.unwrap().len()
    };
    assert_eq!(records().await, 1);
    chat.cancel().await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(records().await, 0);
}
