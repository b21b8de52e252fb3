//! Tests that a task shows how its turn ended, for all kinds of ends.

use std::sync::Mutex;

use bridge_protocol::activity::{ActivityType, EndOfConversationCode};
use bridge_translate::SilentEnd;
use tokio::time::{Duration, Instant, sleep};

use super::*;
use crate::{
    agent::ConversationScope,
    bot::{BotSettings, Echo},
    metrics::TextFormat,
};

#[tokio::test(start_paused = true)]
async fn troubled_bots_leave_truthful_tasks() {
    let cases: [(&str, &[&str]); 5] = [
        ("silent", &["input-required"]),
        ("failing", &["failed: The agent could not answer this message."]),
        ("panicking", &["failed: The agent crashed while it worked on this message."]),
        ("hanging", &["working: Let me see.", "failed: The agent did not answer within 1800s."]),
        ("echo", &["input-required: Echo: hi"]),
    ];
    for (name, expected) in cases {
        let mut chat = Chat::hosted(builtin(name).unwrap(), BotSettings::new(name));
        chat.say("hi").await.unwrap();
        let expected: Vec<&str> = expected.iter().copied().chain(["end of turn 1"]).collect();
        assert_eq!(log(&chat).await, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_means_what_the_setting_says() {
    for (silent_end, expected) in [
        (SilentEnd::InputRequired, TaskState::InputRequired),
        (SilentEnd::Completed, TaskState::Completed),
        (SilentEnd::Working, TaskState::Working),
    ] {
        let settings = BotSettings { silent_end, ..BotSettings::new("echo") };
        let task = Chat::hosted(Arc::new(Echo), settings).say("hi").await.unwrap();
        assert_eq!(task.status.state, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn messages_after_the_end_are_dropped() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            turn.send_text("first").await?;
            turn.send_text("second").await?;
            let code = EndOfConversationCode::CompletedSuccessfully;
            turn.end_conversation(code, Some("third".into()), None).await?;
            turn.send_text("fourth").await?;
            Err("nobody hears of this".into())
        })
    });
    let mut chat = Chat::with(bot);
    chat.say("hi").await.unwrap();
    let expected = [
        "artifact = first (last)",
        "artifact = second (last)",
        "artifact = third (last)",
        "completed",
        "end of turn 1",
    ];
    assert_eq!(log(&chat).await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_shown_although_the_bot_works_on() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            turn.end_conversation(EndOfConversationCode::Error, None, None).await?;
            sleep(Duration::from_secs(60)).await;
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    let submitted = chat.begin("hi").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(chat.task().await.unwrap().status.state, TaskState::Failed);
    let failed = "failed: the agent ended the conversation: error";
    assert_eq!(log(&chat).await, [failed]);
    chat.ended(&submitted).await.unwrap();
    assert_eq!(log(&chat).await, [failed, "end of turn 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_answers_at_once_is_one_append() {
    let mut chat = Chat::with(Echo);
    chat.say("hi").await.unwrap();
    let metrics = chat.turns().measured().text(TextFormat::OpenMetrics);
    let appends = metrics.lines().find(|line| line.contains("store_append_duration_seconds_count"));
    // There is one append for the message, and one for all of its results.
    assert!(appends.unwrap().ends_with(" 2"), "{appends:?}");
}

#[tokio::test(start_paused = true)]
async fn more_than_the_queue_holds_is_logged_in_order() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            for number in 0..1000 {
                turn.send_text(number.to_string()).await?;
            }
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    chat.say("count").await.unwrap();
    // The last messages are shown with the question.
    const HELD: usize = 8;
    let told = 999 / HELD * HELD;
    let mut expected: Vec<String> = (0..told).map(|number| format!("working: {number}")).collect();
    expected.push("input-required: 999".to_owned());
    assert_eq!(log(&chat).await[..=told], expected);
    let task = chat.task().await.unwrap();
    let parts = &task.status.message.as_ref().unwrap().parts;
    let shown: String = parts.iter().filter_map(Part::as_text).collect();
    let untold: Vec<_> = (told..1000).map(|number| number.to_string()).collect();
    assert_eq!(shown, untold.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn flushed_output_is_logged() {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = logged.clone();
    let bot = fn_bot(move |turn| {
        let seen = seen.clone();
        Box::pin(async move {
            turn.send_text("first").await?;
            turn.flush().await?;
            let later = |later: &mut TurnContext| {
                let status = &later.task().status;
                status.message.as_ref().map(|message| message.text())
            };
            let (reference, conversations) = (turn.conversation_reference(), turn.conversations());
            let look = async |turn: &mut TurnContext| {
                seen.lock().unwrap().extend(later(turn));
                Ok(())
            };
            conversations.continue_conversation(&reference, look).await?;
            Ok(())
        })
    });
    Chat::with(bot).say("hi").await.unwrap();
    assert_eq!(*logged.lock().unwrap(), ["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_task_stays_canceled_and_its_bot_is_notified() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let ears = heard.clone();
    let bot = fn_bot(move |turn| {
        let ears = ears.clone();
        Box::pin(async move {
            let mut heard = vec![turn.activity().kind.to_string()];
            turn.send_text("Working on it.").await?;
            if turn.activity().kind == ActivityType::Message {
                turn.canceled().await;
                turn.send_text("Too late.").await?;
                let refused = turn.flush().await.unwrap_err();
                heard = vec![refused.to_string()];
            }
            ears.lock().unwrap().extend(heard);
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    let submitted = chat.begin("hi").await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let task = chat.cancel().await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    chat.ended(&submitted).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(log(&chat).await, ["canceled", "end of turn 1"]);
    let mut heard = heard.lock().unwrap().clone();
    heard.sort();
    let ended = format!("task {} has ended: it accepts no further output", task.id);
    assert_eq!(heard, ["endOfConversation".to_owned(), ended]);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_turn_of_a_bot_that_does_not_listen_leaves_the_conversation() {
    let settings =
        BotSettings { conversation: ConversationScope::Context, ..BotSettings::new("hanging") };
    let mut chat = Chat::hosted(builtin("hanging").unwrap(), settings);
    chat.in_context("context");
    chat.begin("hi").await.unwrap();
    chat.cancel().await.unwrap();
    let begun = Instant::now();
    // The message waits for the turn before it.
    chat.begin("again").await.unwrap();
    let mut next = chat.follow().unwrap();
    loop {
        let stored = next.next().await.unwrap().unwrap();
        if matches!(stored.event, Event::TurnStarted { .. }) {
            break;
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "it waits for the limit of a turn");
}
