//! Reads what the response to an invoke shows to the user.
//!
//! A bot answers the button of a card with another card or a text, and so do its dialogs, its settings and its message
//! extensions. The response's body has a separate field for each kind.

use alloc::{string::String, vec, vec::Vec};

use serde_json::{Value, json};

use bridge_protocol::{
    activity::{Activity, ActivityType, Attachment},
    wire::Wire as _,
};

/// The type of a response that is a card, and of the card.
const ADAPTIVE_CARD: &str = "application/vnd.microsoft.card.adaptive";

/// Returns the message that a response shows, if it shows anything.
pub(crate) fn message(response: &Activity) -> Option<Activity> {
    let body = response.value.as_ref()?.get("body")?;
    let (text, attachments) = of_button(body)
        .or_else(|| of_dialog(body.get("task").or(body.get("config"))?))
        .or_else(|| of_extension(body.get("composeExtension")?))?;
    let says_something = text.is_some() || !attachments.is_empty();
    says_something.then(|| Activity {
        kind: ActivityType::Message,
        text,
        attachments,
        value: None,
        ..response.clone()
    })
}

/// Returns whether a response gives a card in place of the one whose button was pressed.
pub(crate) fn is_card(response: &Activity) -> bool {
    let body = response.value.as_ref().and_then(|value| value.get("body"));
    body.is_some_and(|body| body["type"] == ADAPTIVE_CARD)
}

/// Returns the status of a response that refuses the invoke, such as 501 if the bot has no handler for it.
pub(crate) fn refusal(response: &Activity) -> Option<u64> {
    let status = response.value.as_ref()?.get("status")?.as_u64()?;
    Some(status).filter(|status| *status >= 400)
}

type TextAndCards = (Option<String>, Vec<Attachment>);

/// Returns the response to the button of an adaptive card (`adaptiveCard/action`).
fn of_button(body: &Value) -> Option<TextAndCards> {
    let (kind, value) = (body.get("type")?.as_str()?, body.get("value")?);
    match kind {
        ADAPTIVE_CARD => {
            let card = attachment(&json!({"contentType": kind, "content": value}))?;
            Some((None, vec![card]))
        }
        "application/vnd.microsoft.activity.message" => Some((text(value), vec![])),
        "application/vnd.microsoft.error" => Some((text(value.get("message")?), vec![])),
        _ => None,
    }
}

/// Returns the response of a dialog (`task/fetch`, `task/submit`) or of settings (`config/fetch`).
fn of_dialog(dialog: &Value) -> Option<TextAndCards> {
    let value = dialog.get("value")?;
    match value {
        Value::String(_) => Some((text(value), vec![])),
        _ => {
            let card = value.get("card").and_then(attachment);
            let address = value.get("url").and_then(text);
            let lines: Vec<String> = value.get("title").and_then(text).into_iter().collect();
            let lines: Vec<String> = lines.into_iter().chain(address).collect();
            let text = Some(lines.join("\n")).filter(|text| !text.is_empty());
            Some((text, card.into_iter().collect()))
        }
    }
}

/// Returns the response of a message extension (`composeExtension/…`).
fn of_extension(extension: &Value) -> Option<TextAndCards> {
    let attachments = extension.get("attachments").and_then(Value::as_array);
    let attachments = attachments.into_iter().flatten().filter_map(attachment);
    Some((extension.get("text").and_then(text), attachments.collect()))
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(String::from)
}

fn attachment(value: &Value) -> Option<Attachment> {
    Attachment::read(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_response_shows_cards_and_texts() {
        let card = json!({"type": "AdaptiveCard", "body": []});
        let attached =
            json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": card});
        let result = |kind: &str, value: Value| json!({"statusCode": 200, "type": format!("application/vnd.microsoft.{kind}"), "value": value});
        let dialog = |value: Value| json!({"task": {"type": "continue", "value": value}});
        for (body, text, cards) in [
            (result("card.adaptive", card), None, 1),
            (result("activity.message", json!("Done.")), Some("Done."), 0),
            (result("error", json!({"code": "x", "message": "No."})), Some("No."), 0),
            (dialog(json!("Thanks")), Some("Thanks"), 0),
            (dialog(json!({"title": "Form", "card": attached})), Some("Form"), 1),
            (dialog(json!({"url": "https://h.test/form"})), Some("https://h.test/form"), 0),
            (
                json!({"composeExtension": {"type": "result", "attachments": [attached, attached]}}),
                None,
                2,
            ),
            (
                json!({"composeExtension": {"type": "message", "text": "Nothing"}}),
                Some("Nothing"),
                0,
            ),
        ] {
            let response =
                json!({"type": "invokeResponse", "value": {"status": 200, "body": body}});
            let shown = message(&Activity::read(response).unwrap()).unwrap();
            assert_eq!((shown.text.as_deref(), shown.attachments.len()), (text, cards), "{body}");
        }
    }

    #[test]
    fn invoke_responses_for_programs_show_nothing() {
        for body in [
            json!(null),
            json!({"x": 1}),
            json!({"type": "application/vnd.microsoft.card.adaptive"}),
            json!({"task": {"value": 1}}),
            json!({"composeExtension": {"type": "result", "attachments": [1]}}),
            json!({"type": "application/vnd.microsoft.search.searchResponse", "value": {"results": []}}),
        ] {
            let response = json!({"type": "invokeResponse", "value": {"body": body}});
            let response = Activity::read(response).unwrap();
            assert_eq!(message(&response), None, "{body}");
        }
    }
}
