//! The stored messages: the newest ones, within limits of number and size.

use std::collections::VecDeque;

use super::{Receipt, Received};

/// The largest number of stored messages; the oldest are dropped first.
pub const MAX_MESSAGES: usize = 1024;

/// The largest total size of the stored messages, in bytes of JSON; the oldest are dropped first.
pub const MAX_BYTES: usize = 64 << 20;

/// The newest messages, each with its size.
#[derive(Debug, Default)]
pub(super) struct StoredMessages {
    pub(super) messages: VecDeque<(Received, usize)>,
    bytes: usize,
    pub(super) dropped: u64,
}

impl StoredMessages {
    /// Stores a message under this number, unless it is already stored.
    pub(super) fn take(&mut self, mut received: Received, number: u64) -> Receipt {
        if let Some(known) = self.known(&received) {
            known.acknowledged = false;
            return Receipt::Duplicate(known.number);
        }
        self.remove_older_version(&received);
        received.number = number;
        let bytes = received.message.to_string().len();
        self.bytes += bytes;
        self.messages.push_back((received, bytes));
        self.make_room();
        Receipt::New(number)
    }

    fn known(&mut self, received: &Received) -> Option<&mut Received> {
        let id = received.message_id.as_ref()?;
        let mut messages = self.messages.iter_mut().map(|(known, _)| known);
        messages.find(|known| known.message_id.as_ref() == Some(id) && known.from == received.from)
    }

    /// Removes the version of an artifact before this one: an artifact that grows piece by piece would otherwise take the room of
    /// all other messages.
    fn remove_older_version(&mut self, received: &Received) {
        let Some(id) = received.message.get("artifactId") else {
            return;
        };
        let is_older = |(known, _): &(Received, usize)| {
            known.message.get("artifactId") == Some(id) && known.from == received.from
        };
        if let Some((_, bytes)) =
            self.messages.iter().position(is_older).and_then(|at| self.messages.remove(at))
        {
            self.bytes -= bytes;
        }
    }

    /// Drops the oldest messages that exceed the limits. The newest message is always kept, whatever its size.
    fn make_room(&mut self) {
        while self.messages.len() > MAX_MESSAGES
            || (self.bytes > MAX_BYTES && self.messages.len() > 1)
        {
            let Some((_, bytes)) = self.messages.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            self.dropped += 1;
        }
    }
}
