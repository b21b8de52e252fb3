//! Tells the other processes which tasks have new events, and hears it from them.
//!
//! PostgreSQL takes a lock over the whole server when a transaction with a notification commits, so appends carry none.
//! Instead each process tells of all its appends in a transaction of its own, every 10 ms at most. The log is the
//! truth: a notification that is lost only delays, until the tasks that someone here waits for are looked at again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, mpsc},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout},
};
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Socket};

use crate::{
    Shared,
    connections::Plan,
    failure::{told, unavailable},
    rows::{Key, signed, unsigned},
};
use bridge_program::{clock, lock};
use bridge_store::{Head, Seq, StoreError};

/// The least time between two notifications of a process.
const EVERY: Duration = Duration::from_millis(10);

/// The time after which tasks that someone waits for are looked at without a notification.
const FLOOR: Duration = Duration::from_secs(1);

/// The same for tasks that only webhooks wait for.
const RARE_FLOOR: Duration = Duration::from_secs(10);

/// The pause after the connection for notifications was lost, and the time for a new one.
const AGAIN: Duration = Duration::from_millis(500);
const CONNECT: Duration = Duration::from_secs(10);

/// The largest notification that PostgreSQL takes is 8000 bytes.
const PAYLOAD: usize = 7_000;

/// The number of calls or answers that one notification tells of.
const NAMES: usize = 200;

/// The number of tasks that are looked at with one statement.
const TASKS: usize = 1_000;

const CHANNEL: &str = "bridge_changes";

/// What other processes have not been told of: tasks with appends, calls and answers.
#[derive(Debug)]
pub(super) struct Changes {
    /// Names this process, which need not hear what it said.
    process: String,
    untold: Mutex<Untold>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Untold {
    tasks: BTreeMap<String, Seq>,
    calls: BTreeSet<i64>,
    answers: BTreeSet<Key>,
    /// Whether leases became free.
    is_any_free: bool,
}

/// A notification: who sends it, the tasks with the numbers of their last events, the processes that are called, and the
/// calls that were answered.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Told {
    from: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<(String, i64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<i64>,
    /// The keys in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<String>,
    /// Whether leases became free, because a process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    leaves: bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            process: clock::new_id(),
            untold: Mutex::default(),
            added: Notify::new(),
        }
    }
}

impl Changes {
    pub(super) fn add(&self, head: &Head) {
        self.change(|untold| {
            untold.tasks.insert(head.task.clone(), head.seq);
        });
    }

    /// A deleted task has no last event.
    pub(super) fn add_deleted(&self, task: &str) {
        self.change(|untold| {
            untold.tasks.insert(task.to_owned(), 0);
        });
    }

    pub(super) fn add_call(&self, replica: i64) {
        self.change(|untold| {
            untold.calls.insert(replica);
        });
    }

    pub(super) fn add_answer(&self, key: &[u8]) {
        self.change(|untold| {
            untold.answers.insert(key.to_owned());
        });
    }

    /// Leases of a process that is gone became free.
    pub(super) fn add_freed(&self) {
        self.change(|untold| untold.is_any_free = true);
    }

    fn change(&self, change: impl FnOnce(&mut Untold)) {
        change(&mut lock(&self.untold));
        self.added.notify_one();
    }

    /// Returns all that is to be told, in texts that fit into notifications.
    fn take(&self) -> Vec<String> {
        let Untold {
            tasks: untold,
            calls,
            answers,
            is_any_free,
        } = {
            let mut untold = lock(&self.untold);
            std::mem::take(&mut *untold)
        };
        let (mut texts, mut tasks, mut size) = (Vec::new(), Vec::new(), 0);
        for (task, seq) in untold {
            // A character takes six bytes at most. Waiters for a task with a longer id read it again.
            let own = 6 * task.len() + 24;
            if own > PAYLOAD {
                continue;
            }
            if size + own > PAYLOAD {
                texts.extend(self.of_tasks(std::mem::take(&mut tasks)));
                size = 0;
            }
            size += own;
            tasks.push((task, signed(seq)));
        }
        if !tasks.is_empty() {
            texts.extend(self.of_tasks(tasks));
        }
        if is_any_free {
            texts.push(self.farewell());
        }
        let (calls, answers) = (Vec::from_iter(calls), Vec::from_iter(answers));
        for calls in calls.chunks(NAMES) {
            let calls = calls.to_vec();
            texts.extend(self.text(Told {
                calls,
                ..Told::default()
            }));
        }
        for answers in answers.chunks(NAMES) {
            let answers = answers.iter().map(|key| STANDARD.encode(key)).collect();
            texts.extend(self.text(Told {
                answers,
                ..Told::default()
            }));
        }
        texts
    }

    fn of_tasks(&self, tasks: Vec<(String, i64)>) -> Option<String> {
        self.text(Told {
            tasks,
            ..Told::default()
        })
    }

    fn text(&self, told: Told) -> Option<String> {
        let from = self.process.clone();
        serde_json::to_string(&Told { from, ..told }).ok()
    }

    /// The notification that leases became free, which is also the last one of a process.
    pub(super) fn farewell(&self) -> String {
        let leaves = true;
        let told = self.text(Told {
            leaves,
            ..Told::default()
        });
        told.unwrap_or_default()
    }

    /// Reads a notification of another process.
    fn heard(&self, text: &str) -> Option<Told> {
        let told: Told = serde_json::from_str(text).ok()?;
        (told.from != self.process).then_some(told)
    }
}

/// Tells the other processes of appends, for ever.
pub(super) async fn tell_others(shared: Arc<Shared>) {
    let mut next = Instant::now();
    loop {
        shared.changes.added.notified().await;
        sleep_until(next).await;
        let texts = shared.changes.take();
        let notify = "SELECT pg_notify('bridge_changes', text) FROM unnest($1::text[]) AS t (text)";
        if !texts.is_empty()
            && let Err(failure) = shared.connections.write(notify, &[&texts]).await
        {
            tracing::debug!(error = %failure.into_error(), "a notification was not sent");
        }
        next = Instant::now() + EVERY;
    }
}

/// Hears of the appends of other processes, and passes them to those who wait here, for ever.
pub(super) async fn hear_others(shared: Arc<Shared>) {
    loop {
        let ended = match shared.connections.plan.clone() {
            Plan { config, tls: None } => {
                let connecting = config.connect(NoTls);
                hear(&shared, connecting).await
            }
            Plan {
                config,
                tls: Some(tls),
            } => {
                let connecting = config.connect(tls);
                hear(&shared, connecting).await
            }
        };
        tracing::debug!(error = %ended, "notifications of other bridges are not heard");
        // Without notifications, the floor is all there is.
        look_at_awaited(&shared).await;
        sleep(AGAIN).await;
    }
}

/// Hears until the connection is lost.
async fn hear<S>(
    shared: &Shared,
    connecting: impl Future<Output = Result<(Client, Connection<Socket, S>), tokio_postgres::Error>>,
) -> StoreError
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, mut connection) = match timeout(CONNECT, connecting).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return unavailable(told(&error)),
        Err(_) => return unavailable(format!("no connection within {CONNECT:?}")),
    };
    let (say, mut said) = mpsc::channel(64);
    // The connection is driven here, so that it ends together with this function.
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let driving = async {
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notification(told)) if told.channel() == CHANNEL => {
                    // If too many wait, looking at all awaited tasks makes up for it.
                    let _ = say.try_send(told.payload().to_owned());
                }
                Ok(_) => {}
                Err(error) => return unavailable(told(&error)),
            }
        }
        unavailable("the server has closed the connection")
    };
    let hearing = async {
        // Of everything that was appended after this, there is a notification; before it, none.
        let listening = client.batch_execute("LISTEN bridge_changes");
        match timeout(CONNECT, listening).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return unavailable(told(&error)),
            Err(_) => return unavailable(format!("no answer within {CONNECT:?}")),
        }
        // Processes that left before were not heard.
        shared.membership.tell_freed();
        let mut rare_floor = interval(RARE_FLOOR);
        rare_floor.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut floor = interval(FLOOR);
        floor.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                text = said.recv() => {
                    let Some(text) = text else {
                        return unavailable("the connection has ended");
                    };
                    if let Some(told) = shared.changes.heard(&text) {
                        let Told { tasks, calls, answers, leaves, .. } = told;
                        if leaves {
                            shared.membership.tell_freed();
                        }
                        if calls.contains(&shared.membership.replica) {
                            shared.calls.called();
                        }
                        let keys = answers.iter().filter_map(|key| STANDARD.decode(key).ok());
                        keys.for_each(|key| shared.calls.answered(&key));
                        let changed = tasks.into_iter().map(|(task, seq)| (task, unsigned(seq)));
                        look_at_changed(shared, changed.collect()).await;
                    }
                }
                _ = floor.tick() => look_at_awaited(shared).await,
                // There may be many webhooks, and each of their tasks is looked at.
                _ = rare_floor.tick() => {
                    look_at_all(shared, shared.feed.awaited_by_listeners()).await;
                }
            }
        }
    };
    tokio::select! {
        error = driving => error,
        error = hearing => error,
    }
}

/// Passes on the heads of tasks that have changed.
async fn look_at_changed(shared: &Shared, changed: Vec<(String, Seq)>) {
    let (deleted, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, seq)| *seq == 0);
    deleted.iter().for_each(|(task, _)| shared.forget(task));
    let wanted = changed
        .into_iter()
        .filter(|(task, _)| shared.feed.is_awaited(task));
    look_at(shared, wanted.map(|(task, seq)| (task, seq - 1)).collect()).await;
}

/// Looks at all tasks for which someone waits.
async fn look_at_awaited(shared: &Shared) {
    look_at_all(shared, shared.feed.awaited()).await;
}

async fn look_at_all(shared: &Shared, mut awaited: Vec<(String, Seq)>) {
    while !awaited.is_empty() {
        let next = awaited.split_off(awaited.len().saturating_sub(TASKS));
        look_at(shared, next).await;
    }
}

/// The heads of tasks that have changed; of a task that was deleted, none.
const HEADS: &str =
    "SELECT known.task, t.head FROM unnest($1::text[], $2::bigint[]) AS known (task, seq)
    LEFT JOIN bridge.tasks AS t ON t.task = known.task WHERE t.task IS NULL OR t.seq > known.seq";

/// Passes on the heads of those tasks that have events after the given ones.
async fn look_at(shared: &Shared, known: Vec<(String, Seq)>) {
    if known.is_empty() {
        return;
    }
    let seqs: Vec<i64> = known.iter().map(|(_, seq)| signed(*seq)).collect();
    let tasks: Vec<String> = known.into_iter().map(|(task, _)| task).collect();
    match shared.connections.read(HEADS, &[&tasks, &seqs]).await {
        Ok(rows) => {
            for row in rows {
                let (task, json): (&str, Option<&[u8]>) = (row.get(0), row.get(1));
                match json.map(|json| shared.intact(task, json)) {
                    Some(Some(head)) => shared.feed.publish(&Arc::new(head)),
                    // Readers of a damaged task get an error.
                    Some(None) => {}
                    None => shared.forget(task),
                }
            }
        }
        Err(error) => tracing::debug!(%error, "awaited tasks could not be looked at"),
    }
}
