//! Stops serving programs gracefully on Ctrl-C or SIGTERM.

use std::{io, time::Duration};

use tokio::{signal::ctrl_c, sync::watch, time::sleep};

use crate::{Exit, system::StopSignals};

/// The time that open requests have to end after a stop signal.
const DRAIN: Duration = Duration::from_secs(5);

/// Returns a channel that becomes true at the first Ctrl-C or SIGTERM, or their equivalents on Windows, after this call. It must
/// be called within a tokio runtime.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn stop_signal() -> io::Result<watch::Receiver<bool>> {
    let mut signals = StopSignals::listen()?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        signals.recv().await;
        sender.send_replace(true);
    });
    Ok(receiver)
}

/// Returns what [`stop_signal`] returns, for a program whose user may not want to wait: a Ctrl-C after the first signal ends the
/// program at once, with the exit code 4. A further SIGTERM changes nothing, because service managers may repeat it.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn stop_or_end() -> io::Result<watch::Receiver<bool>> {
    let stop = stop_signal()?;
    let mut first = stop.clone();
    tokio::spawn(async move {
        if first.wait_for(|stopped| *stopped).await.is_ok() && ctrl_c().await.is_ok() {
            std::process::exit(u8::from(Exit::Infrastructure).into());
        }
    });
    Ok(stop)
}

/// Serves until `stop` becomes true; open requests then have five seconds to end. `serving` gets a future that
/// completes when the server must stop accepting requests, as [`crate::serve()`] expects it.
///
/// # Errors
/// The errors of `serving`.
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

/// A future that completes when the program is asked to stop.
pub type StopFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
