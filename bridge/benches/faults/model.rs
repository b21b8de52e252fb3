//! The model of what the bridges acknowledged: the answers to clients, and the states that may follow from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

/// The agents: one that answers at once, one behind a URL, one whose old tasks are deleted, and one that never answers.
pub(crate) const ECHO: &str = "echo";
pub(crate) const BOT: &str = "bot";
pub(crate) const BRIEF: &str = "brief";
pub(crate) const HANGING: &str = "hanging";
pub(crate) const AGENTS: [&str; 4] = [ECHO, BOT, BRIEF, HANGING];

/// The number of ended tasks of `brief` that are kept.
pub(crate) const RETAINED_TASKS: usize = 5;

/// A message that was sent, and what the answers said of it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) agent: &'static str,
    pub(crate) context: String,
    pub(crate) params: Value,
    /// The path of its webhook.
    pub(crate) webhook: Option<String>,
    /// The id of its task, if an answer contained one.
    pub(crate) task: Option<String>,
    /// Whether its cancellation was acknowledged.
    pub(crate) is_canceled: bool,
    /// The ended task, if an answer contained it.
    pub(crate) ended: Option<Value>,
    /// Whether an answer said that the task does not exist; that is allowed for `brief`.
    pub(crate) is_deleted: bool,
}

impl Message {
    pub(crate) fn new(
        id: String,
        agent: &'static str,
        context: String,
        is_blocking: bool,
        webhook: Option<(String, String)>,
    ) -> Self {
        let message = json!({
            "messageId": id, "role": "ROLE_USER", "contextId": context, "parts": [{"text": id}],
        });
        let mut configuration = json!({"returnImmediately": !is_blocking});
        if let Some((url, path)) = &webhook {
            let setting = json!({"id": "hook", "url": format!("{url}{path}")});
            configuration["taskPushNotificationConfig"] = setting;
        }
        Self {
            params: json!({"message": message, "configuration": configuration}),
            webhook: webhook.map(|(_, path)| path),
            id,
            agent,
            context,
            task: None,
            is_canceled: false,
            ended: None,
            is_deleted: false,
        }
    }
}

/// The answers to all clients, and the violations that were found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    messages: BTreeMap<String, Message>,
    operations: u64,
    violations: BTreeMap<Violation, Vec<String>>,
}

/// The kind of a broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    Lost,
    Duplicated,
    Changed,
    Stuck,
    Refused,
}

impl Model {
    /// Records that a message is about to be sent.
    pub(crate) fn record_sent(&self, message: &Message) {
        self.lock().messages.insert(message.id.clone(), message.clone());
    }

    /// Records that an operation was answered.
    pub(crate) fn record_answer(&self) {
        self.lock().operations += 1;
    }

    /// Records a task that an answer contained, and compares it with earlier answers.
    pub(crate) fn record_task(&self, id: &str, task: &Value) {
        let Some(found) = task["id"].as_str() else {
            return self.report(Violation::Lost, format!("{id}: no task: {task}"));
        };
        let mut state = self.lock();
        state.operations += 1;
        let Some(message) = state.messages.get_mut(id) else {
            return;
        };
        let known = message.task.get_or_insert_with(|| found.to_owned()).clone();
        let before = message.ended.clone();
        if task["status"]["state"].as_str().is_some_and(is_ended) {
            message.ended.get_or_insert_with(|| task.clone());
        }
        let is_canceled = message.is_canceled;
        drop(state);
        if known != found {
            self.report(Violation::Duplicated, format!("{id} has tasks {known} and {found}"));
        }
        if before.is_some_and(|before| before != *task) {
            self.report(
                Violation::Changed,
                format!("{id}, {found}: changed after its end: {task}"),
            );
        }
        if is_canceled && task["status"]["state"] != "TASK_STATE_CANCELED" {
            self.report(Violation::Lost, format!("{id}, {found}: not canceled: {task}"));
        }
    }

    /// Records that the cancellation of a message's task was acknowledged.
    pub(crate) fn record_cancellation(&self, id: &str) {
        if let Some(message) = self.lock().messages.get_mut(id) {
            message.is_canceled = true;
        }
    }

    /// Records that the task of a message was not found.
    pub(crate) fn record_not_found(&self, id: &str) {
        let mut state = self.lock();
        let Some(message) = state.messages.get_mut(id) else {
            return;
        };
        message.is_deleted = true;
        let (agent, task) = (message.agent, message.task.clone());
        drop(state);
        if agent != BRIEF {
            self.report(Violation::Lost, format!("{id}, {task:?}: not found"));
        }
    }

    pub(crate) fn report(&self, what: Violation, text: String) {
        let mut state = self.lock();
        // The same violation is found each time that its task is read.
        let known = state.violations.entry(what).or_default();
        if !known.contains(&text) {
            eprintln!("WRONG, {what:?}: {text}");
            known.push(text);
        }
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.lock().messages.values().cloned().collect()
    }

    /// Returns the messages whose id has this prefix and whose task is known.
    pub(crate) fn known(&self, prefix: &str) -> Vec<Message> {
        let state = self.lock();
        let own = state.messages.values().filter(|message| message.id.starts_with(prefix));
        own.filter(|message| message.task.is_some()).cloned().collect()
    }

    /// Returns whether the task of this message is known.
    pub(crate) fn is_known(&self, id: &str) -> bool {
        let state = self.lock();
        state.messages.get(id).is_some_and(|message| message.task.is_some())
    }

    pub(crate) fn operations(&self) -> u64 {
        self.lock().operations
    }

    pub(crate) fn count(&self, what: Violation) -> usize {
        self.lock().violations.get(&what).map_or(0, Vec::len)
    }

    /// Returns the contexts that were used with an agent.
    pub(crate) fn contexts(&self, agent: &str) -> BTreeSet<String> {
        let state = self.lock();
        let used = state.messages.values().filter(|message| message.agent == agent);
        used.map(|message| message.context.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a task in this state has ended.
pub(crate) fn is_ended(state: &str) -> bool {
    matches!(
        state,
        "TASK_STATE_COMPLETED"
            | "TASK_STATE_FAILED"
            | "TASK_STATE_CANCELED"
            | "TASK_STATE_REJECTED"
    )
}
