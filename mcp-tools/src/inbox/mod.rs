//! The messages that an agent has received: `incoming_messages`.
//!
//! They arrive while the agent works, so an inbox is shared: who receives, who reads and who waits need
//! no more than a reference.
//!
//! - `content`: what a message holds
//! - `kept`: which are kept
//! - `received`: what is known of one

mod content;
mod kept;
mod received;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use content::{kinds, message_id};
use kept::Kept;

pub use content::texts;
pub use kept::{MOST_BYTES, MOST_MESSAGES};
pub use received::{Filter, Kind, Receipt, Received};

/// Messages by the order in which they arrived, as many as [`MOST_MESSAGES`] and [`MOST_BYTES`] allow.
#[derive(Debug)]
pub struct Inbox {
    kept: Mutex<Kept>,
    /// The number of the newest message, for those who wait for the next.
    newest: watch::Sender<u64>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }
}

impl Inbox {
    /// Takes in a message. One whose `messageId` is known already, from the same sender, is only counted
    /// as not yet acknowledged.
    pub fn receive(&self, from: &str, message: Value, now: Timestamp) -> Receipt {
        let received = Received {
            number: 0,
            message_id: message_id(&message),
            received_at: now,
            from: from.to_owned(),
            kinds: kinds(&message),
            message,
            acknowledged: false,
        };
        let receipt = self.kept().take(received, *self.newest.borrow() + 1);
        if let Receipt::New(number) = receipt {
            self.newest.send_replace(number);
        }
        receipt
    }

    /// The kept messages that fit, oldest first.
    pub fn list(&self, filter: &Filter) -> Vec<Received> {
        let kept = self.kept();
        let messages = kept.messages.iter().map(|(received, _)| received);
        messages.filter(|m| filter.fits(m)).cloned().collect()
    }

    /// All kept messages, oldest first.
    pub fn history(&self) -> Vec<Received> {
        self.list(&Filter::default())
    }

    /// Counts messages as acknowledged. Ids that are not known change nothing.
    pub fn acknowledge(&self, message_ids: &[String]) {
        for (received, _) in &mut self.kept().messages {
            let id = received.message_id.as_ref();
            received.acknowledged |= id.is_some_and(|id| message_ids.contains(id));
        }
    }

    /// How many messages were dropped because too many came.
    pub fn dropped(&self) -> u64 {
        self.kept().dropped
    }

    /// The number of the newest message, 0 before the first.
    pub fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    /// Waits for a message with a greater number, which may have arrived already. The limit of the wait is
    /// the caller's.
    pub async fn beyond(&self, number: u64) {
        let mut newest = self.newest.subscribe();
        // The sender lives as long as the inbox, so the wait ends only with a message.
        let _ = newest.wait_for(|newest| *newest > number).await;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
