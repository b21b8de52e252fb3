//! Stops in good order: first the program says that it is not ready, then streams are told to go on elsewhere and turns
//! have a bounded time to end, then it stops to listen.

use std::time::Duration;

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{config::DrainConfig, host::HostedAgents};

/// The time for which turns may go on if no other is set.
const TURNS: Duration = Duration::from_secs(5);

/// How often the number of turns is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Returns a channel that becomes true when the program may stop to listen, some time after `signal` did.
pub(super) fn drain(
    mut signal: watch::Receiver<bool>,
    hosted: HostedAgents,
    config: &DrainConfig,
) -> watch::Receiver<bool> {
    let notice = config.notice.map_or(Duration::ZERO, |period| period.0);
    let turns = config.turns.map_or(TURNS, |period| period.0);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        if signal.wait_for(|stops| *stops).await.is_err() {
            // Nobody will ask any more.
            std::future::pending::<()>().await;
        }
        sleep(notice).await;
        hosted.drain();
        let end = Instant::now() + turns;
        while hosted.running_turns() > 0 && Instant::now() < end {
            sleep(LOOK).await;
        }
        match hosted.running_turns() {
            0 => {}
            left => tracing::warn!(left, "turns are left to the next start"),
        }
        sender.send_replace(true);
    });
    receiver
}
