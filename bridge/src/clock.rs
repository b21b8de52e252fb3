//! Where time and ids come from: the one driver that asks the system for them.

use jiff::Timestamp;
use uuid::{NoContext, Uuid};

/// The time now.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// An id that nobody has given before, and that nobody can guess. It begins with the time, so that what
/// is made together stands together in stores: in places that are at hand, not all over the disk.
pub(crate) fn new_id() -> String {
    let now = now();
    let seconds = now.as_second().unsigned_abs();
    let nanos = now.subsec_nanosecond().unsigned_abs();
    // Without a counter: 74 bits are random each time.
    let time = uuid::Timestamp::from_unix(NoContext, seconds, nanos);
    Uuid::new_v7(time).to_string()
}

/// Any number at all.
pub(crate) fn random_u64() -> u64 {
    random().as_u64_pair().1
}

/// How long secrets are, in characters.
pub(crate) const SECRET: usize = 64;

/// A secret that nobody can guess: 244 random bits, in lowercase hexadecimal digits.
pub(crate) fn new_secret() -> String {
    let [first, second] = [random(), random()];
    format!("{}{}", first.simple(), second.simple())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the driver that ids, secrets and lots come from"
)]
fn random() -> Uuid {
    Uuid::new_v4()
}
