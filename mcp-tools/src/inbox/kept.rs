//! The messages that are kept: the newest, as many as there is room for.

use std::collections::VecDeque;

use super::{Receipt, Received};

/// The most messages that are kept; the oldest go first.
pub const MOST_MESSAGES: usize = 1024;

/// The most that the kept messages hold together, as bytes of JSON; the oldest go first.
pub const MOST_BYTES: usize = 64 << 20;

/// The newest messages, each with its size.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) messages: VecDeque<(Received, usize)>,
    bytes: usize,
    pub(super) dropped: u64,
}

impl Kept {
    /// Takes in a message under this number, unless it is known.
    pub(super) fn take(&mut self, mut received: Received, number: u64) -> Receipt {
        if let Some(known) = self.known(&received) {
            known.acknowledged = false;
            return Receipt::Again(known.number);
        }
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

    /// The newest message always stays, however large it is.
    fn make_room(&mut self) {
        while self.messages.len() > MOST_MESSAGES
            || (self.bytes > MOST_BYTES && self.messages.len() > 1)
        {
            let Some((_, bytes)) = self.messages.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            self.dropped += 1;
        }
    }
}
