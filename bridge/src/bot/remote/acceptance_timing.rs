//! What a bot's own turns show about its 202: whether it comes when the turn is over, or when the turn begins.
//!
//! Most SDKs answer 202 after the bot's turn (the Agents SDK for Python does), others at once (that for .NET does).
//! The status does not tell which. A bot that answers at once speaks after its 202. So a bot that spoke before its
//! 202 in many turns, and after it in none, answers at the end of its turns.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many turns in a row must have been over at their 202. A bot that answers at once can be overtaken by its own
/// words now and then, when the machine is busy, but not so often in a row.
const REQUIRED_TURNS: u32 = 8;

/// The turns of one bot that it accepted with 202.
#[derive(Debug, Default)]
pub(super) struct AcceptanceTiming {
    /// How many were over at their 202 since one was not.
    over: AtomicU32,
}

impl AcceptanceTiming {
    /// A turn was over at its 202: the bot had spoken, and said no more.
    pub(super) fn record_over(&self) {
        let next = |over: u32| Some(over.saturating_add(1));
        let _ = self
            .over
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// The bot spoke after a 202, or had not spoken before it. What was learnt is forgotten.
    pub(super) fn record_not_over(&self) {
        self.over.store(0, Ordering::Relaxed);
    }

    /// Whether a 202 of this bot is the end of its turn, if it has spoken before.
    pub(super) fn is_at_turn_end(&self) -> bool {
        self.over.load(Ordering::Relaxed) >= REQUIRED_TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_turn_that_goes_on_after_its_202_is_enough_to_wait_again() {
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
