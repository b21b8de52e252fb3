//! Counts operations and faults of a round.

use std::{fmt, time::Duration};

use crate::model::{Model, Wrong};

/// The figures of all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rounds: u64,
    pub(crate) faults: u64,
    pub(crate) restarts: u64,
    pub(crate) messages: u64,
    pub(crate) acknowledged: u64,
    pub(crate) deleted: u64,
    lost: usize,
    duplicated: usize,
    changed: usize,
    stuck: usize,
    refused: usize,
    pub(crate) panics: u64,
    /// The longest time until all that was said in a round had its end.
    pub(crate) settling: Duration,
}

impl Figures {
    /// Adds those of a round.
    pub(crate) fn add(&mut self, model: &Model, faults: u64) {
        let messages = model.messages();
        self.rounds += 1;
        self.faults += faults;
        self.messages += messages.len() as u64;
        self.acknowledged += model.operations();
        self.add_wrong(model);
    }

    fn add_wrong(&mut self, model: &Model) {
        self.lost += model.count(Wrong::Lost);
        self.duplicated += model.count(Wrong::Duplicated);
        self.changed += model.count(Wrong::Changed);
        self.stuck += model.count(Wrong::Stuck);
        self.refused += model.count(Wrong::Refused);
    }

    /// Whether all promises were kept.
    pub(crate) fn is_well(&self) -> bool {
        let wrong = [
            self.lost,
            self.duplicated,
            self.changed,
            self.stuck,
            self.refused,
        ];
        wrong == [0; 5] && self.panics == 0
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds,
            faults,
            restarts,
            messages,
            acknowledged,
            deleted,
            ..
        } = self;
        write!(
            f,
            "{rounds} rounds, {faults} faults, {restarts} restarts, {messages} messages, "
        )?;
        write!(
            f,
            "{acknowledged} operations acknowledged, {deleted} tasks deleted by rule; "
        )?;
        let Self {
            lost,
            duplicated,
            changed,
            stuck,
            refused,
            panics,
            ..
        } = self;
        write!(
            f,
            "{lost} lost, {duplicated} duplicated, {changed} changed, {stuck} stuck, "
        )?;
        write!(
            f,
            "{refused} refused, {panics} panics; settled within {:.0?}",
            self.settling
        )
    }
}
