//! Clients that do one thing after the other, as their seed says.

use std::time::Duration;

use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    caller::{Answer, Caller, is_not_found},
    model::{AGENTS, BOT, BRIEF, ECHO, HANGING, Message, Model, Wrong},
    rng::Rng,
    stream::{self, without_sequence},
};

/// How many clients there are at a time, and in how many contexts they speak.
const CLIENTS: usize = 8;
const CONTEXTS: usize = 5;
/// One in so many messages has a webhook.
const HOOKED: usize = 4;
/// How often a message is sent again, until it is left to later.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// A client.
struct Client {
    caller: Caller,
    model: Model,
    hooks: String,
    rng: Rng,
    name: String,
    round: u64,
    count: usize,
}

/// Starts the clients of a round; they end when `is_over` says so, and streams at their end.
pub(crate) fn start(
    round: u64,
    caller: &Caller,
    model: &Model,
    hooks: &str,
    is_over: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let mut client = Client {
            caller: caller.clone(),
            model: model.clone(),
            hooks: hooks.to_owned(),
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

    fn message(&mut self, agent: &'static str, waits: bool) -> Message {
        self.count += 1;
        let id = format!("{}{}", self.name, self.count);
        let context = format!("c{}-{}", self.round, self.rng.below(CONTEXTS));
        let hook = self.rng.one_in(HOOKED) && agent != BRIEF;
        let hook = hook.then(|| (self.hooks.clone(), format!("/{id}")));
        let message = Message::new(id, agent, context, waits, hook);
        self.model.sent(&message);
        message
    }

    async fn send(&mut self) {
        let agent = *self.rng.pick(&[ECHO, BOT, BRIEF]);
        let waits = self.rng.one_in(2);
        let message = self.message(agent, waits);
        insist(&self.caller, &self.model, &message, ATTEMPTS).await;
    }

    async fn stream(&mut self) {
        let agent = *self.rng.pick(&[ECHO, BOT]);
        let message = self.message(agent, true);
        stream::follow(&self.caller, &self.model, &message).await;
    }

    async fn cancel(&mut self) {
        let message = self.message(HANGING, false);
        if insist(&self.caller, &self.model, &message, ATTEMPTS).await {
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
        // A request that is still on its way must not meddle with a later one.
        self.count += 1;
        let id = format!("later{}", self.count);
        let setting =
            json!({"taskId": message.task, "id": id, "url": format!("{}/later", self.hooks)});
        let create = "CreateTaskPushNotificationConfig";
        let Answer::Done(_) = self.caller.call(message.agent, create, &setting).await else {
            return;
        };
        self.model.answered();
        let wanted = json!({"taskId": message.task, "id": id});
        let get = "GetTaskPushNotificationConfig";
        match self.caller.call(message.agent, get, &wanted).await {
            Answer::Done(_) => self.model.answered(),
            Answer::Refused(error) => {
                let text = format!("the setting of {}: {error}", message.id);
                self.model.wrong(Wrong::Lost, text);
            }
            Answer::Unsure => {}
        }
        let delete = "DeleteTaskPushNotificationConfig";
        if let Answer::Done(_) = self.caller.call(message.agent, delete, &wanted).await {
            self.model.answered();
            if let Answer::Done(_) = self.caller.call(message.agent, get, &wanted).await {
                let text = format!("the setting of {} is there after its end", message.id);
                self.model.wrong(Wrong::Changed, text);
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

    /// A list has all tasks that were told before it was asked for.
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
        self.model.answered();
        for message in known
            .iter()
            .filter(|message| message.agent == agent && message.context == context)
        {
            if message
                .task
                .as_ref()
                .is_some_and(|task| !listed.contains(task))
            {
                self.model.wrong(
                    Wrong::Lost,
                    format!("{}, {:?}: not in the list", message.id, message.task),
                );
            }
        }
    }
}

/// Sends a message until it is answered, so often at most. Returns whether it was.
pub(crate) async fn insist(
    caller: &Caller,
    model: &Model,
    message: &Message,
    attempts: usize,
) -> bool {
    for _ in 0..attempts {
        match caller
            .call(message.agent, "SendMessage", &message.params)
            .await
        {
            Answer::Done(result) => {
                model.shown(&message.id, &without_sequence(&result["task"]));
                return true;
            }
            // By a clock that goes behind the others its task was old when it ended, and was deleted before the answer.
            Answer::Refused(error) if message.agent == BRIEF && is_not_found(&error) => {
                sleep(PAUSE).await;
            }
            Answer::Refused(error) => {
                model.wrong(Wrong::Refused, format!("{}: {error}", message.id));
                return false;
            }
            Answer::Unsure => sleep(PAUSE).await,
        }
    }
    false
}

/// Reads the task of a message.
pub(crate) async fn get(caller: &Caller, model: &Model, message: &Message) {
    let params = json!({"id": message.task});
    match caller.call(message.agent, "GetTask", &params).await {
        Answer::Done(task) if message.is_gone => {
            model.wrong(
                Wrong::Changed,
                format!("{} has come back: {task}", message.id),
            );
        }
        Answer::Done(task) => model.shown(&message.id, &without_sequence(&task)),
        Answer::Refused(_) => model.not_found(&message.id),
        Answer::Unsure => {}
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
            model.canceled(id);
        }
        model.shown(id, &without_sequence(&task));
    }
}

/// The ids of an agent's tasks, in a context or in all; `None` if there is no answer.
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

/// Waits for all clients, the last streams included.
pub(crate) async fn wait(mut clients: JoinSet<()>, model: &Model, limit: Duration) {
    let ended = async {
        while let Some(client) = clients.join_next().await {
            if let Err(error) = client {
                model.wrong(Wrong::Stuck, format!("a client: {error}"));
            }
        }
    };
    if timeout(limit, ended).await.is_err() {
        model.wrong(Wrong::Stuck, "a client has no end".to_owned());
    }
}
