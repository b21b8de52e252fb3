//! Compares a message with an earlier one of the same id: it is either a repetition or an error.
//!
//! Ids are known as long as the store holds the task with the message.

use bridge_protocol::a2a::{Message, Part};

use super::{IncomingMessage, Submitted, TurnError, Turns};
use crate::store::{Event, Head, Result, Seq, StoreError, StoredEvent};

impl Turns {
    /// Returns the result of the earlier message if this one is a repetition: it has the same role and parts, and
    /// names the same task and context or none. Metadata and configuration may differ, as they do in retries of some
    /// clients.
    ///
    /// Returns [`TurnError::OtherMessage`] if the message is a different one.
    pub(super) async fn repeated(
        &self,
        incoming: &IncomingMessage,
        task: String,
        message: Seq,
    ) -> Result<Submitted, TurnError> {
        let store = &self.0.store;
        let head = store.head(&incoming.caller, &task).await?;
        // The event before the message is read too: a message that creates its task follows `Created`.
        let after = message.saturating_sub(2);
        let events = store.read(&incoming.caller, &task, after, 3).await?;
        let logged = LoggedMessage::of(&events, message).ok_or_else(|| {
            let what = format!("task {task}");
            StoreError::corrupt(what, &format!("event {message} is no message"))
        })?;
        if let Some(differs) = logged.difference(incoming, &head) {
            return Err(TurnError::OtherMessage {
                message_id: incoming.message.message_id.clone(),
                task,
                differs,
            });
        }
        Ok(Submitted {
            task: task.into(),
            message,
            last: message + 1,
            turn: logged.turn,
            repeated: true,
            has_begun: false,
        })
    }

    /// Returns the reason for which a message is refused. A repetition is recognized all the same, since it runs nothing.
    pub(super) async fn unless_repeated(
        &self,
        incoming: &IncomingMessage,
        refusal: TurnError,
    ) -> TurnError {
        match Box::pin(self.duplicate(incoming)).await {
            Ok(known) => known.map_or(refusal, TurnError::Store),
            Err(error) => error.into(),
        }
    }

    /// Returns the error for a message whose id is already in use, if it is.
    async fn duplicate(&self, incoming: &IncomingMessage) -> Result<Option<StoreError>> {
        let IncomingMessage { agent, caller, message, .. } = incoming;
        let store = &self.0.store;
        let known = store.find_message(caller, agent, &message.message_id).await?;
        Ok(known.map(|(task, seq)| StoreError::Duplicate {
            message_id: message.message_id.clone(),
            task,
            seq,
        }))
    }
}

/// A message and its context in the log.
struct LoggedMessage<'e> {
    message: &'e Message,
    turn: u64,
    /// Whether the message created its task, and so named none.
    creates: bool,
    names_context: Option<bool>,
}

impl<'e> LoggedMessage<'e> {
    fn of(events: &'e [StoredEvent], seq: Seq) -> Option<Self> {
        let at = |seq| events.iter().find(move |stored| stored.seq == seq);
        let Event::Message(message) = &at(seq)?.event else {
            return None;
        };
        let before = seq.checked_sub(1).and_then(at).map(|stored| &stored.event);
        let (turn, names_context) = match at(seq + 1).map(|stored| &stored.event) {
            Some(Event::TurnQueued { turn, names_context, .. }) => (*turn, *names_context),
            _ => (1, None),
        };
        Some(Self {
            message,
            turn,
            creates: matches!(before, Some(Event::Created(_))),
            names_context,
        })
    }

    /// Returns the name of the first field in which the messages differ.
    fn difference(&self, other: &IncomingMessage, head: &Head) -> Option<&'static str> {
        let repeated = &other.message;
        let is_same_task = match (&repeated.task_id, &other.client_id) {
            (Some(task), _) => **task == *head.task && !self.creates,
            (None, Some(_)) => other.client_id.as_deref() == head.client_id.as_deref(),
            (None, None) => self.creates && head.client_id.is_none(),
        };
        let is_same_context = match &repeated.context_id {
            Some(context) => {
                self.names_context != Some(false)
                    && self.message.context_id.as_ref() == Some(context)
            }
            None => self.names_context != Some(true),
        };
        let fields = [
            ("role", repeated.role == self.message.role),
            ("parts", are_alike(&repeated.parts, &self.message.parts)),
            ("taskId", is_same_task),
            ("contextId", is_same_context),
        ];
        let differs = |(name, is_same): (&'static str, bool)| (!is_same).then_some(name);
        fields.into_iter().find_map(differs)
    }
}

/// Compares parts with those in the log. Parts from the disk were written as JSON, which may change the last digit of a
/// number.
fn are_alike(sent: &[Part], logged: &[Part]) -> bool {
    let as_logged = || {
        let written = serde_json::to_vec(sent).ok()?;
        serde_json::from_slice::<Vec<Part>>(&written).ok()
    };
    sent == logged || as_logged().is_some_and(|sent| sent == logged)
}
