//! Reads cards with which a bot asks the user to sign in.

use alloc::string::String;

use serde_json::Value;

use bridge_protocol::{
    a2a::{Message, Role, Task},
    activity::{Activity, Attachment},
};

/// Returns the agent's message that asks the user to sign in, if it is one of the agent's last turn.
pub fn unanswered(task: &Task) -> Option<&Message> {
    let messages = task.history.iter().chain(&task.status.message).rev();
    let before = messages.skip_while(|message| message.role != Role::Agent);
    let mut last_turn = before.take_while(|message| message.role == Role::Agent);
    last_turn.find(|message| {
        let kinds = message.parts.iter();
        let mut kinds = kinds.filter_map(|part| part.media_type.as_deref());
        kinds.any(Attachment::is_sign_in_card)
    })
}

/// Returns the text for a message with such a card, with the link. Clients that show only text need it.
pub(crate) fn words(activity: &Activity) -> Option<String> {
    let mut cards = activity.attachments.iter().filter(|one| one.is_sign_in());
    let card = cards.next()?.content.as_ref()?;
    let own = |text: &Value| text.as_str().filter(|text| !text.is_empty()).map(String::from);
    let button = &card["buttons"][0];
    let text = activity.text.clone().filter(|text| !text.is_empty());
    let text = text.or(own(&card["text"])).or(own(&button["title"]));
    let link = button["value"].as_str().filter(|link| !link.is_empty());
    match (text, link) {
        (Some(text), Some(link)) if !text.contains(link) => Some(text + "\n" + link),
        (None, Some(link)) => Some(link.into()),
        (text, _) => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use bridge_protocol::wire::Wire as _;

    #[test]
    fn a_card_says_in_words_where_to_sign_in() {
        let link = "https://login.example";
        let card = |content: Value| json!([{"contentType": "application/vnd.microsoft.card.oauth", "content": content}]);
        let buttons = json!([{"type": "signin", "title": "Sign in", "value": link}]);
        for (text, content, expected) in [
            (json!("Hello"), json!({"buttons": buttons}), Some("Hello\nhttps://login.example")),
            (
                json!(""),
                json!({"buttons": buttons, "text": "Please"}),
                Some("Please\nhttps://login.example"),
            ),
            (json!(null), json!({"buttons": buttons}), Some("Sign in\nhttps://login.example")),
            (json!(link), json!({"buttons": buttons}), Some(link)),
            (json!(null), json!({"buttons": [{"value": link}]}), Some(link)),
            (json!(null), json!({"connectionName": "c"}), None),
            (json!("Hello"), json!(7), Some("Hello")),
        ] {
            let activity = json!({"type": "message", "text": text, "attachments": card(content)});
            let activity = Activity::read(activity).unwrap();
            assert_eq!(words(&activity).as_deref(), expected);
        }
        let plain = Activity::message("hi");
        assert_eq!(words(&plain), None);
    }
}
