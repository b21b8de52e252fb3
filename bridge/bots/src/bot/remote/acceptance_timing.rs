//! Learns from a bot's turns whether its 202 comes at the beginning or at the end of a turn.
//!
//! Most SDKs answer 202 after the bot's turn (the Agents SDK for Python does), others at once (the one for .NET
//! does). The status does not tell which. A bot that answers at once sends activities after its 202. So a bot that
//! has sent activities before its 202 in many turns, and after it in none, answers at the end of its turns.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// The number of consecutive turns that must have been over at their 202. On a busy machine, activities of a bot
/// that answers at once may overtake its 202 now and then, but not so often in a row.
const REQUIRED_TURNS: u32 = 8;

/// The timing of the 202 in the turns of one bot.
#[derive(Debug, Default)]
pub(super) struct AcceptanceTiming {
    /// The number of consecutive turns that were over at their 202.
    over: AtomicU32,
}

impl AcceptanceTiming {
    /// Records a turn that was over at its 202: the bot had sent activities before, and sent none after it.
    pub(super) fn record_over(&self) {
        let next = |over: u32| Some(over.saturating_add(1));
        let _ = self
            .over
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Records a turn in which the bot sent activities after its 202. The count starts again.
    pub(super) fn record_not_over(&self) {
        self.over.store(0, Ordering::Relaxed);
    }

    /// Returns the time to wait for a bot that has sent nothing before its 202. Each turn in a row that was over at its 202
    /// makes it less likely that the bot has only begun, and halves the time.
    pub(super) fn patience(&self, whole: Duration) -> Duration {
        let over = self.over.load(Ordering::Relaxed).min(REQUIRED_TURNS);
        whole / 2_u32.pow(over)
    }

    /// Returns whether a 202 of this bot is the end of its turn, if the bot has sent activities before.
    pub(super) fn is_at_turn_end(&self) -> bool {
        self.over.load(Ordering::Relaxed) >= REQUIRED_TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_turn_is_waited_for_less_long_the_more_turns_were_over() {
        let acceptance = AcceptanceTiming::default();
        let seconds = || acceptance.patience(Duration::from_secs(64)).as_secs();
        assert_eq!(seconds(), 64);
        acceptance.record_over();
        acceptance.record_over();
        assert_eq!(seconds(), 16);
        acceptance.record_not_over();
        assert_eq!(seconds(), 64);
    }

    #[test]
    fn one_turn_that_continues_after_its_202_restores_the_wait() {
        let acceptance = AcceptanceTiming::default();
        for _ in 1..REQUIRED_TURNS {
            acceptance.record_over();
            assert!(!acceptance.is_at_turn_end());
        }
        acceptance.record_over();
        assert!(acceptance.is_at_turn_end());
        acceptance.record_not_over();
        assert!(!acceptance.is_at_turn_end());
    }
}
