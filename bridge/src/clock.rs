//! Where time and ids come from: the one driver that asks the system for them.

use jiff::Timestamp;
use uuid::Uuid;

/// The time now.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// An id that nobody has given before.
#[expect(clippy::disallowed_methods, reason = "this is where ids come from")]
pub(crate) fn new_id() -> String {
    Uuid::new_v4().to_string()
}
