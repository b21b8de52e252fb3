//! A2A 0.1 with a path for each method: `{base}/tasks/send` takes the bare parameters and answers with a bare
//! task; `tasks/get` and `tasks/cancel` take JSON-RPC.

use bridge_protocol::{
    a2a::{AgentCard, Content, ErrorKind, Part, SendMessageRequest, SendMessageResponse, Task},
    dialect::{Call, Losses, Version, v0_1::card::is_pythons},
    jsonrpc::{Id, Request, Response, RpcError},
    wire::{FieldError, Wire as _, to_value},
};
use serde_json::Value;

use super::post::{self, JsonPoster};
use crate::{Fault, Result, invocation::Invocation};

const VERSION: Version = Version::V0_1;

/// The field in which such agents expect the media type of data.
const MIME_TYPE: &str = "mime_type";

impl Invocation {
    /// Returns the request for `{base}/tasks/send`. Agents built with python-a2a get their own form of it.
    pub(super) fn request_by_path(&self, card: &AgentCard) -> SendMessageRequest {
        let mut request = match self.parameters.is_none() || !is_pythons(card) {
            true => self.request(false),
            false => {
                let text = self.text.as_deref();
                self.belonging(self.call().to_python_message(&self.message_id, text))
            }
        };
        request.message.parts.iter_mut().for_each(name_media_type);
        request
    }
}

/// Data has no media type in 0.1. Agents with a path for each method read it from `mime_type`.
fn name_media_type(part: &mut Part) {
    if matches!(part.content, Content::Data(_))
        && let Some(media_type) = part.media_type.take()
    {
        part.extra.insert(MIME_TYPE.to_owned(), media_type.into());
    }
}

pub(super) async fn send(
    poster: &JsonPoster,
    request: SendMessageRequest,
) -> Result<SendMessageResponse> {
    let call = Call::SendMessage(request);
    let body = VERSION.params_from_v1(&call, &mut Losses::new());
    let answer = exchange(poster, &call, &body, None).await?;
    read(poster, &call, VERSION.send_result_to_v1(answer))
}

/// Makes a call whose answer is a task.
pub(super) async fn task(poster: &JsonPoster, call: &Call) -> Result<Task> {
    let params = VERSION.params_from_v1(call, &mut Losses::new());
    let request = Request::new(Id::Number(1.into()), path(call), params);
    let answer = exchange(poster, call, &to_value(&request), Some(&request.id)).await?;
    read(poster, call, VERSION.task_to_v1(answer))
}

async fn exchange(
    poster: &JsonPoster,
    call: &Call,
    body: &Value,
    id: Option<&Id>,
) -> Result<Value> {
    let operation = call.operation().name();
    let answer = poster.post(path(call), operation, body).await?;
    open(answer, id).map_err(|fault| poster.named(fault, operation))
}

/// Returns the path below the agent's address, which is the method's name.
fn path(call: &Call) -> &'static str {
    VERSION.method(call.operation()).unwrap_or_default()
}

/// Returns the result of an answer, with or without a JSON-RPC envelope. `asked` is the request's id, if it had an
/// envelope; the answer must have the same.
fn open(answer: Value, asked: Option<&Id>) -> Result<Value, Fault> {
    if answer.get("jsonrpc").is_some() {
        let response = Response::read(answer).map_err(Fault::Invalid)?;
        let outcome = match asked {
            Some(id) => response.answering(id).map_err(Fault::Invalid)?,
            None => response.outcome,
        };
        return outcome.map_err(Fault::Rpc);
    }
    match answer.get("error") {
        None | Some(Value::Null) => Ok(answer),
        Some(error) => {
            Err(Fault::Rpc(RpcError::read(error.clone()).unwrap_or_else(|_| RpcError {
                code: ErrorKind::Internal.code(),
                message: post::error_text(&answer).unwrap_or_else(|| error.to_string()),
                data: None,
            })))
        }
    }
}

fn read<T>(poster: &JsonPoster, call: &Call, read: Result<T, FieldError>) -> Result<T> {
    read.map_err(|error| poster.named(Fault::Invalid(error), call.operation().name()))
}
