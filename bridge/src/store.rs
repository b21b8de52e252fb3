//! The task log: everything of `bridge-store`, and the store in PostgreSQL with the feature `postgres`.

#[cfg(feature = "postgres")]
pub use bridge_postgres::{AddressError, PostgresSettings, PostgresStore};
pub use bridge_store::*;
