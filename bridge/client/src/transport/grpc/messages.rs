//! Sends a gRPC request and reads the messages of its answer, or its error status.

use std::error::Error as _;

use bridge_protocol::protobuf::status;
use bytes::{Buf as _, Bytes};
use reqwest::{Body, RequestBuilder};
use tonic::{
    Code, Status, Streaming,
    codec::{DecodeBuf, Decoder},
};

use crate::{
    Fault, GrpcMeter,
    http::{Endpoint, HttpResponse, within},
};

/// The messages of an answer, as they arrive.
pub(super) struct Messages {
    messages: Streaming<Bytes>,
    limit: usize,
    meter: Option<GrpcMeter>,
}

impl Messages {
    /// Sends a request and waits for the beginning of the answer. A refusal is returned here.
    pub(super) async fn of(
        endpoint: &Endpoint,
        meter: Option<GrpcMeter>,
        request: RequestBuilder,
    ) -> Result<Self, Fault> {
        let limits = &endpoint.limits;
        let reply = endpoint.send(request).await?;
        if let Some(status) = Status::from_header_map(reply.headers())
            && status.code() != Code::Ok
        {
            return Err(fault(&status, limits.body));
        }
        // An HTTP error is not from a gRPC server but usually from a proxy in front of it.
        if !reply.status().is_success() {
            let answer = within(limits.reply, HttpResponse::read(reply, limits)).await?;
            return Err(answer.refused());
        }
        let (status, limit) = (reply.status(), limits.body);
        let messages =
            Streaming::new_response(RawDecoder, Body::from(reply), status, None, Some(limit));
        Ok(Self { messages, limit, meter })
    }

    /// Returns the next message; `None` at a successful end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let message = self.messages.message().await;
        let message = message.map_err(|status| fault(&status, self.limit))?;
        if let (Some(meter), Some(message)) = (&self.meter, &message) {
            meter.count(message.len());
        }
        Ok(message)
    }
}

/// Decodes a message as raw bytes.
struct RawDecoder;

impl Decoder for RawDecoder {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

/// Returns the fault for a status. `limit` is the largest message size, in bytes.
fn fault(status: &Status, limit: usize) -> Fault {
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
