//! Keeps a bounded number of conversations in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use bridge::caller::Caller;
use bridge_program::lock;
use bridge_protocol::a2a::Task;

use super::conversation::Conversation;

/// The caller and the context of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    caller: Caller,
    context: String,
}

impl Key {
    pub(super) fn of(caller: &Caller, task: &Task) -> Self {
        // The bridge gives every task a context.
        let context = task.context_id.as_ref().unwrap_or(&task.id);
        Self { caller: caller.clone(), context: context.clone() }
    }
}

/// Conversations by caller and context. If there are too many, the one that has been idle longest is dropped.
pub(super) struct Conversations {
    most: usize,
    kept: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    /// The conversations, each with the number of its last use.
    conversations: BTreeMap<Key, (u64, Arc<Conversation>)>,
    uses: u64,
}

impl Conversations {
    pub(super) fn new(most: usize) -> Self {
        let kept = Mutex::default();
        Self { most, kept }
    }

    /// Returns the conversation, or a new one; `None` if the limit is reached and no conversation is idle.
    pub(super) fn get(
        &self,
        key: Key,
        new: impl FnOnce() -> Conversation,
    ) -> Option<Arc<Conversation>> {
        let mut kept = lock(&self.kept);
        kept.uses += 1;
        let now = kept.uses;
        if let Some((used, conversation)) = kept.conversations.get_mut(&key) {
            *used = now;
            return Some(conversation.clone());
        }
        kept.make_room(self.most)?;
        let conversation = Arc::new(new());
        kept.conversations.insert(key, (now, conversation.clone()));
        Some(conversation)
    }

    /// Returns the conversation, if it is kept.
    pub(super) fn existing(&self, key: &Key) -> Option<Arc<Conversation>> {
        let kept = lock(&self.kept);
        kept.conversations.get(key).map(|(_, one)| one.clone())
    }
}

impl Entries {
    /// Drops the conversation that has been idle longest if the limit is reached; that closes its connection.
    fn make_room(&mut self, most: usize) -> Option<()> {
        if self.conversations.len() < most.max(1) {
            return Some(());
        }
        let resting = self.conversations.iter().filter(|(_, (_, one))| one.is_idle());
        let (oldest, _) = resting.min_by_key(|(_, (used, _))| *used)?;
        let oldest = oldest.clone();
        self.conversations.remove(&oldest);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::{AgentSettings, PurpleAgent},
        hosted::conversation,
        policy,
    };
    use bridge_protocol::wire::Wire as _;
    use serde_json::{Value, json};

    fn task(context: &str) -> Task {
        let status = json!({"state": "TASK_STATE_SUBMITTED"});
        Task::read(json!({"id": "t", "contextId": context, "status": status})).unwrap()
    }

    fn get(conversations: &Conversations, context: &str) -> Arc<Conversation> {
        let policy = policy::builtin("lies", &Value::Null).unwrap();
        let agent = PurpleAgent::new(policy, AgentSettings::default());
        let task = task(context);
        let key = Key::of(&Caller::anonymous(), &task);
        let new = || conversation::restored(&agent, &task);
        conversations.get(key, new).unwrap()
    }

    #[test]
    fn the_one_that_rested_longest_is_forgotten() {
        let conversations = Conversations::new(2);
        let (a, b) = (get(&conversations, "a"), get(&conversations, "b"));
        assert!(Arc::ptr_eq(&a, &get(&conversations, "a")));
        let _c = get(&conversations, "c");
        assert!(Arc::ptr_eq(&a, &get(&conversations, "a")));
        assert!(!Arc::ptr_eq(&b, &get(&conversations, "b")));
    }
}
