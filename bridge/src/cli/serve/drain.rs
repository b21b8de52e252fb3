//! Stops in order: first the program reports that it is not ready, then streams are ended for resumption elsewhere and
//! turns have a limited time to end, then it stops listening.

use std::time::Duration;

use tokio::{sync::watch, time::sleep};

use crate::{
    config::{DrainConfig, Period},
    host::HostedAgents,
};

/// The default time for which turns may continue.
const TURNS: Duration = Duration::from_secs(5);

/// Returns a channel that becomes true when the program may stop listening, some time after `signal` did.
pub(super) fn drain(
    mut signal: watch::Receiver<bool>,
    hosted: HostedAgents,
    config: &DrainConfig,
) -> watch::Receiver<bool> {
    let notice = Period::or(config.notice, Duration::ZERO);
    let turns = Period::or(config.turns, TURNS);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        if signal.wait_for(|stops| *stops).await.is_err() {
            // There are no receivers any more.
            std::future::pending::<()>().await;
        }
        sleep(notice).await;
        match hosted.drain_within(turns).await {
            0 => {}
            left => tracing::warn!(left, "turns continue after the next start"),
        }
        sender.send_replace(true);
    });
    receiver
}
