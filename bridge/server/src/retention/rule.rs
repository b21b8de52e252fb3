//! Selects the ended tasks to delete: rules, without store and clock.

use std::{collections::BTreeMap, time::Duration};

use bridge_program::clock::Present;
use jiff::Timestamp;

use crate::store::EndedTasks;

/// The default age at which tasks are deleted.
const AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The limits for keeping the ended tasks of an agent. Open tasks are never deleted by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionRule {
    /// The time after its last status at which a task is deleted; unlimited if absent.
    pub age: Option<Duration>,
    /// The number of ended tasks that are kept; unlimited if absent. The oldest are deleted first.
    pub tasks: Option<usize>,
    /// The size of the ended tasks that are kept, in bytes, roughly; unlimited if absent. The oldest are deleted first.
    pub bytes: Option<u64>,
}

impl Default for RetentionRule {
    /// Returns the rule that keeps tasks for 90 days.
    fn default() -> Self {
        Self { age: Some(AGE), tasks: None, bytes: None }
    }
}

/// The rules of all agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionSettings {
    /// The rule for agents without their own, applied to each agent separately.
    pub usual: RetentionRule,
    /// The rules of agents, by name.
    pub agents: BTreeMap<String, RetentionRule>,
}

impl RetentionSettings {
    pub(super) fn of(&self, agent: &str) -> &RetentionRule {
        self.agents.get(agent).unwrap_or(&self.usual)
    }
}

impl RetentionRule {
    /// Returns the time before which tasks are too old at `now`.
    pub(super) fn too_old(&self, now: &Present) -> Option<Timestamp> {
        self.age.and_then(|age| now.before(age))
    }

    /// Returns the number of an agent's ended tasks that are too many. Only the sum of their sizes is known, so this is
    /// an estimate, which is repeated after some were deleted.
    pub(super) fn too_many(&self, there: EndedTasks) -> usize {
        let by_number = self.tasks.map_or(0, |most| there.tasks.saturating_sub(most));
        let by_size = self.bytes.map_or(0, |most| {
            let bytes = u128::from(there.bytes.saturating_sub(most));
            let tasks = there.tasks as u128;
            let estimate = (bytes * tasks).div_ceil(u128::from(there.bytes.max(1)));
            usize::try_from(estimate).unwrap_or(there.tasks)
        });
        by_number.max(by_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_by_number_and_by_size() {
        let rule = |tasks, bytes| RetentionRule { age: None, tasks, bytes };
        let there = EndedTasks { tasks: 10, bytes: 1_000 };
        for (rule, expected) in [
            (rule(None, None), 0),
            (rule(Some(10), Some(1_000)), 0),
            (rule(Some(7), None), 3),
            (rule(None, Some(999)), 1),
            (rule(None, Some(500)), 5),
            (rule(Some(9), Some(0)), 10),
            (rule(Some(0), None), 10),
        ] {
            assert_eq!(rule.too_many(there), expected, "{rule:?}");
        }
        assert_eq!(rule(Some(0), Some(0)).too_many(EndedTasks::default()), 0);
    }

    #[test]
    fn tasks_are_kept_for_ninety_days_unless_said_otherwise() {
        let now = Present::from(Timestamp::from_second(100 * 24 * 60 * 60).unwrap());
        let settings = RetentionSettings {
            agents: [("a".to_owned(), RetentionRule { age: None, ..RetentionRule::default() })]
                .into(),
            ..RetentionSettings::default()
        };
        let day = Timestamp::from_second(10 * 24 * 60 * 60).unwrap();
        assert_eq!(settings.of("b").too_old(&now), Some(day));
        assert_eq!(settings.of("a").too_old(&now), None);
    }
}
