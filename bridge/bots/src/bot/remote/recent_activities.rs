//! Recognizes activities that are posted again: an SDK that got no response repeats the same request.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
};

use bridge_program::lock;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::clock;

/// The number of remembered activities of all bots.
const CAPACITY: usize = 4096;

type CallDigest = [u8; 16];

/// Identifies a bot's call. A call that the bot may repeat has the same key each time, in every bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallKey {
    digest: CallDigest,
    pub(super) is_repeatable: bool,
}

impl CallKey {
    /// Returns the key of an activity that is posted at this path below the service URL with this secret. Only activities with an
    /// id are repeatable, because a bot may send the same text twice. Some SDKs give all pieces of a stream the same id, so
    /// activities are compared as a whole.
    pub(super) fn of(secret: &str, path: &str, activity: &Value) -> Self {
        let id = activity.get("id").and_then(Value::as_str);
        match id.filter(|id| !id.is_empty()) {
            None => Self::unique(),
            Some(_) => {
                let hash = Sha256::new_with_prefix(secret).chain_update(format!("/{path}\n"));
                Self::digest(hash.chain_update(activity.to_string()), true)
            }
        }
    }

    /// Returns a key that no other call has.
    pub(super) fn unique() -> Self {
        Self::digest(Sha256::new_with_prefix(clock::new_secret()), false)
    }

    fn digest(hash: Sha256, is_repeatable: bool) -> Self {
        let mut digest = CallDigest::default();
        let hash = hash.finalize();
        digest.copy_from_slice(&hash[..size_of::<CallDigest>()]);
        Self { digest, is_repeatable }
    }

    /// Reads a key that another bridge wrote.
    pub(super) fn read(bytes: &[u8], is_repeatable: bool) -> Option<Self> {
        let digest = bytes.try_into().ok()?;
        Some(Self { digest, is_repeatable })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.digest
    }
}

/// The key as a part of ids.
impl std::fmt::Display for CallKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The most recent repeatable activities, and the ids that they were given. A restart clears them.
#[derive(Debug, Default)]
pub(super) struct RecentActivities(Mutex<RecentSet>);

#[derive(Debug, Default)]
struct RecentSet {
    cells: BTreeMap<CallDigest, Arc<OnceCell<String>>>,
    order: VecDeque<CallDigest>,
}

impl RecentActivities {
    /// Returns the cell for the new id of an activity with this key, unless it is not repeatable.
    pub(super) fn of(&self, key: &CallKey) -> Option<Arc<OnceCell<String>>> {
        if !key.is_repeatable {
            return None;
        }
        let key = key.digest;
        let mut recent = lock(&self.0);
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
        let of = |secret: &str, path: &str, activity: &Value| {
            recent_activities.of(&CallKey::of(secret, path, activity))
        };
        let first = of("s", "c/1", &said("a", "hi")).unwrap();
        let same = |secret: &str, path: &str, activity: &Value| {
            Arc::ptr_eq(&first, &of(secret, path, activity).unwrap())
        };
        assert!(same("s", "c/1", &said("a", "hi")));
        assert!(!same("s", "c/1", &said("a", "ho")) && !same("t", "c/1", &said("a", "hi")));
        assert!(!same("s", "c/2", &said("a", "hi")), "it answers another message");
        for nameless in [said("", "hi"), json!({"type": "message"}), json!(7)] {
            assert!(of("s", "c/1", &nameless).is_none());
            assert_ne!(CallKey::of("s", "c/1", &nameless), CallKey::of("s", "c/1", &nameless));
        }
        for index in 0..CAPACITY {
            of("s", "c/1", &said(&index.to_string(), "hi"));
        }
        assert!(!same("s", "c/1", &said("a", "hi")));
        let recent = recent_activities.0.lock().unwrap();
        assert_eq!((recent.cells.len(), recent.order.len()), (CAPACITY, CAPACITY));
    }
}
