//! The reasons why a model gave no answer.

use std::{path::PathBuf, time::Duration};

use bridge_http::advice_on_status;
use bridge_protocol::wire::FieldError;

/// The reason why a model gave no usable answer. The text never contains the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ModelError {
    /// The server cannot be reached, or the connection broke, at every attempt.
    #[error("the model at {url} cannot be reached, tried {attempts} times: {cause}")]
    Unreachable { url: String, attempts: u32, cause: String },
    /// The answer took too long at every attempt.
    #[error("the model at {url} did not answer within {limit:?}, tried {attempts} times")]
    Timeout {
        url: String,
        attempts: u32,
        /// The time limit, which the setting `time_per_call` sets.
        limit: Duration,
    },
    /// The server rejected the request, and would reject it again.
    #[error("the model at {url} refused with HTTP status {status}{}: {message}", advice_on_status(*.status))]
    Refused { url: String, status: u16, message: String },
    /// The server was overloaded or failed at every attempt.
    #[error(
        "the model at {url} failed {attempts} times, the last time with HTTP status {status}: {message}"
    )]
    GaveUp { url: String, attempts: u32, status: u16, message: String },
    /// The server asks for a longer pause than the limit allows.
    #[error(
        "the model at {url} answers HTTP status {status} and requests a pause of {wanted:?}, which exceeds the limit \
         of {limit:?}"
    )]
    TooBusy {
        url: String,
        status: u16,
        wanted: Duration,
        /// The longest allowed pause, which the setting `longest_pause` sets.
        limit: Duration,
    },
    /// The answer is larger than an answer of the allowed number of tokens can be.
    #[error("the answer of the model at {url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: usize },
    /// The answer violates the API's format, or is an error with the status 200, at every attempt.
    #[error("the answer of the model at {url} is not valid, tried {attempts} times: {error}")]
    Invalid {
        url: String,
        attempts: u32,
        /// The field and the error.
        error: FieldError,
    },
    /// The answer was cut at the limit of output tokens.
    #[error("the model's answer was cut at {0} tokens: raise max_output_tokens")]
    Cut(u64),
    /// The provider withheld the answer, for the content of the conversation.
    #[error("the model gave no answer: its provider withheld it ({0})")]
    Withheld(String),
    /// The limit on the total number of tokens is reached.
    #[error("{spent} tokens are spent of the {limit} that max_total_tokens allows")]
    TokensSpent {
        /// The number of tokens read and written.
        spent: u64,
        limit: u64,
    },
    /// The file with the instructions cannot be read.
    #[error("the instructions in {} (system_file) cannot be read: {reason}", path.display())]
    Prompt { path: PathBuf, reason: String },
    /// The model repeatedly requested calls that cannot be read.
    #[error(
        "the model asked {times} times in a row for calls that cannot be read; the last: {last}"
    )]
    Unreadable {
        /// The number of such answers in a row.
        times: u32,
        last: String,
    },
}

impl ModelError {
    /// Returns whether the agent caused the error: its request was invalid, it has spent its tokens, or what it asks is not
    /// answered. Some providers withhold an answer where others let the model refuse in words, which is scored. All other errors are
    /// faults of the model, its server or the network, and say nothing about the agent.
    pub fn is_the_agents(&self) -> bool {
        match self {
            Self::Refused { status, .. } => matches!(status, 400 | 413 | 422),
            Self::Cut(_)
            | Self::Withheld(_)
            | Self::TokensSpent { .. }
            | Self::Unreadable { .. } => true,
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::GaveUp { .. }
            | Self::TooBusy { .. }
            | Self::TooLarge { .. }
            | Self::Invalid { .. }
            | Self::Prompt { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_model_requests_are_the_agents_fault() {
        let refused = |status| ModelError::Refused {
            url: "http://model".to_owned(),
            status,
            message: String::new(),
        };
        for (status, expected) in
            [(400, true), (413, true), (401, false), (403, false), (404, false)]
        {
            assert_eq!(refused(status).is_the_agents(), expected, "{status}");
        }
        let unreachable = ModelError::Unreachable {
            url: "http://model".to_owned(),
            attempts: 1,
            cause: "refused".to_owned(),
        };
        assert!(!unreachable.is_the_agents());
        assert!(ModelError::Cut(3).is_the_agents());
    }
}
