//! What those who run the bridge are told while a store refuses to write: that it begins, how it goes on, that it is
//! over. All requests that are refused meanwhile are counted, and none of them is told of by itself.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::StoreError;

/// How often it is told that it goes on.
const EVERY: Duration = Duration::from_secs(60);

/// After how long without a refusal it is over: a disk that is almost full has room for small writes now and then.
const QUIET: Duration = Duration::from_secs(5);

/// Whether the writes to a store are refused.
#[derive(Debug, Default)]
pub(super) struct WriteRefusals {
    /// So that a store that refuses nothing has no lock to take.
    is_refusing: AtomicBool,
    period: Mutex<Option<RefusalPeriod>>,
}

/// A time in which writes are refused.
#[derive(Debug)]
struct RefusalPeriod {
    count: u64,
    last: Instant,
    told: Instant,
}

/// What is told of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RefusalReport {
    Begins(String),
    GoesOn(u64, String),
    IsOver(u64),
}

impl WriteRefusals {
    /// Takes note of what came of a write, and says what is to be told of that.
    pub(super) fn note<T>(
        &self,
        written: &Result<T, StoreError>,
        now: Instant,
    ) -> Option<RefusalReport> {
        match written {
            Err(error) if error.is_reported_by_store() => self.refused(error, now),
            Ok(_) if self.is_refusing.load(Ordering::Relaxed) => self.taken(now),
            Ok(_) | Err(_) => None,
        }
    }

    fn refused(&self, error: &StoreError, now: Instant) -> Option<RefusalReport> {
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        let over = period.take_if(|period| now.duration_since(period.last) >= QUIET)?;
        self.is_refusing.store(false, Ordering::Relaxed);
        Some(RefusalReport::IsOver(over.count))
    }
}

impl RefusalReport {
    pub(super) fn log(&self) {
        match self {
            Self::Begins(_) | Self::GoesOn(..) => tracing::error!("{self}"),
            Self::IsOver(_) => tracing::warn!("{self}"),
        }
    }
}

impl fmt::Display for RefusalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins(error) => write!(f, "the store refuses what is to be kept: {error}"),
            Self::GoesOn(count, error) => {
                write!(
                    f,
                    "the store still refuses what is to be kept, {count} times by now: {error}"
                )
            }
            Self::IsOver(count) => {
                write!(
                    f,
                    "the store takes everything again, after {count} refusals"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten writes a second for five minutes, the first ones and the last ones on a disk with room; in between every
    /// other write is small enough for what is left.
    #[test]
    fn a_full_disk_is_told_of_when_it_begins_now_and_then_and_when_it_is_over() {
        let (refusing, begun) = (WriteRefusals::default(), Instant::now());
        let mut lines = Vec::new();
        for number in 0..3_000_u32 {
            let now = begun + number * Duration::from_millis(100);
            let written = match (100..2_900).contains(&number) && number % 2 == 0 {
                true => Err(StoreError::Full {
                    doing: "the log".into(),
                }),
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
    fn what_is_wrong_with_a_request_is_no_refusal_of_the_store() {
        let refusing = WriteRefusals::default();
        let written = Err::<(), _>(StoreError::not_found("t"));
        assert_eq!(refusing.note(&written, Instant::now()), None);
    }
}
