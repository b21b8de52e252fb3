//! Leases of conversations, and which processes are heard of.

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
use bridge_store::{Call, Conversation, Lease, Leases, Sharing, StoreError};

/// The longest time until tasks of processes that ended are looked for without a notification.
const LOOK: Duration = Duration::from_secs(60);

/// The time for leaving.
const LEAVE: Duration = Duration::from_secs(2);

/// This process among those on the database.
#[derive(Debug)]
pub(super) struct Membership {
    /// Its number, which no later process gets.
    pub(super) replica: i64,
    /// The time after which it is taken for dead when it is not heard of.
    pub(super) lease: Duration,
    /// How often leases of other processes became free.
    freed: watch::Sender<u64>,
    is_lost: watch::Sender<bool>,
    has_left: AtomicBool,
    heard: Mutex<Heard>,
}

/// What this process could say of itself, as others could, too.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// Since when it could say in time that it lives.
    since: Instant,
    /// Until when it is heard of, in seconds by the database's clock.
    until: f64,
}

impl Membership {
    /// Makes this process known.
    pub(super) async fn join(
        connections: &Connections,
        lease: Duration,
    ) -> Result<Self, StoreError> {
        let join = "INSERT INTO bridge.replicas (until, answers_calls)
            VALUES (clock_timestamp() + make_interval(secs => $1), true) RETURNING id";
        let rows = connections
            .write_as_member(join, &[&lease.as_secs_f64()])
            .await?;
        let replica = rows.first().map(|row| row.get(0));
        Ok(Self {
            replica: replica.ok_or_else(|| unavailable("this process got no number"))?,
            lease,
            freed: watch::Sender::new(0),
            is_lost: watch::Sender::new(false),
            has_left: AtomicBool::new(false),
            heard: Mutex::new(Heard {
                since: Instant::now(),
                until: 0.0,
            }),
        })
    }

    /// Begins again to give everybody the time to be heard of.
    fn hear_from_now(&self) {
        lock(&self.heard).since = Instant::now();
    }

    /// Notes that this process said that it lives, this long after it did so before.
    fn note(&self, until: f64, after: Duration) {
        let mut heard = lock(&self.heard);
        heard.until = until;
        // When the database stood still, nobody was heard of.
        if after > self.lease / 2 {
            heard.since = Instant::now();
        }
    }

    /// Tells that leases of other processes became free, or may have.
    pub(super) fn tell_freed(&self) {
        self.freed.send_modify(|count| *count += 1);
    }
}

/// Says again and again that this process lives, for ever.
pub(super) async fn stay(shared: Arc<Shared>) {
    let own = &shared.membership;
    let mut before = Instant::now();
    loop {
        sleep(own.lease / 4).await;
        if own.has_left.load(Ordering::Acquire) {
            return;
        }
        match renew(&shared).await {
            Ok(Some(until)) => own.note(until, before.elapsed()),
            Ok(None) => {
                tracing::error!("this bridge was not heard of in time, and others do its work");
                own.is_lost.send_replace(true);
                return;
            }
            Err(error) => {
                tracing::debug!(%error, "this bridge could not say that it lives");
                own.hear_from_now();
            }
        }
        before = Instant::now();
    }
}

/// Takes the leases of processes that do not live, and forgets old calls, for ever. The loop in which this process says
/// that it lives does not wait for these statements.
pub(super) async fn tidy(shared: Arc<Shared>) {
    let own = &shared.membership;
    loop {
        sleep(own.lease / 4).await;
        if own.has_left.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = shared.forget_calls().await {
            tracing::debug!(%error, "old calls were not forgotten");
        }
        // After an outage of the database, everybody gets the time to be heard of again.
        let heard = *lock(&own.heard);
        if heard.since.elapsed() <= own.lease {
            continue;
        }
        match bury(&shared, heard.until).await {
            Ok(false) => {}
            Ok(true) => {
                own.tell_freed();
                // This process may be one that takes up no turns.
                shared.changes.add_freed();
            }
            Err(error) => tracing::debug!(%error, "dead bridges could not be looked for"),
        }
    }
}

/// Returns until when this process is heard of, in seconds by the database's clock, unless it was taken for dead.
async fn renew(shared: &Shared) -> Result<Option<f64>, StoreError> {
    let Membership { replica, lease, .. } = &shared.membership;
    let renew = "UPDATE bridge.replicas SET until = clock_timestamp() + make_interval(secs => $2)
        WHERE id = $1 RETURNING extract(epoch FROM until)::float8";
    let values: Values<'_> = &[replica, &lease.as_secs_f64()];
    let rows = shared.connections.write_as_member(renew, values).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Forgets processes that were not heard of in time, with their leases. A statement that waited while the database stood
/// still forgets nobody: then this process, which is heard of until `until`, was not heard of lately either.
async fn bury(shared: &Shared, until: f64) -> Result<bool, StoreError> {
    let dead = "SELECT id, bridge.forget_1(id, false) FROM bridge.replicas
        WHERE until < clock_timestamp() AND id <> $1 AND clock_timestamp() < to_timestamp($2)";
    let Membership { replica, lease, .. } = &shared.membership;
    let latest = until - (*lease / 2).as_secs_f64();
    let values: Values<'_> = &[replica, &latest];
    let rows = shared.connections.write_again(dead, values).await?;
    let buried: Vec<i64> = rows
        .iter()
        .filter(|row| row.get(1))
        .map(|row| row.get(0))
        .collect();
    if !buried.is_empty() {
        tracing::warn!(replicas = ?buried, "bridges are not heard of: their turns are taken up here");
    }
    Ok(!buried.is_empty())
}

/// The keys by which a conversation and its tasks are found.
fn keys(of: &Conversation<'_>) -> (Key, Key, Key) {
    let list = rows::list(of.caller, of.agent);
    let key = rows::conversation(of.caller, of.agent, of.id);
    (key, list, rows::context(of.id))
}

#[async_trait]
impl Leases for Shared {
    async fn acquire(&self, conversation: Conversation<'_>) -> Result<Lease, StoreError> {
        let (key, list, context) = keys(&conversation);
        let (replica, task) = (self.membership.replica, rows::name(conversation.id));
        let acquire = "SELECT is_held, task, head FROM bridge.acquire_1($1, $2, $3, $4, $5)";
        let values: Values<'_> = &[&replica, &key, &list, &context, &task];
        let found = self.connections.write_again(acquire, values).await?;
        let is_held = found.first().is_some_and(|row| row.get(0));
        let tasks = found.iter().skip(1);
        let head = |row: &Row| self.intact(row.get(1), row.get(2));
        Ok(match is_held {
            // A damaged task is left as it is.
            true => Lease::Held(tasks.filter_map(head).collect()),
            false => Lease::Elsewhere(tasks.count()),
        })
    }

    async fn release(&self, conversation: Conversation<'_>) -> Result<bool, StoreError> {
        let (key, list, context) = keys(&conversation);
        let (replica, task) = (self.membership.replica, rows::name(conversation.id));
        let release = "SELECT bridge.release_1($1, $2, $3, $4, $5)";
        let values: Values<'_> = &[&replica, &key, &list, &context, &task];
        let found = self.connections.write_again(release, values).await?;
        Ok(found.first().is_some_and(|row| row.get(0)))
    }

    async fn are_elsewhere(
        &self,
        conversations: &[Conversation<'_>],
    ) -> Result<Vec<bool>, StoreError> {
        let keys: Vec<Key> = conversations
            .iter()
            .map(|of| rows::conversation(of.caller, of.agent, of.id))
            .collect();
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
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut told = None;
        let answer = self.hand_over_call(conversation, call, &mut told).await;
        let is_answered = matches!(answer, Ok(Some(_)));
        if is_answered || told.is_some() {
            self.sharing.handed.count(is_answered);
        }
        answer
    }

    async fn calls(&self) -> Vec<Call> {
        self.take_calls().await
    }

    async fn answer(&self, key: &[u8], answer: Option<Vec<u8>>) -> Result<(), StoreError> {
        let has_effect = answer.is_some();
        let answered = self.answer_call(key, answer).await;
        self.sharing.taken.count(has_effect && answered.is_ok());
        answered
    }

    fn sharing(&self) -> Option<Sharing> {
        Some(self.sharing_seen())
    }

    async fn freed(&self, seen: u64) -> u64 {
        let mut freed = self.membership.freed.subscribe();
        // The sender lives as long as this.
        let _ = timeout(LOOK, freed.wait_for(|count| *count > seen)).await;
        *freed.borrow()
    }

    async fn lost(&self) {
        let mut is_lost = self.membership.is_lost.subscribe();
        // The sender lives as long as this.
        let _ = is_lost.wait_for(|lost| *lost).await;
    }

    async fn leave(&self) {
        self.membership.has_left.store(true, Ordering::Release);
        let replica = self.membership.replica;
        let leave = "SELECT bridge.forget_1($1, true), pg_notify('bridge_changes', $2)";
        let text = self.changes.farewell();
        let values: Values<'_> = &[&replica, &text];
        let leaving = self.connections.write_as_member(leave, values);
        if let Ok(Err(error)) = timeout(LEAVE, leaving).await {
            tracing::warn!(%error, "other bridges find out later that this one has ended");
        }
    }
}
