//! Why a model gave no answer.

use std::{path::PathBuf, time::Duration};

use bridge_protocol::wire::FieldError;

/// Why a model gave no answer that can be used. The key never stands in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Nobody answered at the address, or the connection broke, each time.
    #[error("the model at {url} cannot be reached, tried {attempts} times: {cause}")]
    Unreachable {
        /// The address.
        url: String,
        /// How often it was asked.
        attempts: u32,
        /// What happened.
        cause: String,
    },
    /// The answer took too long each time.
    #[error("the model at {url} gave no answer within {limit:?}, tried {attempts} times")]
    Timeout {
        /// The address.
        url: String,
        /// How often it was asked.
        attempts: u32,
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

impl ModelError {
    /// Whether the agent caused it: it asked for what the model cannot take, or spent what it may. All else
    /// is the fault of the model, of whoever serves it, or of the way to it, and says nothing about the agent.
    pub fn is_the_agents(&self) -> bool {
        match self {
            Self::Refused { status, .. } => matches!(status, 400 | 413 | 422),
            Self::Cut { .. } | Self::TokensSpent { .. } | Self::Unreadable { .. } => true,
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
    fn what_the_agent_asked_wrongly_is_the_agents() {
        let refused = |status| ModelError::Refused {
            url: "http://model".to_owned(),
            status,
            message: String::new(),
        };
        for (status, expected) in [
            (400, true),
            (413, true),
            (401, false),
            (403, false),
            (404, false),
        ] {
            assert_eq!(refused(status).is_the_agents(), expected, "{status}");
        }
        let unreachable = ModelError::Unreachable {
            url: "http://model".to_owned(),
            attempts: 1,
            cause: "refused".to_owned(),
        };
        assert!(!unreachable.is_the_agents());
        assert!(ModelError::Cut { limit: 3 }.is_the_agents());
    }
}
