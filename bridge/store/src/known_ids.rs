//! Records the ids in a long task, so that it need not be searched for each event.

use std::hash::BuildHasher as _;

use bridge_protocol::a2a::Task;

use super::Unordered;

/// The number of messages and artifacts from which ids are recorded. A search through a shorter task is faster.
const MIN_ITEMS: usize = 256;

/// The hashes of the ids of the messages in a task's history and of its artifacts, possibly also of removed ones. It is
/// `None` for a short task.
///
/// An agent can send tens of thousands of messages in one task. If each event searched all of them, it would take seconds
/// to read the task.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIds(Option<Unordered<u64, ()>>);

impl KnownIds {
    /// Begins to record the ids of a task once it is long.
    pub(super) fn update(&mut self, task: &Task) {
        if self.0.is_some() || task.history.len() + task.artifacts.len() < MIN_ITEMS {
            return;
        }
        self.0 = Some(Unordered::default());
        let messages = task.history.iter().map(|one| &one.message_id);
        let artifacts = task.artifacts.iter().map(|one| &one.artifact_id);
        messages.chain(artifacts).for_each(|id| self.add(id));
    }

    /// Returns whether the task must be searched for the id.
    pub(super) fn may_contain(&self, id: &str) -> bool {
        let known = self.0.as_ref();
        known.is_none_or(|known| known.contains_key(&known.hasher().hash_one(id)))
    }

    /// Records an id that the task contains now.
    pub(super) fn add(&mut self, id: &str) {
        if let Some(known) = &mut self.0 {
            let hash = known.hasher().hash_one(id);
            known.insert(hash, ());
        }
    }

    pub(super) fn is_recording(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, Head, Revised, Snapshot, cache::CachedTask, size, testing::Sample};
    use bridge_protocol::a2a::{Artifact, Message, Metadata, Part, Role, TaskState, TaskStatus};
    use proptest::prelude::*;

    fn message(role: Role, id: u8) -> Message {
        Message::new(format!("m{id}"), role, vec![Part::text(format!("{id}"))])
    }

    fn event() -> impl Strategy<Value = Event> {
        let said = |message| TaskStatus { message, ..TaskStatus::new(TaskState::Working) };
        prop_oneof![
            any::<u8>().prop_map(|id| Event::Message(message(Role::User, id))),
            any::<u8>().prop_map(|id| Event::Said(message(Role::Agent, id))),
            any::<u8>().prop_map(move |id| Event::Status {
                status: said(Some(message(Role::Agent, id))),
                metadata: None,
            }),
            Just(Event::Status { status: said(None), metadata: None }),
            (any::<u8>(), prop::option::weighted(0.1, any::<bool>())).prop_map(|(id, revised)| {
                Event::Metadata {
                    metadata: Metadata::from_iter([(format!("{}", id % 4), id.into())]),
                    revised: revised.map(|stays| Revised {
                        message_id: format!("m{id}"),
                        message: stays.then(|| message(Role::Agent, id)),
                        is_quiet: false,
                    }),
                }
            }),
            (any::<u8>(), any::<bool>(), any::<bool>()).prop_map(|(id, is_answer, append)| {
                let suffix = if is_answer { ".answer" } else { "" };
                let parts = vec![Part::text("piece")];
                Event::Artifact {
                    artifact: Artifact::new(format!("m{id}{suffix}"), parts),
                    append,
                    last_chunk: false,
                    metadata: None,
                }
            }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A task has the same content with and without recorded ids, and about the size of its content.
        #[test]
        fn recorded_ids_do_not_change_the_task(events in prop::collection::vec(event(), 0..900)) {
            let sample = Sample::new("t");
            let events = std::iter::once(sample.created()).chain(events).collect();
            let append = sample.append(0, 1, events);
            let head = Head::after(None, &sample.caller, &append).unwrap();
            let mut searched = Snapshot::empty(&head);
            let mut recorded = CachedTask::empty(&head);
            for stored in append.into_stored() {
                searched.apply(stored.clone());
                recorded.add(stored);
                recorded.snapshot.keep_size(&recorded.ids);
            }
            let (size, measured) = (recorded.snapshot.size(), size::task(&searched.task));
            prop_assert!(size >= measured && size <= 2 * size::in_memory(&searched), "{size} {measured}");
            prop_assert_eq!(searched, recorded.snapshot);
        }
    }
}
