//! What is written is written whole, though its client leaves in the middle of it.

use std::{future, panic};

use bridge_program::Flight;

/// Does it in a task of its own, so that it goes on when nobody waits for it any more: a client may leave at
/// any moment, and what it was told or may believe must then be true all the same.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    // What it takes is counted as long as it is carried.
    let flight = Flight::current();
    let run_to_completion = async move {
        let done = work.await;
        drop(flight);
        done
    };
    match tokio::spawn(run_to_completion).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => panic::resume_unwind(error.into_panic()),
        // The runtime is ending, and with it whoever waits.
        Err(_) => future::pending().await,
    }
}
