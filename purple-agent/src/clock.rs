//! Where time and ids come from: the one driver that asks the system for them, and that draws lots.

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

/// A number from 0 to 1 that nobody can tell beforehand.
pub(crate) fn chance() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "this is the driver")]
    let drawn = Uuid::new_v4().as_fields().0;
    f64::from(drawn) / f64::from(u32::MAX)
}
