//! Records of the log that are replayed into the index.

use std::sync::Arc;

use super::{
    codec::LoggedAppend,
    keys::{self, Key},
    latest_append::{DataState, LatestAppend},
    log::LogOffset,
};
use crate::{Head, Result, Seq};

/// The data of a record of the log that the index needs.
#[derive(Debug)]
pub(super) enum ReplayedRecord {
    Append {
        latest: LatestAppend,
        /// Whether it is the first append of the task.
        is_first: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// A copy of an append.
    Copy {
        latest: LatestAppend,
        /// Whether it is the last copy of the task.
        is_last: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// A task was deleted.
    Deleted(String),
    /// A small record was stored at an offset, or removed.
    Small(Key, Option<LogOffset>),
    /// An append that cannot be read, with its task, and its head if it is known.
    Lost(LogOffset, String, Option<Arc<Head>>),
}

/// Converts an append of the log to the latest append of its task, and returns it with the index keys of its messages.
pub(super) fn latest_append(
    offset: LogOffset,
    append: &LoggedAppend<'_>,
    bytes: u64,
) -> Result<(LatestAppend, Vec<(Key, Seq)>)> {
    let head = Arc::new(append.head()?);
    let key = |(id, seq): (String, Seq)| (keys::message(&head.owner, &head.agent, &id), seq);
    let messages = append.message_ids()?.into_iter().map(key).collect();
    let latest =
        LatestAppend { head, offset, number: append.number, bytes, state: DataState::Intact };
    Ok((latest, messages))
}
