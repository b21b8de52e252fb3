//! The bot's activities that are not messages, in the metadata that reports them.

use serde_json::Value;

use crate::keys::EVENT;
use bridge_protocol::a2a::Metadata;

/// Returns the activity that metadata reports, if clients are informed of it beside the task's messages. Messages and
/// their changes are reported separately, and typing is not reported.
pub fn reported(metadata: &Metadata) -> Option<&Value> {
    let event = metadata.get(EVENT)?;
    let kind = event.get("type").and_then(Value::as_str)?;
    let needs_no_report = matches!(kind, "message" | "messageUpdate" | "messageDelete" | "typing");
    (!needs_no_report).then_some(event)
}
