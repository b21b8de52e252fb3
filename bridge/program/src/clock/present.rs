//! The present, from which the age of what is stored is measured: what is deleted or canceled because the machine's clock
//! jumped ahead is still gone when the clock is corrected.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};

use crate::lock;

/// The difference from the time that really passed from which the clock has jumped. Smaller ones come from the correction of
/// a clock that is too fast or too slow.
const JUMP: SignedDuration = SignedDuration::from_secs(10);

/// The jump from which it is logged.
const NOTABLE: SignedDuration = SignedDuration::from_hours(1);

/// The number of jumps that are remembered: those of years, if the machine sleeps at night.
const REMEMBERED: usize = 1_000;

/// The time that the machine's clock shows, and how it came to that while this program ran.
#[derive(Clone, Debug)]
pub struct Present {
    clock: Timestamp,
    now: Instant,
    jumps: Jumps,
}

/// By how much the clock has jumped, and when; oldest first.
type Jumps = Vec<(SignedDuration, Instant)>;

impl Present {
    /// Returns the time that the clock shows.
    pub fn clock(&self) -> Timestamp {
        self.clock
    }

    /// Returns the earliest time that the clock has shown while the time `age` passed: what is from before has this age,
    /// although the clock may have jumped ahead. A clock that was set back makes nothing older, because others may have written
    /// what is stored, and because it was set back before this was noticed. `None` for an age that reaches beyond all times.
    pub fn before(&self, age: Duration) -> Option<Timestamp> {
        let signed = |time| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        // From the latest jump to the earliest: `back` is how far the clock has jumped since.
        let (mut back, mut furthest) = (SignedDuration::ZERO, signed(age));
        for (by, then) in self.jumps.iter().rev() {
            let ago = self.now.saturating_duration_since(*then);
            if ago < age {
                furthest = furthest.max(back.saturating_add(signed(ago)));
                back = back.saturating_add(*by);
            }
        }
        furthest = furthest.max(back.saturating_add(signed(age)));
        self.clock.checked_sub(furthest).ok()
    }
}

/// A present without a jump.
impl From<Timestamp> for Present {
    fn from(clock: Timestamp) -> Self {
        Self { clock, now: Instant::now(), jumps: Vec::new() }
    }
}

/// Returns the present. Jumps are only noticed if it is asked for from time to time.
pub fn present() -> Present {
    static OBSERVED: Mutex<ObservedClock> =
        Mutex::new(ObservedClock { last: None, jumps: Vec::new() });
    lock(&OBSERVED).at(super::now(), Instant::now())
}

/// What was seen of the machine's clock.
#[derive(Debug)]
struct ObservedClock {
    last: Option<(Timestamp, Instant)>,
    jumps: Jumps,
}

impl ObservedClock {
    fn at(&mut self, clock: Timestamp, now: Instant) -> Present {
        if let Some((time, then)) = self.last.replace((clock, now)) {
            let passed = now.saturating_duration_since(then);
            let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
            let ahead = clock.duration_since(time).saturating_sub(passed);
            if ahead.abs() > JUMP {
                self.jumped(ahead, now);
            }
        }
        Present { clock, now, jumps: self.jumps.clone() }
    }

    fn jumped(&mut self, ahead: SignedDuration, now: Instant) {
        if self.jumps.len() == REMEMBERED {
            self.jumps.remove(0);
        }
        self.jumps.push((ahead, now));
        if ahead > NOTABLE {
            let minutes = ahead.as_mins();
            tracing::warn!(
                "the machine's clock has jumped ahead by {minutes} minutes, or the machine was suspended: ended and waiting \
                 tasks and failing webhooks from before the jump age as if there had been none, until the next start"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(86_400);

    /// A clock that is looked at, beginning at zero.
    struct Looks(ObservedClock, Instant);

    impl Looks {
        fn new() -> Self {
            let mut looks = Self(ObservedClock { last: None, jumps: Vec::new() }, Instant::now());
            looks.before(Duration::ZERO, Duration::ZERO, Duration::ZERO);
            looks
        }

        /// Returns the seconds before which something is so old, when the clock shows `clock` after the time `passed`.
        fn before(&mut self, clock: Duration, passed: Duration, age: Duration) -> i64 {
            let clock = Timestamp::UNIX_EPOCH + clock;
            self.0.at(clock, self.1 + passed).before(age).unwrap().as_second()
        }
    }

    fn seconds(time: Duration) -> i64 {
        time.as_secs().try_into().unwrap()
    }

    #[test]
    fn what_is_from_before_a_jump_ages_as_if_there_had_been_none() {
        let mut looks = Looks::new();
        assert_eq!(looks.before(3 * DAY + MINUTE, MINUTE, HOUR), seconds(MINUTE) - seconds(HOUR));
        assert_eq!(looks.before(3 * DAY + HOUR, HOUR, HOUR), 0, "what began at the start is due");
        // What is from after the jump is due when it is as old.
        let end = HOUR + 2 * MINUTE;
        assert_eq!(looks.before(3 * DAY + end, end, HOUR), seconds(3 * DAY + 2 * MINUTE));
        assert_eq!(looks.before(3 * DAY + end, end, DAY), seconds(end) - seconds(DAY));
    }

    #[test]
    fn a_machine_that_sleeps_each_night_deletes_what_is_old() {
        let mut looks = Looks::new();
        // Of each day, a half passes for the program.
        for day in 1..=100_u32 {
            let before = looks.before(day * DAY, day * DAY / 2, 10 * DAY);
            let begin = if day < 20 { seconds(day * DAY / 2) } else { seconds((day - 10) * DAY) };
            assert_eq!(before, begin - seconds(10 * DAY), "day {day}");
        }
    }

    #[test]
    fn a_clock_that_is_corrected_counts_again() {
        let mut looks = Looks::new();
        looks.before(400 * DAY, MINUTE, HOUR);
        assert_eq!(looks.before(2 * HOUR, 2 * HOUR, HOUR), seconds(HOUR));
        assert_eq!(looks.before(3 * HOUR, 3 * HOUR, DAY), seconds(3 * HOUR) - seconds(DAY));
    }

    #[test]
    fn small_differences_are_believed_and_a_clock_that_is_set_back_makes_nothing_older() {
        let mut looks = Looks::new();
        let later = MINUTE + 9 * Duration::from_secs(1);
        assert_eq!(looks.before(later, MINUTE, HOUR), seconds(later) - seconds(HOUR));
        let mut looks = Looks::new();
        looks.before(2 * HOUR, 2 * HOUR, HOUR);
        // What began a moment ago, at an earlier time than what began before, is an hour old after an hour.
        assert_eq!(looks.before(HOUR, 2 * HOUR, HOUR), 0);
        assert_eq!(looks.before(3 * HOUR, 4 * HOUR, HOUR), seconds(2 * HOUR));
    }

    #[test]
    fn an_age_beyond_all_times_is_never_reached() {
        assert_eq!(Present::from(Timestamp::UNIX_EPOCH).before(Duration::MAX), None);
    }
}
