//! Handles pieces of streams: informative ones become statuses, the others pieces of artifacts.

use alloc::{string::String, vec, vec::Vec};

use super::{Output, Translation, waits_for};
use crate::{from_activity, markup, plain_text, stream::Effect};
use bridge_protocol::{
    a2a::{Artifact, Metadata, Part, TaskState},
    activity::{Activity, StreamInfo},
};

impl Translation {
    /// Sends the agent's progress, which is not part of the answer and does not end the turn.
    pub(super) fn inform(&mut self, activity: &Activity) {
        self.send_messages();
        let message = self.as_message(activity);
        self.status(TaskState::Working, Some(message), None);
    }

    pub(super) fn piece(&mut self, activity: &Activity, info: &StreamInfo, is_final: bool) {
        let message_id = self.ids.take(activity.id.as_deref());
        let named = info.stream_id.clone().filter(|id| !id.is_empty());
        let id = named.unwrap_or_else(|| message_id.clone());
        let text = markup::text(activity).unwrap_or_default();
        let piece = self.streams.take(&id, info.stream_sequence, &text, is_final);
        let message = from_activity::message(activity, &self.context, message_id);
        let plain = message.parts.iter().find(|part| plain_text::is_repeated(part));
        let mut plain = plain.filter(|_| is_final).cloned();
        let (text, append) = match piece {
            Effect::Late => return self.event(activity),
            Effect::Whole(text) => (text, false),
            Effect::More(text) => {
                // The piece follows the text so far, which the last piece need not repeat.
                plain.iter_mut().for_each(plain_text::apart);
                (text, true)
            }
        };
        let parts = with_text(message.parts, text, plain);
        if append && !is_final && says_nothing(&parts) {
            return self.event(activity);
        }
        self.send_messages();
        self.is_streamed = true;
        // Metadata of the whole answer belongs to the artifact, metadata of a piece to its event.
        let (of_artifact, of_event) = match is_final {
            true => (message.metadata, None),
            false => (None, message.metadata),
        };
        self.outputs.push_back(Output::Artifact {
            artifact: Artifact {
                extensions: message.extensions,
                ..artifact(id, parts, of_artifact)
            },
            append,
            last_chunk: is_final,
            metadata: of_event,
        });
        self.waiting_state = waits_for(activity).or(self.waiting_state.take());
    }

    /// Closes the artifacts of streams that were never finished.
    pub(super) fn close_streams(&mut self) {
        for id in self.streams.close() {
            self.outputs.push_back(Output::Artifact {
                artifact: artifact(id, vec![Part::text("")], None),
                append: true,
                last_chunk: true,
                metadata: None,
            });
        }
    }
}

/// Returns the parts with other texts. An empty text is left out if there are other parts.
fn with_text(parts: Vec<Part>, text: String, plain: Option<Part>) -> Vec<Part> {
    let data = parts.into_iter().filter(|part| part.as_text().is_none());
    let others: Vec<Part> = plain.into_iter().chain(data).collect();
    let is_needed = !text.is_empty() || others.is_empty();
    let text = is_needed.then(|| Part::text(text));
    text.into_iter().chain(others).collect()
}

fn says_nothing(parts: &[Part]) -> bool {
    parts.iter().all(|part| part.as_text() == Some(""))
}

pub(super) fn artifact(id: String, parts: Vec<Part>, metadata: Option<Metadata>) -> Artifact {
    Artifact { metadata, ..Artifact::new(id, parts) }
}
