//! Converts gRPC error statuses.

use std::error::Error as _;

use bridge_protocol::protobuf::status;
use tonic::{Code, Status};

use crate::Fault;

/// Returns the fault for a status. `limit` is the largest message size, in bytes.
pub(super) fn fault(status: &Status, limit: usize) -> Fault {
    // Only local errors have a source.
    if let Some(cause) = status.source() {
        return Fault::StreamBroken(cause.to_string());
    }
    let challenges = status.metadata().get_all("www-authenticate").iter();
    let challenges: Vec<&str> = challenges.filter_map(|value| value.to_str().ok()).collect();
    let challenge = (!challenges.is_empty()).then(|| challenges.join(", "));
    let explanation = status.message().to_owned();
    match status.code() {
        Code::Unauthenticated => Fault::Unauthenticated { challenge, explanation },
        Code::PermissionDenied => Fault::Forbidden { challenge, explanation },
        Code::Unavailable | Code::Cancelled => Fault::StreamBroken(explanation),
        // The decoder's status for a message that is too long.
        Code::OutOfRange => Fault::TooLarge(limit),
        code @ (Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::AlreadyExists
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss) => {
            Fault::Rpc(status::error(code.into(), status.message(), status.details()))
        }
    }
}
