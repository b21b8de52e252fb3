//! Answers one request.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    response::Response,
};
use bridge_program::{self as program, InFlight};
use bridge_protocol::{
    a2a::{AgentCard, Error, ErrorKind, Operation},
    dialect::{Call, Version, v0_3::proto},
    protobuf::{Messages, ReadError, called, read_call, status, v1, write},
};
use bytes::{Buf as _, BufMut as _};
use futures_util::{StreamExt as _, stream::BoxStream};
use tonic::{
    Code, Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    server::Grpc,
};
use tower::service_fn;

use super::{agent_selection::without_name, deadline::Deadline, is_grpc, no_grpc};
use crate::{
    server::{
        Endpoint,
        authorization::Requester,
        body::{BodyError, reserve_memory},
        large_body::{block_if_large, write_item, write_large},
        render::translated,
        rest::ResponseFormat,
        service_parameters,
    },
    service::{Context, Reply, StreamItem},
};

static MESSAGES: LazyLock<Messages> = LazyLock::new(Messages::new);

/// The refusal of a request over HTTP/1.1. It would be executed, but the status after the answer would be lost on the way, and the
/// client would report a broken stream.
const HTTP_1: &str = "gRPC needs HTTP/2: let the proxy in front of the bridge send it (nginx: grpc_pass, HAProxy: proto h2)";

/// Answers a request for any operation.
pub(super) async fn handle(
    State(endpoint): State<Arc<Endpoint>>,
    requester: Requester,
    request: Request,
) -> Response {
    if !is_grpc(request.headers()) {
        return no_grpc();
    }
    if request.version() < axum::http::Version::HTTP_2 {
        return Status::unimplemented(HTTP_1).into_http::<Body>();
    }
    let Some((version, operation)) = called(request.uri().path()) else {
        let message = format!("there is no method {}", request.uri().path());
        return Status::unimplemented(message).into_http::<Body>();
    };
    let grpc_call = GrpcCall {
        deadline: Deadline::of(request.headers()),
        context: context(version, &endpoint, &requester, &request),
        requester,
        endpoint,
        version,
        operation,
    };
    grpc_call.answer(request).await
}

/// A request before its message is read.
struct GrpcCall {
    endpoint: Arc<Endpoint>,
    requester: Requester,
    /// 1.0 or 0.3.
    version: Version,
    operation: Operation,
    context: Result<Context, Error>,
    deadline: Deadline,
}

impl GrpcCall {
    async fn answer(self, request: Request) -> Response {
        let mut grpc = Grpc::new(BytesCodec).max_decoding_message_size(self.endpoint.body_limit);
        let (streams, grpc_call) = (self.operation.streams(), Arc::new(self));
        let response = match streams {
            true => {
                let stream = service_fn(|message: tonic::Request<Bytes>| {
                    grpc_call.clone().stream(message.into_inner())
                });
                grpc.server_streaming(stream, request).await
            }
            false => {
                let one = service_fn(|message: tonic::Request<Bytes>| {
                    grpc_call.clone().one(message.into_inner())
                });
                grpc.unary(one, request).await
            }
        };
        if let Some(status) = status_of_body() {
            return status.into_http::<Body>();
        }
        service_parameters::with_extensions(
            response.map(Body::new),
            grpc_call.version,
            grpc_call.active(),
        )
    }

    /// Returns the extensions that are active for the request.
    fn active(&self) -> BTreeSet<String> {
        let context = self.context.as_ref().ok();
        context
            .map_or_else(BTreeSet::new, |context| self.endpoint.service.active_extensions(context))
    }

    async fn one(self: Arc<Self>, message: Bytes) -> Result<tonic::Response<Bytes>, Status> {
        let reply = self.deadline.bound(self.reply(&message)).await??;
        let message = write_large(reply.size(), || self.message(reply)).await;
        let message = message.map_err(|error| status_in(self.version, &error))?;
        Ok(tonic::Response::new(message))
    }

    async fn stream(self: Arc<Self>, message: Bytes) -> Result<tonic::Response<Stream>, Status> {
        let reply = self.deadline.bound(self.reply(&message)).await??;
        let Reply::Stream(items) = reply else {
            return Err(status_in(self.version, &ErrorKind::Internal.into()));
        };
        let version = self.version;
        let items = items.then(move |item| match item {
            Ok(item) => write_item(item.size(), move || Ok(item_message(version, item))),
            Err(error) => write_item(0, move || Err(status_in(version, &error))),
        });
        let stream = self.deadline.bound_stream(items.boxed()).boxed();
        Ok(tonic::Response::new(stream))
    }

    async fn reply(&self, message: &[u8]) -> Result<Reply, Status> {
        let Endpoint { service, agent, .. } = &*self.endpoint;
        let refused = |error: Error| {
            service.refused(agent, &error);
            status_in(self.version, &error)
        };
        let mut context = self.context.clone().map_err(refused)?;
        let weight = MESSAGES.weigh(self.version, self.operation, message);
        let weight = weight.map_err(|too_much| refused(ReadError::TooMuch(too_much).into()))?;
        if !reserve_memory(weight).await {
            return Err(refused(BodyError::Full.error()));
        }
        let call = block_if_large(message.len(), || self.call(message));
        let mut call = call.map_err(|error| refused(error.into()))?;
        without_name(&mut call, agent);
        context.apply_call(&mut call).map_err(refused)?;
        let permitted = self.endpoint.permit(&self.requester, &call);
        permitted.map_err(|refusal| refusal.grpc_status())?;
        // Boxed, because each of the layers of gRPC around this future would contain it.
        let reply = Box::pin(service.call(&context, call)).await;
        let reply = reply.or_else(|error| {
            let card = self.only_card(&error).ok_or_else(|| status_in(self.version, &error));
            card.map(|card| Reply::Card(Box::new(card)))
        })?;
        Ok(self.endpoint.complete_card(reply, self.version, self.requester.origin.as_ref()))
    }

    /// Reads a message that was weighed.
    fn call(&self, message: &[u8]) -> Result<Call, ReadError> {
        match self.version {
            Version::V1_0 => read_call(self.operation, message),
            Version::V0_1 | Version::V0_3 => MESSAGES.read_call(self.operation, message),
        }
    }

    /// Returns the agent's card in place of the error that there is no extended one: GetAgentCard of 0.3 returns the card,
    /// which is the only one that clients without HTTP can get.
    fn only_card(&self, error: &Error) -> Option<AgentCard> {
        let is_missing = error.kind == ErrorKind::ExtendedAgentCardNotConfigured;
        let Endpoint { service, agent, .. } = &*self.endpoint;
        match self.version {
            Version::V0_3 if is_missing => service.card(agent),
            Version::V0_1 | Version::V0_3 | Version::V1_0 => None,
        }
    }

    /// Writes a reply that is a single message.
    fn message(&self, reply: Reply) -> Result<Bytes, Error> {
        match self.version {
            Version::V1_0 => self.message_of_v1_0(reply),
            Version::V0_1 | Version::V0_3 => {
                let value = match reply {
                    Reply::Card(card) => translated(|losses| proto::card::from_v1(&card, losses)),
                    other => ResponseFormat::V0_3Proto.older_reply(other),
                };
                Ok(MESSAGES.write_answer(self.operation, &value).into())
            }
        }
    }

    fn message_of_v1_0(&self, reply: Reply) -> Result<Bytes, Error> {
        let bytes = match reply {
            Reply::Message(answer) => write::<v1::SendMessageResponse, _>(&answer),
            Reply::Task(task) => write::<v1::Task, _>(task.as_ref()),
            Reply::Tasks(tasks) => write::<v1::ListTasksResponse, _>(&tasks),
            Reply::PushConfig(config) => write::<v1::TaskPushNotificationConfig, _>(&config),
            Reply::PushConfigs(configs) => {
                write::<v1::ListTaskPushNotificationConfigsResponse, _>(&configs)
            }
            Reply::Deleted => Vec::new(),
            Reply::Card(card) => write::<v1::AgentCard, AgentCard>(&card),
            Reply::Stream(_) => return Err(ErrorKind::Internal.into()),
        };
        Ok(bytes.into())
    }
}

/// Writes an item of a stream.
fn item_message(version: Version, item: StreamItem) -> Bytes {
    match version {
        Version::V1_0 => write::<v1::StreamResponse, _>(&item.response).into(),
        Version::V0_1 | Version::V0_3 => {
            let value = ResponseFormat::V0_3Proto.older_item(item);
            let message = MESSAGES.write_answer(Operation::SendStreamingMessage, &value);
            message.into()
        }
    }
}

/// Returns the error for a message that was not read to its end because it came too slowly or had no room.
pub(super) fn status_of_body() -> Option<Status> {
    Some(match InFlight::current()?.report_body_error()? {
        program::BodyError::TooSlow => Status::deadline_exceeded("the message arrived too slowly"),
        program::BodyError::NoMemory => status_of(&BodyError::Full.error()),
    })
}

/// The messages of a stream, which may end with an error.
type Stream = BoxStream<'static, Result<Bytes, Status>>;

/// Reads the service parameters from the metadata (specification 10.2). If they name no version, the service decides.
fn context(
    version: Version,
    endpoint: &Endpoint,
    requester: &Requester,
    request: &Request,
) -> Result<Context, Error> {
    let mut context = requester.context(&endpoint.agent);
    context.version = version;
    let named = service_parameters::read(request.headers(), request.uri(), &mut context)?;
    if let Some(named) = named.filter(|named| *named != version) {
        let message = format!(
            "{} is a method of A2A {version}, and the request is one of {named}: send the metadata \
             a2a-version: {version}, or call the service of {named}",
            request.uri().path(),
        );
        return Err(Error::new(ErrorKind::VersionNotSupported, message));
    }
    Ok(context)
}

/// Converts an error of the protocol, with its details as `google.rpc.Status` (specification 10.6).
pub(super) fn status_of(error: &Error) -> Status {
    let code = Code::from(error.kind.grpc_code());
    Status::with_details(code, &error.message, status::details(error).into())
}

/// Does the same in a version.
fn status_in(version: Version, error: &Error) -> Status {
    match version {
        Version::V1_0 => status_of(error),
        Version::V0_1 | Version::V0_3 => {
            let code = Code::from(status::code_v0_3(error.kind));
            let message = status::message_v0_3(error);
            Status::with_details(code, message, status::details(error).into())
        }
    }
}

/// Passes messages as bytes: they are decoded where the operation is known.
#[derive(Clone, Copy, Debug, Default)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
