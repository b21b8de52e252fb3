//! Work that several processes on one store share: each conversation is worked on by one of them at a time.
//!
//! A process has the lease of a conversation while a turn of it runs. Messages that other processes receive meanwhile
//! wait in the log, where the holder finds them when it gives the lease back. When a process is not heard of for a
//! while, another one takes its leases away, and from then on the store refuses what it appends.

use std::fmt;

use async_trait::async_trait;

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

    /// Waits until leases of another process became free because it ended or is not heard of, or for a minute. Returns
    /// whether leases became free.
    async fn freed(&self) -> bool;

    /// Waits until this process was taken for dead. It has to end, since nothing that it appends is accepted.
    async fn lost(&self);

    /// Gives all leases back, because the process ends. Nothing that it appends is accepted afterwards.
    async fn leave(&self);
}
