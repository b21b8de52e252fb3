//! One hop as its requests and replies see it.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

use super::{exchange::Book, origin::Origins};

/// One hop of the recorder.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) book: Arc<Book>,
    pub(super) origins: Origins,
    pub(super) client: reqwest::Client,
    pub(super) permits: Arc<Semaphore>,
    /// The largest body, and the largest event, that is kept, in bytes.
    pub(super) body_limit: usize,
    /// How long a reply may take until it is whole before its pieces are passed on.
    pub(super) hold: Duration,
}
