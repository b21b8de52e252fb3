//! The ids of activities and messages: the activity's own, or one derived from the turn's.

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
};

/// Returns the task of the activity with this id, if a channel gave the id: it begins with the task's id and a dot.
pub fn task_of(id: &str) -> Option<&str> {
    id.split_once('.').map(|(task, _)| task)
}

/// Assigns unique ids to the messages of a turn.
pub(crate) struct Ids {
    turn: String,
    used: BTreeSet<String>,
}

impl Ids {
    /// Creates the ids for the turn that answers this activity.
    pub(crate) fn new(activity_id: &str) -> Self {
        Self { turn: activity_id.to_string(), used: BTreeSet::from([activity_id.to_string()]) }
    }

    /// Returns the wanted id if it is free, else the next one derived from the turn's. Clients treat messages
    /// with the same id as one.
    pub(crate) fn take(&mut self, wanted: Option<&str>) -> String {
        let wanted = wanted.filter(|id| !id.is_empty() && !self.used.contains(*id));
        let id = match wanted {
            Some(id) => id.to_string(),
            None => self.next(),
        };
        self.used.insert(id.clone());
        id
    }

    fn next(&self) -> String {
        let free = |id: &String| !self.used.contains(id);
        let mut candidates = (self.used.len()..).map(|count| format!("{}.{count}", self.turn));
        candidates.find(free).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_task_before_a_dot() {
        for (id, expected) in [("t.1", Some("t")), ("t.1.2", Some("t")), ("t", None), ("", None)] {
            assert_eq!(task_of(id), expected, "{id}");
        }
    }

    #[test]
    fn no_id_is_given_twice() {
        let mut ids = Ids::new("a");
        let wanted = [Some("b"), Some("b"), Some("a"), None, Some(""), Some("a.7"), None, None];
        let given = wanted.map(|wanted| ids.take(wanted));
        assert_eq!(given, ["b", "a.2", "a.3", "a.4", "a.5", "a.7", "a.8", "a.9"]);
    }
}
