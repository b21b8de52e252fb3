//! Why a model gave no answer.

use std::{path::PathBuf, time::Duration};

use bridge_protocol::wire::FieldError;

/// Why a model gave no answer that can be used. The key never stands in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nobody answered at the address.
    #[error("the model at {url} cannot be reached: {cause}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened.
        cause: String,
    },
    /// The answer took too long.
    #[error("the model at {url} gave no answer within {limit:?}")]
    Timeout {
        /// The address.
        url: String,
        /// The limit, the setting `time_per_call`.
        limit: Duration,
    },
    /// It refused, and would again.
    #[error("the model at {url} refused with HTTP status {status}: {message}")]
    Refused {
        /// The address.
        url: String,
        /// The status code.
        status: u16,
        /// What it says about it.
        message: String,
    },
    /// It was overloaded or failed each time.
    #[error(
        "the model at {url} failed {attempts} times, the last time with HTTP status {status}: {message}"
    )]
    GaveUp {
        /// The address.
        url: String,
        /// How often it was asked.
        attempts: u32,
        /// The last status code.
        status: u16,
        /// What it said the last time.
        message: String,
    },
    /// It wants a longer pause than the limit allows.
    #[error(
        "the model at {url} answers HTTP status {status} and wants a pause of {wanted:?}, but no more than {limit:?} are waited"
    )]
    TooBusy {
        /// The address.
        url: String,
        /// The status code.
        status: u16,
        /// How long it wants to be left alone.
        wanted: Duration,
        /// The limit, the setting `longest_pause`.
        limit: Duration,
    },
    /// The answer is larger than any answer of the allowed length.
    #[error("the answer of the model at {url} is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// The answer is not of the protocol; the field says where.
    #[error("the answer of the model at {url} is not valid: {source}")]
    Invalid {
        /// The address.
        url: String,
        /// Where.
        #[source]
        source: FieldError,
    },
    /// The answer ended in the middle.
    #[error("the model's answer was cut at {limit} tokens: raise max_output_tokens")]
    Cut {
        /// The limit.
        limit: u64,
    },
    /// The limit of tokens is reached.
    #[error("{spent} tokens are spent of the {limit} that max_total_tokens allows")]
    TokensSpent {
        /// How many were read and written.
        spent: u64,
        /// The limit.
        limit: u64,
    },
    /// The file with the instructions cannot be read.
    #[error("the instructions in {} (system_file) cannot be read: {reason}", path.display())]
    Prompt {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The model asked for calls that cannot be read, again and again.
    #[error(
        "the model asked {times} times in a row for calls that cannot be read; the last: {last}"
    )]
    Unreadable {
        /// How often.
        times: u32,
        /// What was wrong the last time.
        last: String,
    },
}
