//! One request and its answer.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, Uri},
    response::Response,
};
use bridge_program::{Flight, Room, Trouble};
use bridge_protocol::{
    a2a::{AgentCard, Error, ErrorKind, Operation},
    dialect::Version,
    protobuf::{ReadError, Scales, read_weighed, v1, write},
};
use futures_util::{StreamExt as _, stream::BoxStream};
use tonic::{Status, server::Grpc};
use tower::service_fn;

use super::{agents, codec::Whole, deadline::Deadline, is_grpc, no_grpc, status};
use crate::{
    server::{
        Endpoint,
        body::{Unread, has_room},
        extensions,
        parse::{apart, written},
        permit::Asker,
        preamble::Preamble,
        sent::called,
    },
    service::{Context, Reply},
};

static SCALES: LazyLock<Scales> = LazyLock::new(Scales::new);

/// Takes a request of any operation and answers it.
pub(super) async fn handle(
    State(endpoint): State<Arc<Endpoint>>,
    asker: Asker,
    request: Request,
) -> Response {
    if !is_grpc(request.headers()) {
        return no_grpc();
    }
    let Some(operation) = operation(request.uri()) else {
        let message = format!("there is no method {}", request.uri().path());
        return Status::unimplemented(message).into_http::<Body>();
    };
    let asked = Asked {
        deadline: Deadline::of(request.headers()),
        context: context(&endpoint, &asker, request.headers(), request.uri()),
        asker,
        endpoint,
        operation,
    };
    asked.answer(request).await
}

/// The operation that a path ends with.
pub(super) fn operation(uri: &Uri) -> Option<Operation> {
    Operation::from_name(uri.path().rsplit('/').next()?)
}

/// What a request says before its message is read.
struct Asked {
    endpoint: Arc<Endpoint>,
    asker: Asker,
    operation: Operation,
    context: Result<Context, Error>,
    deadline: Deadline,
}

impl Asked {
    async fn answer(self, request: Request) -> Response {
        let mut grpc = Grpc::new(Whole).max_decoding_message_size(self.endpoint.body_limit);
        let (streams, asked) = (self.operation.streams(), Arc::new(self));
        let response = match streams {
            true => {
                let stream = service_fn(|message: tonic::Request<Bytes>| {
                    asked.clone().stream(message.into_inner())
                });
                grpc.server_streaming(stream, request).await
            }
            false => {
                let one = service_fn(|message: tonic::Request<Bytes>| {
                    asked.clone().one(message.into_inner())
                });
                grpc.unary(one, request).await
            }
        };
        // A body that broke off is told of as what it was.
        if let Some(trouble) = Flight::current().and_then(|flight| flight.tell()) {
            return late(trouble).into_http::<Body>();
        }
        extensions::naming(response.map(Body::new), Version::V1_0, asked.active())
    }

    /// The extensions that the request has in use.
    fn active(&self) -> BTreeSet<String> {
        let context = self.context.as_ref().ok();
        context.map_or_else(BTreeSet::new, |context| {
            self.endpoint.service.active_extensions(context)
        })
    }

    async fn one(self: Arc<Self>, message: Bytes) -> Result<tonic::Response<Bytes>, Status> {
        let (reply, room) = self.deadline.bound(self.reply(&message)).await??;
        let message = written(reply.size(), || self.message(reply)).await;
        let message = message.map_err(|error| status::of(&error))?;
        let mut response = tonic::Response::new(message);
        if let Some(room) = room {
            response.extensions_mut().insert(room);
        }
        Ok(response)
    }

    async fn stream(self: Arc<Self>, message: Bytes) -> Result<tonic::Response<Stream>, Status> {
        let (reply, _) = self.deadline.bound(self.reply(&message)).await??;
        let Reply::Stream(items) = reply else {
            return Err(status::of(&ErrorKind::Internal.into()));
        };
        let items = items.then(async |item| match item {
            Ok(item) => {
                let message = || write::<v1::StreamResponse, _>(&item.response);
                Ok(written(item.size(), message).await.into())
            }
            Err(error) => Err(status::of(&error)),
        });
        let stream = self.deadline.bound_stream(items.boxed()).boxed();
        Ok(tonic::Response::new(stream))
    }

    async fn reply(&self, message: &[u8]) -> Result<(Reply, Option<Room>), Status> {
        let Endpoint { service, agent, .. } = &*self.endpoint;
        let refused = |error: Error| {
            service.refused(agent, &error);
            status::of(&error)
        };
        let mut context = self.context.clone().map_err(refused)?;
        let weight = SCALES.weigh(self.operation, message);
        let weight = weight.map_err(|too_much| refused(ReadError::TooMuch(too_much).into()))?;
        if !has_room(weight).await {
            return Err(refused(Unread::Full.error()));
        }
        let call = apart(message.len(), || read_weighed(self.operation, message));
        let mut call = call.map_err(|error| refused(error.into()))?;
        agents::without_name(&mut call, agent);
        context.apply_call(&mut call).map_err(refused)?;
        let permitted = self.endpoint.permit(&self.asker, &call);
        permitted.map_err(|refusal| status::refused(&refusal))?;
        // On the heap: the layers of gRPC around it would each hold all of it.
        let reply = Box::pin(called(service, &context, call)).await;
        reply.map_err(|error| status::of(&error))
    }

    /// A reply that is one message.
    fn message(&self, reply: Reply) -> Result<Bytes, Error> {
        let bytes = match reply {
            Reply::Message(answer) => write::<v1::SendMessageResponse, _>(&answer),
            Reply::Task(task) => write::<v1::Task, _>(task.as_ref()),
            Reply::Tasks(tasks) => write::<v1::ListTasksResponse, _>(&tasks),
            Reply::PushConfig(config) => write::<v1::TaskPushNotificationConfig, _>(&config),
            Reply::PushConfigs(configs) => {
                write::<v1::ListTaskPushNotificationConfigsResponse, _>(&configs)
            }
            Reply::Deleted => Vec::new(),
            Reply::Card(card) => write::<v1::AgentCard, AgentCard>(&self.endpoint.reachable(*card)),
            Reply::Stream(_) => return Err(ErrorKind::Internal.into()),
        };
        Ok(bytes.into())
    }
}

/// What is said of a message that did not come to its end.
fn late(trouble: Trouble) -> Status {
    match trouble {
        Trouble::Late => Status::deadline_exceeded("the message did not come on"),
        Trouble::Full => status::of(&Unread::Full.error()),
    }
}

/// Messages, or the error with which the stream ends.
type Stream = BoxStream<'static, Result<Bytes, Status>>;

/// Service parameters are metadata (specification 10.2). Whoever names no version speaks 0.3 (3.6.2), which has
/// another service; it is not served.
fn context(
    endpoint: &Endpoint,
    asker: &Asker,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Context, Error> {
    let preamble = Preamble::read(headers, uri)?;
    match preamble.version() {
        Version::V1_0 => {}
        version @ (Version::V0_1 | Version::V0_3) => {
            let unnamed = match preamble.named {
                None => ", and a request that names no version speaks it",
                Some(_) => "",
            };
            let message = format!(
                "A2A {version} is not spoken over gRPC{unnamed}: send the metadata a2a-version: 1.0"
            );
            return Err(Error::new(ErrorKind::VersionNotSupported, message));
        }
    }
    let mut context = Context::new(endpoint.agent.clone(), asker.caller.clone());
    preamble.fill(&mut context);
    Ok(context)
}
