//! One delivery: what is posted, and where.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{Losses, Version},
};

use super::{event_reader::Notification, headers, setting::Setting};

/// The media type of 1.0 (specification 4.3.3).
const CURRENT: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// The media type before (specification 0.3.0, 9.5).
const BEFORE: HeaderValue = HeaderValue::from_static("application/json");

/// Which event it is, so that receivers know one that they have.
const EVENT: HeaderName = HeaderName::from_static("idempotency-key");

/// A delivery, which may be tried more than once.
#[derive(Clone, Debug)]
pub(super) struct DeliveryRequest {
    /// The webhook, as its owner wrote it.
    pub(super) url: String,
    /// The task, as its owner knows it.
    pub(super) task: String,
    /// All that do not depend on when it is sent.
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl DeliveryRequest {
    /// The delivery of a notice to who made the setting.
    pub(super) fn new(setting: &Setting, notification: &Notification) -> Self {
        let version = setting.version;
        // What is kept was checked when it came.
        let mut headers = headers::of(&setting.config).unwrap_or_default();
        let media_type = match version {
            Version::V1_0 => CURRENT,
            Version::V0_3 | Version::V0_1 => BEFORE,
        };
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert("a2a-version", HeaderValue::from_static(version.as_str()));
        let event = HeaderValue::from_str(&format!("{}/{}", notification.task, notification.seq));
        event
            .into_iter()
            .for_each(|event| drop(headers.insert(EVENT, event)));
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
