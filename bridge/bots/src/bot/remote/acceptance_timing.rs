//! Learns from a bot's turns whether its HTTP answer comes at the beginning or at the end of a turn.
//!
//! Most SDKs answer 202 after the bot's turn (the Agents SDK for Python does), others at once (the one for .NET
//! does). The status does not tell which. A bot that answers at once sends activities after its 202. So a bot that
//! has sent activities before its 202 in many turns, and after it in none, answers at the end of its turns.
//!
//! All other statuses come at the end of a turn in SDKs. But programs without an SDK answer them at once, too, and ask
//! a model then. They say nothing before their answer.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bridge_program::lock;

use super::TurnEndRules;

/// The number of consecutive turns that must have been over at their 202. On a busy machine, activities of a bot
/// that answers at once may overtake its 202 now and then, but not so often in a row.
const REQUIRED_TURNS: u32 = 8;

/// The factor by which the wait is longer for a bot that has never spoken. It suffices for most models, and is short enough
/// to learn that the bot cannot call back.
const FIRST_TURNS_FACTOR: u32 = 5;

/// The timing of the HTTP answers in the turns of one bot.
#[derive(Debug, Default)]
pub(super) struct AcceptanceTiming {
    /// The number of consecutive turns that were over at their 202.
    over: AtomicU32,
    /// The timing of its answers other than 202.
    answers: Mutex<AnswerTiming>,
}

#[derive(Debug, Default)]
struct AnswerTiming {
    /// Whether the bot has ever spoken only after its answer.
    is_early: bool,
    /// The number of turns since then in which it had spoken before.
    over: u32,
    /// Whether it has said nothing in its last turn.
    was_silent: bool,
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

    /// Records an activity outside of turns. After a silent turn it is what the bot had to say in the turn.
    pub(super) fn record_outside_turn(&self) {
        self.record_not_over();
        if lock(&self.answers).was_silent {
            self.record_answer_at_beginning();
        }
    }

    /// Records that a bot has spoken before its answer other than 202.
    pub(super) fn record_answer_at_end(&self) {
        let mut answers = lock(&self.answers);
        answers.over = answers.over.saturating_add(1);
        answers.was_silent = false;
    }

    /// Records that a bot has spoken only after its answer other than 202.
    pub(super) fn record_answer_at_beginning(&self) {
        *lock(&self.answers) = AnswerTiming {
            is_early: true,
            ..AnswerTiming::default()
        };
    }

    /// Records a turn in which a bot has said nothing, neither before its answer other than 202 nor after it.
    pub(super) fn record_silence(&self) {
        lock(&self.answers).was_silent = true;
    }

    /// Returns the time to wait for a bot that has said nothing before its answer other than 202.
    pub(super) fn patience_after_answer(&self, ending: &TurnEndRules) -> Duration {
        let answers = lock(&self.answers);
        match (answers.is_early, answers.over) {
            (false, 0) => ending
                .patience
                .min(ending.quiet.saturating_mul(FIRST_TURNS_FACTOR)),
            (true, over) if over < REQUIRED_TURNS => ending.patience,
            (false | true, _) => ending.quiet,
        }
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
    fn a_bot_that_answers_before_it_speaks_is_waited_for() {
        let acceptance = AcceptanceTiming::default();
        let ending = TurnEndRules::default();
        let seconds = || acceptance.patience_after_answer(&ending).as_secs();
        assert_eq!(seconds(), 10);
        acceptance.record_answer_at_end();
        acceptance.record_outside_turn();
        assert_eq!(seconds(), 2, "the bot only reminds");
        acceptance.record_silence();
        acceptance.record_outside_turn();
        assert_eq!(seconds(), 60, "the bot speaks late");
        acceptance.record_answer_at_end();
        assert_eq!(seconds(), 60, "a quick word may overtake the answer");
        for _ in 1..REQUIRED_TURNS {
            acceptance.record_answer_at_end();
        }
        assert_eq!(seconds(), 2);
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
