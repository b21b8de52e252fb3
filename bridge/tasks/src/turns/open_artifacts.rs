//! Closes artifacts whose last piece will not come, because a task that has failed or was canceled must not seem to
//! expect more.

use std::collections::BTreeSet;

use bridge_protocol::a2a::Part;

use crate::{
    executor::{EmitError, TaskHandle, Update},
    store::{Event, Head, Result, Seq, StoreError, StoredEvent},
};

/// The number of attempts when others write to the log at the same time.
const ATTEMPTS: usize = 64;

/// Appends the result of `events`, which gets the task's head and closing pieces for the open artifacts, except
/// those that `last` closes. If the result is empty, nothing is appended.
pub(super) async fn append_closing(
    handle: &TaskHandle,
    last: &[Event],
    events: impl Fn(&Head, &[Event]) -> Vec<Event> + Send + Sync,
) -> Result<(), EmitError> {
    let mut head = handle.known();
    for _ in 0..ATTEMPTS {
        let mut open = OpenArtifacts::default();
        open.read(handle).await?;
        last.iter().for_each(|event| open.take(event));
        let closing = handle.events(open.artifacts.into_iter().map(closing_piece).collect());
        // Later events may have opened or closed an artifact.
        let unchanged = |head: &Head| (head.seq == open.seen).then(|| events(head, &closing));
        let made = |head: &Head| unchanged(head).filter(|events| !events.is_empty());
        if handle.append(made).await?.is_some() {
            return Ok(());
        }
        head = handle.read().await?;
        if unchanged(&head).is_some_and(|events| events.is_empty()) {
            return Ok(());
        }
    }
    Err(EmitError::Store(StoreError::Conflict {
        task: head.task.to_string(),
        expected: head.seq,
        actual: head.seq,
    }))
}

/// The artifacts without a last piece.
#[derive(Default)]
struct OpenArtifacts {
    artifacts: BTreeSet<String>,
    /// The last event that was read.
    seen: Seq,
}

impl OpenArtifacts {
    async fn read(&mut self, handle: &TaskHandle) -> Result<()> {
        let mut log = handle.log();
        while let Some(StoredEvent { seq, event, .. }) = log.next().await? {
            self.take(&event);
            self.seen = seq;
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Artifact { artifact, last_chunk: true, .. } => {
                self.artifacts.remove(&artifact.artifact_id);
            }
            Event::Artifact { artifact, .. } => {
                self.artifacts.insert(artifact.artifact_id.clone());
            }
            _ => {}
        }
    }
}

/// Returns a piece that closes the artifact. It has an empty part because at least one is required (specification
/// 4.1.7).
fn closing_piece(id: String) -> Update {
    Update::piece(id, vec![Part::text("")], true)
}
