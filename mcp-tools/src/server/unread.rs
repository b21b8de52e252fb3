//! Explains the requests that the crate rmcp could not read.

use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CustomRequest, ErrorCode},
};
use serde_json::{Value, json};

/// The method that calls a tool.
const CALL: &str = "tools/call";

/// Returns the error for a request of no known method. rmcp takes a known method with wrong parameters for an unknown one, so that the
/// caller would look for the mistake in the wrong place.
pub(crate) fn unread(request: CustomRequest) -> ErrorData {
    let params = request.params.unwrap_or_else(|| json!({}));
    match wrong_call(&request.method, params) {
        Some(why) => {
            let expected = r#"expected params {"name": TOOL, "arguments": {...}}"#;
            ErrorData::invalid_params(format!("{CALL}: {expected}: {why}"), None)
        }
        None => {
            let message = format!("there is no method {:?}", request.method);
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
        }
    }
}

/// Returns what is wrong with the parameters of a call.
fn wrong_call(method: &str, params: Value) -> Option<serde_json::Error> {
    (method == CALL).then(|| serde_json::from_value::<CallToolRequestParams>(params).err())?
}
