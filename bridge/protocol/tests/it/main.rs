//! Tests with documents of other implementations, read and written again; of all field names; and of the
//! translations, as snapshots.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod activity;
mod documents;
#[cfg(feature = "legacy")]
mod execute;
mod generated;
mod minimal;
mod names;
mod pure;
mod v0_1;
