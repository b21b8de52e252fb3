//! Ends the service in order: streams are resumed elsewhere, and new work is refused.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_protocol::a2a::{Error, ErrorKind};
use futures_util::{StreamExt as _, stream};
use tokio::sync::watch;

use super::StreamItems;

/// The message of the error that ends streams. It is not in the task's log.
const STOPPING: &str = "the server is stopping: resume the stream";

/// `Retry-After` in seconds while the service stops.
const RETRY_SECONDS: u32 = 1;

/// Whether the service is stopping. Clones share the state.
#[derive(Clone, Debug)]
pub(super) struct Draining {
    /// The value of the channel, without its lock.
    has_begun: Arc<AtomicBool>,
    begun: watch::Sender<bool>,
}

impl Default for Draining {
    fn default() -> Self {
        Self { has_begun: Arc::default(), begun: watch::Sender::new(false) }
    }
}

impl Draining {
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
        self.begun.send_replace(true);
    }

    /// Refuses calls that would begin new work.
    pub(super) fn refuse_new(&self) -> Result<(), Error> {
        match self.has_begun.load(Ordering::Acquire) {
            false => Ok(()),
            true => {
                let message = "the server is stopping: send the request again";
                Err(Error::unavailable(message, RETRY_SECONDS))
            }
        }
    }

    /// Returns the stream, which ends with an error when the service stops. `held` is kept as long as the stream.
    pub(super) fn bound<T: Send + 'static>(&self, items: StreamItems, held: T) -> StreamItems {
        let mut begun = self.begun.subscribe();
        let stop = Box::pin(async move {
            if begun.wait_for(|begun| *begun).await.is_err() {
                std::future::pending::<()>().await;
            }
        });
        let open = Some((items, stop, held));
        let until = stream::unfold(open, async |open| {
            let (mut items, mut stop, held) = open?;
            tokio::select! {
                // Available items are still sent.
                biased;
                item = items.next() => Some((item?, Some((items, stop, held)))),
                () = &mut stop => Some((Err(Error::unavailable(STOPPING, RETRY_SECONDS)), None)),
            }
        });
        until.boxed()
    }
}

/// Returns whether this error ends a stream that continues elsewhere.
pub(crate) fn is_stopping(error: &Error) -> bool {
    error.kind == ErrorKind::Unavailable && error.message == STOPPING
}
