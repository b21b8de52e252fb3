//! Completes operations whose client disconnects in the meantime.

use std::{future, panic};

use bridge_program::InFlight;
use bridge_telemetry::Instrument as _;

/// Runs the future in a separate task, so that it completes even if its caller is dropped. A client may disconnect at
/// any time, and acknowledged results must remain true.
pub async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    // The request counts as open until the work is complete.
    let request = InFlight::current();
    let span = bridge_telemetry::current();
    let run_to_completion = async move {
        let done = work.instrument(span).await;
        drop(request);
        done
    };
    match tokio::spawn(run_to_completion).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => panic::resume_unwind(error.into_panic()),
        // The runtime and the callers are shutting down.
        Err(_) => future::pending().await,
    }
}
