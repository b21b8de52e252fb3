//! The building blocks of backends, for those in other crates.
//!
//! - [`Cache`], [`CachedTask`]: tasks that were written or read recently
//! - [`Quarantine`]: the known damaged tasks
//! - [`PageBuilder`]: pages of lists
//!
//! The [`Feed`](crate::Feed) notifies readers of new events.

pub use crate::{
    cache::{Cache, CachedTask},
    damage::Quarantine,
    list::PageBuilder,
};
