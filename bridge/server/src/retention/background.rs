//! Periodic background work, each kind separately: deleting old tasks must not wait until disk space is freed, and disk
//! space must be freed while more and more tasks become old.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_program::lock;
use tokio::time::sleep;

use super::{
    AGAIN, Inner, Retention,
    pace::{EVERY, Pace},
};
use crate::{clock, store::StoreError};

/// The time from the start until disk space is first freed. Programs that run only briefly must do it too, or their disk fills.
const FIRST: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
enum Work {
    Deleting,
    GivingRoomBack,
    Measuring,
}

impl Retention {
    /// Begins to delete tasks by the rules, to free disk space, and to measure the disk, periodically.
    pub(crate) fn start(&self) {
        let mut background = lock(&self.0.background);
        for work in [Work::Deleting, Work::GivingRoomBack, Work::Measuring] {
            background.spawn(repeat(Arc::downgrade(&self.0), work));
        }
    }

    async fn work(&self, work: Work) -> Result<(), StoreError> {
        match work {
            Work::Deleting => {
                let deleted = self.pass(clock::present()).await?;
                if deleted > 0 {
                    tracing::info!(deleted, "old tasks were deleted");
                }
                Ok(())
            }
            Work::GivingRoomBack => self.maintain().await,
            Work::Measuring => self.measure().await,
        }
    }

    /// Frees disk space, in steps with pauses between them.
    async fn maintain(&self) -> Result<(), StoreError> {
        let pace = Pace::begin();
        while pace.step(self.0.store.maintain()).await? {}
        Ok(())
    }

    /// Updates the metrics of the store's size on disk, and logs a warning when the disk is nearly full.
    async fn measure(&self) -> Result<(), StoreError> {
        let Some(disk_use) = self.0.store.disk_use().await? else {
            return Ok(());
        };
        let metrics = &self.0.metrics;
        metrics.store_bytes("log", disk_use.log);
        metrics.store_bytes("index", disk_use.index);
        metrics.store_bytes("live", disk_use.live);
        if let Some(free) = disk_use.free {
            metrics.store_bytes("free", free);
            let used = disk_use.log + disk_use.index;
            if free < used / 4 && self.progress().measured.is_multiple_of(AGAIN) {
                tracing::warn!(
                    free,
                    used,
                    "the disk of the store is nearly full: set store.retention in bridge.toml to keep fewer tasks"
                );
            }
        }
        self.progress().measured += 1;
        Ok(())
    }
}

/// Repeats the work until the last clone of the retention is dropped, which drops the work too.
async fn repeat(inner: Weak<Inner>, work: Work) {
    let mut rest = match work {
        Work::Deleting | Work::GivingRoomBack => FIRST,
        Work::Measuring => Duration::ZERO,
    };
    loop {
        sleep(rest).await;
        rest = EVERY;
        let Some(retention) = inner.upgrade().map(Retention) else {
            return;
        };
        if let Err(error) = retention.work(work).await
            && !error.is_reported_by_store()
        {
            tracing::warn!(%error, ?work, "the store could not be cleaned up");
        }
    }
}
