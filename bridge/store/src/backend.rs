//! What backends have in common, for those in other crates.
//!
//! - [`Cache`], [`Cached`]: tasks that were written or read lately
//! - [`Quarantine`]: damaged tasks that were found
//! - [`PageInMaking`], [`cut`]: pages of lists
//!
//! What tells readers of new events is the [`Feed`](crate::Feed).

pub use crate::{
    cache::{Cache, Cached},
    list::{PageInMaking, cut},
    quarantine::Quarantine,
};
