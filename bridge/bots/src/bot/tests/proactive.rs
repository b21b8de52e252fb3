//! Tests bots that send messages outside of their turns.

use std::{error::Error as _, time::Duration};

use bridge_protocol::activity::EndOfConversationCode;

use super::*;
use crate::{
    bot::{BotSettings, ContinueError, ConversationReference, Echo, Silent},
    caller::Caller,
    store::ListQuery,
};

#[tokio::test(start_paused = true)]
async fn a_conversation_is_continued_an_hour_later() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            turn.send_text("I will call back.").await?;
            let (reference, conversations) = (turn.conversation_reference(), turn.conversations());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                let call = async |turn: &mut TurnContext| {
                    let name = turn.activity().name.clone().unwrap_or_default();
                    let code = EndOfConversationCode::CompletedSuccessfully;
                    turn.end_conversation(code, Some(name), None).await?;
                    Ok(())
                };
                conversations.continue_conversation(&reference, call).await
            });
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    chat.say("hi").await.unwrap();
    let mut follower = chat.follow().unwrap();
    while let Some(stored) = follower.next().await.unwrap() {
        if line(&stored.event).as_deref() == Some("completed") {
            break;
        }
    }
    let expected = [
        "input-required: I will call back.",
        "end of turn 1",
        "artifact = ContinueConversation (last)",
        "completed",
    ];
    assert_eq!(log(&chat).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_task_keeps_its_state() {
    for (bot, expected) in [("silent", "input-required: News."), ("hanging", "working: News.")] {
        let mut chat = Chat::hosted(builtin(bot).unwrap(), BotSettings::new(bot));
        chat.begin("hi").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let news = async |turn: &mut TurnContext| {
            turn.send_text("News.").await?;
            Ok(())
        };
        let reference = chat.reference().unwrap();
        chat.conversations().continue_conversation(&reference, news).await.unwrap();
        assert_eq!(log(&chat).await.last().unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_bot_changes_nothing() {
    let mut chat = Chat::with(Echo);
    let before = chat.say("hi").await.unwrap();
    let reference = chat.reference().unwrap();
    let nothing = async |_: &mut TurnContext| Ok(());
    chat.conversations().continue_conversation(&reference, nothing).await.unwrap();
    assert_eq!(chat.task().await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_be_continued_is_refused() {
    let mut chat = Chat::with(Echo);
    chat.say("hi").await.unwrap();
    let own = chat.reference().unwrap();
    let of_another = ConversationReference { caller: Caller::new("somebody else"), ..own.clone() };
    let conversations = chat.conversations();
    let nothing = async |_: &mut TurnContext| Ok(());
    let refused = conversations.continue_conversation(&of_another, nothing).await;
    assert!(matches!(refused, Err(ContinueError::NotFound { task }) if task == own.task));
    chat.cancel().await.unwrap();
    let refused = conversations.continue_conversation(&own, nothing).await;
    assert!(matches!(refused, Err(ContinueError::Ended { task }) if task == own.task));
}

#[tokio::test(start_paused = true)]
async fn a_bot_that_is_canceled_while_it_writes_is_notified() {
    let mut chat = Chat::with(Echo);
    chat.say("hi").await.unwrap();
    let slow = async |turn: &mut TurnContext| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        turn.send_text("News.").await?;
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(())
    };
    let reference = chat.reference().unwrap();
    let conversations = chat.conversations().clone();
    let speaking = conversations.continue_conversation(&reference, slow);
    let (refused, canceled) = tokio::join!(speaking, chat.cancel());
    canceled.unwrap();
    assert!(matches!(refused, Err(ContinueError::Ended { task }) if task == reference.task));
}

#[tokio::test(start_paused = true)]
async fn messages_before_a_failure_are_logged() {
    let mut chat = Chat::with(Silent);
    chat.say("hi").await.unwrap();
    let failing = async |turn: &mut TurnContext| {
        turn.send_text("News.").await?;
        Err("no more".into())
    };
    let reference = chat.reference().unwrap();
    let refused = chat.conversations().continue_conversation(&reference, failing).await;
    let refused = refused.unwrap_err();
    let expected = format!("the bot could not continue task {}", reference.task);
    assert_eq!(refused.to_string(), expected);
    assert_eq!(refused.source().unwrap().to_string(), "no more");
    let log = log(&chat).await;
    assert_eq!(log[2..], ["input-required: News."]);
}

#[tokio::test(start_paused = true)]
async fn a_bot_starts_a_conversation() {
    let chat = Chat::with(Echo);
    let caller = Caller::new("ada");
    let call = async |turn: &mut TurnContext| {
        turn.ask("Are you there?").await?;
        Ok(())
    };
    let context = Some("c".to_owned());
    let conversations = chat.conversations();
    let begun = conversations.create_conversation(&caller, context, call).await.unwrap();
    let store = chat.turns().store();
    let task = store.task(&caller, &begun.task).await.unwrap().task;
    assert_eq!(task.context_id.as_deref(), Some("c"));
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(task.status.message.as_ref().unwrap().text(), "Are you there?");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_could_not_begin_has_failed() {
    let chat = Chat::with(Echo);
    let caller = Caller::new("ada");
    let failing = async |_: &mut TurnContext| Err("no".into());
    let refused = chat.conversations().create_conversation(&caller, None, failing).await;
    assert!(matches!(refused, Err(ContinueError::Bot { .. })));
    let all = ListQuery::of("bot");
    let page = chat.turns().store().list(&caller, &all).await.unwrap();
    assert_eq!(page.tasks[0].task.status.state, TaskState::Failed);
}

#[test]
fn a_reference_can_be_kept() {
    let reference = ConversationReference { caller: Caller::new("ada"), task: "t".into() };
    let kept = serde_json::to_string(&reference).unwrap();
    assert_eq!(kept, r#"{"caller":"ada","task":"t"}"#);
    assert_eq!(serde_json::from_str::<ConversationReference>(&kept).unwrap(), reference);
}
