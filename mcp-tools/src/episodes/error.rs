//! The errors of opening and using episodes.

use std::time::Duration;

use thiserror::Error;

/// The reason why an episode cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The largest number of episodes is open.
    #[error("{0} episodes are open, which is the limit; close one that has ended")]
    Full(usize),
    /// A tool of the environment is named like the episode's own tool.
    #[error("the environment has a tool named submit, which is the episode's own; rename it")]
    ReservedTool,
    /// Two tools of the environment have the same name.
    #[error("the environment has two tools named {0:?}; rename one")]
    SameTool(String),
    /// A time limit is longer than a day.
    #[error("an episode may take {longest:?} at the longest, not {wanted:?}")]
    TooLong {
        /// The requested limit.
        wanted: Duration,
        /// The longest allowed limit.
        longest: Duration,
    },
}

/// The reason why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The token belongs to no episode, or to one that was closed.
    #[error("the token is not one of an open episode")]
    Unknown,
    /// The time of the token's episode is over.
    #[error("the token has expired")]
    Expired,
}
