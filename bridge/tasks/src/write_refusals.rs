//! Logs the periods in which a store refuses to write: their beginning, their continuation at intervals, and their end.
//! The refused writes of a period are counted instead of logged one by one.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_program::lock;
use tokio::time::Instant;

use crate::store::{Result, StoreError};

/// The interval at which a continuing period is logged.
const EVERY: Duration = Duration::from_secs(60);

/// The time without a refusal after which a period is over. A disk that is almost full accepts small writes in between.
const QUIET: Duration = Duration::from_secs(5);

/// Tracks whether a store refuses writes.
#[derive(Debug, Default)]
pub(crate) struct WriteRefusals {
    /// Whether a period is open: without one, no lock is taken.
    is_refusing: AtomicBool,
    period: Mutex<Option<RefusalPeriod>>,
}

/// A period in which writes are refused.
#[derive(Debug)]
struct RefusalPeriod {
    count: u64,
    last: Instant,
    told: Instant,
}

/// A log line about a period.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RefusalReport {
    #[error("the store refuses writes: {0}")]
    Begins(String),
    #[error("the store still refuses writes, {0} times so far: {1}")]
    GoesOn(u64, String),
    #[error("the store accepts writes again, after {0} refusals")]
    IsOver(u64),
}

impl WriteRefusals {
    /// Records the result of a write, and returns the report to log, if there is one.
    pub(crate) fn note<T>(&self, written: &Result<T>, now: Instant) -> Option<RefusalReport> {
        match written {
            Err(error) if error.is_reported_by_store() => self.refused(error, now),
            Ok(_) if self.is_refusing.load(Ordering::Relaxed) => self.taken(now),
            Ok(_) | Err(_) => None,
        }
    }

    fn refused(&self, error: &StoreError, now: Instant) -> Option<RefusalReport> {
        let mut period = lock(&self.period);
        let Some(period) = &mut *period else {
            self.is_refusing.store(true, Ordering::Relaxed);
            let (count, last, told) = (1, now, now);
            *period = Some(RefusalPeriod { count, last, told });
            return Some(RefusalReport::Begins(error.to_string()));
        };
        period.count += 1;
        period.last = now;
        if now.duration_since(period.told) < EVERY {
            return None;
        }
        period.told = now;
        Some(RefusalReport::GoesOn(period.count, error.to_string()))
    }

    fn taken(&self, now: Instant) -> Option<RefusalReport> {
        let mut period = lock(&self.period);
        let over = period.take_if(|period| now.duration_since(period.last) >= QUIET)?;
        self.is_refusing.store(false, Ordering::Relaxed);
        Some(RefusalReport::IsOver(over.count))
    }
}

impl RefusalReport {
    pub(crate) fn log(&self) {
        match self {
            Self::Begins(_) | Self::GoesOn(..) => tracing::error!("{self}"),
            Self::IsOver(_) => tracing::warn!("{self}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates ten writes a second for five minutes. The disk has space at the beginning and at the end; in between
    /// every other write is small enough to fit.
    #[test]
    fn a_full_disk_is_logged_at_its_beginning_now_and_then_and_at_its_end() {
        let (refusing, begun) = (WriteRefusals::default(), Instant::now());
        let mut lines = Vec::new();
        for number in 0..3_000_u32 {
            let now = begun + number * Duration::from_millis(100);
            let written = match (100..2_900).contains(&number) && number % 2 == 0 {
                true => Err(StoreError::Full { doing: "the log".into() }),
                false => Ok(()),
            };
            lines.extend(refusing.note(&written, now));
        }
        let error = || "no room is left on the disk for the log".to_owned();
        let expected = [
            RefusalReport::Begins(error()),
            RefusalReport::GoesOn(301, error()),
            RefusalReport::GoesOn(601, error()),
            RefusalReport::GoesOn(901, error()),
            RefusalReport::GoesOn(1201, error()),
            RefusalReport::IsOver(1400),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn an_invalid_request_is_no_refusal_of_the_store() {
        let refusing = WriteRefusals::default();
        let written = Err::<(), _>(StoreError::not_found("t"));
        assert_eq!(refusing.note(&written, Instant::now()), None);
    }
}
