//! Writes a batch of appends in one transaction.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_postgres::Row;

use crate::{
    connections::{Connections, Values},
    failure::Failure,
    rows::{self, FORMAT, Key, signed},
};
use bridge_program::clock;
use bridge_store::{Append, Head, Result, Seq, StoreError};

/// The largest append, in bytes.
const APPEND_LIMIT: usize = 64 << 20;

/// The largest head, in bytes. Clients choose some of its content, and every append writes it again.
const HEAD_LIMIT: usize = 16 << 10;

/// The largest number of appends in a batch, and the size from which a batch takes no further append.
const MAX_APPENDS: usize = 256;
const MAX_BYTES: usize = 1 << 20;

/// An append that is ready to be committed.
#[derive(Debug)]
pub(super) struct PreparedAppend {
    pub(super) append: Append,
    pub(super) head: Arc<Head>,
    pub(super) body: Vec<u8>,
    json: Vec<u8>,
    list: Key,
    client: Option<Key>,
    messages: Vec<(Key, Seq)>,
    /// The change of the number of tasks that are not in a terminal state.
    unfinished: i32,
    token: i64,
}

/// The reason for which an append was not written.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The agent has received one of its messages before.
    MessageUsed,
    /// The last event of the task is not the expected one, or the task exists already, or the client used its id before.
    Conflict,
    Failed(StoreError),
}

/// An append in the queue, with the channel to its caller.
#[derive(Debug)]
pub(super) struct QueuedAppend {
    pub(super) prepared: PreparedAppend,
    pub(super) done: oneshot::Sender<Result<(), Refusal>>,
    pub(super) room: OwnedSemaphorePermit,
}

impl PreparedAppend {
    /// Serializes an append for the tables. `before` is the head of the task before the append; `None` for a new task.
    pub(super) fn new(before: Option<&Head>, head: Arc<Head>, append: Append) -> Result<Self> {
        let body = rows::to_json("an event", &append.events)?;
        let task = &append.task;
        StoreError::check_size(body.len(), APPEND_LIMIT, || format!("an append to task {task}"))?;
        let json = rows::to_json("a head", &*head)?;
        let ids = || format!("the ids and open turns of task {task}");
        StoreError::check_size(json.len(), HEAD_LIMIT, ids)?;
        let Head { owner, agent, .. } = &*head;
        let client_id = head.client_id.as_ref().filter(|_| before.is_none());
        let messages = append.message_ids();
        let messages = messages.map(|(id, seq)| (rows::message_key(owner, agent, id), seq));
        let unfinished = |head: &Head| i32::from(!head.state.is_terminal());
        Ok(Self {
            list: rows::list_key(owner, agent),
            client: client_id.map(|id| rows::client_key(owner, agent, id)),
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

/// Takes the next batch from the queue, oldest appends first. An append to a task that the batch contains already, or
/// with a message that it contains already, stays in the queue.
pub(super) fn take_batch(waiting: &mut VecDeque<QueuedAppend>) -> Vec<QueuedAppend> {
    let (mut tasks, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut at = 0;
    while at < waiting.len() && batch.len() < MAX_APPENDS {
        let one = &waiting[at].prepared;
        let size = one.bytes();
        if bytes + size > MAX_BYTES && !batch.is_empty() {
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

const APPEND: &str = "SELECT refused, has_used_message FROM bridge.append_2(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

/// Writes all appends in one transaction. Returns the refused ones with their positions in the batch.
pub(super) async fn write(
    connections: &Connections,
    replica: i64,
    batch: &[QueuedAppend],
) -> Result<Vec<(usize, Refusal)>, Failure> {
    let all = || batch.iter().map(|pending| &pending.prepared);
    let messages = || {
        (1_i64..).zip(all()).flat_map(|(at, one)| {
            one.messages.iter().map(move |(key, seq)| (at, key.as_slice(), signed(*seq)))
        })
    };
    let refused = connections
        .write(
            APPEND,
            &[
                &replica,
                &Vec::from_iter(all().map(|one| &*one.append.task)),
                &Vec::from_iter(all().map(|one| rows::storable(&one.head.agent))),
                &Vec::from_iter(all().map(|one| one.list.as_slice())),
                &Vec::from_iter(all().map(|one| rows::context_key(&one.head.context_id))),
                &Vec::from_iter(all().map(|one| one.client.as_deref())),
                &Vec::from_iter(all().map(|one| rows::storable(one.head.state.as_str()))),
                &Vec::from_iter(all().map(|one| one.head.status_time.as_millisecond())),
                &Vec::from_iter(all().map(|one| !one.head.turns.is_empty())),
                &Vec::from_iter(all().map(|one| one.head.waits())),
                &Vec::from_iter(all().map(|one| one.head.is_open())),
                &Vec::from_iter(all().map(|one| one.json.as_slice())),
                &Vec::from_iter(all().map(|one| one.unfinished)),
                &Vec::from_iter(all().map(|one| signed(one.append.expected))),
                &Vec::from_iter(all().map(|one| signed(one.append.last()))),
                &Vec::from_iter(all().map(|one| one.append.time.as_millisecond())),
                &Vec::from_iter(all().map(|one| one.token)),
                &FORMAT,
                &Vec::from_iter(all().map(|one| one.body.as_slice())),
                &Vec::from_iter(messages().map(|(at, ..)| at)),
                &Vec::from_iter(messages().map(|(_, key, _)| key)),
                &Vec::from_iter(messages().map(|(.., seq)| seq)),
            ],
        )
        .await?;
    let refusal = |row: Row| {
        let refusal = if row.get(1) { Refusal::MessageUsed } else { Refusal::Conflict };
        (position(&row), refusal)
    };
    Ok(refused.into_iter().map(refusal).collect())
}

const COMMITTED: &str = "SELECT g.at FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    WITH ORDINALITY AS g (task, last, token, at)
    JOIN bridge.events AS e ON e.task = g.task AND e.last = g.last AND e.token = g.token";

/// Returns the positions of those appends of the batch that are in the log. It is called after a commit whose result
/// was lost.
pub(super) async fn find_committed(
    connections: &Connections,
    batch: &[QueuedAppend],
) -> Result<BTreeSet<usize>> {
    let all = || batch.iter().map(|pending| &pending.prepared);
    let values: Values<'_> = &[
        &Vec::from_iter(all().map(|one| &*one.append.task)),
        &Vec::from_iter(all().map(|one| signed(one.append.last()))),
        &Vec::from_iter(all().map(|one| one.token)),
    ];
    let found = connections.read(COMMITTED, values).await?;
    Ok(found.iter().map(position).collect())
}

/// Returns the position in the batch from the first column of a row, which counts from 1.
fn position(row: &Row) -> usize {
    let at: i64 = row.get(0);
    usize::try_from(at - 1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Message, Part, Role};
    use bridge_store::{Event, testing::Sample};
    use tokio::sync::Semaphore;

    use super::*;

    /// Returns an append that creates a task with a message.
    fn queued(task: &str, message: &str) -> QueuedAppend {
        let sample = Sample::new(task);
        let said = Event::Message(Message::new(message, Role::User, vec![Part::text("hello")]));
        let append = sample.append(0, 1, vec![sample.created(), said]);
        let head = Arc::new(Head::after(None, &sample.caller, &append).unwrap());
        let room = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let prepared = PreparedAppend::new(None, head, append).unwrap();
        QueuedAppend { prepared, done: oneshot::channel().0, room }
    }

    /// If two appends of one statement shared a message, `append_1` would refuse neither and write neither.
    #[test]
    fn an_append_with_a_task_or_a_message_of_the_batch_waits_for_the_next_one() {
        let appends = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "3"), ("d", "1")];
        let mut waiting = VecDeque::from_iter(appends.map(|(task, message)| queued(task, message)));
        for expected in [&["a", "c"][..], &["b", "a"], &["d"], &[]] {
            let batch = take_batch(&mut waiting);
            let tasks: Vec<&str> = batch.iter().map(|one| &*one.prepared.append.task).collect();
            assert_eq!(tasks, expected);
        }
    }
}
