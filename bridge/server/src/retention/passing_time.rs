//! The time by which tasks are deleted: that of the machine's clock, unless the clock jumps ahead while the program runs.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The factor by which this time may pass faster than time really does, to follow a clock that is corrected.
const FASTEST: u32 = 2;

/// The difference from the machine's clock from which it is logged.
const NOTABLE: Duration = Duration::from_secs(3600);

/// A time that follows the machine's clock, but not where it jumps ahead: what is deleted because of such a jump is still
/// gone when the clock is corrected.
#[derive(Debug, Default)]
pub(super) struct PassingTime {
    /// The last time, and when it was asked for.
    last: Option<(Timestamp, Instant)>,
    is_behind: bool,
}

impl PassingTime {
    /// Returns the time when the machine's clock shows `clock`.
    pub(super) fn at(&mut self, clock: Timestamp, now: Instant) -> Timestamp {
        let latest = self.last.and_then(|(time, then)| {
            let passed = now.saturating_duration_since(then);
            time.checked_add(passed.saturating_mul(FASTEST)).ok()
        });
        let time = latest.map_or(clock, |latest| latest.min(clock));
        self.last = Some((time, now));
        self.report(time.until(clock).ok().and_then(|ahead| ahead.try_into().ok()));
        time
    }

    /// Logs once that the clock is far ahead.
    fn report(&mut self, ahead: Option<Duration>) {
        let ahead = ahead.filter(|ahead| *ahead > NOTABLE);
        if let (Some(ahead), false) = (ahead, self.is_behind) {
            let minutes = ahead.as_secs() / 60;
            tracing::warn!(
                "the machine's clock has jumped ahead by {minutes} minutes, or the machine was suspended: ended tasks are \
                 deleted by their age as if it had not, until as much time has passed; if the clock is right, a restart of \
                 the bridge ends this"
            );
        }
        self.is_behind = ahead.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn a_jump_ahead_counts_as_twice_the_time_that_passes() {
        let (mut time, begun) = (PassingTime::default(), Instant::now());
        let start = Timestamp::from_second(1_000_000_000).unwrap();
        let mut at = |clock: Duration, passed: Duration| {
            let time = time.at(start + clock, begun + passed);
            Duration::try_from(time.duration_since(start)).unwrap()
        };
        // The clock of the start is believed, and so is one that is about right or that was set back.
        assert_eq!(at(Duration::ZERO, Duration::ZERO), Duration::ZERO);
        assert_eq!(at(2 * MINUTE, MINUTE), 2 * MINUTE);
        assert_eq!(at(MINUTE, 2 * MINUTE), MINUTE);
        assert_eq!(at(365 * DAY, 3 * MINUTE), 3 * MINUTE);
        assert_eq!(at(365 * DAY, 4 * MINUTE), 5 * MINUTE);
        // After the correction, the clock counts again.
        assert_eq!(at(6 * MINUTE, 5 * MINUTE), 6 * MINUTE);
        // A clock that was behind and stays right is reached.
        assert_eq!(at(DAY, 6 * MINUTE), 8 * MINUTE);
        assert_eq!(at(2 * DAY, DAY + 6 * MINUTE), 2 * DAY);
    }
}
