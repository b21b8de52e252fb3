//! The crate's only access to the system's clock and random numbers.

use jiff::Timestamp;
use uuid::Uuid;

/// Returns the current time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns a new unique message id.
pub(crate) fn new_id() -> String {
    #[expect(clippy::disallowed_methods, reason = "this is the driver")]
    let id = Uuid::new_v4();
    id.to_string()
}

/// Returns a random number from 0 to 1.
pub(crate) fn random_fraction() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "this is the driver")]
    let drawn = Uuid::new_v4().as_fields().0;
    f64::from(drawn) / f64::from(u32::MAX)
}
