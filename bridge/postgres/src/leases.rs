//! Manages the leases of conversations and the heartbeats of processes, and collects statistics of them for operators.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bridge_program::lock;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_postgres::Row;

use crate::{
    Shared,
    connections::{Connections, Values},
    failure::unavailable,
    rows::{self, Key},
};
use bridge_store::{Call, CallCounts, Conversation, Lease, Leases, Result, Sharing};

/// The longest time for which [`Leases::freed`] waits.
const FREED_TIMEOUT: Duration = Duration::from_secs(60);

/// The time limit for leaving.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The membership of this process among the processes on the database.
#[derive(Debug)]
pub(super) struct Membership {
    /// The id of this process. It is never used again.
    pub(super) replica: i64,
    /// The time after which a process without a heartbeat is taken for dead.
    pub(super) lease: Duration,
    /// The number of times that leases of other processes became free.
    freed: watch::Sender<u64>,
    is_lost: watch::Sender<bool>,
    has_left: AtomicBool,
    heartbeat: Mutex<Heartbeat>,
}

/// The heartbeat of this process.
#[derive(Clone, Copy, Debug)]
struct Heartbeat {
    /// The time since which heartbeats succeed without long gaps. Other processes could send theirs since then, too.
    since: Instant,
    /// The time at which the heartbeat expires, in seconds by the database's clock.
    until: f64,
}

impl Heartbeat {
    /// Records that it expires at `until`, and that `after` has passed since the previous one.
    fn record(&mut self, until: f64, after: Duration, lease: Duration) {
        let by_database = until - self.until;
        self.until = until;
        let longest = lease / 2;
        // While the database was blocked, no process could send a heartbeat. If its clock jumped ahead, or another server with
        // another clock serves it now, the heartbeats of all others seem to have expired.
        if after > longest || by_database > (after + longest).as_secs_f64() {
            self.since = Instant::now();
        }
    }
}

impl Membership {
    /// Registers this process.
    pub(super) async fn join(connections: &Connections, lease: Duration) -> Result<Self> {
        let join = "INSERT INTO bridge.replicas (until, answers_calls)
            VALUES (clock_timestamp() + make_interval(secs => $1), true)
            RETURNING id, extract(epoch FROM until)::float8";
        let values: Values<'_> = &[&lease.as_secs_f64()];
        let rows = connections.write_heartbeat(join, values).await?;
        let row = rows.first().ok_or_else(|| unavailable("this bridge got no number"))?;
        Ok(Self {
            replica: row.get(0),
            lease,
            freed: watch::Sender::new(0),
            is_lost: watch::Sender::new(false),
            has_left: AtomicBool::new(false),
            heartbeat: Mutex::new(Heartbeat { since: Instant::now(), until: row.get(1) }),
        })
    }

    /// Gives all processes the time of a lease to send a heartbeat, because this process could not send its own.
    fn restart_grace_period(&self) {
        lock(&self.heartbeat).since = Instant::now();
    }

    /// Records a heartbeat that expires at `until`; `after` is the time since the previous heartbeat.
    fn record_heartbeat(&self, until: f64, after: Duration) {
        lock(&self.heartbeat).record(until, after, self.lease);
    }

    /// Signals that leases of other processes became free, or may have become free.
    pub(super) fn notify_freed(&self) {
        self.freed.send_modify(|count| *count += 1);
    }
}

/// Sends heartbeats, for ever.
pub(super) async fn send_heartbeats(shared: Arc<Shared>) {
    let own = &shared.membership;
    let mut before = Instant::now();
    loop {
        sleep(own.lease / 4).await;
        if own.has_left.load(Ordering::Acquire) {
            return;
        }
        match renew(&shared).await {
            Ok(Some(until)) => own.record_heartbeat(until, before.elapsed()),
            Ok(None) => {
                tracing::error!("this bridge sent no heartbeat in time, and others do its work");
                own.is_lost.send_replace(true);
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "a heartbeat could not be sent");
                own.restart_grace_period();
            }
        }
        before = Instant::now();
    }
}

/// Frees the leases of dead processes and those that this process could not release, and removes expired calls, for ever.
/// Heartbeats do not wait for these statements.
pub(super) async fn clean_up(shared: Arc<Shared>) {
    let own = &shared.membership;
    loop {
        sleep(own.lease / 4).await;
        if own.has_left.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = shared.remove_expired_calls().await {
            tracing::debug!(%error, "expired calls were not removed");
        }
        if let Err(error) = shared.release_late().await {
            tracing::debug!(%error, "leases are released later");
        }
        // After an outage of the database, all processes get time to send a heartbeat.
        let heartbeat = *lock(&own.heartbeat);
        if heartbeat.since.elapsed() <= own.lease {
            continue;
        }
        match remove_dead(&shared, heartbeat.until).await {
            Ok(false) => {}
            Ok(true) => {
                own.notify_freed();
                // This process may be one that takes over no turns.
                shared.changes.add_freed();
            }
            Err(error) => tracing::debug!(%error, "dead bridges could not be removed"),
        }
    }
}

/// Sends a heartbeat. Returns the time at which it expires, in seconds by the database's clock, or `None` if this process
/// was taken for dead.
async fn renew(shared: &Shared) -> Result<Option<f64>> {
    let Membership { replica, lease, .. } = &shared.membership;
    let renew = "UPDATE bridge.replicas SET until = clock_timestamp() + make_interval(secs => $2)
        WHERE id = $1 RETURNING extract(epoch FROM until)::float8";
    let values: Values<'_> = &[replica, &lease.as_secs_f64()];
    let rows = shared.connections.write_heartbeat(renew, values).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Removes processes whose heartbeats have expired, with their leases. Returns whether there were any. A statement that
/// waited while the database was blocked removes none: then the heartbeat of this process, which expires at `until`, is
/// too old.
async fn remove_dead(shared: &Shared, until: f64) -> Result<bool> {
    // A process may acquire a lease in the moment in which it is removed.
    let dead = "WITH late AS (
            DELETE FROM bridge.conversations AS c
            WHERE NOT EXISTS (SELECT FROM bridge.replicas AS r WHERE r.id = c.replica)
        ) SELECT id, bridge.forget_1(id, false) FROM bridge.replicas
        WHERE until < clock_timestamp() AND id <> $1 AND clock_timestamp() < to_timestamp($2)";
    let Membership { replica, lease, .. } = &shared.membership;
    let latest = until - (*lease / 2).as_secs_f64();
    let values: Values<'_> = &[replica, &latest];
    let rows = shared.connections.write_idempotent(dead, values).await?;
    let removed: Vec<i64> = rows.iter().filter(|row| row.get(1)).map(|row| row.get(0)).collect();
    if !removed.is_empty() {
        tracing::warn!(replicas = ?removed, "bridges sent no heartbeat: this bridge takes over their turns");
    }
    Ok(!removed.is_empty())
}

/// Updates the statistics, for ever. Heartbeats do not wait for these queries.
pub(super) async fn poll_sharing(shared: Arc<Shared>) {
    loop {
        sleep(shared.membership.lease / 4).await;
        if let Err(error) = shared.update_sharing().await {
            tracing::debug!(%error, "the statistics of the bridges could not be read");
        }
    }
}

impl Shared {
    /// Calls one of the functions in the database about a conversation.
    async fn call(&self, sql: &'static str, conversation: Conversation<'_>) -> Result<Vec<Row>> {
        let Conversation { agent, caller, id } = conversation;
        let key = rows::conversation_key(conversation);
        let (list, context) = (rows::list_key(caller, agent), rows::context_key(id));
        let (replica, task) = (self.membership.replica, rows::storable(id));
        let values: Values<'_> = &[&replica, &key, &list, &context, &task];
        self.connections.write_idempotent(sql, values).await
    }

    /// Reads the statistics. The queries read a few rows for each agent, process and lease of this process, and no tasks.
    pub(super) async fn update_sharing(&self) -> Result<()> {
        let own = "SELECT (SELECT count(*) FROM bridge.replicas WHERE until >= clock_timestamp()),
                (SELECT count(*) FROM bridge.conversations WHERE replica = $1)";
        let values: Values<'_> = &[&self.membership.replica];
        let own = self.connections.read(own, values);
        let open = "SELECT agent, sum(unfinished)::bigint FROM bridge.agents GROUP BY agent";
        let open = self.connections.read(open, &[]);
        let (own, open) = tokio::try_join!(own, open)?;
        let mut sharing = lock(&self.sharing);
        sharing.processes = own.first().map_or(0, |row| count(row, 0));
        sharing.leases = own.first().map_or(0, |row| count(row, 1));
        sharing.open_tasks = open.iter().map(|row| (row.get(0), count(row, 1))).collect();
        Ok(())
    }
}

fn count_call(counts: &mut CallCounts, is_answered: bool) {
    match is_answered {
        true => counts.answered += 1,
        false => counts.failed += 1,
    }
}

/// Reads a count from a column.
fn count(row: &Row, column: usize) -> usize {
    let count: i64 = row.get(column);
    usize::try_from(count).unwrap_or_default()
}

#[async_trait]
impl Leases for Shared {
    async fn acquire(&self, conversation: Conversation<'_>) -> Result<Lease> {
        self.late_releases.withdraw(conversation).await;
        let acquire = "SELECT is_held, task, head FROM bridge.acquire_1($1, $2, $3, $4, $5)";
        let found = self.call(acquire, conversation).await?;
        let is_held = found.first().is_some_and(|row| row.get(0));
        let tasks = found.iter().skip(1);
        let head = |row: &Row| self.intact(row.get(1), row.get(2));
        Ok(match is_held {
            // Damaged tasks are left out.
            true => Lease::Held(tasks.filter_map(head).collect()),
            false => Lease::Elsewhere(tasks.count()),
        })
    }

    async fn release(&self, conversation: Conversation<'_>) -> Result<bool> {
        let release = "SELECT bridge.release_1($1, $2, $3, $4, $5)";
        let found = self.call(release, conversation).await?;
        Ok(found.first().is_some_and(|row| row.get(0)))
    }

    fn release_later(&self, conversation: Conversation<'_>) {
        self.late_releases.add(conversation);
    }

    async fn are_elsewhere(&self, conversations: &[Conversation<'_>]) -> Result<Vec<bool>> {
        let keys: Vec<Key> = conversations.iter().copied().map(rows::conversation_key).collect();
        let select = "SELECT EXISTS (SELECT FROM bridge.conversations AS c
                WHERE c.key = wanted.key AND c.replica <> $2)
            FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (key, at) ORDER BY at";
        let values: Values<'_> = &[&keys, &self.membership.replica];
        let found = self.connections.read(select, values).await?;
        Ok(found.iter().map(|row| row.get(0)).collect())
    }

    async fn hand_over(
        &self,
        conversation: Conversation<'_>,
        call: &Call,
    ) -> Result<Option<Vec<u8>>> {
        let mut notified = None;
        let answer = self.hand_over_call(conversation, call, &mut notified).await;
        let is_answered = matches!(answer, Ok(Some(_)));
        if is_answered || notified.is_some() {
            count_call(&mut lock(&self.sharing).handed, is_answered);
        }
        answer
    }

    async fn calls(&self) -> Vec<Call> {
        self.take_calls().await
    }

    async fn answer(&self, key: &[u8], answer: Option<Vec<u8>>) -> Result<()> {
        let has_effect = answer.is_some();
        let answered = self.answer_call(key, answer).await;
        count_call(&mut lock(&self.sharing).taken, has_effect && answered.is_ok());
        answered
    }

    fn sharing(&self) -> Option<Sharing> {
        Some(lock(&self.sharing).clone())
    }

    async fn freed(&self, seen: u64) -> u64 {
        let mut freed = self.membership.freed.subscribe();
        // The sender is not dropped before this future.
        let _ = timeout(FREED_TIMEOUT, freed.wait_for(|count| *count > seen)).await;
        *freed.borrow()
    }

    async fn lost(&self) {
        let mut is_lost = self.membership.is_lost.subscribe();
        // The sender is not dropped before this future.
        let _ = is_lost.wait_for(|lost| *lost).await;
    }

    async fn leave(&self) {
        self.membership.has_left.store(true, Ordering::Release);
        let replica = self.membership.replica;
        let leave = "SELECT bridge.forget_1($1, true), pg_notify('bridge_changes', $2)";
        let text = self.changes.leases_freed();
        let values: Values<'_> = &[&replica, &text];
        let leaving = self.connections.write_heartbeat(leave, values);
        if let Ok(Err(error)) = timeout(LEAVE_TIMEOUT, leaving).await {
            tracing::warn!(%error, "other bridges notice the end of this one only when its heartbeat expires");
        }
    }
}
