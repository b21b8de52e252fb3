//! Recognizes activities that are posted again: an SDK that got no response repeats the same request.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// The number of remembered activities of all bots.
const CAPACITY: usize = 4096;

type ActivityHash = [u8; 32];

/// The most recent activities with ids of their own, and the ids that they were given. A restart clears them.
#[derive(Debug, Default)]
pub(super) struct RecentActivities(Mutex<RecentSet>);

#[derive(Debug, Default)]
struct RecentSet {
    cells: BTreeMap<ActivityHash, Arc<OnceCell<String>>>,
    order: VecDeque<ActivityHash>,
}

impl RecentActivities {
    /// Returns the cell for the new id of an activity that is posted at the service URL with this secret. Returns
    /// `None` for activities without an id, because a bot may send the same text twice. Some SDKs give all pieces of
    /// a stream the same id, so activities are compared as a whole.
    pub(super) fn of(&self, secret: &str, activity: &Value) -> Option<Arc<OnceCell<String>>> {
        let id = activity.get("id").and_then(Value::as_str);
        id.filter(|id| !id.is_empty())?;
        let said = Sha256::new_with_prefix(secret).chain_update(activity.to_string());
        let key: ActivityHash = said.finalize().into();
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = recent.cells.get(&key) {
            return Some(cell.clone());
        }
        if recent.order.len() >= CAPACITY
            && let Some(oldest) = recent.order.pop_front()
        {
            recent.cells.remove(&oldest);
        }
        recent.order.push_back(key);
        Some(recent.cells.entry(key).or_default().clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_activity_is_found_again_until_it_is_forgotten() {
        let recent_activities = RecentActivities::default();
        let said = |id: &str, text: &str| json!({"type": "message", "id": id, "text": text});
        let first = recent_activities.of("s", &said("a", "hi")).unwrap();
        let same = |secret: &str, activity: &Value| {
            Arc::ptr_eq(&first, &recent_activities.of(secret, activity).unwrap())
        };
        assert!(same("s", &said("a", "hi")));
        assert!(!same("s", &said("a", "ho")) && !same("t", &said("a", "hi")));
        for nameless in [said("", "hi"), json!({"type": "message"}), json!(7)] {
            assert!(recent_activities.of("s", &nameless).is_none());
        }
        for index in 0..CAPACITY {
            recent_activities.of("s", &said(&index.to_string(), "hi"));
        }
        assert!(!same("s", &said("a", "hi")));
        let recent = recent_activities.0.lock().unwrap();
        assert_eq!(
            (recent.cells.len(), recent.order.len()),
            (CAPACITY, CAPACITY)
        );
    }
}
