//! What others said on the wire, read and said again; and the names in everything that is said.

mod documents;
mod names;
