//! Tests that answers in pieces become artifacts.

use bridge_protocol::activity::InputHint;

use super::*;
use crate::bot::{BotSettings, SilentEnd};

#[tokio::test(start_paused = true)]
async fn pieces_become_one_artifact() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            let mut stream = turn.streaming_response();
            stream.queue_informative_update("Reading.").await?;
            stream.queue_text_chunk("one").await?;
            stream.queue_text_chunk(", two").await?;
            stream.turn().send_text("By the way.").await?;
            stream.set_final_message(Activity {
                input_hint: Some(InputHint::ExpectingInput),
                ..Activity::default()
            });
            stream.end_stream().await?;
            Ok(())
        })
    });
    let mut chat = Chat::with(bot);
    let task = chat.say("hi").await.unwrap();
    let expected = [
        "working: Reading.",
        "artifact = one",
        "artifact + , two",
        "working: By the way.",
        "artifact +  (last)",
        "input-required: By the way.",
        "end of turn 1",
    ];
    assert_eq!(log(&chat).await, expected);
    assert_eq!(task.artifacts.len(), 1);
    assert_eq!(text(&task.artifacts[0]), "one, two");
}

#[tokio::test(start_paused = true)]
async fn every_stream_is_an_artifact_and_none_stays_open() {
    let bot = fn_bot(|turn| {
        Box::pin(async move {
            turn.streaming_response().queue_text_chunk("left open").await?;
            let mut second = turn.streaming_response();
            second.queue_text_chunk("a draft").await?;
            second.set_final_message(Activity::message("the truth"));
            second.end_stream().await?;
            Err("no more".into())
        })
    });
    let mut chat = Chat::with(bot);
    let task = chat.say("hi").await.unwrap();
    let expected = [
        "artifact = left open",
        "artifact = a draft",
        "artifact = the truth (last)",
        "artifact +  (last)",
        "failed: The agent could not answer this message.",
        "end of turn 1",
    ];
    assert_eq!(log(&chat).await, expected);
    let texts: Vec<String> = task.artifacts.iter().map(text).collect();
    assert_eq!(texts, ["left open", "the truth"]);
}

#[tokio::test(start_paused = true)]
async fn a_chat_returns_answers_that_are_artifacts() {
    struct Streaming;

    #[async_trait]
    impl Bot for Streaming {
        async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
            let words = turn.text().to_uppercase();
            if words == "PLAIN" {
                turn.send_text(words).await?;
                return Ok(());
            }
            let mut stream = turn.streaming_response();
            for word in words.split_inclusive(' ') {
                stream.queue_text_chunk(word).await?;
            }
            Ok(stream.end_stream().await?)
        }
    }

    for silent_end in [SilentEnd::InputRequired, SilentEnd::Completed] {
        let settings = BotSettings { silent_end, ..BotSettings::new("bot") };
        let mut chat = Chat::hosted(Arc::new(Streaming), settings);
        for (said, answer) in [("one two", "ONE TWO"), ("plain", "PLAIN"), ("three", "THREE")] {
            assert_eq!(chat.ask(said).await.unwrap(), answer, "{silent_end:?}");
        }
    }
}
