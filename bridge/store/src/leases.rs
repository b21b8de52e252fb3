//! Leases of conversations: of several processes on one store, one at a time works on a conversation.
//!
//! A process holds the lease of a conversation while a turn of the conversation runs. Messages that other processes receive
//! meanwhile wait in the log, where the holder finds them when it releases the lease. When a process sends no heartbeat for
//! some time, another process frees its leases, and the store refuses its appends from then on.

use std::{collections::BTreeMap, fmt, future::pending, time::Duration};

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::{Head, Result, StoreError};
use crate::caller::Caller;

/// A conversation of a caller with an agent: a task or a context.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The caller.
    pub caller: &'a Caller,
    /// The id of the task or context.
    pub id: &'a str,
}

/// The result of [`Leases::acquire`].
#[derive(Clone, Debug)]
pub enum Lease {
    /// This process holds the lease. The heads are those of the conversation's tasks with open turns, sorted by task id.
    Held(Vec<Head>),
    /// Another process holds the lease. The number is that of the conversation's tasks with open turns.
    Elsewhere(usize),
}

/// A call that one process hands to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The id of the call. A repeated call has the same key.
    pub key: Vec<u8>,
    /// The content, in a form that the processes define.
    pub body: Vec<u8>,
}

/// Statistics of the processes on a store, which are updated at intervals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The number of live processes, including this one.
    pub processes: usize,
    /// The number of leases that this process holds.
    pub leases: usize,
    /// The number of tasks that are not in a terminal state, for each agent.
    pub open_tasks: BTreeMap<String, usize>,
    /// The calls that this process has handed to other processes.
    pub handed: CallCounts,
    /// The calls that other processes have handed to this one.
    pub taken: CallCounts,
}

/// The numbers of calls with and without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// The number of calls with an answer.
    pub answered: u64,
    /// The number of calls without an answer.
    pub failed: u64,
}

/// Grants leases. A store that only one process uses needs none.
#[async_trait]
pub trait Leases: Send + Sync + fmt::Debug {
    /// Acquires the lease of a conversation unless another process holds it.
    async fn acquire(&self, conversation: Conversation<'_>) -> Result<Lease>;

    /// Releases a lease, and returns whether the conversation has open turns. A turn that another process appended before it
    /// was refused the lease is always seen.
    async fn release(&self, conversation: Conversation<'_>) -> Result<bool>;

    /// Releases a lease that cannot be released now, as soon as the store can be reached, unless this process acquires the lease
    /// again before.
    fn release_later(&self, conversation: Conversation<'_>);

    /// Returns for each conversation whether another process holds its lease.
    async fn are_elsewhere(&self, conversations: &[Conversation<'_>]) -> Result<Vec<bool>>;

    /// Hands a call to the process that holds the lease of a conversation, and returns the answer. Returns `None` if no other
    /// process holds the lease, and none has taken the call. A repeated call gets the same answer for some time.
    ///
    /// Errors: `Unavailable` if there is no answer in time; then it is unknown whether the call had an effect.
    async fn hand_over(
        &self,
        _conversation: Conversation<'_>,
        _call: &Call,
    ) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Waits for calls that other processes hand to this one, and returns them, or none after a time limit. The caller
    /// answers each of them.
    async fn calls(&self) -> Vec<Call> {
        pending().await
    }

    /// Answers a call; `None` if it had no effect, so that it can be handed over again.
    async fn answer(&self, _key: &[u8], _answer: Option<Vec<u8>>) -> Result<()> {
        Ok(())
    }

    /// Returns the last statistics, without reading the store; `None` if the store has none.
    fn sharing(&self) -> Option<Sharing> {
        None
    }

    /// Waits for at most a minute until leases of other processes have become free more than `seen` times, because the
    /// processes ended or died. Returns the number of times so far. A caller that passes this number to the next call
    /// misses none.
    async fn freed(&self, seen: u64) -> u64;

    /// Waits until other processes have taken this one for dead. It must end then, since its appends are refused.
    async fn lost(&self);

    /// Releases all leases, because this process ends. Its appends are refused afterwards.
    async fn leave(&self);
}

/// The pause between two attempts to acquire a lease.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The time for which a lease is awaited.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(30);

impl dyn Leases {
    /// Runs `work` while this process holds a lease that processes hold only for a short time. Within this process, the
    /// caller must ensure that only one such call runs at a time.
    ///
    /// # Errors
    /// `Unavailable` if other processes hold the lease for too long.
    pub async fn run_with_lease<T, E: From<StoreError>>(
        &self,
        lease: Conversation<'_>,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let deadline = Instant::now() + ACQUIRE_TIMEOUT;
        while let Lease::Elsewhere(_) = self.acquire(lease).await? {
            if Instant::now() >= deadline {
                let reason = "another bridge has not finished in time".to_owned();
                return Err(StoreError::Unavailable { reason }.into());
            }
            sleep(RETRY_PAUSE).await;
        }
        let done = work.await;
        self.release_now_or_later(lease).await;
        done
    }

    /// Releases a lease of something that has no turns, later if the store cannot be reached.
    pub async fn release_now_or_later(&self, lease: Conversation<'_>) {
        if let Err(error) = self.release(lease).await {
            tracing::debug!(%error, "a lease is released later");
            self.release_later(lease);
        }
    }
}
