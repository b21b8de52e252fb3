//! Routes for files: bots upload them, bots and clients download them.

use axum::{
    extract::{Path, State},
    http::{
        HeaderValue,
        header::{
            CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};
use bridge_program::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    bot_request::{BotRequest, JsonBody},
    handlers::Result,
};
use crate::bot::remote::Channel;

/// The media type of files without one.
const OCTET_STREAM: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// The parameters in the path of a file.
#[derive(Debug, Deserialize)]
pub(super) struct AttachmentPath {
    attachment: String,
    #[serde(default)]
    view: String,
}

/// Stores a file.
pub(super) async fn upload(
    BotRequest { session, path }: BotRequest,
    JsonBody(upload): JsonBody,
) -> Result {
    let task = session.task(&path.conversation, None).await?;
    let id = session.upload(&task, &upload).await?;
    Ok(Json(json!({ "id": id })))
}

/// Returns the description of a file.
pub(super) async fn info(
    State(channel): State<Channel>,
    Path(named): Path<AttachmentPath>,
) -> Result {
    let file = channel.file(&named.attachment).await?;
    let views = file.views();
    let views: Vec<Value> =
        views.map(|(view, size)| json!({"viewId": view, "size": size})).collect();
    Ok(Json(json!({
        "name": file.name,
        "type": file.media_type,
        "views": views,
    })))
}

/// Returns a file. The headers prevent browsers from rendering it, because its content comes from others.
pub(super) async fn view(
    State(channel): State<Channel>,
    Path(named): Path<AttachmentPath>,
) -> Result<Response> {
    let (file, bytes) = channel.view(&named.attachment, &named.view).await?;
    let media_type = file.media_type.and_then(|name| HeaderValue::try_from(name).ok());
    let media_type = media_type.unwrap_or(OCTET_STREAM);
    let headers = [
        (CONTENT_TYPE, media_type),
        (CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox")),
    ];
    Ok((headers, bytes).into_response())
}
