//! Calls that one process hands to another, through the database.
//!
//! A call is a row that names the process that is to answer it; the answer is written into the same row. Notifications
//! tell of both, and who waits looks by itself now and then. Only who can write to the database can make a call, and each
//! call, and all that wait together, have a largest size.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge_program::lock;
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout},
};

use crate::{
    Shared,
    connections::Values,
    failure::unavailable,
    rows::{self, Key},
};
use bridge_store::{Call, Conversation, StoreError};

/// The largest call or answer, and the size of all calls of this process that wait, in KiB.
const LARGEST: usize = 24 << 20;
const ROOM: usize = 64 << 10;

/// The time for an answer. It is longer than that after which a dead process is replaced, unless the setting is unusual.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time for which an answer is kept for those who make the same call again.
const KEPT: Duration = Duration::from_secs(120);

/// The time after which those who wait look without a notification.
const FLOOR: Duration = Duration::from_secs(1);

/// The number of calls that are taken at once.
const AT_ONCE: i32 = 16;

/// The calls of this process, and those for it.
#[derive(Debug)]
pub(super) struct Calls {
    room: Arc<Semaphore>,
    /// Those who wait for answers, by the keys of their calls.
    waiting: Mutex<BTreeMap<Key, Arc<Notify>>>,
    /// Notified when a call may be there for this process.
    arrived: Notify,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            room: Arc::new(Semaphore::new(ROOM)),
            waiting: Mutex::default(),
            arrived: Notify::new(),
        }
    }
}

impl Calls {
    /// A call for this process may be there.
    pub(super) fn called(&self) {
        self.arrived.notify_one();
    }

    /// There is news of the call with this key.
    pub(super) fn answered(&self, key: &[u8]) {
        if let Some(waiter) = lock(&self.waiting).get(key) {
            waiter.notify_waiters();
        }
    }

    fn wait(&self, key: &Key) -> Arc<Notify> {
        Arc::clone(lock(&self.waiting).entry(key.clone()).or_default())
    }
}

/// Waits for news of a call, until it is dropped.
struct Waiter<'a> {
    calls: &'a Calls,
    key: &'a Key,
    news: Arc<Notify>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.calls.waiting);
        // The map has one, and this.
        if Arc::strong_count(&self.news) <= 2 {
            waiting.remove(self.key);
        }
    }
}

impl Shared {
    /// Hands a call over, and notes who was told of it last.
    pub(super) async fn hand_over_call(
        &self,
        conversation: Conversation<'_>,
        call: &Call,
        told: &mut Option<i64>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        check_size(&call.body)?;
        let kilobytes = (call.body.len() >> 10).clamp(1, ROOM) as u32;
        let room = timeout(PATIENCE, self.calls.room.acquire_many(kilobytes)).await;
        let Ok(Ok(_room)) = room else {
            return Err(unavailable("too many calls wait for other bridges"));
        };
        let waiter = Waiter {
            calls: &self.calls,
            key: &call.key,
            news: self.calls.wait(&call.key),
        };
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let news = waiter.news.notified();
            tokio::pin!(news);
            // Answers from now on are heard.
            news.as_mut().enable();
            match self.look_after_call(conversation, call).await? {
                None => return Ok(None),
                Some((_, Some(answer))) => return Ok(Some(answer)),
                Some((replica, None)) if *told != Some(replica) => {
                    *told = Some(replica);
                    self.changes.add_call(replica);
                }
                Some((_, None)) => {}
            }
            let _ = timeout(FLOOR, news).await;
        }
        self.withdraw_call(call).await
    }

    /// Hands a call over if it is not, and returns who is to answer it, and the answer.
    async fn look_after_call(
        &self,
        conversation: Conversation<'_>,
        call: &Call,
    ) -> Result<Option<(i64, Option<Vec<u8>>)>, StoreError> {
        let Conversation { agent, caller, id } = conversation;
        let conversation = rows::conversation(caller, agent, id);
        let (own, kept) = (self.membership.replica, KEPT.as_secs_f64());
        let hand_over = "SELECT replica, answer FROM bridge.hand_over_1($1, $2, $3, $4, $5)";
        let values: Values<'_> = &[&own, &conversation, &call.key, &call.body, &kept];
        let found = self.connections.write_again(hand_over, values).await?;
        Ok(found.first().map(|row| (row.get(0), row.get(1))))
    }

    /// Takes a call back that nobody has answered in time, unless it was seen.
    async fn withdraw_call(&self, call: &Call) -> Result<Option<Vec<u8>>, StoreError> {
        let withdraw = "DELETE FROM bridge.calls WHERE key = $1 AND NOT is_taken RETURNING true";
        let found = self.connections.write_again(withdraw, &[&call.key]).await?;
        match found.is_empty() {
            false => Ok(None),
            true => Err(unavailable("another bridge has not answered in time")),
        }
    }

    pub(super) async fn take_calls(&self) -> Vec<Call> {
        let _ = timeout(FLOOR, self.calls.arrived.notified()).await;
        let take = "SELECT key, body FROM bridge.take_calls_1($1, $2)";
        let values: Values<'_> = &[&self.membership.replica, &AT_ONCE];
        match self.connections.write_again(take, values).await {
            Ok(found) => {
                if !found.is_empty() {
                    // There may be more.
                    self.calls.called();
                }
                let call = |row: &tokio_postgres::Row| Call {
                    key: row.get(0),
                    body: row.get(1),
                };
                found.iter().map(call).collect()
            }
            Err(error) => {
                tracing::debug!(%error, "calls of other bridges could not be read");
                tokio::time::sleep(FLOOR).await;
                Vec::new()
            }
        }
    }

    pub(super) async fn answer_call(
        &self,
        key: &[u8],
        answer: Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let own = self.membership.replica;
        match answer {
            Some(answer) => {
                check_size(&answer)?;
                let write = "UPDATE bridge.calls SET answer = $3, body = '' WHERE key = $1 AND replica = $2";
                let values: Values<'_> = &[&key, &own, &answer];
                self.connections.write_again(write, values).await?;
            }
            None => {
                let forget = "DELETE FROM bridge.calls WHERE key = $1 AND replica = $2";
                let values: Values<'_> = &[&key, &own];
                self.connections.write_again(forget, values).await?;
            }
        }
        self.changes.add_answer(key);
        Ok(())
    }

    /// Forgets calls and answers that are old.
    pub(super) async fn forget_calls(&self) -> Result<(), StoreError> {
        let forget = "DELETE FROM bridge.calls WHERE until < clock_timestamp()";
        self.connections.write_again(forget, &[]).await.map(drop)
    }
}

fn check_size(body: &[u8]) -> Result<(), StoreError> {
    match body.len() <= LARGEST {
        true => Ok(()),
        false => Err(StoreError::TooLarge {
            what: "a call that belongs to another bridge".to_owned(),
            size: body.len(),
            limit: LARGEST,
        }),
    }
}
