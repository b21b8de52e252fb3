//! Work that several processes on one store share: each conversation is worked on by one of them at a time.
//!
//! A process has the lease of a conversation while a turn of it runs. Messages that other processes receive meanwhile
//! wait in the log, where the holder finds them when it gives the lease back. When a process is not heard of for a
//! while, another one takes its leases away, and from then on the store refuses what it appends.

use std::{collections::BTreeMap, fmt, future::pending, time::Duration};

use async_trait::async_trait;
use tokio::time::{Instant, sleep};

use super::{Head, StoreError};
use crate::caller::Caller;

/// The conversation of a caller with an agent: a task or a context.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The caller.
    pub caller: &'a Caller,
    /// The id of the task or context.
    pub id: &'a str,
}

/// The answer to a process that wants a lease.
#[derive(Clone, Debug)]
pub enum Lease {
    /// The process has it. These are the tasks of the conversation with turns that have not ended, by their ids.
    Held(Vec<Head>),
    /// Another process has it, and so many tasks of the conversation have turns.
    Elsewhere(usize),
}

/// A call that one process hands to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Identifies the call: a call that is made again has the same key.
    pub key: Vec<u8>,
    /// The content, which the processes understand.
    pub body: Vec<u8>,
}

/// What a process knows of the work that it shares with others, as of its last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// How many processes live, this one included.
    pub processes: usize,
    /// How many leases this process has.
    pub leases: usize,
    /// The number of tasks that are not in a terminal state, for each agent that ever had one.
    pub open_tasks: BTreeMap<String, usize>,
    /// The calls that this process has handed to others.
    pub handed: CallCounts,
    /// The calls that others have handed to this process.
    pub taken: CallCounts,
}

/// How many calls there were, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls with an answer.
    pub answered: u64,
    /// Calls without one.
    pub failed: u64,
}

/// Grants leases. A store that one process has to itself needs none.
#[async_trait]
pub trait Leases: Send + Sync + fmt::Debug {
    /// Takes the lease of a conversation unless another process has it.
    async fn acquire(&self, conversation: Conversation<'_>) -> Result<Lease, StoreError>;

    /// Gives a lease back, and returns whether the conversation has turns that have not ended. A process that appended one
    /// and did not get the lease before is not missed.
    async fn release(&self, conversation: Conversation<'_>) -> Result<bool, StoreError>;

    /// Returns for each conversation whether another process works on it.
    async fn are_elsewhere(
        &self,
        conversations: &[Conversation<'_>],
    ) -> Result<Vec<bool>, StoreError>;

    /// Hands a call to the process that works on a conversation, and returns its answer. Returns `None` if no other
    /// process works on the conversation, and none has seen the call. A call with a key that was answered lately has that
    /// answer again.
    ///
    /// Errors: `Unavailable` if there is no answer in time; then nobody knows what became of the call.
    async fn hand_over(
        &self,
        _conversation: Conversation<'_>,
        _call: &Call,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    /// Waits for calls that other processes hand to this one, and returns them, or none after a while. Each is to be
    /// answered.
    async fn calls(&self) -> Vec<Call> {
        pending().await
    }

    /// Answers a call; `None` if it had no effect, so that it can be handed over again.
    async fn answer(&self, _key: &[u8], _answer: Option<Vec<u8>>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns what is known of the work that is shared, without asking anybody; `None` if the store does not say.
    fn sharing(&self) -> Option<Sharing> {
        None
    }

    /// Waits until leases of other processes have become free more than `seen` times, because the processes ended or are
    /// not heard of; at most a minute. Returns how many times that has been so far. A caller that passes this number to
    /// the next call misses none.
    async fn freed(&self, seen: u64) -> u64;

    /// Waits until this process was taken for dead. It has to end, since nothing that it appends is accepted.
    async fn lost(&self);

    /// Gives all leases back, because the process ends. Nothing that it appends is accepted afterwards.
    async fn leave(&self);
}

/// The pause while another process has a lease that is needed for a moment.
const PAUSE: Duration = Duration::from_millis(20);

/// The time for which such a lease is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

impl dyn Leases {
    /// Runs `work` while this process alone has a lease, which others have for a moment only. Within one process the
    /// caller sees to it that nobody else does the same.
    ///
    /// # Errors
    /// `Unavailable` if others have the lease for too long.
    pub async fn alone<T, E: From<StoreError>>(
        &self,
        lease: Conversation<'_>,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let deadline = Instant::now() + PATIENCE;
        while let Lease::Elsewhere(_) = self.acquire(lease).await? {
            if Instant::now() >= deadline {
                let reason = "another bridge has not finished in time".to_owned();
                return Err(StoreError::Unavailable { reason }.into());
            }
            sleep(PAUSE).await;
        }
        let done = work.await;
        if let Err(error) = self.release(lease).await {
            tracing::debug!(%error, "a lease was not given back");
        }
        done
    }
}
