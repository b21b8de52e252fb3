//! Tests the effects of bots on their tasks, in virtual time.

mod ending;
mod proactive;
mod remembering;
mod sample;
mod signing_in;
mod streaming;

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::{
    a2a::{Artifact, Part, TaskState},
    activity::Activity,
};
use futures_util::future::BoxFuture;

use super::{BUILTINS, Bot, BotError, TurnContext, builtin, card, testing::Chat};
use crate::{
    caller::Caller,
    store::{Event, Head},
};

/// A bot that is a function.
struct FnBot<F>(F);

#[async_trait]
impl<F> Bot for FnBot<F>
where
    F: for<'t> Fn(&'t mut TurnContext) -> BoxFuture<'t, Result<(), BotError>>,
    F: Send + Sync + 'static,
{
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        (self.0)(turn).await
    }
}

/// Returns the head of a new task, which is in no store.
pub(super) fn head() -> Head {
    Head {
        task: "t".into(),
        owner: Caller::anonymous(),
        agent: "a".into(),
        context_id: "c".into(),
        client_id: None,
        seq: 1,
        state: TaskState::Submitted,
        status_time: "2026-01-01T00:00:00Z".parse().unwrap(),
        last_turn: 0,
        turns: Vec::new(),
        traceparent: None,
    }
}

/// Returns a bot that calls this function for every activity.
fn fn_bot<F>(what: F) -> FnBot<F>
where
    F: for<'t> Fn(&'t mut TurnContext) -> BoxFuture<'t, Result<(), BotError>>,
{
    FnBot(what)
}

/// Returns a summary of the last task's log, one event a line, from the start of the first turn.
async fn log(chat: &Chat) -> Vec<String> {
    let task = chat.reference().unwrap();
    let store = chat.turns().store();
    let events = store.read(&task.caller, &task.task, 0, usize::MAX).await.unwrap();
    let lines = events.iter().filter_map(|stored| line(&stored.event));
    lines.skip(2).collect()
}

fn line(event: &Event) -> Option<String> {
    match event {
        Event::Created(_) | Event::TurnQueued { .. } | Event::TurnStarted { .. } => None,
        // Later events have the same content for the task's followers.
        Event::Said(_) => None,
        // A stream shows the message.
        Event::Metadata { metadata, .. } if metadata.is_empty() => None,
        Event::TurnEnded { turn } => Some(format!("end of turn {turn}")),
        Event::Message(message) => Some(format!("user: {}", message.text())),
        Event::Status { status, .. } => Some(match &status.message {
            Some(message) => format!("{}: {}", short(&status.state), message.text()),
            None => short(&status.state),
        }),
        Event::Artifact { artifact, append, last_chunk, .. } => {
            let sign = if *append { "+" } else { "=" };
            let last = if *last_chunk { " (last)" } else { "" };
            Some(format!("artifact {sign} {}{last}", text(artifact)))
        }
        Event::Metadata { metadata, .. } => {
            let of = |name| metadata["urn:activity:event"][name].as_str().unwrap_or_default();
            Some(format!("{} {} {}", of("type"), of("id"), of("text")))
        }
    }
}

fn short(state: &TaskState) -> String {
    let name = state.to_string();
    name.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-")
}

/// Returns the text of an artifact, each part of which is a piece.
fn text(artifact: &Artifact) -> String {
    artifact.parts.iter().filter_map(Part::as_text).collect()
}

#[tokio::test(start_paused = true)]
async fn every_builtin_has_a_name_and_a_card() {
    for (name, _) in BUILTINS {
        let bot = builtin(name).unwrap();
        let card = bot.card(card::plain(name));
        assert_eq!(card.name, name);
        assert!(!card.description.is_empty() && !card.skills.is_empty(), "{name}");
    }
    assert!(builtin("other").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_bot_gets_its_channel_and_service_url() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            let activity = serde_json::to_value(turn.activity())?;
            let of = |pointer| activity.pointer(pointer).cloned();
            let is_task = of("/channelData/id") == of("/conversation/id");
            let told = ["/type", "/channelId", "/from/id", "/recipient/id", "/text"];
            let told = told.map(|pointer| of(pointer).unwrap_or_default());
            turn.send_text(format!("{} {is_task}", serde_json::to_string(&told)?)).await?;
            Ok(())
        })
    });
    let told = Chat::with(bot).ask("hi").await.unwrap();
    assert_eq!(told, r#"["message","a2a","unknown","bot","hi"] true"#);
}

#[tokio::test(start_paused = true)]
async fn the_first_contact_is_sent_on_request() {
    struct Greeter;

    #[async_trait]
    impl Bot for Greeter {
        async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
            let kind = turn.activity().kind.to_string();
            let text = format!("{kind} {}", turn.text());
            turn.ask(text).await?;
            Ok(())
        }

        fn wants_conversation_update(&self) -> bool {
            true
        }
    }

    let mut chat = Chat::with(Greeter);
    chat.say("one").await.unwrap();
    chat.say("two").await.unwrap();
    let expected = [
        "input-required: message one",
        "end of turn 1",
        "user: two",
        "working",
        "input-required: message two",
        "end of turn 2",
    ];
    assert_eq!(log(&chat).await, expected);
}

#[tokio::test(start_paused = true)]
async fn activities_are_updated_and_deleted_by_id() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            let id = turn.send_text("three apples").await?;
            let update = Activity { id: Some(id.clone()), ..Activity::message("four apples") };
            turn.update_activity(update).await?;
            turn.delete_activity(id).await?;
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    let task = chat.say("count").await.unwrap();
    let id = format!("{}.1.1", task.id);
    let expected = [
        format!("messageUpdate {id} four apples"),
        format!("messageDelete {id} "),
        "input-required".to_owned(),
        "end of turn 1".to_owned(),
    ];
    assert_eq!(log(&chat).await, expected);
    assert_eq!(task.status.message, None);
}
