//! Tests of the translation between A2A and activities, with one case in each file and its snapshot beside
//! it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod arbitrary;
mod properties;
mod request;
mod requests;
mod turns;

use bridge_protocol::{
    activity::{ChannelAccount, ConversationAccount},
    wire::Wire,
};
use bridge_translate::TranslationContext;
use serde_json::{Value, json};

/// Returns the turn of a case: that in its file under `context`, or a default turn.
fn context(case: &Value) -> TranslationContext {
    let said = |name: &str, usual: Value| case["context"].get(name).cloned().unwrap_or(usual);
    let text = |name: &str, usual: &str| String::read(said(name, usual.into())).unwrap();
    let account = |name: &str, usual: Value| ChannelAccount::read(said(name, usual)).unwrap();
    let conversation = said("conversation", json!({"id": "task-1"}));
    TranslationContext {
        task_id: "task-1".into(),
        context_id: "context-1".into(),
        channel_id: text("channelId", "a2a"),
        service_url: text("serviceUrl", "https://bridge.example/secret/"),
        conversation: ConversationAccount::read(conversation).unwrap(),
        user: account("from", json!({"id": "caller-1", "name": "Caller", "role": "user"})),
        bot: account("recipient", json!({"id": "sample", "name": "Sample", "role": "bot"})),
        activity_id: text("id", "act-1"),
        now: "2026-11-21T00:00:00Z".into(),
        locale: Option::read(said("locale", Value::Null)).unwrap(),
        delivery_mode: None,
        in_full: case.get("inFull").is_some(),
    }
}
