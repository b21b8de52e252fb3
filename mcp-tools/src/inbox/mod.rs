//! The messages that an agent has received: `incoming_messages`.
//!
//! Messages arrive while the agent works, so an inbox is shared by reference between the receiver, the readers and the
//! waiting tasks.
//!
//! - `content`: reads the content of a message
//! - `stored`: stores the newest messages
//! - `received`: describes one received message

mod content;
mod received;
mod stored;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use bridge_program::lock;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use content::{kinds, message_id, read_json_files};
use stored::StoredMessages;

pub use content::{for_each_part, parts, texts};
pub use received::{Filter, Kind, Receipt, Received};
pub use stored::{MAX_BYTES, MAX_MESSAGES};

/// Received messages in the order of their arrival, within the limits [`MAX_MESSAGES`] and [`MAX_BYTES`].
#[derive(Debug)]
pub struct Inbox {
    stored: Mutex<StoredMessages>,
    /// The number of the newest message, for tasks that wait for the next one.
    newest: watch::Sender<u64>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { stored: Mutex::default(), newest: watch::Sender::new(0) }
    }
}

impl Inbox {
    /// Adds a message, with files of JSON in it as data. If a message with the same `messageId` from the same sender is stored, that
    /// message is only marked as not acknowledged. An artifact replaces its former version.
    pub fn receive(&self, from: &str, mut message: Value, now: Timestamp) -> Receipt {
        read_json_files(&mut message);
        let received = Received {
            number: 0,
            message_id: message_id(&message),
            received_at: now,
            from: from.to_owned(),
            kinds: kinds(&message),
            message,
            acknowledged: false,
        };
        let receipt = lock(&self.stored).take(received, *self.newest.borrow() + 1);
        if let Receipt::New(number) = receipt {
            self.newest.send_replace(number);
        }
        receipt
    }

    /// Returns the stored messages that match the filter, oldest first.
    pub fn list(&self, filter: &Filter) -> Vec<Received> {
        let stored = lock(&self.stored);
        let messages = stored.messages.iter().map(|(received, _)| received);
        messages.filter(|m| filter.fits(m)).cloned().collect()
    }

    /// Returns all stored messages, oldest first.
    pub fn history(&self) -> Vec<Received> {
        self.list(&Filter::default())
    }

    /// Marks messages as acknowledged. Unknown ids are ignored.
    pub fn acknowledge(&self, message_ids: &[String]) {
        for (received, _) in &mut lock(&self.stored).messages {
            let id = received.message_id.as_ref();
            received.acknowledged |= id.is_some_and(|id| message_ids.contains(id));
        }
    }

    /// Returns how many messages were dropped because of the limits.
    pub fn dropped(&self) -> u64 {
        lock(&self.stored).dropped
    }

    /// Returns the number of the newest message, 0 before the first.
    pub fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    /// Waits until there is a message with a greater number. Returns at once if it has already arrived. The caller
    /// has to limit the wait.
    pub async fn wait_after(&self, number: u64) {
        let mut newest = self.newest.subscribe();
        // The sender lives as long as the inbox, so the wait ends only with a message.
        let _ = newest.wait_for(|newest| *newest > number).await;
    }
}
