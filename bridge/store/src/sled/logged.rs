//! What a record of the log says.

use std::sync::Arc;

use super::{
    codec::Appended,
    keys::{self, Key},
    log::LogOffset,
    tip::{Tip, TipState},
};
use crate::{Head, Seq, StoreError};

/// The content of a record of the log, as far as the index needs it.
#[derive(Debug)]
pub(super) enum Logged {
    /// A task has another append.
    Append {
        tip: Tip,
        /// Whether it is the task's first.
        is_first: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// An append was written anew.
    Copy {
        tip: Tip,
        /// Whether the task consists of the copies from here on.
        is_last: bool,
        messages: Vec<(Key, Seq)>,
    },
    /// A task was deleted.
    Deleted(String),
    /// A small record is at another offset, or nowhere.
    Small(Key, Option<LogOffset>),
    /// An append cannot be read; it was this task's, and perhaps led to this head.
    Lost(LogOffset, String, Option<Arc<Head>>),
}

/// An append as the task's newest, and the messages in it.
pub(super) fn tip_of(
    offset: LogOffset,
    append: &Appended<'_>,
    bytes: u64,
) -> Result<(Tip, Vec<(Key, Seq)>), StoreError> {
    let head = Arc::new(append.head()?);
    let key = |(id, seq): (String, Seq)| (keys::message(&head.owner, &head.agent, &id), seq);
    let messages = append.message_ids()?.into_iter().map(key).collect();
    let tip = Tip {
        head,
        offset,
        number: append.number,
        bytes,
        state: TipState::Intact,
    };
    Ok((tip, messages))
}
