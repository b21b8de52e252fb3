//! Returns the content of resources.

use rmcp::ErrorData;
use serde_json::{Value, json};

use crate::tools::PNG;

pub(crate) fn read(uri: &str) -> Result<Value, ErrorData> {
    let content = match uri {
        "test://static-text" => json!({
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        "test://static-binary" => json!({"mimeType": "image/png", "blob": PNG}),
        "test://watched-resource" => json!({
            "mimeType": "text/plain",
            "text": "Nothing has changed yet.",
        }),
        other => templated(other).ok_or_else(|| {
            ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})))
        })?,
    };
    let mut content = content;
    content["uri"] = json!(uri);
    Ok(json!({"resultType": "complete", "contents": [content]}))
}

fn templated(uri: &str) -> Option<Value> {
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Some(json!({"mimeType": "application/json", "text": data.to_string()}))
}
