//! Tools that need no input; some send notifications while they run.

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam},
    service::{RequestContext, ServiceError},
};
use serde_json::{Value, json};
use tokio::time::sleep;

/// A PNG image with one red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV file with a header and no samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// The time between two notifications of a tool.
const WORK: Duration = Duration::from_millis(50);

pub(crate) fn text(text: impl Into<String>) -> Value {
    content(&json!([{"type": "text", "text": text.into()}]))
}

fn content(content: &Value) -> Value {
    json!({"resultType": "complete", "content": content})
}

/// Returns the constant result of a tool; `None` if it is not one of these tools.
pub(crate) fn fixed(tool: &str) -> Option<Value> {
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    Some(match tool {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(&json!([image])),
        "test_audio_content" => {
            content(&json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => content(&json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        }}])),
        "test_multiple_content_types" => content(&json!([
            {"type": "text", "text": "Multiple content types test:"},
            image,
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": "{\"test\":\"data\",\"value\":123}",
            }},
        ])),
        "test_error_handling" => {
            let mut result = text("This tool intentionally returns an error for testing");
            result["isError"] = json!(true);
            result
        }
        _ => return None,
    })
}

/// Sends three log messages, if the client enabled them, and returns a result.
pub(crate) async fn logging(
    context: &RequestContext<RoleServer>,
    may_log: bool,
) -> Result<Value, ErrorData> {
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if may_log {
            log(context, said).await.map_err(|error| broken(&error))?;
        }
        sleep(WORK).await;
    }
    Ok(text("The tool has logged what it did."))
}
async fn log(context: &RequestContext<RoleServer>, said: &str) -> Result<(), ServiceError> {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(said));
    context.peer.notify_logging_message(message).await
}

/// Reports progress if the client asked for it, and returns a result.
pub(crate) async fn progress(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, done).with_total(100.0);
            context.peer.notify_progress(progress).await.map_err(|error| broken(&error))?;
        }
        sleep(WORK).await;
    }
    Ok(text("The tool is done."))
}

pub(crate) fn broken(error: &ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
