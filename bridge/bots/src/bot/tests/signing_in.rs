//! Tests bots of this process that ask their users to sign in.

use bridge_protocol::{activity::ActivityType, wire::Wire as _};
use serde_json::json;

use super::*;

/// Returns a bot that asks to sign in, accepts any code, and otherwise sends nothing, like the prompts of SDKs.
fn door() -> impl Bot {
    fn_bot(|turn| {
        Box::pin(async move {
            match turn.text() {
                "hi" => {
                    let card = json!({"contentType": "application/vnd.microsoft.card.oauth", "content": {
                        "text": "Please sign in", "connectionName": "directory",
                        "buttons": [{"type": "signin", "title": "Sign in", "value": "https://login.example/1"}],
                    }});
                    let asks = json!({"type": "message", "attachments": [card]});
                    turn.send_activity(Activity::read(asks)?).await?;
                }
                "answered" => {
                    let refused = json!({"type": "invokeResponse", "value": {"status": 412}});
                    turn.send_activity(Activity::read(refused)?).await?;
                }
                "123456" => drop(turn.send_text("Welcome").await?),
                _ => assert_eq!(turn.activity().kind, ActivityType::Message),
            }
            Ok(())
        })
    })
}

#[tokio::test(start_paused = true)]
async fn a_user_is_asked_to_sign_in_until_the_bot_accepts() {
    let mut chat = Chat::with(door());
    for said in ["hi", "000000", "answered"] {
        let task = chat.say(said).await.unwrap();
        assert_eq!(task.status.state, TaskState::AuthRequired, "{said}");
        let message = task.status.message.as_ref().unwrap();
        assert_eq!(message.text(), "Please sign in\nhttps://login.example/1");
    }
    let task = chat.say("123456").await.unwrap();
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(task.status.message.as_ref().unwrap().text(), "Welcome");
    // An answered sign-in is not requested again.
    let task = chat.say("nothing").await.unwrap();
    assert_eq!(task.status.state, TaskState::InputRequired);
}
