//! Provides time, ids and random numbers. No other module asks the system for them.

mod present;

use jiff::{Timestamp, fmt::rfc2822};
use uuid::{NoContext, Uuid};

pub use present::{Present, present};

/// Returns the current time.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Formats a time for HTTP headers (RFC 9110, 5.6.7).
pub fn http_date(time: Timestamp) -> String {
    let printer = rfc2822::DateTimePrinter::new();
    printer.timestamp_to_rfc9110_string(&time).unwrap_or_default()
}

/// Returns a new, unguessable id. It begins with the time, so that data created at the same time is stored close
/// together.
pub fn new_id() -> String {
    let now = now();
    let seconds = now.as_second().unsigned_abs();
    let nanos = now.subsec_nanosecond().unsigned_abs();
    // Without a counter, 74 bits are random.
    let time = uuid::Timestamp::from_unix(NoContext, seconds, nanos);
    Uuid::new_v7(time).to_string()
}

/// Returns a random number.
pub fn random_u64() -> u64 {
    random().as_u64_pair().1
}

/// The length of secrets in characters.
pub const SECRET: usize = 64;

/// Returns an unguessable secret: 244 random bits as lowercase hexadecimal digits.
pub fn new_secret() -> String {
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
