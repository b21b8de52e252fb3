//! Keeps log lines that are alike from coming in a flood: one a minute is written, and the others are counted.

use std::{sync::Mutex, time::Duration};

use tokio::time::Instant;

use crate::lock;

/// The time for which lines after a written one are only counted.
const INTERVAL: Duration = Duration::from_secs(60);

/// Decides which of several alike log lines are written.
#[derive(Debug, Default)]
pub struct LogInterval(Mutex<Option<Written>>);

#[derive(Debug)]
struct Written {
    at: Instant,
    /// The number of lines after it that were not written.
    unlogged: u64,
}

impl LogInterval {
    /// Counts a line. If it is to be written, returns the number of lines before it that were not.
    pub fn note(&self) -> Option<u64> {
        let mut written = lock(&self.0);
        let at = Instant::now();
        match &mut *written {
            Some(last) if at - last.at < INTERVAL => {
                last.unlogged += 1;
                None
            }
            last => {
                let before = last.replace(Written { at, unlogged: 0 });
                Some(before.map_or(0, |before| before.unlogged))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_a_minute_is_written() {
        let interval = LogInterval::default();
        assert_eq!(interval.note(), Some(0));
        assert_eq!((interval.note(), interval.note()), (None, None));
        tokio::time::advance(INTERVAL).await;
        assert_eq!((interval.note(), interval.note()), (Some(2), None));
        tokio::time::advance(INTERVAL * 2).await;
        assert_eq!(interval.note(), Some(1));
    }
}
