//! Ends the service in order: streams are resumed elsewhere, and new work is refused.

use bridge_protocol::a2a::{Error, ErrorKind};
use futures_util::{StreamExt as _, stream};

use super::{Result, StreamItems};
use crate::executor::CancelSignal;

/// The message of the error that ends streams. It is not in the task's log.
const STOPPING: &str = "the server is stopping: resume the stream";

/// `Retry-After` in seconds while the service stops.
const RETRY_SECONDS: u32 = 1;

/// Whether the service is stopping. Clones share the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Draining(CancelSignal);

impl Draining {
    pub(super) fn begin(&self) {
        self.0.cancel();
    }

    /// Refuses calls that would begin new work.
    pub(super) fn refuse_new(&self) -> Result<()> {
        match self.0.is_canceled() {
            false => Ok(()),
            true => {
                let message = "the server is stopping: send the request again";
                Err(Error::unavailable(message, RETRY_SECONDS))
            }
        }
    }

    /// Returns the stream, which ends with an error when the service stops. `held` is kept as long as the stream.
    pub(super) fn bound<T: Send + 'static>(&self, items: StreamItems, held: T) -> StreamItems {
        let begun = self.0.clone();
        let stop = Box::pin(async move { begun.canceled().await });
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
