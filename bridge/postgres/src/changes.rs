//! Notifies other processes of tasks with new events, and receives their notifications.
//!
//! PostgreSQL takes a lock over the whole server when a transaction with a notification commits, so appends send none.
//! Instead each process sends notifications of all its appends in a separate transaction, at most every 10 ms. A lost
//! notification only causes a delay: the tasks that someone in this process waits for are polled.

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
    connections::Values,
    failure::{describe, unavailable},
    rows::{Key, signed, unsigned},
};
use bridge_program::{clock, lock};
use bridge_store::{Head, Seq, StoreError};

/// The shortest interval between two transactions with notifications.
const SEND_INTERVAL: Duration = Duration::from_millis(10);

/// The interval at which tasks with watchers are polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The interval at which tasks are polled that only listeners, such as webhooks, wait for.
const LISTENER_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The pause after the connection for notifications was lost, and the time limit for a new connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest notification that this process sends; PostgreSQL accepts 8000 bytes.
const MAX_PAYLOAD: usize = 7_000;

/// The largest number of calls or answers in one notification.
const MAX_KEYS: usize = 200;

/// The largest number of tasks in one query.
const MAX_TASKS: usize = 1_000;

const CHANNEL: &str = "bridge_changes";

/// The changes of which other processes are to be notified: tasks with appends, calls and answers.
#[derive(Debug)]
pub(super) struct Changes {
    /// The id of this process, by which it ignores its own notifications.
    process: String,
    pending: Mutex<PendingChanges>,
    added: Notify,
}

#[derive(Debug, Default)]
struct PendingChanges {
    tasks: BTreeMap<String, Seq>,
    calls: BTreeSet<i64>,
    answers: BTreeSet<Key>,
    /// Whether leases became free.
    is_any_free: bool,
}

/// A notification: the sending process, tasks with the numbers of their last events, processes for which there are calls,
/// and calls that were answered.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notification {
    from: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tasks: Vec<(String, i64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<i64>,
    /// The keys of the calls in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<String>,
    /// Whether leases became free because a process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    leaves: bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self { process: clock::new_id(), pending: Mutex::default(), added: Notify::new() }
    }
}

impl Changes {
    pub(super) fn add(&self, head: &Head) {
        self.change(|pending| {
            pending.tasks.insert(head.task.to_string(), head.seq);
        });
    }

    /// Adds a deleted task, which is sent with event number 0.
    pub(super) fn add_deleted(&self, task: &str) {
        self.change(|pending| {
            pending.tasks.insert(task.to_owned(), 0);
        });
    }

    pub(super) fn add_call(&self, replica: i64) {
        self.change(|pending| {
            pending.calls.insert(replica);
        });
    }

    pub(super) fn add_answer(&self, key: &[u8]) {
        self.change(|pending| {
            pending.answers.insert(key.to_owned());
        });
    }

    /// Adds that leases of a dead process became free.
    pub(super) fn add_freed(&self) {
        self.change(|pending| pending.is_any_free = true);
    }

    fn change(&self, change: impl FnOnce(&mut PendingChanges)) {
        change(&mut lock(&self.pending));
        self.added.notify_one();
    }

    /// Takes all pending changes, as texts that fit into notifications.
    fn take(&self) -> Vec<String> {
        let PendingChanges { tasks: pending, calls, answers, is_any_free } = {
            let mut pending = lock(&self.pending);
            std::mem::take(&mut *pending)
        };
        let (mut texts, mut tasks, mut size) = (Vec::new(), Vec::new(), 0);
        for (task, seq) in pending {
            // A character takes at most six bytes. A task whose id is too long is found by polling.
            let own = 6 * task.len() + 24;
            if own > MAX_PAYLOAD {
                continue;
            }
            if size + own > MAX_PAYLOAD {
                texts.extend(self.task_notification(std::mem::take(&mut tasks)));
                size = 0;
            }
            size += own;
            tasks.push((task, signed(seq)));
        }
        if !tasks.is_empty() {
            texts.extend(self.task_notification(tasks));
        }
        if is_any_free {
            texts.push(self.leases_freed());
        }
        let (calls, answers) = (Vec::from_iter(calls), Vec::from_iter(answers));
        for calls in calls.chunks(MAX_KEYS) {
            let calls = calls.to_vec();
            texts.extend(self.text(Notification { calls, ..Notification::default() }));
        }
        for answers in answers.chunks(MAX_KEYS) {
            let answers = answers.iter().map(|key| STANDARD.encode(key)).collect();
            texts.extend(self.text(Notification { answers, ..Notification::default() }));
        }
        texts
    }

    fn task_notification(&self, tasks: Vec<(String, i64)>) -> Option<String> {
        self.text(Notification { tasks, ..Notification::default() })
    }

    fn text(&self, mut notification: Notification) -> Option<String> {
        notification.from.clone_from(&self.process);
        serde_json::to_string(&notification).ok()
    }

    /// Returns the notification that leases became free. A process that ends sends it as its last one.
    pub(super) fn leases_freed(&self) -> String {
        let text = self.text(Notification { leaves: true, ..Notification::default() });
        text.unwrap_or_default()
    }

    /// Parses a notification. Returns `None` for one of this process.
    fn parse(&self, text: &str) -> Option<Notification> {
        let notification: Notification = serde_json::from_str(text).ok()?;
        (notification.from != self.process).then_some(notification)
    }
}

/// Sends notifications to other processes, for ever.
pub(super) async fn send_notifications(shared: Arc<Shared>) {
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
        next = Instant::now() + SEND_INTERVAL;
    }
}

/// Receives notifications from other processes and passes them to the waiters in this process, for ever.
pub(super) async fn receive_notifications(shared: Arc<Shared>) {
    loop {
        let servers = &shared.connections.servers;
        let ended = match servers.tls.clone() {
            None => receive_on_connection(&shared, servers.connect(NoTls)).await,
            Some(tls) => receive_on_connection(&shared, servers.connect(tls)).await,
        };
        tracing::debug!(error = %ended, "notifications of other bridges are not received");
        // Without notifications, tasks are only polled.
        publish_all_newer(&shared, shared.feed.awaited()).await;
        sleep(RECONNECT_PAUSE).await;
    }
}

/// Receives notifications until the connection is lost. Returns the reason for which it was lost.
async fn receive_on_connection<S>(
    shared: &Shared,
    connecting: impl Future<Output = Result<(Client, Connection<Socket, S>), tokio_postgres::Error>>,
) -> StoreError
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, mut connection) = match timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return unavailable(describe(&error)),
        Err(_) => return unavailable(format!("no connection within {CONNECT_TIMEOUT:?}")),
    };
    let (sender, mut received) = mpsc::channel(64);
    // The connection is driven here, so that it ends together with this function.
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let drive = async {
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notification(news)) if news.channel() == CHANNEL => {
                    // Polling makes up for notifications that do not fit into the channel.
                    let _ = sender.try_send(news.payload().to_owned());
                }
                Ok(_) => {}
                Err(error) => return unavailable(describe(&error)),
            }
        }
        unavailable("the server has closed the connection")
    };
    let receive = async {
        // Notifications are received for all appends after this statement.
        let listening = client.batch_execute("LISTEN bridge_changes");
        match timeout(CONNECT_TIMEOUT, listening).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return unavailable(describe(&error)),
            Err(_) => return unavailable(format!("no answer within {CONNECT_TIMEOUT:?}")),
        }
        // Processes may have ended before this connection was made.
        shared.membership.notify_freed();
        let mut listener_poll = interval(LISTENER_POLL_INTERVAL);
        listener_poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut poll = interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                text = received.recv() => {
                    let Some(text) = text else {
                        return unavailable("the connection has ended");
                    };
                    if let Some(notification) = shared.changes.parse(&text) {
                        let Notification { tasks, calls, answers, leaves, .. } = notification;
                        if leaves {
                            shared.membership.notify_freed();
                        }
                        if calls.contains(&shared.membership.replica) {
                            shared.calls.arrived.notify_one();
                        }
                        for key in answers.iter().filter_map(|key| STANDARD.decode(key).ok()) {
                            // Few processes wait for calls.
                            let _ = shared.calls.changed.send(key);
                        }
                        let changed = tasks.into_iter().map(|(task, seq)| (task, unsigned(seq)));
                        publish_changed(shared, changed.collect()).await;
                    }
                }
                _ = poll.tick() => publish_all_newer(shared, shared.feed.awaited()).await,
                // There may be many webhooks, and each of their tasks is queried.
                _ = listener_poll.tick() => {
                    publish_all_newer(shared, shared.feed.awaited_by_listeners()).await;
                }
            }
        }
    };
    tokio::select! {
        error = drive => error,
        error = receive => error,
    }
}

/// Publishes the heads of changed tasks that someone in this process waits for, and forgets deleted tasks.
async fn publish_changed(shared: &Shared, changed: Vec<(String, Seq)>) {
    let (deleted, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, seq)| *seq == 0);
    deleted.iter().for_each(|(task, _)| shared.forget(task));
    let wanted = changed.into_iter().filter(|(task, _)| shared.feed.is_awaited(task));
    publish_newer(shared, wanted.map(|(task, seq)| (task, seq - 1)).collect()).await;
}

/// Publishes the new heads of all awaited tasks.
async fn publish_all_newer(shared: &Shared, mut awaited: Vec<(String, Seq)>) {
    while !awaited.is_empty() {
        let next = awaited.split_off(awaited.len().saturating_sub(MAX_TASKS));
        publish_newer(shared, next).await;
    }
}

/// Selects the heads of tasks that have changed; the head of a deleted task is null.
const NEWER_HEADS: &str =
    "SELECT known.task, t.head FROM unnest($1::text[], $2::bigint[]) AS known (task, seq)
    LEFT JOIN bridge.tasks AS t ON t.task = known.task WHERE t.task IS NULL OR t.seq > known.seq";

/// Publishes the heads of those tasks that have events after the given numbers.
async fn publish_newer(shared: &Shared, known: Vec<(String, Seq)>) {
    if known.is_empty() {
        return;
    }
    let seqs: Vec<i64> = known.iter().map(|(_, seq)| signed(*seq)).collect();
    let tasks: Vec<String> = known.into_iter().map(|(task, _)| task).collect();
    let values: Values<'_> = &[&tasks, &seqs];
    match shared.connections.read(NEWER_HEADS, values).await {
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
        Err(error) => tracing::debug!(%error, "awaited tasks could not be read"),
    }
}
