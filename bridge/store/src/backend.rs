//! What backends have in common, for those in other crates.
//!
//! - [`Cache`], [`Cached`]: tasks that were written or read lately
//! - [`Quarantine`]: damaged tasks that were found
//! - [`PageBuilder`], [`cut_page`]: pages of lists
//!
//! What tells readers of new events is the [`Feed`](crate::Feed).

pub use crate::{
    cache::{Cache, Cached},
    list::{PageBuilder, cut_page},
    quarantine::Quarantine,
};
