//! Logs what goes wrong between the bridge and one bot: each trouble once, and after that how often it came again.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_program::lock;
use tokio::time::Instant;

use super::call::CallError;

/// The time between two lines about failures that follow each other without a success.
const INTERVAL: Duration = Duration::from_secs(60);

/// The log lines about one bot.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    row: Mutex<Option<Row>>,
    has_told_of_silence: AtomicBool,
}

/// Failures of one kind that follow each other.
#[derive(Debug)]
struct Row {
    kind: String,
    told: Instant,
    /// The number of failures, and how many of them had no line.
    failures: u64,
    untold: u64,
}

impl CallLog {
    /// Logs a call that failed.
    pub(super) fn failed(&self, agent: &str, task: &str, error: &CallError) {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        match self.note(error.told()) {
            Some(0) => {
                tracing::warn!(agent, task, %error, cause, "a call of a bot failed");
            }
            Some(untold) => {
                tracing::warn!(agent, task, %error, cause, untold, "the calls of a bot still fail");
            }
            None => tracing::debug!(agent, task, %error, cause, "a call of a bot failed again"),
        }
    }

    /// Logs that calls succeed again, if some that failed had no line.
    pub(super) fn succeeded(&self, agent: &str) {
        let row = lock(&self.row).take();
        if let Some(Row { failures, .. }) = row.filter(|row| row.failures > 1) {
            tracing::warn!(agent, failures, "the calls of a bot succeed again");
        }
    }

    /// Logs the first turn in which the bot said nothing. It may have had nothing to say, but often its own calls fail.
    pub(super) fn was_silent(&self, agent: &str, task: &str, called_at: &str) {
        if !self.has_told_of_silence.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                agent,
                task,
                "a bot took a message and said nothing; if it should have: its own log tells whether its calls to \
                 {called_at} fail, `bridge doctor` tries them, and `turns = \"late\"` is for bots that answer later \
                 (this is logged once)"
            );
        }
    }

    /// Notes a failure. Returns how many before it had no line, if it has one.
    fn note(&self, kind: String) -> Option<u64> {
        let mut row = lock(&self.row);
        let now = Instant::now();
        match row.as_mut().filter(|row| row.kind == kind) {
            Some(row) => {
                row.failures += 1;
                row.untold += 1;
                (now - row.told >= INTERVAL).then(|| {
                    row.told = now;
                    std::mem::take(&mut row.untold) - 1
                })
            }
            None => {
                *row = Some(Row {
                    kind,
                    told: now,
                    failures: 1,
                    untold: 0,
                });
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_have_a_line_a_minute() {
        let log = CallLog::default();
        let note = |kind: &str| log.note(kind.to_owned());
        assert_eq!(note("gone"), Some(0));
        assert_eq!((note("gone"), note("gone")), (None, None));
        tokio::time::advance(INTERVAL).await;
        assert_eq!((note("gone"), note("gone")), (Some(2), None));
        assert_eq!(note("status 500"), Some(0));
        log.succeeded("bot");
        assert_eq!(note("status 500"), Some(0));
    }
}
