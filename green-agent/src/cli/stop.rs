//! Handles Ctrl-C and SIGTERM: the first ends the run in an orderly way, the second ends the program at once.

use tokio::sync::watch;

use bridge_program::{Exit, errln};

/// Returns a value that becomes true with the first Ctrl-C or SIGTERM. A second one exits the program immediately, with
/// these last words; the supervisor processes of its agents notice that and end them.
pub(super) fn on_signal(last_words: Option<String>) -> std::io::Result<watch::Receiver<bool>> {
    let stop = bridge_program::stop_signal()?;
    tokio::spawn(end_at_second(stop.clone(), last_words));
    Ok(stop)
}

async fn end_at_second(mut first: watch::Receiver<bool>, last_words: Option<String>) {
    let _ = first.wait_for(|stopped| *stopped).await;
    // Listen before asking the user to press Ctrl-C again, so that no signal is missed.
    let second = bridge_program::stop_signal();
    errln!("stopping; press Ctrl-C again to end at once");
    if let Ok(mut second) = second {
        let _ = second.wait_for(|stopped| *stopped).await;
        if let Some(words) = last_words {
            errln!("{words}");
        }
        std::process::exit(u8::from(Exit::Infrastructure).into());
    }
}
