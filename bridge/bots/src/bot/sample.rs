//! The bot `sample`, which shows single answers, conversations and streams.

use std::time::Duration;

use async_trait::async_trait;
use bridge_protocol::{
    a2a::AgentCard,
    activity::{ActivityType, EndOfConversationCode},
};
use serde_json::{Value, json};

use super::{Bot, BotError, Citation, TurnContext, card::skill};

/// The name of the value in the conversation's state that holds its messages.
const HISTORY: &str = "history";

/// The delay before each piece of a stream.
const PAUSE: Duration = Duration::from_millis(20);

/// The pieces of the sample's stream.
const CHUNKS: [&str; 6] = [
    "A task is a log ",
    "of what was said and done. ",
    "Everyone who follows it ",
    "sees the same events ",
    "in the same order ",
    "[1].",
];

/// Echoes a message and completes the task. `-multi` starts a conversation, which `end` ends with its messages as
/// the result; `-stream` is answered in pieces. Commands are not case-sensitive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample;

#[async_trait]
impl Bot for Sample {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        match turn.activity().kind {
            ActivityType::Message => answer(turn).await,
            ActivityType::EndOfConversation => {
                turn.conversation_state().await?.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn card(&self, card: AgentCard) -> AgentCard {
        AgentCard {
            description: "Shows each kind of interaction: echoes, conversations, streams.".into(),
            skills: vec![
                skill("echo", "Echo", "Repeats the message and completes the task", &["Hello"]),
                skill(
                    "multi",
                    "Conversation",
                    "Remembers each message until one says end",
                    &["-multi", "end"],
                ),
                skill("stream", "Stream", "Answers in pieces, with a citation", &["-stream"]),
            ],
            ..card
        }
    }
}

async fn answer(turn: &mut TurnContext) -> Result<(), BotError> {
    let text = turn.text().to_owned();
    let history: Option<Vec<Value>> = turn.conversation_state().await?.get(HISTORY)?;
    match (history, text.trim().to_ascii_lowercase().as_str()) {
        (Some(history), "end") => finish(turn, history).await,
        (Some(history), _) => remember(turn, history, &text).await,
        (None, "-multi") => begin(turn).await,
        (None, "-stream") => stream(turn).await,
        (None, _) => complete(turn, Some(format!("You said: {text}"))).await,
    }
}

async fn begin(turn: &mut TurnContext) -> Result<(), BotError> {
    let question = "Say something, and \"end\" when you are done.";
    let history = [entry("user", turn.text()), entry("agent", question)];
    turn.conversation_state().await?.set(HISTORY, &history)?;
    turn.ask(question).await?;
    Ok(())
}

async fn remember(
    turn: &mut TurnContext,
    mut history: Vec<Value>,
    text: &str,
) -> Result<(), BotError> {
    let answer = format!("You said: {text}");
    history.extend([entry("user", text), entry("agent", &answer)]);
    turn.conversation_state().await?.set(HISTORY, &history)?;
    turn.ask(answer).await?;
    Ok(())
}

async fn finish(turn: &mut TurnContext, mut history: Vec<Value>) -> Result<(), BotError> {
    history.push(entry("user", turn.text()));
    turn.conversation_state().await?.clear();
    let result = json!({ HISTORY: history });
    let code = EndOfConversationCode::CompletedSuccessfully;
    turn.end_conversation(code, Some("All done.".into()), Some(result)).await?;
    Ok(())
}

/// Returns a message for the result: an activity without service URL and other addresses.
fn entry(role: &str, text: &str) -> Value {
    json!({"type": "message", "from": {"role": role}, "text": text})
}

async fn stream(turn: &mut TurnContext) -> Result<(), BotError> {
    let mut response = turn.streaming_response();
    response.queue_informative_update("Thinking about it.").await?;
    for chunk in CHUNKS {
        tokio::time::sleep(PAUSE).await;
        response.queue_text_chunk(chunk).await?;
    }
    response.set_citations(vec![Citation {
        title: "Agent2Agent (A2A) Protocol Specification".into(),
        content: "How agents exchange messages and tasks.".into(),
        url: Some("https://a2a-protocol.org/latest/specification/".into()),
    }]);
    response.end_stream().await?;
    complete(turn, None).await
}

async fn complete(turn: &mut TurnContext, text: Option<String>) -> Result<(), BotError> {
    let code = EndOfConversationCode::CompletedSuccessfully;
    turn.end_conversation(code, text, None).await?;
    Ok(())
}
