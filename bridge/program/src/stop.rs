//! How programs that serve are stopped: by Ctrl-C or SIGTERM, in good order.

use std::{io, time::Duration};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

/// How long open requests may go on after the program was asked to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Becomes true with the first Ctrl-C or SIGTERM from now on. To be called within a tokio runtime.
///
/// # Errors
/// If the system does not let the program listen for signals.
pub fn stop_signal() -> io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        sender.send_replace(true);
    });
    Ok(receiver)
}

/// Serves until `stop` becomes true; then open requests get five seconds to end. `serving` is given the
/// future that comes when it is to take no more of them, as [`crate::serve()`] wants it.
///
/// # Errors
/// Those of what is served.
pub async fn serve_until<F>(
    mut stop: watch::Receiver<bool>,
    serving: impl FnOnce(StopFuture) -> F,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>>,
{
    let mut asked = stop.clone();
    let serving = serving(Box::pin(async move {
        let _ = asked.wait_for(|stopped| *stopped).await;
    }));
    tokio::select! {
        served = serving => served,
        () = async {
            let _ = stop.wait_for(|stopped| *stopped).await;
            sleep(DRAIN).await;
        } => Ok(()),
    }
}

/// Comes when the program is asked to stop.
pub type StopFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
