//! The model of what the bridges acknowledged: the answers that clients were given, and what may follow from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

/// The agents: those that answer at once, one behind a URL, one whose old tasks are deleted, one that never answers.
pub(crate) const ECHO: &str = "echo";
pub(crate) const BOT: &str = "bot";
pub(crate) const BRIEF: &str = "brief";
pub(crate) const HANGING: &str = "hanging";
pub(crate) const AGENTS: [&str; 4] = [ECHO, BOT, BRIEF, HANGING];

/// So many ended tasks of `brief` are kept.
pub(crate) const KEPT: usize = 5;

/// A message that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) agent: &'static str,
    pub(crate) context: String,
    pub(crate) params: Value,
    /// The path of its webhook.
    pub(crate) hook: Option<String>,
    /// The task that it became, once that was told.
    pub(crate) task: Option<String>,
    /// Whether its cancellation was acknowledged.
    pub(crate) is_canceled: bool,
    /// The task after its end, once that was told.
    pub(crate) ended: Option<Value>,
    /// Whether the task was told to be gone, as those of `brief` may be.
    pub(crate) is_gone: bool,
}

impl Message {
    pub(crate) fn new(
        id: String,
        agent: &'static str,
        context: String,
        waits: bool,
        hook: Option<(String, String)>,
    ) -> Self {
        let message = json!({
            "messageId": id, "role": "ROLE_USER", "contextId": context, "parts": [{"text": id}],
        });
        let mut configuration = json!({"returnImmediately": !waits});
        if let Some((url, path)) = &hook {
            let setting = json!({"id": "hook", "url": format!("{url}{path}")});
            configuration["taskPushNotificationConfig"] = setting;
        }
        Self {
            params: json!({"message": message, "configuration": configuration}),
            hook: hook.map(|(_, path)| path),
            id,
            agent,
            context,
            task: None,
            is_canceled: false,
            ended: None,
            is_gone: false,
        }
    }
}

/// The answers that all clients were given, and the mistakes found in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    messages: BTreeMap<String, Message>,
    operations: u64,
    wrong: BTreeMap<Wrong, Vec<String>>,
}

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wrong {
    Lost,
    Duplicated,
    Changed,
    Stuck,
    Refused,
}

impl Model {
    /// Notes that a message is about to be sent.
    pub(crate) fn sent(&self, message: &Message) {
        self.lock()
            .messages
            .insert(message.id.clone(), message.clone());
    }

    /// Notes that something was answered.
    pub(crate) fn answered(&self) {
        self.lock().operations += 1;
    }

    /// Notes a task that was shown for a message.
    pub(crate) fn shown(&self, id: &str, task: &Value) {
        let Some(found) = task["id"].as_str() else {
            return self.wrong(Wrong::Lost, format!("{id}: no task: {task}"));
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
            self.wrong(Wrong::Duplicated, format!("{id} is {known} and {found}"));
        }
        if before.is_some_and(|before| before != *task) {
            self.wrong(
                Wrong::Changed,
                format!("{id}, {found}: has changed after its end: {task}"),
            );
        }
        if is_canceled && task["status"]["state"] != "TASK_STATE_CANCELED" {
            self.wrong(
                Wrong::Lost,
                format!("{id}, {found}: its cancellation: {task}"),
            );
        }
    }

    /// Notes that the cancellation of a message's task was acknowledged.
    pub(crate) fn canceled(&self, id: &str) {
        if let Some(message) = self.lock().messages.get_mut(id) {
            message.is_canceled = true;
        }
    }

    /// Notes that the task of a message was not found.
    pub(crate) fn not_found(&self, id: &str) {
        let mut state = self.lock();
        let Some(message) = state.messages.get_mut(id) else {
            return;
        };
        message.is_gone = true;
        let (agent, task) = (message.agent, message.task.clone());
        drop(state);
        if agent != BRIEF {
            self.wrong(Wrong::Lost, format!("{id}, {task:?}: not found"));
        }
    }

    pub(crate) fn wrong(&self, what: Wrong, text: String) {
        let mut state = self.lock();
        // What is wrong is found again each time that one looks.
        let known = state.wrong.entry(what).or_default();
        if !known.contains(&text) {
            eprintln!("WRONG, {what:?}: {text}");
            known.push(text);
        }
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.lock().messages.values().cloned().collect()
    }

    /// Those of a client and of these agents of which a task is known.
    pub(crate) fn known(&self, prefix: &str) -> Vec<Message> {
        let state = self.lock();
        let own = state
            .messages
            .values()
            .filter(|message| message.id.starts_with(prefix));
        own.filter(|message| message.task.is_some())
            .cloned()
            .collect()
    }

    /// Whether a task is known of this message.
    pub(crate) fn is_known(&self, id: &str) -> bool {
        let state = self.lock();
        state
            .messages
            .get(id)
            .is_some_and(|message| message.task.is_some())
    }

    pub(crate) fn operations(&self) -> u64 {
        self.lock().operations
    }

    pub(crate) fn count(&self, what: Wrong) -> usize {
        self.lock().wrong.get(&what).map_or(0, Vec::len)
    }

    /// The contexts that were used with an agent.
    pub(crate) fn contexts(&self, agent: &str) -> BTreeSet<String> {
        let state = self.lock();
        let used = state
            .messages
            .values()
            .filter(|message| message.agent == agent);
        used.map(|message| message.context.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nothing can follow this state.
pub(crate) fn is_ended(state: &str) -> bool {
    matches!(
        state,
        "TASK_STATE_COMPLETED"
            | "TASK_STATE_FAILED"
            | "TASK_STATE_CANCELED"
            | "TASK_STATE_REJECTED"
    )
}
