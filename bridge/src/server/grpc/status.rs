//! Errors as gRPC has them, with `google.rpc.Status` beside (specification 10.6).

use bridge_protocol::{a2a::Error, protobuf::status};
use tonic::{Code, Status};

/// An error of the protocol.
pub(super) fn of(error: &Error) -> Status {
    let code = Code::from(status::code(error.kind));
    Status::with_details(code, &error.message, status::details(error).into())
}
