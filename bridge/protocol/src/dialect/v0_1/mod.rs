//! A2A 0.1 (`specification/json/a2a.json` before v0.2.0), one family of types in each file.
//!
//! `to_v1` reads 0.1 and `from_v1` writes it; there are no Rust types for it. Clients choose the ids of
//! tasks, tasks belong to sessions, messages have no ids, and artifacts have numbers:
//!
//! | 0.1 | 1.0 |
//! |-|-|
//! | `id` beside a `message` | the message's `taskId` |
//! | `sessionId` | `contextId` |
//! | `index` of an artifact | `artifactId`, by the rule in [`artifact`] |
//! | no id of a message | given by the caller, or made by the rule in [`identity`] |
//!
//! Ids without a field in 0.1 (`messageId`, `taskId` and `contextId` of a message, `artifactId` if a number
//! cannot express it) are written under their 1.0 names. That is no loss: the surrounding objects imply them,
//! and readers of 0.1 skip them.
//!
//! 0.1 to 1.0 and back gives the same JSON, except for the equivalent spellings listed for 0.3, `index` and
//! `final`, which are always written, and python-a2a's own forms, which become those of the specification
//! (see `python`). 1.0 to 0.1 and back gives the same value if no loss was reported, where empty texts and an
//! empty configuration count as absent.
//!
//! The parameters also occur as a whole body, posted to `{base}/tasks/send` and similar paths, with a bare
//! task as the answer; readers and writers are the same.

pub mod artifact;
mod authentication;
pub(crate) mod call;
pub mod card;
pub mod event;
pub mod identity;
pub mod message;
pub mod part;
#[cfg(test)]
mod properties;
pub mod push;
mod python;
pub mod request;
pub mod task;
