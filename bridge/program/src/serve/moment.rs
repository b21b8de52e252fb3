//! Moments as numbers, so that atomics can hold them.

use std::{sync::OnceLock, time::Instant};

/// Returns the milliseconds since the first call, plus one: 0 stands for no moment.
pub(super) fn now() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX).saturating_add(1)
}
