//! What must be known of a task to continue it, and which events can follow.

use bridge_protocol::a2a::{Metadata, TaskState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Append, Event, Seq, StoreError,
    event::{millis, optional_millis},
};
use crate::caller::Caller;

/// A task's newest event and what follows from all of them, without what was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The task.
    pub task: String,
    /// To whom it belongs.
    pub owner: Caller,
    /// The agent that works on it.
    pub agent: String,
    /// The conversation that it belongs to.
    pub context_id: String,
    /// The id that the client chose for it (A2A 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its last event.
    pub seq: Seq,
    /// How it stands.
    pub state: TaskState,
    /// Since when.
    #[serde(with = "millis")]
    pub status_time: Timestamp,
    /// The number of its last turn; 0 if there was none.
    pub last_turn: u64,
    /// Turns that have not ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
}

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Counts the task's turns, from 1.
    pub turn: u64,
    /// The message that it answers.
    pub message_id: String,
    /// Whether the agent was called.
    pub state: TurnState,
}

/// How far a turn has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnState {
    /// The agent knows nothing of it.
    Queued,
    /// The agent was called, see [`Event::TurnStarted`].
    #[serde(rename_all = "camelCase")]
    Started {
        /// Until when an agent outside of this process may still answer.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "optional_millis"
        )]
        open_until: Option<Timestamp>,
        /// By what it is known that the agent has the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<Metadata>,
    },
}

impl Head {
    /// Whether anything can follow: it is not terminal, or a turn has not ended.
    pub fn is_open(&self) -> bool {
        !self.state.is_terminal() || !self.turns.is_empty()
    }

    /// Whether the task waits for its caller: nothing happens to it by itself.
    pub fn waits(&self) -> bool {
        self.state.is_interrupted() && self.turns.is_empty()
    }

    /// The head after `append`, or why it cannot follow `before`, the head that the backend has of the task. It is pure,
    /// and the one place that decides which events can follow: a backend calls it before it writes, and what it
    /// answers is what [`Store::append`](super::Store::append) returns.
    ///
    /// # Errors
    /// `NotFound` if the task is another caller's or not there, `Conflict`, `Ended`, `Invalid`.
    pub fn after(
        before: Option<&Self>,
        caller: &Caller,
        append: &Append,
    ) -> Result<Self, StoreError> {
        let mut head = match before {
            None if append.expected == 0 => Self::created(caller, append)?,
            None => return Err(StoreError::not_found(&append.task)),
            Some(head) => head.expected(caller, append)?.clone(),
        };
        let later = usize::from(before.is_none());
        for event in &append.events[later..] {
            head.follow(append.time, event)?;
        }
        head.seq = append.last();
        Ok(head)
    }

    fn expected(&self, caller: &Caller, append: &Append) -> Result<&Self, StoreError> {
        if self.owner != *caller {
            return Err(StoreError::not_found(&append.task));
        }
        if self.seq != append.expected {
            return Err(StoreError::Conflict {
                task: append.task.clone(),
                expected: append.expected,
                actual: self.seq,
            });
        }
        Ok(self)
    }

    fn created(caller: &Caller, append: &Append) -> Result<Self, StoreError> {
        let Some(Event::Created(created)) = append.events.first() else {
            return Err(append.invalid("expected that the first one creates the task"));
        };
        if created.owner != *caller {
            return Err(append.invalid("expected that the owner is the caller"));
        }
        Ok(Self {
            task: append.task.clone(),
            owner: created.owner.clone(),
            agent: created.agent.clone(),
            context_id: created.context_id.clone(),
            client_id: created.client_id.clone(),
            seq: 1,
            state: TaskState::Submitted,
            status_time: append.time,
            last_turn: 0,
            turns: Vec::new(),
        })
    }

    fn follow(&mut self, time: Timestamp, event: &Event) -> Result<(), StoreError> {
        if self.state.is_terminal() && !matches!(event, Event::TurnEnded { .. }) {
            let task = self.task.clone();
            return Err(StoreError::Ended { task });
        }
        match event {
            Event::Created(_) => Err(self.invalid("it was created before".into())),
            Event::TurnQueued {
                turn, message_id, ..
            } => self.queue(*turn, message_id),
            Event::TurnStarted {
                turn,
                open_until,
                reference,
            } => self.start(*turn, *open_until, reference.clone()),
            Event::TurnEnded { turn } => self.end(*turn),
            Event::Status { status, .. } => {
                self.state = status.state.clone();
                self.status_time = time;
                Ok(())
            }
            Event::Message(_)
            | Event::Said(_)
            | Event::Artifact { .. }
            | Event::Metadata { .. } => Ok(()),
        }
    }

    fn queue(&mut self, turn: u64, message_id: &str) -> Result<(), StoreError> {
        if turn != self.last_turn + 1 {
            let next = self.last_turn + 1;
            return Err(self.invalid(format!("turn {turn} is queued, expected turn {next}")));
        }
        self.last_turn = turn;
        self.turns.push(Turn {
            turn,
            message_id: message_id.into(),
            state: TurnState::Queued,
        });
        Ok(())
    }

    fn start(
        &mut self,
        turn: u64,
        open_until: Option<Timestamp>,
        reference: Option<Metadata>,
    ) -> Result<(), StoreError> {
        // It is told again once, when the agent is known to have the message.
        let may_start = |one: &&mut Turn| match &one.state {
            TurnState::Queued => one.turn == turn,
            TurnState::Started {
                reference: known, ..
            } => one.turn == turn && known.is_none() && reference.is_some(),
        };
        match self.turns.iter_mut().find(may_start) {
            Some(known) => {
                known.state = TurnState::Started {
                    open_until,
                    reference,
                };
                Ok(())
            }
            None => Err(self.invalid(format!("turn {turn} starts, expected that it is queued"))),
        }
    }

    fn end(&mut self, turn: u64) -> Result<(), StoreError> {
        let before = self.turns.len();
        self.turns.retain(|one| one.turn != turn);
        match self.turns.len() < before {
            true => Ok(()),
            false => Err(self.invalid(format!("turn {turn} ends, expected one that is open"))),
        }
    }

    fn invalid(&self, reason: String) -> StoreError {
        StoreError::Invalid {
            task: self.task.clone(),
            reason,
        }
    }
}
