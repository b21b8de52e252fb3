//! Where time and ids come from: the one driver that asks the system for them.

use jiff::Timestamp;
use uuid::Uuid;

/// The time now.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// An id for a message, that nobody has given before.
pub(crate) fn new_id() -> String {
    #[expect(clippy::disallowed_methods, reason = "this is the driver")]
    let id = Uuid::new_v4();
    id.to_string()
}
