//! The evaluator's task as its events describe it. Each message is added to the inbox once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use bridge_program::lock;
use bridge_protocol::{
    a2a::{Artifact, Message, Role, StreamResponse, Task},
    wire::to_value,
};
use mcp_tools::{
    context::AgentContext,
    inbox::{Filter, Receipt},
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::agent::{Listener, Notice};

/// The sender's name in `incoming_messages`.
const FROM: &str = "green";

/// The state of the evaluator's task. It is shared by the tasks that receive events and those that wait.
pub(super) struct ObservedTask {
    context: AgentContext,
    listener: Listener,
    state: Mutex<State>,
    stage: watch::Sender<EvaluationStage>,
}

#[derive(Debug, Default)]
struct State {
    task: Option<Task>,
    /// The context of a bare message, which has no task.
    context_id: Option<String>,
    /// The ids of the received messages.
    messages: BTreeSet<String>,
    /// The last received version of each artifact.
    artifacts: BTreeMap<String, Value>,
}

/// The progress of the evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum EvaluationStage {
    /// More events can arrive.
    #[default]
    Open,
    /// The evaluator waits for a message, or its answer was a message.
    Paused,
    /// The task has ended.
    Ended,
    /// No more events can arrive, because the stream failed.
    Broken(String),
}

impl ObservedTask {
    pub(super) fn new(context: AgentContext, listener: Listener) -> Self {
        Self {
            context,
            listener,
            state: Mutex::default(),
            stage: watch::Sender::new(EvaluationStage::Open),
        }
    }

    /// Processes one event of a stream, or an answer. A message in an event that was received before counts as
    /// sent again. A whole task repeats all earlier messages, so only its new messages are received.
    pub(super) fn take(&self, item: StreamResponse) {
        match &item {
            StreamResponse::Task(task) => self.take_task(task),
            StreamResponse::Message(message) => self.receive(message),
            StreamResponse::StatusUpdate(update) => {
                update.status.message.iter().for_each(|one| self.receive(one));
            }
            StreamResponse::ArtifactUpdate(_) => {}
        }
        let stage = self.apply(item);
        // Artifacts have no message id: one that is unchanged or repeats a message is not received again.
        for artifact in self.changed_artifacts() {
            self.put(&artifact);
        }
        self.stage.send_if_modified(|now| {
            let changed = *now != stage;
            *now = stage;
            changed
        });
    }

    fn take_task(&self, task: &Task) {
        let messages = task.history.iter().chain(&task.status.message);
        for message in messages {
            let is_new = !lock(&self.state).messages.contains(&message.message_id);
            if message.role != Role::User && is_new {
                self.receive(message);
            }
        }
    }

    fn receive(&self, message: &Message) {
        lock(&self.state).messages.insert(message.message_id.clone());
        self.put(message);
    }

    fn changed_artifacts(&self) -> Vec<Artifact> {
        let mut state = lock(&self.state);
        let State { task, artifacts, .. } = &mut *state;
        let all = task.iter().flat_map(Task::produced);
        let changed = all.filter(|artifact| {
            let now = to_value(artifact);
            artifacts.insert(artifact.artifact_id.clone(), now.clone()) != Some(now)
        });
        changed.cloned().collect()
    }

    fn put(&self, message: &impl Serialize) {
        let inbox = self.context.incoming_messages();
        let receipt = inbox.receive(FROM, to_value(message), self.context.now());
        let Receipt::New(number) = receipt else {
            return;
        };
        let filter = Filter { after: number - 1, ..Filter::default() };
        let received = inbox.list(&filter).into_iter().next();
        let kinds = received.into_iter().flat_map(|one| one.kinds);
        let kinds = kinds.map(|kind| kind.name()).collect();
        (self.listener)(&Notice::Received { number, kinds });
    }

    /// Applies an event to the task, and returns the progress of the evaluation.
    fn apply(&self, item: StreamResponse) -> EvaluationStage {
        let mut state = lock(&self.state);
        if let StreamResponse::Message(message) = item {
            state.context_id = message.context_id;
            return EvaluationStage::Paused;
        }
        let before = state.task.as_ref().map(|task| task.status.state.clone());
        match &mut state.task {
            Some(task) => task.apply(item),
            none => *none = Task::begun_by(item),
        }
        let Some(now) = state.task.as_ref().map(|task| task.status.state.clone()) else {
            return EvaluationStage::Open;
        };
        drop(state);
        if before.as_ref() != Some(&now) {
            let state = word(now.as_str());
            (self.listener)(&Notice::Evaluation { state });
        }
        match (now.is_terminal(), now.is_interrupted()) {
            (true, _) => EvaluationStage::Ended,
            (false, true) => EvaluationStage::Paused,
            (false, false) => EvaluationStage::Open,
        }
    }

    /// Records that no more events can arrive, with the reason.
    pub(super) fn broken(&self, reason: String) {
        self.stage.send_replace(EvaluationStage::Broken(reason));
    }

    /// Records that a message was sent to the evaluator, so that more events can arrive.
    pub(super) fn reopen(&self) {
        self.stage.send_replace(EvaluationStage::Open);
    }

    pub(super) fn stage(&self) -> watch::Receiver<EvaluationStage> {
        self.stage.subscribe()
    }

    /// Returns the evaluator's task in its last known state.
    pub(super) fn task(&self) -> Option<Task> {
        lock(&self.state).task.clone()
    }

    pub(super) fn task_id(&self) -> Option<String> {
        lock(&self.state).task.as_ref().map(|task| task.id.clone())
    }

    pub(super) fn context_id(&self) -> Option<String> {
        let state = lock(&self.state);
        let of_task = state.task.as_ref().and_then(|task| task.context_id.clone());
        of_task.or_else(|| state.context_id.clone())
    }
}

/// Converts `TASK_STATE_INPUT_REQUIRED` into `input-required`.
pub(super) fn word(state: &str) -> String {
    let plain = state.strip_prefix("TASK_STATE_").unwrap_or(state);
    plain.to_lowercase().replace('_', "-")
}
