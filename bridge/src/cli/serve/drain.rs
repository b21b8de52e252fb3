//! Stops in order: first the program reports that it is not ready, then streams are ended for resumption elsewhere and
//! turns have a limited time to end, then it stops listening. A program whose work others have taken over does so at once.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::sleep};

use crate::{
    config::{DrainConfig, Period},
    host::HostedAgents,
    store::Leases,
};

/// The default time for which turns may continue.
const TURNS: Duration = Duration::from_secs(5);

/// Returns a channel that becomes true as `signal` does, or when other processes on the store have taken over from this one.
pub(super) fn or_lost(
    mut signal: watch::Receiver<bool>,
    leases: Option<Arc<dyn Leases>>,
) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            () = asked(&mut signal) => {}
            () = lost(leases) => {}
        }
        sender.send_replace(true);
    });
    receiver
}

/// Returns a channel that becomes true when the program may stop listening, some time after `signal` did. If other processes
/// have taken over, none of its turns can end, and it may stop at once.
pub(super) fn drain(
    mut signal: watch::Receiver<bool>,
    leases: Option<Arc<dyn Leases>>,
    hosted: HostedAgents,
    config: &DrainConfig,
) -> watch::Receiver<bool> {
    let notice = Period::or(config.notice, Duration::ZERO);
    let turns = Period::or(config.turns, TURNS);
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        let in_order = async {
            asked(&mut signal).await;
            sleep(notice).await;
            match hosted.drain_within(turns).await {
                0 => {}
                left => tracing::warn!(left, "turns continue after the next start"),
            }
        };
        tokio::select! {
            biased;
            () = lost(leases) => {
                hosted.drain_within(Duration::ZERO).await;
            }
            () = in_order => {}
        }
        sender.send_replace(true);
    });
    receiver
}

async fn asked(signal: &mut watch::Receiver<bool>) {
    if signal.wait_for(|stops| *stops).await.is_err() {
        // Nobody can ask any more.
        std::future::pending::<()>().await;
    }
}

async fn lost(leases: Option<Arc<dyn Leases>>) {
    match leases {
        Some(leases) => leases.lost().await,
        None => std::future::pending().await,
    }
}
