//! Counts the operations and faults of rounds.

use std::{fmt, ops::AddAssign, time::Duration};

use crate::model::{Model, Violation};

/// The figures of all rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    rounds: u64,
    faults: u64,
    pub(crate) restarts: u64,
    messages: u64,
    acknowledged: u64,
    deleted: u64,
    lost: usize,
    duplicated: usize,
    changed: usize,
    stuck: usize,
    refused: usize,
    pub(crate) panics: u64,
    /// The longest time after a round until all of its tasks had ended.
    settling: Duration,
}

impl Figures {
    /// Returns the figures of one round; restarts and panics are added by the caller.
    pub(crate) fn of(model: &Model, faults: u64, settling: Duration) -> Self {
        let messages = model.messages();
        Self {
            rounds: 1,
            faults,
            messages: messages.len() as u64,
            acknowledged: model.operations(),
            deleted: messages.iter().filter(|message| message.is_deleted).count() as u64,
            lost: model.count(Violation::Lost),
            duplicated: model.count(Violation::Duplicated),
            changed: model.count(Violation::Changed),
            stuck: model.count(Violation::Stuck),
            refused: model.count(Violation::Refused),
            settling,
            ..Self::default()
        }
    }

    /// Returns whether all promises were kept.
    pub(crate) fn is_clean(&self) -> bool {
        let wrong = [self.lost, self.duplicated, self.changed, self.stuck, self.refused];
        wrong == [0; 5] && self.panics == 0
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.faults += other.faults;
        self.restarts += other.restarts;
        self.messages += other.messages;
        self.acknowledged += other.acknowledged;
        self.deleted += other.deleted;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.changed += other.changed;
        self.stuck += other.stuck;
        self.refused += other.refused;
        self.panics += other.panics;
        self.settling = self.settling.max(other.settling);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, faults, restarts, messages, acknowledged, deleted, .. } = self;
        write!(f, "{rounds} rounds, {faults} faults, {restarts} restarts, {messages} messages, ")?;
        write!(f, "{acknowledged} operations acknowledged, {deleted} tasks deleted by rule; ")?;
        let Self { lost, duplicated, changed, stuck, refused, panics, .. } = self;
        write!(f, "{lost} lost, {duplicated} duplicated, {changed} changed, {stuck} stuck, ")?;
        write!(f, "{refused} refused, {panics} panics; settled within {:.0?}", self.settling)
    }
}
