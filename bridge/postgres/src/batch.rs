//! Appends that become true in one transaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_postgres::Row;

use crate::{
    connections::Connections,
    failure::Failure,
    rows::{self, FORMAT, Key, signed},
};
use bridge_program::clock;
use bridge_store::{Append, Head, Seq, StoreError};

/// The largest append, in bytes.
const APPEND_LIMIT: usize = 64 << 20;

/// The largest head, in bytes. Clients choose some of what is in it, and every append writes it again.
const HEAD_LIMIT: usize = 16 << 10;

/// The bounds of a batch.
const APPENDS: usize = 256;
const BYTES: usize = 1 << 20;

/// An append that is ready to be committed.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) append: Append,
    pub(super) head: Arc<Head>,
    pub(super) body: Vec<u8>,
    json: Vec<u8>,
    list: Key,
    client: Option<Key>,
    messages: Vec<(Key, Seq)>,
    /// By how much the number of tasks that are not in a terminal state changes.
    unfinished: i32,
    token: i64,
}

/// Why an append was not written.
#[derive(Debug)]
pub(super) enum Refusal {
    /// One of its messages was received before.
    MessageUsed,
    /// The task has another last event than expected, or exists already, or its client's id is used.
    Moved,
    Failed(StoreError),
}

/// An append with the one who waits for it, and its share of the queue.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) prepared: Prepared,
    pub(super) done: oneshot::Sender<Result<(), Refusal>>,
    pub(super) room: OwnedSemaphorePermit,
}

impl Prepared {
    /// Writes what the tables will hold. `before` is the task's head without the append, if there is one.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(super) fn new(
        before: Option<&Head>,
        head: Arc<Head>,
        append: Append,
    ) -> Result<Self, StoreError> {
        let body = rows::written("an event", &append.events)?;
        check_size("an append to", &append.task, body.len(), APPEND_LIMIT)?;
        let json = rows::written("a head", &*head)?;
        check_size(
            "the ids and open turns of",
            &append.task,
            json.len(),
            HEAD_LIMIT,
        )?;
        let Head { owner, agent, .. } = &*head;
        let client_id = head.client_id.as_ref().filter(|_| before.is_none());
        let messages = append.message_ids();
        let messages = messages.map(|(id, seq)| (rows::message(owner, agent, id), seq));
        let unfinished = |head: &Head| i32::from(!head.state.is_terminal());
        Ok(Self {
            list: rows::list(owner, agent),
            client: client_id.map(|id| rows::client(owner, agent, id)),
            messages: messages.collect(),
            unfinished: unfinished(&head) - before.map_or(0, unfinished),
            token: clock::random_u64().cast_signed(),
            append,
            head,
            body,
            json,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len() + self.json.len()
    }
}

fn check_size(what: &str, task: &str, size: usize, limit: usize) -> Result<(), StoreError> {
    match size <= limit {
        true => Ok(()),
        false => Err(StoreError::TooLarge {
            what: format!("{what} task {task}"),
            size,
            limit,
        }),
    }
}

/// Takes the next batch out of what waits, oldest first. Appends that cannot be in it together stay.
pub(super) fn take(waiting: &mut std::collections::VecDeque<Pending>) -> Vec<Pending> {
    let (mut tasks, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut at = 0;
    while at < waiting.len() && batch.len() < APPENDS {
        let one = &waiting[at].prepared;
        let size = one.bytes();
        if bytes + size > BYTES && !batch.is_empty() {
            break;
        }
        let shares = tasks.contains(&one.append.task)
            || one.messages.iter().any(|(key, _)| keys.contains(key));
        if shares {
            at += 1;
            continue;
        }
        tasks.insert(one.append.task.clone());
        keys.extend(one.messages.iter().map(|(key, _)| key.clone()));
        bytes += size;
        batch.extend(waiting.remove(at));
    }
    batch
}

const WRITE: &str = "SELECT refused, has_used_message FROM bridge.append_2(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

/// Writes all appends in one transaction, and returns those that were refused, by their places in the batch.
pub(super) async fn write(
    connections: &Connections,
    replica: i64,
    batch: &[Pending],
) -> Result<Vec<(usize, Refusal)>, Failure> {
    let all = || batch.iter().map(|pending| &pending.prepared);
    let tasks: Vec<&str> = all().map(|one| one.append.task.as_str()).collect();
    let agents: Vec<_> = all().map(|one| rows::name(&one.head.agent)).collect();
    let lists: Vec<&[u8]> = all().map(|one| one.list.as_slice()).collect();
    let contexts: Vec<Key> = all()
        .map(|one| rows::context(&one.head.context_id))
        .collect();
    let clients: Vec<Option<&[u8]>> = all().map(|one| one.client.as_deref()).collect();
    let states: Vec<_> = all()
        .map(|one| rows::name(one.head.state.as_str()))
        .collect();
    let status_times: Vec<i64> = all()
        .map(|one| one.head.status_time.as_millisecond())
        .collect();
    let has_turns: Vec<bool> = all().map(|one| !one.head.turns.is_empty()).collect();
    let waits: Vec<bool> = all().map(|one| one.head.waits()).collect();
    let is_open: Vec<bool> = all().map(|one| one.head.is_open()).collect();
    let heads: Vec<&[u8]> = all().map(|one| one.json.as_slice()).collect();
    let unfinished: Vec<i32> = all().map(|one| one.unfinished).collect();
    let expected: Vec<i64> = all().map(|one| signed(one.append.expected)).collect();
    let last: Vec<i64> = all().map(|one| signed(one.append.last())).collect();
    let times: Vec<i64> = all().map(|one| one.append.time.as_millisecond()).collect();
    let tokens: Vec<i64> = all().map(|one| one.token).collect();
    let bodies: Vec<&[u8]> = all().map(|one| one.body.as_slice()).collect();
    let messages = (1_i64..).zip(all());
    let messages = messages.flat_map(|(at, one)| one.messages.iter().map(move |own| (at, own)));
    let messages: Vec<(i64, &(Key, Seq))> = messages.collect();
    let message_places: Vec<i64> = messages.iter().map(|(at, _)| *at).collect();
    let message_keys: Vec<&[u8]> = messages.iter().map(|(_, own)| own.0.as_slice()).collect();
    let message_seqs: Vec<i64> = messages.iter().map(|(_, own)| signed(own.1)).collect();
    let refused = connections
        .write(
            WRITE,
            &[
                &replica,
                &tasks,
                &agents,
                &lists,
                &contexts,
                &clients,
                &states,
                &status_times,
                &has_turns,
                &waits,
                &is_open,
                &heads,
                &unfinished,
                &expected,
                &last,
                &times,
                &tokens,
                &FORMAT,
                &bodies,
                &message_places,
                &message_keys,
                &message_seqs,
            ],
        )
        .await?;
    let refusal = |row: Row| {
        let refusal = match row.get(1) {
            true => Refusal::MessageUsed,
            false => Refusal::Moved,
        };
        (place(&row), refusal)
    };
    Ok(refused.into_iter().map(refusal).collect())
}

const WRITTEN: &str = "SELECT g.at FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    WITH ORDINALITY AS g (task, last, token, at)
    JOIN bridge.events AS e ON e.task = g.task AND e.last = g.last AND e.token = g.token";

/// Returns which appends of the batch are in the log, after a commit whose answer was lost.
pub(super) async fn written(
    connections: &Connections,
    batch: &[Pending],
) -> Result<BTreeSet<usize>, StoreError> {
    let all = || batch.iter().map(|pending| &pending.prepared);
    let tasks: Vec<&str> = all().map(|one| one.append.task.as_str()).collect();
    let last: Vec<i64> = all().map(|one| signed(one.append.last())).collect();
    let tokens: Vec<i64> = all().map(|one| one.token).collect();
    let rows = connections.read(WRITTEN, &[&tasks, &last, &tokens]).await?;
    Ok(rows.iter().map(place).collect())
}

/// The place in the batch that a row names in its first column, counted from 1.
fn place(row: &Row) -> usize {
    let at: i64 = row.get(0);
    usize::try_from(at - 1).unwrap_or_default()
}
