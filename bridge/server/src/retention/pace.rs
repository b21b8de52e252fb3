//! The pauses of background work between its steps.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The time between the end of some work and its next start.
pub(super) const EVERY: Duration = Duration::from_secs(30);
/// The length of the first pauses, as a multiple of the time of a step: the work takes a fifth of the time.
const REST: u32 = 4;
/// The shortest pause: a step may have found that it must wait for something.
const LEAST: Duration = Duration::from_millis(10);

/// The pace of some work: the longer it takes, the shorter its pauses become, until there are hardly any after
/// [`EVERY`]. So the work keeps up with clients that write much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace(Instant);

impl Pace {
    pub(super) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Runs a step, and pauses.
    pub(super) async fn step<T>(&self, step: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = step.await;
        sleep(rest(begun.elapsed(), self.0.elapsed())).await;
        done
    }
}

/// Returns the pause after a step of work that began this long ago.
fn rest(step: Duration, since: Duration) -> Duration {
    let left = EVERY.saturating_sub(since).as_secs_f64() / EVERY.as_secs_f64();
    step.mul_f64(f64::from(REST) * left).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_that_falls_behind_rests_less() {
        let rest = |since| rest(Duration::from_millis(100), Duration::from_secs(since));
        let rests = [0, 15, 30, 300].map(|since| rest(since).as_millis());
        assert_eq!(rests, [400, 200, 10, 10]);
    }
}
