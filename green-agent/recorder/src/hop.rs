//! The state of one hop that its requests and replies share.

use std::{sync::Arc, time::Duration};

use bridge_telemetry::TraceContext;
use tokio::sync::Semaphore;

use super::{exchange::HopRecord, origin::Origins};

/// One hop of the recorder.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) book: Arc<HopRecord>,
    pub(super) origins: Origins,
    pub(super) client: reqwest::Client,
    pub(super) permits: Arc<Semaphore>,
    /// The largest body, and the largest event, that is kept, in bytes.
    pub(super) body_limit: usize,
    /// The longest that a reply is held back until it is complete, before its chunks are passed on.
    pub(super) hold: Duration,
    /// The trial, in whose trace a request is that comes without trace context.
    pub(super) trial: TraceContext,
}
