//! The head of a task: the data that is needed to continue it, and the rules for the events that can follow.

use std::sync::Arc;

use bridge_protocol::a2a::{Metadata, TaskState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Append, Event, Result, Seq, StoreError,
    event::{millis, optional_millis},
};
use crate::caller::Caller;

/// The state of a task after its newest event, without its messages and artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The task's id.
    pub task: Arc<str>,
    /// The task's owner.
    pub owner: Caller,
    /// The name of the agent that works on the task.
    pub agent: Arc<str>,
    /// The conversation that the task belongs to.
    pub context_id: Arc<str>,
    /// The id that the client chose for the task (A2A 0.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Arc<str>>,
    /// The number of the last event.
    pub seq: Seq,
    /// The task's state.
    pub state: TaskState,
    /// The time of the last status.
    #[serde(with = "millis")]
    pub status_time: Timestamp,
    /// The number of the last turn; 0 if there was none.
    pub last_turn: u64,
    /// The turns that have not ended, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// The span of the last turn's message, see [`Event::TurnQueued`]. Later consequences of the turn belong to this span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Arc<str>>,
}

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The turn's number in the task, starting with 1.
    pub turn: u64,
    /// The id of the message that the turn answers.
    pub message_id: String,
    /// The turn's state.
    pub state: TurnState,
    /// The span of the message, see [`Event::TurnQueued`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Arc<str>>,
}

/// The state of a turn that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnState {
    /// The agent was not called yet.
    Queued,
    /// The agent was called, see [`Event::TurnStarted`].
    #[serde(rename_all = "camelCase")]
    Started {
        /// The time until which an agent outside this process may answer.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_millis")]
        open_until: Option<Timestamp>,
        /// The agent's own id of the message, which proves that the agent has received it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<Metadata>,
    },
}

impl Head {
    /// Returns whether further events can follow: the state is not terminal, or a turn has not ended.
    pub fn is_open(&self) -> bool {
        !self.state.is_terminal() || !self.turns.is_empty()
    }

    /// Returns whether the task waits for its caller and has no open turn.
    pub fn waits(&self) -> bool {
        self.state.is_interrupted() && self.turns.is_empty()
    }

    /// Computes the head after `append`; `before` is the head of the task in the backend. Only this function decides which
    /// events can follow; it has no side effects. A backend calls it before it writes, and returns its result from
    /// [`Store::append`](super::Store::append).
    ///
    /// # Errors
    /// `NotFound` if the task does not exist or belongs to another caller; `Conflict`, `Ended`, `Invalid`.
    pub fn after(before: Option<&Self>, caller: &Caller, append: &Append) -> Result<Self> {
        let mut head = match before {
            None if append.expected == 0 => Self::created(caller, append)?,
            None => return Err(StoreError::not_found(&append.task)),
            Some(head) => head.check_expected(caller, append)?.clone(),
        };
        let later = usize::from(before.is_none());
        for event in &append.events[later..] {
            head.apply(append.time, event)?;
        }
        head.seq = append.last();
        Ok(head)
    }

    fn check_expected(&self, caller: &Caller, append: &Append) -> Result<&Self> {
        if self.owner != *caller {
            return Err(StoreError::not_found(&append.task));
        }
        if self.seq != append.expected {
            return Err(StoreError::Conflict {
                task: append.task.to_string(),
                expected: append.expected,
                actual: self.seq,
            });
        }
        Ok(self)
    }

    fn created(caller: &Caller, append: &Append) -> Result<Self> {
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
            traceparent: None,
        })
    }

    fn apply(&mut self, time: Timestamp, event: &Event) -> Result<()> {
        if self.state.is_terminal() && !matches!(event, Event::TurnEnded { .. }) {
            let task = self.task.to_string();
            return Err(StoreError::Ended { task });
        }
        match event {
            Event::Created(_) => Err(self.invalid("the task was created before".into())),
            Event::TurnQueued { turn, message_id, traceparent, .. } => {
                self.queue(*turn, message_id, traceparent.as_ref())
            }
            Event::TurnStarted { turn, open_until, reference } => {
                self.start(*turn, *open_until, reference.clone())
            }
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

    fn queue(&mut self, turn: u64, message_id: &str, traceparent: Option<&Arc<str>>) -> Result<()> {
        if turn != self.last_turn + 1 {
            let next = self.last_turn + 1;
            return Err(self.invalid(format!("turn {turn} is queued, expected turn {next}")));
        }
        self.last_turn = turn;
        self.traceparent = traceparent.cloned();
        // Few tasks have more than one open turn.
        self.turns.reserve_exact(1);
        self.turns.push(Turn {
            turn,
            message_id: message_id.into(),
            state: TurnState::Queued,
            traceparent: traceparent.cloned(),
        });
        Ok(())
    }

    fn start(
        &mut self,
        turn: u64,
        open_until: Option<Timestamp>,
        reference: Option<Metadata>,
    ) -> Result<()> {
        // A started turn is started once more when it is known that the agent has received the message.
        let may_start = |one: &&mut Turn| match &one.state {
            TurnState::Queued => one.turn == turn,
            TurnState::Started { reference: known, .. } => {
                one.turn == turn && known.is_none() && reference.is_some()
            }
        };
        match self.turns.iter_mut().find(may_start) {
            Some(known) => {
                known.state = TurnState::Started { open_until, reference };
                Ok(())
            }
            None => Err(self.invalid(format!("turn {turn} starts, expected that it is queued"))),
        }
    }

    fn end(&mut self, turn: u64) -> Result<()> {
        let before = self.turns.len();
        self.turns.retain(|one| one.turn != turn);
        match self.turns.len() < before {
            true => Ok(()),
            false => Err(self.invalid(format!("turn {turn} ends, expected one that is open"))),
        }
    }

    fn invalid(&self, reason: String) -> StoreError {
        StoreError::Invalid { task: self.task.to_string(), reason }
    }
}
