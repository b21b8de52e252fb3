//! Clients that carry out random operations, which are determined by a seed.

use std::time::Duration;

use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    caller::{Answer, Caller, is_not_found},
    model::{AGENTS, BOT, BRIEF, ECHO, HANGING, Message, Model, Violation},
    rng::Rng,
    stream::{self, without_sequence},
};

/// The number of clients that run at the same time, and the number of contexts that they use.
const CLIENTS: usize = 8;
const CONTEXTS: usize = 5;
/// One of this many messages has a webhook.
const WEBHOOK_RATE: usize = 4;
/// The number of attempts to send a message; the checks after the faults send it again.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// A client with its own random numbers.
struct Client {
    caller: Caller,
    model: Model,
    webhooks: String,
    rng: Rng,
    name: String,
    round: u64,
    count: usize,
}

/// Starts the clients of a round. They end when `is_over` is true, and when their streams have ended.
pub(crate) fn start(
    round: u64,
    caller: &Caller,
    model: &Model,
    webhooks: &str,
    is_over: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let mut client = Client {
            caller: caller.clone(),
            model: model.clone(),
            webhooks: webhooks.to_owned(),
            rng: Rng::new(round.wrapping_mul(1_000).wrapping_add(number as u64)),
            name: format!("r{round}-{number}-"),
            round,
            count: 0,
        };
        let is_over = is_over.clone();
        clients.spawn(async move {
            while !*is_over.borrow() {
                client.step().await;
            }
        });
    }
    clients
}

impl Client {
    async fn step(&mut self) {
        match self.rng.below(10) {
            0..4 => self.send().await,
            4 => self.stream().await,
            5 => self.cancel().await,
            6 => self.push().await,
            7 => self.list().await,
            _ => self.get().await,
        }
    }

    fn message(&mut self, agent: &'static str, is_blocking: bool) -> Message {
        self.count += 1;
        let id = format!("{}{}", self.name, self.count);
        let context = format!("c{}-{}", self.round, self.rng.below(CONTEXTS));
        let webhook = self.rng.one_in(WEBHOOK_RATE) && agent != BRIEF;
        let webhook = webhook.then(|| (self.webhooks.clone(), format!("/{id}")));
        let message = Message::new(id, agent, context, is_blocking, webhook);
        self.model.record_sent(&message);
        message
    }

    async fn send(&mut self) {
        let agent = *self.rng.pick(&[ECHO, BOT, BRIEF]);
        let is_blocking = self.rng.one_in(2);
        let message = self.message(agent, is_blocking);
        send_until_answered(&self.caller, &self.model, &message, ATTEMPTS).await;
    }

    async fn stream(&mut self) {
        let agent = *self.rng.pick(&[ECHO, BOT]);
        let message = self.message(agent, true);
        stream::follow(&self.caller, &self.model, &message).await;
    }

    async fn cancel(&mut self) {
        let message = self.message(HANGING, false);
        if send_until_answered(&self.caller, &self.model, &message, ATTEMPTS).await {
            cancel(&self.caller, &self.model, &message.id).await;
        }
    }

    async fn push(&mut self) {
        let known = self.model.known(&self.name);
        if known.is_empty() {
            return;
        }
        let message = self.rng.pick(&known).clone();
        if message.agent == BRIEF {
            return;
        }
        // Each setting has its own id, so that a delayed request does not change a later setting.
        self.count += 1;
        let id = format!("later{}", self.count);
        let setting =
            json!({"taskId": message.task, "id": id, "url": format!("{}/later", self.webhooks)});
        let create = "CreateTaskPushNotificationConfig";
        let Answer::Done(_) = self.caller.call(message.agent, create, &setting).await else {
            return;
        };
        self.model.record_answer();
        let wanted = json!({"taskId": message.task, "id": id});
        let get = "GetTaskPushNotificationConfig";
        match self.caller.call(message.agent, get, &wanted).await {
            Answer::Done(_) => self.model.record_answer(),
            Answer::Refused(error) => {
                let text = format!("the setting of {}: {error}", message.id);
                self.model.report(Violation::Lost, text);
            }
            Answer::Unknown => {}
        }
        let delete = "DeleteTaskPushNotificationConfig";
        if let Answer::Done(_) = self.caller.call(message.agent, delete, &wanted).await {
            self.model.record_answer();
            if let Answer::Done(_) = self.caller.call(message.agent, get, &wanted).await {
                let text = format!("the setting of {} is there after its deletion", message.id);
                self.model.report(Violation::Changed, text);
            }
        }
    }

    async fn get(&mut self) {
        let known = self.model.known(&self.name);
        if known.is_empty() {
            return sleep(PAUSE).await;
        }
        let message = self.rng.pick(&known).clone();
        get(&self.caller, &self.model, &message).await;
    }

    /// Checks that a list has all tasks that were acknowledged before it was requested.
    async fn list(&mut self) {
        let agent = *self.rng.pick(&AGENTS);
        let context = format!("c{}-{}", self.round, self.rng.below(CONTEXTS));
        if agent == BRIEF {
            return;
        }
        let known = self.model.known(&format!("r{}-", self.round));
        let Some(listed) = list(&self.caller, agent, Some(&context)).await else {
            return;
        };
        self.model.record_answer();
        for message in
            known.iter().filter(|message| message.agent == agent && message.context == context)
        {
            if message.task.as_ref().is_some_and(|task| !listed.contains(task)) {
                self.model.report(
                    Violation::Lost,
                    format!("{}, {:?}: not in the list", message.id, message.task),
                );
            }
        }
    }
}

/// Sends a message until it is answered, up to this number of attempts. Returns whether it was answered.
pub(crate) async fn send_until_answered(
    caller: &Caller,
    model: &Model,
    message: &Message,
    attempts: usize,
) -> bool {
    for _ in 0..attempts {
        match caller.call(message.agent, "SendMessage", &message.params).await {
            Answer::Done(result) => {
                model.record_task(&message.id, &without_sequence(&result["task"]));
                return true;
            }
            // If the clock of a bridge was behind the others, the task already counts as old at its end and is deleted
            // before the answer.
            Answer::Refused(error) if message.agent == BRIEF && is_not_found(&error) => {
                sleep(PAUSE).await;
            }
            Answer::Refused(error) => {
                model.report(Violation::Refused, format!("{}: {error}", message.id));
                return false;
            }
            Answer::Unknown => sleep(PAUSE).await,
        }
    }
    false
}

/// Reads the task of a message.
pub(crate) async fn get(caller: &Caller, model: &Model, message: &Message) {
    let params = json!({"id": message.task});
    match caller.call(message.agent, "GetTask", &params).await {
        Answer::Done(task) if message.is_deleted => {
            model.report(Violation::Changed, format!("{} exists again: {task}", message.id));
        }
        Answer::Done(task) => model.record_task(&message.id, &without_sequence(&task)),
        Answer::Refused(_) => model.record_not_found(&message.id),
        Answer::Unknown => {}
    }
}

/// Cancels the task of a message.
pub(crate) async fn cancel(caller: &Caller, model: &Model, id: &str) {
    let known = model.known(id);
    let Some(message) = known.iter().find(|message| message.id == id) else {
        return;
    };
    let params = json!({"id": message.task});
    if let Answer::Done(task) = caller.call(message.agent, "CancelTask", &params).await {
        // After a restart it may have failed before.
        if task["status"]["state"] == "TASK_STATE_CANCELED" {
            model.record_cancellation(id);
        }
        model.record_task(id, &without_sequence(&task));
    }
}

/// Returns the ids of an agent's tasks, in one context or in all; returns `None` without an answer.
pub(crate) async fn list(
    caller: &Caller,
    agent: &str,
    context: Option<&str>,
) -> Option<Vec<String>> {
    let mut params = json!({"pageSize": 100});
    if let Some(context) = context {
        params["contextId"] = context.into();
    }
    let mut listed = Vec::new();
    loop {
        let Answer::Done(page) = caller.call(agent, "ListTasks", &params).await else {
            return None;
        };
        let tasks = page["tasks"].as_array().into_iter().flatten();
        listed.extend(tasks.filter_map(|task| task["id"].as_str().map(str::to_owned)));
        match page["nextPageToken"].as_str() {
            None | Some("") => return Some(listed),
            Some(token) => params["pageToken"] = token.into(),
        }
    }
}

/// Waits until all clients and their last streams have ended.
pub(crate) async fn wait(mut clients: JoinSet<()>, model: &Model, limit: Duration) {
    let ended = async {
        while let Some(client) = clients.join_next().await {
            if let Err(error) = client {
                model.report(Violation::Stuck, format!("a client: {error}"));
            }
        }
    };
    if timeout(limit, ended).await.is_err() {
        model.report(Violation::Stuck, "a client does not end".to_owned());
    }
}
