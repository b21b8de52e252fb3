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
    /// The number of turns in which it has sent nothing, before its 202 or after it, since it last spoke after one.
    silent: AtomicU32,
    /// The timing of its answers other than 202.
    answers: Mutex<AnswerTiming>,
}

#[derive(Debug, Default)]
struct AnswerTiming {
    /// Whether the bot has ever spoken only after its answer.
    is_early: bool,
    /// The number of turns since then in which it had spoken before.
    over: u32,
    /// The number of consecutive turns in which it has said nothing.
    silent: u32,
}

impl AcceptanceTiming {
    /// Records a turn that was over at its 202: the bot had sent activities before, and sent none after it.
    pub(super) fn record_over(&self) {
        count(&self.over);
    }

    /// Records a turn in which the bot sent activities after its 202. The counts start again.
    pub(super) fn record_not_over(&self) {
        self.over.store(0, Ordering::Relaxed);
        self.silent.store(0, Ordering::Relaxed);
    }

    /// Records a turn in which the bot has sent nothing until its end, after a 202.
    pub(super) fn record_silent_acceptance(&self) {
        count(&self.silent);
    }

    /// Records an activity outside of turns. After a silent turn it is what the bot had to say in the turn.
    pub(super) fn record_outside_turn(&self) {
        self.record_not_over();
        if lock(&self.answers).silent > 0 {
            self.record_answer_at_beginning();
        }
    }

    /// Records that a bot has spoken before its answer other than 202.
    pub(super) fn record_answer_at_end(&self) {
        let mut answers = lock(&self.answers);
        answers.over = answers.over.saturating_add(1);
        answers.silent = 0;
    }

    /// Records that a bot has spoken only after its answer other than 202.
    pub(super) fn record_answer_at_beginning(&self) {
        *lock(&self.answers) = AnswerTiming { is_early: true, ..AnswerTiming::default() };
    }

    /// Records a turn in which a bot has said nothing, neither before its answer other than 202 nor after it.
    pub(super) fn record_silence(&self) {
        let mut answers = lock(&self.answers);
        answers.silent = answers.silent.saturating_add(1);
    }

    /// Returns the time to wait for a bot that has said nothing before its answer other than 202. Each silent turn in a
    /// row makes it less likely that the bot has only begun, and halves the time: bots that react to certain words only
    /// are often silent, and a late word of a bot restores the wait.
    pub(super) fn patience_after_answer(&self, ending: &TurnEndRules) -> Duration {
        let answers = lock(&self.answers);
        let whole = match (answers.is_early, answers.over) {
            (false, 0) => ending.patience.min(ending.quiet.saturating_mul(FIRST_TURNS_FACTOR)),
            (true, over) if over < REQUIRED_TURNS => ending.patience,
            (false | true, _) => ending.quiet,
        };
        let shorter = whole / 2_u32.pow(answers.silent.min(REQUIRED_TURNS));
        shorter.max(ending.quiet.min(whole))
    }

    /// Returns the time to wait for a bot that has sent nothing before its 202. Each turn in a row that was over at its 202
    /// makes it less likely that the bot has only begun, and halves the time. So does each silent turn, down to the time that
    /// suffices for most models.
    pub(super) fn patience(&self, ending: &TurnEndRules) -> Duration {
        let halvings = |turns: &AtomicU32| turns.load(Ordering::Relaxed).min(REQUIRED_TURNS);
        let learned = ending.patience / 2_u32.pow(halvings(&self.over));
        let least = ending.quiet.saturating_mul(FIRST_TURNS_FACTOR).min(learned);
        (learned / 2_u32.pow(halvings(&self.silent))).max(least)
    }

    /// Returns whether a 202 of this bot is the end of its turn, if the bot has sent activities before.
    pub(super) fn is_at_turn_end(&self) -> bool {
        self.over.load(Ordering::Relaxed) >= REQUIRED_TURNS
    }
}

/// Increases a number of turns.
fn count(turns: &AtomicU32) {
    let next = |turns: u32| Some(turns.saturating_add(1));
    let _ = turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_turn_is_waited_for_less_long_the_more_turns_were_over() {
        let acceptance = AcceptanceTiming::default();
        let ending = TurnEndRules::default();
        let seconds = || acceptance.patience(&ending).as_secs();
        assert_eq!(seconds(), 60);
        acceptance.record_over();
        acceptance.record_over();
        assert_eq!(seconds(), 15);
        acceptance.record_not_over();
        let next = || {
            let patience = seconds();
            acceptance.record_silent_acceptance();
            patience
        };
        assert_eq!([next(), next(), next(), next(), next()], [60, 30, 15, 10, 10]);
        acceptance.record_over();
        assert_eq!(seconds(), 10);
        acceptance.record_outside_turn();
        assert_eq!(seconds(), 60);
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
        acceptance.record_answer_at_end();
        acceptance.record_outside_turn();
        assert_eq!(seconds(), 2, "the bot has spoken since it was silent");
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
    fn a_bot_that_is_often_silent_is_waited_for_less_long_until_it_speaks_late() {
        let acceptance = AcceptanceTiming::default();
        let ending = TurnEndRules::default();
        let next = || {
            let patience = acceptance.patience_after_answer(&ending).as_secs();
            acceptance.record_silence();
            patience
        };
        assert_eq!([next(), next(), next(), next()], [10, 5, 2, 2]);
        acceptance.record_outside_turn();
        assert_eq!([next(), next(), next()], [60, 30, 15], "the bot is slow");
        acceptance.record_answer_at_beginning();
        assert_eq!(next(), 60);
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
