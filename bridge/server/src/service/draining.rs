//! Ends the service in order: streams are resumed elsewhere, new work is refused, and in the end nobody waits for turns.

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
pub(super) struct Draining {
    begun: CancelSignal,
    over: CancelSignal,
}

impl Draining {
    pub(super) fn begin(&self) {
        self.begun.cancel();
    }

    /// Ends the waits for turns, which may continue elsewhere.
    pub(super) fn end_waits(&self) {
        self.over.cancel();
    }

    /// Returns when the waits for turns must end.
    pub(super) async fn over(&self) {
        self.over.canceled().await;
    }

    /// Refuses calls that would begin new work.
    pub(super) fn refuse_new(&self) -> Result<()> {
        match self.begun.is_canceled() {
            false => Ok(()),
            true => Err(send_again()),
        }
    }

    /// Returns the stream, which ends with an error when the service stops. `held` is kept as long as the stream.
    pub(super) fn bound<T: Send + 'static>(&self, items: StreamItems, held: T) -> StreamItems {
        let begun = self.begun.clone();
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

/// Returns the error of a request that another server, or the next start of this one, answers.
pub(super) fn send_again() -> Error {
    Error::unavailable("the server is stopping: send the request again", RETRY_SECONDS)
}

/// Returns whether this error ends a stream that continues elsewhere.
pub(crate) fn is_stopping(error: &Error) -> bool {
    error.kind == ErrorKind::Unavailable && error.message == STOPPING
}
