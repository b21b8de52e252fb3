//! Files: uploaded by bots, fetched by either side.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{
        HeaderValue,
        header::{
            CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    refusal::Refusal,
    visitor::{self, Visitor},
};
use crate::bot::remote::Channel;

/// The type of files of which nobody said one.
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// What the path of a file names.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    attachment: String,
    #[serde(default)]
    view: String,
}

/// Keeps a file.
pub(super) async fn upload(visitor: Visitor, body: Bytes) -> Result<Json<Value>, Refusal> {
    let Visitor { visit, names } = visitor;
    let upload = visitor::json(&body)?;
    let task = visit.task(&names.conversation, None).await?;
    let id = visit.upload(&task, &upload).await?;
    Ok(Json(json!({ "id": id })))
}

/// Tells what is known of a file.
pub(super) async fn info(
    State(channel): State<Channel>,
    Path(named): Path<Named>,
) -> Result<Json<Value>, Refusal> {
    let file = channel.file(&named.attachment).await?;
    let views = file.views();
    let views: Vec<Value> = views
        .map(|(view, size)| json!({"viewId": view, "size": size}))
        .collect();
    Ok(Json(json!({
        "name": file.name,
        "type": file.media_type,
        "views": views,
    })))
}

/// A file itself. Whoever sent it may have written anything into it, so that no browser shall show it.
pub(super) async fn view(
    State(channel): State<Channel>,
    Path(named): Path<Named>,
) -> Result<Response, Refusal> {
    let (file, bytes) = channel.view(&named.attachment, &named.view).await?;
    let media_type = file.media_type.as_deref().map(HeaderValue::from_str);
    let media_type = media_type.and_then(Result::ok).unwrap_or(BYTES);
    let headers = [
        (CONTENT_TYPE, media_type),
        (CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
    ];
    Ok((headers, bytes).into_response())
}
