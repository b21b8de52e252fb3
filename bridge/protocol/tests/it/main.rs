//! What others said on the wire, read and said again; the names in everything that is said; and the
//! translations, each shown whole.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod activity;
mod documents;
mod execute;
mod generated;
mod lint;
mod minimal;
mod names;
mod translate;
mod v0_1;
