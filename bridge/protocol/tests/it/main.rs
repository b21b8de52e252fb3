//! What others said on the wire, read and said again; and the names in everything that is said.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod documents;
mod names;
//! What others said on the wire, read and said again; and the translations, each shown whole.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod activity;
mod translate;
