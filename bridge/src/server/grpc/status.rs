//! Errors as gRPC has them, with `google.rpc.Status` beside (specification 10.6).

use bridge_protocol::{a2a::Error, protobuf::status};
use tonic::{Code, Status, metadata::MetadataMap};

use crate::access::Refusal;

/// An error of the protocol.
pub(super) fn of(error: &Error) -> Status {
    let code = Code::from(status::code(error.kind));
    Status::with_details(code, &error.message, status::details(error).into())
}

/// A refusal to a caller who is not let in to what the call names, as those are told whom the layer before
/// the service refuses.
pub(super) fn refused(refusal: &Refusal) -> Status {
    let code = Code::from(refusal.code());
    let challenges = MetadataMap::from_headers(refusal.challenges());
    let details = refusal.details().into();
    Status::with_details_and_metadata(code, refusal.message(), details, challenges)
}
