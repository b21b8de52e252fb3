//! Tests that a bot's state is kept until it is cleared.

use bridge_protocol::activity::ActivityType;

use super::*;
use crate::{
    agent::ConversationScope,
    bot::{BotSettings, StateError},
};

/// Counts messages. `forget` clears, `fail` counts and then fails, `done` ends the conversation.
struct Counting;

#[async_trait]
impl Bot for Counting {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        if turn.activity().kind != ActivityType::Message {
            return Ok(());
        }
        let said = turn.text().to_owned();
        let state = turn.conversation_state().await?;
        let count = state.get::<u32>("count")?.unwrap_or_default() + 1;
        state.set("count", &count)?;
        match said.as_str() {
            "forget" => state.clear(),
            "fail" => return Err("as it was told".into()),
            _ => {}
        }
        turn.ask(count.to_string()).await?;
        Ok(())
    }
}

fn counting_in(conversation: ConversationScope) -> Chat {
    let settings = BotSettings { conversation, ..BotSettings::new("counting") };
    let mut chat = Chat::hosted(Arc::new(Counting), settings);
    chat.in_context("c");
    chat
}

async fn answers(chat: &mut Chat, said: &[&str]) -> Vec<String> {
    let mut answers = Vec::new();
    for text in said {
        answers.push(chat.ask(text).await.unwrap());
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn a_state_survives_turns_and_can_be_cleared() {
    let mut chat = Chat::with(Counting);
    let answers = answers(&mut chat, &["a", "b", "forget", "c"]).await;
    assert_eq!(answers, ["1", "2", "3", "1"]);
}

#[tokio::test(start_paused = true)]
async fn each_task_has_a_state_unless_the_context_is_the_conversation() {
    for (conversation, expected) in
        [(ConversationScope::Task, "1"), (ConversationScope::Context, "2")]
    {
        let mut chat = counting_in(conversation);
        chat.ask("a").await.unwrap();
        chat.cancel().await.unwrap();
        assert_eq!(chat.ask("b").await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails_changes_no_state() {
    let mut chat = counting_in(ConversationScope::Context);
    assert_eq!(chat.ask("a").await.unwrap(), "1");
    chat.ask("fail").await.unwrap();
    assert_eq!(chat.ask("b").await.unwrap(), "2");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_kept_fails_the_turn() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            turn.send_text("I will remember.").await?;
            turn.conversation_state().await?.set("all", &"x".repeat(70_000))?;
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    chat.say("hi").await.unwrap();
    let expected =
        ["failed: The agent could not save the state of this conversation.", "end of turn 1"];
    assert_eq!(log(&chat).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_type_is_reported_with_its_name() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            let state = turn.conversation_state().await?;
            state.set("name", "Ada")?;
            let error = state.get::<u32>("name").unwrap_err();
            assert!(matches!(&error, StateError::Value { name, .. } if name == "name"));
            state.remove("name");
            assert_eq!(state.get::<String>("name")?, None);
            turn.send_text(error.to_string()).await?;
            Ok(())
        })
    });
    let told = Chat::with(bot).ask("hi").await.unwrap();
    assert!(told.starts_with("conversation state name does not fit its type: "), "{told}");
}
