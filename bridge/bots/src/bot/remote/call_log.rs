//! Logs failed calls of one bot. Repeated failures of the same kind are counted and logged once a minute.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use bridge_program::{LogInterval, lock};

use super::{RemoteBot, call::CallError};

/// The state of the log lines about one bot.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    failures: Mutex<Option<Failures>>,
    is_silence_logged: AtomicBool,
}

/// Failures of one kind without a success between them.
#[derive(Debug)]
struct Failures {
    kind: String,
    count: u64,
    lines: LogInterval,
}

impl CallLog {
    /// Logs a call that failed.
    pub(super) fn failed(&self, bot: &RemoteBot, task: &str, error: &CallError) {
        let agent = &bot.name;
        let cause = std::error::Error::source(error).map(ToString::to_string);
        let (told, error) = (error.told(), error.logged(bot));
        match self.note(told) {
            Some(0) => {
                tracing::warn!(agent, task, %error, cause, "a call of a bot failed");
            }
            Some(unlogged) => {
                tracing::warn!(agent, task, %error, cause, unlogged, "the calls of a bot still fail");
            }
            None => tracing::debug!(agent, task, %error, cause, "a call of a bot failed again"),
        }
    }

    /// Logs that calls succeed again, if there were several failures.
    pub(super) fn succeeded(&self, agent: &str) {
        let failures = lock(&self.failures).take();
        if let Some(Failures { count, .. }) = failures.filter(|failures| failures.count > 1) {
            tracing::warn!(agent, failures = count, "the calls of a bot succeed again");
        }
    }

    /// Logs the first turn without a message of the bot. The bot may have nothing to say, but often its calls to the bridge fail.
    pub(super) fn was_silent(&self, agent: &str, task: &str, called_at: &str) {
        if !self.is_silence_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                agent,
                task,
                "a bot accepted a message and sent no answer; if it should have answered: check its log for failed \
                 calls to {called_at}, test them with `bridge doctor`, or set `turns = \"late\"` for a bot that \
                 answers later (this is logged once)"
            );
        }
    }

    /// Counts a failure. Returns `None` if it is not to be logged, otherwise the number of unlogged failures before it.
    fn note(&self, kind: String) -> Option<u64> {
        let mut failures = lock(&self.failures);
        let failures = match failures.as_mut().filter(|failures| failures.kind == kind) {
            Some(failures) => failures,
            None => failures.insert(Failures { kind, count: 0, lines: LogInterval::default() }),
        };
        failures.count += 1;
        failures.lines.note()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn repeated_failures_are_logged_once_a_minute() {
        let log = CallLog::default();
        let note = |kind: &str| log.note(kind.to_owned());
        assert_eq!(note("gone"), Some(0));
        assert_eq!((note("gone"), note("gone")), (None, None));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((note("gone"), note("gone")), (Some(2), None));
        assert_eq!(note("status 500"), Some(0));
        log.succeeded("bot");
        assert_eq!(note("status 500"), Some(0));
    }
}
