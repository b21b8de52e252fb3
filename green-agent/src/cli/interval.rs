//! `--interval`: how the intervals of metrics are computed.

use clap::{Args, ValueEnum};

/// The seed of the bootstrap: the same figures on every machine.
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
    /// Returns the seed of the bootstrap, if it is asked for.
    pub(super) fn bootstrap(self) -> Option<u64> {
        match self.interval {
            Interval::Student => None,
            Interval::Bootstrap => Some(SEED),
        }
    }
}
