//! Serves `POST {base}/tasks/send`, `/tasks/get` and `/tasks/cancel`: A2A 0.1 as python-a2a uses it, with a path for
//! each method. Requests have a JSON-RPC envelope; `/tasks/send` also accepts the parameters without one.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use bridge_program::Json;
use bridge_protocol::{
    a2a::{Binding, Error, ErrorKind, Operation, Task},
    dialect::{Version, with_answer_as_artifact},
    wire::parse,
};
use serde_json::json;

use crate::server::{
    Endpoint,
    body::{self, ReceivedRequest},
    jsonrpc,
    large_body::block_if_large,
    render, service_parameters,
};
use crate::service::Reply;

/// Answers `/tasks/send` with the task, without a JSON-RPC envelope if the request had none.
pub(super) async fn send(
    State(endpoint): State<Arc<Endpoint>>,
    received: ReceivedRequest,
) -> Response {
    let is_bare = |body: &Bytes| {
        let parsed = block_if_large(body.len(), || parse(body));
        parsed.is_ok_and(|params| params.get("jsonrpc").is_none())
    };
    match &received.body {
        Ok(body) if is_bare(body) => bare(&endpoint, &received, body).await,
        // A body that is not JSON gets a JSON-RPC error.
        _ => call(State(endpoint), received).await,
    }
}

/// Answers a JSON-RPC request at the path of its method.
pub(super) async fn call(
    State(endpoint): State<Arc<Endpoint>>,
    received: ReceivedRequest,
) -> Response {
    jsonrpc::answer(&endpoint, received, with_answer).await
}

async fn bare(endpoint: &Endpoint, received: &ReceivedRequest, params: &[u8]) -> Response {
    let ReceivedRequest { requester, headers, uri, .. } = received;
    let mut context = requester.context(&endpoint.agent);
    let typed = body::is_json(headers);
    if let Err(error) = typed.and_then(|()| service_parameters::read(headers, uri, &mut context)) {
        return refusal(&error);
    }
    context.version = Version::V0_1;
    let call = endpoint.read(&mut context, Version::V0_1, Operation::SendMessage, params);
    let call = match call {
        Ok(call) => call,
        Err(error) => {
            endpoint.service.refused(&endpoint.agent, &error);
            return refusal(&error);
        }
    };
    if let Err(refusal) = endpoint.permit(requester, &call) {
        return refusal.response(Binding::JsonRpc, headers, None);
    }
    let answered = endpoint.service.call(&context, call).await;
    match answered.map(with_answer) {
        Ok(Reply::Message(answer)) => {
            let client_id = context.client_id.as_deref();
            Json(render::message_result(Version::V0_1, answer, client_id)).into_response()
        }
        Ok(_) => refusal(&ErrorKind::Internal.into()),
        Err(error) => refusal(&error),
    }
}

/// Adds the answer as an artifact, where python-a2a's clients look for it.
fn with_answer(reply: Reply) -> Reply {
    match reply {
        Reply::Message(answer) => Reply::Message(answer.map_task(converted)),
        Reply::Task(task) => Reply::Task(converted(task)),
        other => other,
    }
}

fn converted(task: Arc<Task>) -> Arc<Task> {
    Arc::new(with_answer_as_artifact(Arc::unwrap_or_clone(task)))
}

fn refusal(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.kind.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
    let body = json!({"error": {"code": error.kind.code(), "message": error.message}});
    (status, render::retry_after(error), Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::header::RETRY_AFTER;
    use bridge_protocol::a2a::{Message, Part, Role, TaskState, TaskStatus};

    use super::*;

    #[test]
    fn a_task_that_is_looked_up_shows_its_answer_as_an_artifact() {
        let answer = Message::new("m", Role::Agent, vec![Part::text("42")]);
        let status = TaskStatus { message: Some(answer), ..TaskStatus::new(TaskState::Completed) };
        let Reply::Task(shown) = with_answer(Reply::Task(Arc::new(Task::new("t", status)))) else {
            panic!("expected a task");
        };
        assert_eq!(shown.artifacts[0].parts[0].as_text(), Some("42"));
    }

    #[test]
    fn a_refusal_says_when_to_try_again() {
        let refused = refusal(&Error::unavailable("the server is stopping", 3));
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()[RETRY_AFTER], "3");
    }
}
