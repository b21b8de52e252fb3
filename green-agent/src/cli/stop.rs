//! Ctrl-C and SIGTERM: the first ends the run in good order, the second at once.

use tokio::sync::watch;

use bridge_program::{Exit, errln};

/// Becomes true with the first Ctrl-C or SIGTERM. A second one ends the program there and then; the
/// keepers of its agents see that and end them.
pub(super) fn on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let stop = bridge_program::stop_signal()?;
    tokio::spawn(end_at_second(stop.clone()));
    Ok(stop)
}

async fn end_at_second(mut first: watch::Receiver<bool>) {
    let _ = first.wait_for(|stopped| *stopped).await;
    // Listened for before it is asked for, so that the quickest hand is heard.
    let second = bridge_program::stop_signal();
    errln!("stopping; press Ctrl-C again to end at once");
    if let Ok(mut second) = second {
        let _ = second.wait_for(|stopped| *stopped).await;
        std::process::exit(u8::from(Exit::Infrastructure).into());
    }
}
