//! Hands calls from one process to another, through the database.
//!
//! A call is a row with the process that has to answer it; the answer is written into the same row. Each side sends a
//! notification, and each side also polls, in case a notification is lost. Only programs that can write to the database
//! can make calls. The size of a call and the size of all waiting calls are limited.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    sync::{Mutex, Notify, Semaphore, broadcast},
    time::{Instant, timeout},
};

use crate::{
    Shared,
    connections::Values,
    failure::unavailable,
    rows::{self, Key},
};
use bridge_store::{Call, Conversation, Result, StoreError};

/// The largest call or answer in bytes, and the size of all waiting calls of this process in KiB.
const MAX_CALL_BYTES: usize = 24 << 20;
const MAX_WAITING_KIB: usize = 64 << 10;

/// The time for which an answer is awaited. It is longer than usual leases, so that the conversation of a dead process is
/// taken over meanwhile.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The time for which an answer is kept, for a caller that makes the same call again.
const ANSWER_RETENTION: Duration = Duration::from_secs(120);

/// The interval at which calls and answers are polled without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The largest number of calls that one statement takes.
const MAX_TAKEN: i64 = 16;

/// The number of changes that are kept for a waiting caller. A caller that misses some polls at once.
const MAX_ANSWERS: usize = 64;

/// The calls that this process makes and receives.
#[derive(Debug)]
pub(super) struct Calls {
    room: Semaphore,
    /// Sends the keys of calls whose state has changed.
    pub(super) changed: broadcast::Sender<Key>,
    /// Notified when there may be a call for this process.
    pub(super) arrived: Notify,
    /// The calls that this process has taken and is answering, with the times at which it took them.
    taken: Mutex<BTreeMap<Key, Instant>>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            room: Semaphore::new(MAX_WAITING_KIB),
            changed: broadcast::Sender::new(MAX_ANSWERS),
            arrived: Notify::new(),
            taken: Mutex::default(),
        }
    }
}

impl Shared {
    /// Hands a call over and waits for the answer. `notified` becomes the last process that was notified of the call.
    pub(super) async fn hand_over_call(
        &self,
        conversation: Conversation<'_>,
        call: &Call,
        notified: &mut Option<i64>,
    ) -> Result<Option<Vec<u8>>> {
        check_size(&call.body)?;
        let kilobytes = (call.body.len() >> 10).clamp(1, MAX_WAITING_KIB) as u32;
        let room = timeout(ANSWER_TIMEOUT, self.calls.room.acquire_many(kilobytes)).await;
        let Ok(Ok(_room)) = room else {
            return Err(unavailable("too many calls wait for other bridges"));
        };
        let conversation = rows::conversation_key(conversation);
        let mut changed = self.calls.changed.subscribe();
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let mut is_sent = false;
        while Instant::now() < deadline {
            let mut waiting = None;
            if is_sent {
                waiting = self.waiting_call(&conversation, call).await?;
            }
            // The body may be large, so it is sent again only if the row is missing or belongs to the wrong process.
            if waiting.is_none() {
                waiting = self.ensure_call(&conversation, call).await?;
                is_sent = true;
            }
            match waiting {
                None => return Ok(None),
                Some((_, Some(answer))) => return Ok(Some(answer)),
                Some((replica, None)) if *notified != Some(replica) => {
                    *notified = Some(replica);
                    self.changes.add_call(replica);
                }
                Some((_, None)) => {}
            }
            let own_change =
                async { while changed.recv().await.is_ok_and(|key| key != call.key) {} };
            let _ = timeout(POLL_INTERVAL, own_change).await;
        }
        self.withdraw_call(call).await
    }

    /// Returns the same as [`ensure_call`](Self::ensure_call) if the call's row can stay as it is, or else `None`.
    async fn waiting_call(
        &self,
        conversation: &rows::Key,
        call: &Call,
    ) -> Result<Option<(i64, Option<Vec<u8>>)>> {
        let own = self.membership.replica;
        let select = "SELECT c.replica, c.answer FROM bridge.calls AS c WHERE c.key = $1 AND (
                c.answer IS NOT NULL
                OR EXISTS (SELECT FROM bridge.replicas AS r WHERE r.id = c.replica AND (
                    c.is_taken
                    OR r.id <> $3 AND r.answers_calls AND EXISTS (
                        SELECT FROM bridge.conversations AS h WHERE h.key = $2 AND h.replica = r.id
                    )
                ))
            )";
        let values: Values<'_> = &[&call.key, conversation, &own];
        let found = self.connections.write_idempotent(select, values).await?;
        Ok(found.first().map(|row| (row.get(0), row.get(1))))
    }

    /// Writes the call's row if there is none for the process that has the conversation. Returns the process that has to
    /// answer, and the answer.
    async fn ensure_call(
        &self,
        conversation: &rows::Key,
        call: &Call,
    ) -> Result<Option<(i64, Option<Vec<u8>>)>> {
        let (own, kept) = (self.membership.replica, ANSWER_RETENTION.as_secs_f64());
        let hand_over = "SELECT replica, answer FROM bridge.hand_over_1($1, $2, $3, $4, $5)";
        let values: Values<'_> = &[&own, conversation, &call.key, &call.body, &kept];
        let found = self.connections.write_idempotent(hand_over, values).await?;
        Ok(found.first().map(|row| (row.get(0), row.get(1))))
    }

    /// Removes a call that was not answered in time, unless a process has taken it.
    async fn withdraw_call(&self, call: &Call) -> Result<Option<Vec<u8>>> {
        let values: Values<'_> = &[&call.key];
        let delete = "DELETE FROM bridge.calls WHERE key = $1 AND NOT is_taken RETURNING true";
        let found = self.connections.write_idempotent(delete, values).await?;
        match found.is_empty() {
            false => Ok(None),
            true => Err(unavailable("another bridge has not answered in time")),
        }
    }

    pub(super) async fn take_calls(&self) -> Vec<Call> {
        let _ = timeout(POLL_INTERVAL, self.calls.arrived.notified()).await;
        let mut taken = self.calls.taken.lock().await;
        taken.retain(|_, at| at.elapsed() < ANSWER_RETENTION);
        // If the result of this statement is lost, the next one takes the same calls.
        let take = "UPDATE bridge.calls AS c SET is_taken = true FROM (
                SELECT w.key FROM bridge.calls AS w
                WHERE w.replica = $1 AND w.answer IS NULL AND w.key <> ALL($2::bytea[])
                ORDER BY w.made LIMIT $3 FOR UPDATE SKIP LOCKED
            ) AS next WHERE c.key = next.key RETURNING c.key, c.body";
        let known = Vec::from_iter(taken.keys());
        let values: Values<'_> = &[&self.membership.replica, &known, &MAX_TAKEN];
        match self.connections.write_idempotent(take, values).await {
            Ok(found) => {
                if !found.is_empty() {
                    // There may be more calls.
                    self.calls.arrived.notify_one();
                }
                let call = |row: &tokio_postgres::Row| Call { key: row.get(0), body: row.get(1) };
                let calls: Vec<Call> = found.iter().map(call).collect();
                taken.extend(calls.iter().map(|call| (call.key.clone(), Instant::now())));
                calls
            }
            Err(error) => {
                tracing::debug!(%error, "calls of other bridges could not be read");
                drop(taken);
                tokio::time::sleep(POLL_INTERVAL).await;
                Vec::new()
            }
        }
    }

    pub(super) async fn answer_call(&self, key: &[u8], answer: Option<Vec<u8>>) -> Result<()> {
        let own = self.membership.replica;
        match answer {
            Some(answer) => {
                check_size(&answer)?;
                let write = "UPDATE bridge.calls SET answer = $3, body = '' WHERE key = $1 AND replica = $2";
                let values: Values<'_> = &[&key, &own, &answer];
                self.connections.write_idempotent(write, values).await?;
            }
            None => {
                let forget = "DELETE FROM bridge.calls WHERE key = $1 AND replica = $2";
                let values: Values<'_> = &[&key, &own];
                self.connections.write_idempotent(forget, values).await?;
            }
        }
        self.calls.taken.lock().await.remove(key);
        self.changes.add_answer(key);
        Ok(())
    }

    /// Removes expired calls and answers.
    pub(super) async fn remove_expired_calls(&self) -> Result<()> {
        let forget = "DELETE FROM bridge.calls WHERE until < clock_timestamp()";
        let deleted = self.connections.write_idempotent(forget, &[]);
        deleted.await.map(drop)
    }
}

fn check_size(body: &[u8]) -> Result<()> {
    let call = || "a call that belongs to another bridge".to_owned();
    StoreError::check_size(body.len(), MAX_CALL_BYTES, call)
}
