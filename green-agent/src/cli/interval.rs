//! The flag `--interval`: the method for the intervals of metrics.

use clap::{Args, ValueEnum};

/// The seed of the bootstrap. It is fixed, so that the figures are the same on every machine.
const SEED: u64 = 0;

/// The flag.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct IntervalFlag {
    /// The intervals of metrics that are not rates: Student's, or by the bootstrap, which suits skewed metrics
    /// such as costs if there are ten samples or more
    #[arg(long, value_enum, default_value_t = Interval::Student)]
    interval: Interval,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Interval {
    Student,
    Bootstrap,
}

impl IntervalFlag {
    /// Returns the seed of the bootstrap, if the bootstrap is chosen.
    pub(super) fn bootstrap(self) -> Option<u64> {
        match self.interval {
            Interval::Student => None,
            Interval::Bootstrap => Some(SEED),
        }
    }
}
