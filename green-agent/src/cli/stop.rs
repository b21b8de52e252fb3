//! Ctrl-C and SIGTERM: the first ends the run in good order, the second at once.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::exit::Exit;

/// Becomes true with the first Ctrl-C or SIGTERM. A second one ends the program there and then; the
/// keepers of its agents see that and end them.
pub(super) fn on_signal() -> std::io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        let mut stopping = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stopping {
                std::process::exit(u8::from(Exit::Infrastructure).into());
            }
            stopping = true;
            anstream::eprintln!("stopping; press Ctrl-C again to end at once");
            sender.send_replace(true);
        }
    });
    Ok(receiver)
}
