//! The errors of calls. Two of the three have the same code and differ only in their text.

use alloc::{
    format,
    string::{String, ToString as _},
};

use crate::{a2a::ErrorKind, jsonrpc::RpcError};

const UNKNOWN: &str = "Unknown skill: ";
const INVALID: &str = "Invalid parameters: ";
const FAILED: &str = "Execution failed: ";

/// The reason why a call failed. The texts are part of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// The agent has no skill with this id.
    #[error("{UNKNOWN}{0}")]
    UnknownSkill(String),
    /// The parameters do not match the skill's schema.
    #[error("{INVALID}{0}")]
    InvalidParameters(String),
    /// The execution of the skill failed.
    #[error("{FAILED}{0}")]
    ExecutionFailed(String),
}

impl ExecuteError {
    /// Converts the error to JSON-RPC.
    pub fn to_rpc(&self) -> RpcError {
        let kind = match self {
            Self::UnknownSkill(_) => ErrorKind::MethodNotFound,
            Self::InvalidParameters(_) | Self::ExecutionFailed(_) => ErrorKind::Internal,
        };
        RpcError { code: kind.code(), message: self.to_string(), data: None }
    }

    /// Reads a JSON-RPC error. Existing agents also use JSON-RPC's code for invalid parameters, with texts of
    /// their own. An error that matches no other kind is a failed execution.
    pub fn from_rpc(error: RpcError) -> Self {
        let RpcError { code, message, .. } = error;
        let after = |start: &str| message.strip_prefix(start).unwrap_or(&message).to_string();
        let is = |kind: ErrorKind| kind.code() == code;
        if is(ErrorKind::MethodNotFound) {
            Self::UnknownSkill(after(UNKNOWN))
        } else if is(ErrorKind::InvalidParams) || message.starts_with(INVALID) {
            Self::InvalidParameters(after(INVALID))
        } else if is(ErrorKind::Internal) {
            Self::ExecutionFailed(after(FAILED))
        } else {
            Self::ExecutionFailed(format!("{} ({code})", after(FAILED)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_back() {
        for (error, code) in [
            (ExecuteError::UnknownSkill("s".into()), -32601),
            (ExecuteError::InvalidParameters("missing required field 'a'".into()), -32603),
            (ExecuteError::ExecutionFailed("Claude API timeout".into()), -32603),
        ] {
            let rpc = error.to_rpc();
            assert_eq!(rpc.code, code);
            assert_eq!(ExecuteError::from_rpc(rpc), error);
        }
    }

    #[test]
    fn errors_of_others_are_understood() {
        for (code, message, error) in [
            (-32602, "bad", ExecuteError::InvalidParameters("bad".into())),
            (-32603, "boom", ExecuteError::ExecutionFailed("boom".into())),
            (-32000, "boom", ExecuteError::ExecutionFailed("boom (-32000)".into())),
        ] {
            let rpc = RpcError { code, message: message.into(), data: None };
            assert_eq!(ExecuteError::from_rpc(rpc), error);
        }
    }
}
