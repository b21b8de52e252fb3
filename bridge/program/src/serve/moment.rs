//! Moments as numbers, which atomics hold.

use std::{sync::OnceLock, time::Instant};

/// A moment, in milliseconds since the first one; 0 is none.
pub(super) fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis())
        .unwrap_or(u64::MAX)
        .saturating_add(1)
}
