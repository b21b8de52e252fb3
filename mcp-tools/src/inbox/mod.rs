//! The messages that an agent has received: `incoming_messages`.
//!
//! They arrive while the agent works, so an inbox is shared: who receives, who reads and who waits need
//! no more than a reference.

mod content;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use content::{kinds, message_id};

pub use content::texts;

/// The most messages that are kept; the oldest go first.
pub const MOST_MESSAGES: usize = 1024;

/// The most that the kept messages hold together, as bytes of JSON; the oldest go first.
pub const MOST_BYTES: usize = 64 << 20;

/// Messages by the order in which they arrived, as many as [`MOST_MESSAGES`] and [`MOST_BYTES`] allow.
#[derive(Debug)]
pub struct Inbox {
    kept: Mutex<Kept>,
    /// The number of the newest message, for those who wait for the next.
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    messages: VecDeque<(Received, usize)>,
    bytes: usize,
    dropped: u64,
}

/// A message as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its place among all that were received, from 1.
    pub number: u64,
    /// The id its sender gave it: `messageId`, absent where the sender gave none.
    pub message_id: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Who sent it, in a word, such as `green`.
    pub from: String,
    /// What it holds; a message may hold several things.
    pub kinds: BTreeSet<Kind>,
    /// The message whole, as JSON: an A2A message, status, artifact or task.
    pub message: Value,
    /// Whether its sender was told that it arrived.
    pub acknowledged: bool,
}

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What is to be done: an object with `task_id`, `benchmark` or `goal`.
    TaskInfo,
    /// How an MCP server is reached, readable or not.
    McpDetails,
    /// What became of it: an object with `score` or `reward`.
    Result,
    /// Words.
    Text,
    /// None of these.
    Other,
}

impl Kind {
    /// Each kind, in the order of their names in documents.
    pub const ALL: [Self; 5] = [
        Self::TaskInfo,
        Self::McpDetails,
        Self::Result,
        Self::Text,
        Self::Other,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TaskInfo => "task_info",
            Self::McpDetails => "mcp_details",
            Self::Result => "result",
            Self::Text => "text",
            Self::Other => "other",
        }
    }
}

/// What became of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is new, and has this number.
    New(u64),
    /// It has been received before, with this number: its sender does not know yet that it arrived.
    Again(u64),
}

/// Which messages are wanted: those that fit all that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those that hold this.
    pub kind: Option<Kind>,
    /// Those that were acknowledged, or were not.
    pub acknowledged: Option<bool>,
    /// Those with a greater number.
    pub after: u64,
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

impl Kept {
    fn take(&mut self, mut received: Received, number: u64) -> Receipt {
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

impl Filter {
    fn fits(&self, received: &Received) -> bool {
        self.kind.is_none_or(|kind| received.kinds.contains(&kind))
            && self
                .acknowledged
                .is_none_or(|is| received.acknowledged == is)
            && received.number > self.after
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(inbox: &Inbox, id: &str, text: &str) -> Receipt {
        let message = json!({"messageId": id, "parts": [{"text": text}]});
        inbox.receive("green", message, Timestamp::UNIX_EPOCH)
    }

    fn ids(inbox: &Inbox, filter: &Filter) -> Vec<String> {
        let messages = inbox.list(filter).into_iter();
        messages.filter_map(|m| m.message_id).collect()
    }

    #[test]
    fn messages_are_numbered_and_a_repeated_one_is_no_new_one() {
        let inbox = Inbox::default();
        assert_eq!(received(&inbox, "a", "x"), Receipt::New(1));
        assert_eq!(received(&inbox, "b", "x"), Receipt::New(2));
        inbox.acknowledge(&["a".to_owned()]);
        assert_eq!(received(&inbox, "a", "x"), Receipt::Again(1));
        let waiting = Filter {
            acknowledged: Some(false),
            ..Filter::default()
        };
        assert_eq!(
            ids(&inbox, &waiting),
            ["a", "b"],
            "its sender does not know yet"
        );
        let other = inbox.receive("other", json!({"messageId": "a"}), Timestamp::UNIX_EPOCH);
        assert_eq!(other, Receipt::New(3), "another sender's ids are its own");
    }

    #[test]
    fn a_message_without_an_id_is_always_new() {
        let inbox = Inbox::default();
        let text = || json!("hello");
        assert_eq!(
            inbox.receive("green", text(), Timestamp::UNIX_EPOCH),
            Receipt::New(1)
        );
        assert_eq!(
            inbox.receive("green", text(), Timestamp::UNIX_EPOCH),
            Receipt::New(2)
        );
    }

    #[test]
    fn filters_say_what_is_wanted() {
        let inbox = Inbox::default();
        received(&inbox, "a", "words");
        received(
            &inbox,
            "b",
            "- **Transport**: http\n- **URL**: http://localhost/",
        );
        inbox.acknowledge(&["a".to_owned(), "unknown".to_owned()]);
        let all = Filter::default();
        for (filter, expected) in [
            (all, &["a", "b"][..]),
            (
                Filter {
                    kind: Some(Kind::McpDetails),
                    ..all
                },
                &["b"],
            ),
            (
                Filter {
                    kind: Some(Kind::Text),
                    ..all
                },
                &["a", "b"],
            ),
            (
                Filter {
                    kind: Some(Kind::Other),
                    ..all
                },
                &[],
            ),
            (
                Filter {
                    acknowledged: Some(true),
                    ..all
                },
                &["a"],
            ),
            (Filter { after: 1, ..all }, &["b"]),
        ] {
            assert_eq!(ids(&inbox, &filter), expected, "{filter:?}");
        }
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let inbox = Inbox::default();
        for n in 0..MOST_MESSAGES + 2 {
            received(&inbox, &n.to_string(), "x");
        }
        assert_eq!(inbox.dropped(), 2);
        assert_eq!(inbox.history().len(), MOST_MESSAGES);
        assert_eq!(inbox.history()[0].number, 3);
    }

    #[test]
    fn the_oldest_go_when_they_are_too_large() {
        let inbox = Inbox::default();
        let large = "x".repeat(MOST_BYTES / 2);
        for id in ["a", "b", "c"] {
            received(&inbox, id, &large);
        }
        assert_eq!(ids(&inbox, &Filter::default()), ["c"]);
    }

    #[tokio::test]
    async fn who_waits_hears_of_the_next() {
        let inbox = Inbox::default();
        received(&inbox, "a", "x");
        inbox.beyond(0).await;
        let (_, receipt) = tokio::join!(inbox.beyond(1), async { received(&inbox, "b", "x") });
        assert_eq!(receipt, Receipt::New(2));
    }
}
