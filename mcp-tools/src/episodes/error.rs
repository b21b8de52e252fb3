//! What can be wrong with an episode that is asked for.

use std::time::Duration;

use thiserror::Error;

/// Why an episode cannot be begun.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// As many are open as may be.
    #[error("{most} episodes are open, which is the most; close one that has ended")]
    Full {
        /// How many may be open.
        most: usize,
    },
    /// The environment has a tool with the name of the episode's own.
    #[error("the environment has a tool named submit, which is the episode's own; rename it")]
    ReservedTool,
    /// Two tools of the environment have the same name.
    #[error("the environment has two tools named {name:?}; rename one")]
    SameTool {
        /// The name.
        name: String,
    },
    /// A limit of time is longer than a day.
    #[error("an episode may take {longest:?} at the longest, not {wanted:?}")]
    TooLong {
        /// What was wanted.
        wanted: Duration,
        /// What is possible.
        longest: Duration,
    },
}

/// Why a token opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It belongs to no episode, or to one that was closed.
    #[error("the token is not one of an open episode")]
    Unknown,
    /// Its episode's time is over.
    #[error("the token has expired")]
    Expired,
}
