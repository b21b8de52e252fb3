//! The time that each program took to start, so that a program that needs a second does not get dozens of requests
//! before.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use bridge_program::lock;

/// The shortest time from the start of each program until it was ready, over all trials of a run.
#[derive(Debug, Default)]
pub struct StartTimes(Mutex<BTreeMap<String, Duration>>);

impl StartTimes {
    /// Returns the time after its start during which a program is hardly ever ready: seven eighths of its fastest
    /// start, zero if it was never started.
    pub fn quiet(&self, program: &str) -> Duration {
        let shortest = lock(&self.0).get(program).copied().unwrap_or_default();
        shortest * 7 / 8
    }

    /// Adds a start.
    pub fn add(&self, program: &str, took: Duration) {
        let mut shortest = lock(&self.0);
        let known = shortest.entry(program.to_owned()).or_insert(took);
        *known = took.min(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_start_counts() {
        let times = StartTimes::default();
        assert_eq!(times.quiet("python agent.py"), Duration::ZERO);
        for milliseconds in [1600, 800, 2400] {
            times.add("python agent.py", Duration::from_millis(milliseconds));
        }
        assert_eq!(times.quiet("python agent.py"), Duration::from_millis(700));
        assert_eq!(times.quiet("another"), Duration::ZERO);
    }
}
