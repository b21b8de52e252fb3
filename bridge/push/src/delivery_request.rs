//! The HTTP request of one delivery: its URL, headers and body.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{Losses, Version},
};

use super::{event_reader::Notification, headers, setting::Setting};

/// The media type of 1.0 (specification 4.3.3).
const CURRENT: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// The media type before 1.0 (specification 0.3.0, 9.5).
const BEFORE: HeaderValue = HeaderValue::from_static("application/json");

/// The header that identifies the event, so that receivers recognize one that is delivered again.
const EVENT: HeaderName = HeaderName::from_static("idempotency-key");

/// The request of a delivery. It may be sent more than once.
#[derive(Clone, Debug)]
pub(super) struct DeliveryRequest {
    /// The webhook's URL, as its owner wrote it.
    pub(super) url: String,
    /// The task's id, as its owner knows it.
    pub(super) task: String,
    /// All headers that do not depend on the time of sending.
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl DeliveryRequest {
    /// Builds the request that delivers a notification for a setting.
    pub(super) fn new(setting: &Setting, notification: &Notification) -> Self {
        let version = setting.version;
        // A stored setting was checked before it was stored.
        let mut headers = headers::of(&setting.config).unwrap_or_default();
        let media_type = match version {
            Version::V1_0 => CURRENT,
            Version::V0_3 | Version::V0_1 => BEFORE,
        };
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert("a2a-version", HeaderValue::from_static(version.as_str()));
        let event = HeaderValue::from_str(&format!("{}/{}", notification.task, notification.seq));
        event.into_iter().for_each(|event| drop(headers.insert(EVENT, event)));
        Self {
            url: setting.config.url.clone(),
            task: notification.task.clone(),
            headers,
            body: body(version, notification),
        }
    }
}

fn body(version: Version, notification: &Notification) -> Vec<u8> {
    let value = match (version, &notification.response) {
        (Version::V0_1 | Version::V0_3, StreamResponse::Task(task)) => {
            version.task_from_v1(task, &mut Losses::new())
        }
        (_, response) => version.stream_item_from_v1(response, &mut Losses::new()),
    };
    value.to_string().into_bytes()
}
