//! Serves `GET {base}/agent-card` and `POST {base}/execute`: an agent's skills as methods, for callers that do not know
//! tasks (see [`bridge_protocol::dialect::execute`]).
//!
//! Both are served for agents whose card has an input or output schema for a skill.

use std::sync::Arc;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use bridge_protocol::{
    a2a::{
        AgentCard, AgentSkill, Binding, CancelTaskRequest, Error, ErrorKind, SendMessageRequest,
        SendMessageResponse,
    },
    dialect::{
        Call,
        execute::{self, ExecuteError},
        skill::{
            SkillCall,
            schema::{input_of, is_typed, output_of},
        },
    },
    jsonrpc::{BadRequest, Id, Request, Response as RpcResponse},
};
use bridge_verify::schema::{SchemaError, check};
use serde_json::Value;

use crate::server::{
    Endpoint, Origin,
    body::{self, ReceivedRequest},
    card::serve_document,
    jsonrpc,
    large_body::block_if_large,
    render,
};
use crate::{
    clock, run_to_completion,
    service::{Context, Reply},
};

/// Serves the card with its schemas.
pub(super) async fn card(
    State(endpoint): State<Arc<Endpoint>>,
    origin: Option<Extension<Origin>>,
    headers: HeaderMap,
) -> Response {
    let address = endpoint.address(origin.as_deref());
    let card = endpoint.typed_card();
    serve_document(
        card.map(|card| execute::card::from_v1(&card, &address)),
        endpoint.since,
        &headers,
    )
}

/// Calls a skill and answers with its result. Errors are in the body, with HTTP status 200; only a caller without
/// permission gets another status.
pub(super) async fn post(
    State(endpoint): State<Arc<Endpoint>>,
    received: ReceivedRequest,
) -> Response {
    let ReceivedRequest { requester, headers, body, .. } = received;
    let Some(card) = endpoint.typed_card() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let refused = |id, error| {
        endpoint.service.refused(&endpoint.agent, &error);
        render::error(id, error)
    };
    let body = match body {
        Ok(body) => body,
        Err(body_error) => return jsonrpc::body_error(&endpoint, body_error),
    };
    let Request { id, method, params } =
        match block_if_large(body.len(), || Request::from_slice(&body)) {
            Ok(request) => request,
            Err(BadRequest { id, error }) => return refused(id, error),
        };
    if let Err(error) = body::is_json_or_curls(&headers) {
        return refused(id, error);
    }
    if let Err(refusal) = endpoint.permit_skill(&requester, &method) {
        return refusal.response(Binding::JsonRpc, &headers, Some(&id));
    }
    let read = read(&card, &method, params);
    if let (Ok(_), Err(error)) = (&read, id.answerable()) {
        return refused(id, error);
    }
    let called = match read {
        Ok((skill, call)) => {
            let (endpoint, skill) = (endpoint.clone(), skill.clone());
            let context = requester.context(&endpoint.agent);
            // The call continues if the caller disconnects, because nobody else could end its task.
            run_to_completion(async move { endpoint.call_skill(context, &skill, &call).await })
                .await
        }
        Err(error) => {
            endpoint.service.refused(&endpoint.agent, &counted(&error));
            Err(error)
        }
    };
    answer(id, called)
}

fn answer(id: Id, called: Result<Value, ExecuteError>) -> Response {
    let outcome = called.map_err(|error| error.to_rpc());
    render::response(&RpcResponse { id, outcome })
}

/// Returns the kind of error under which a refusal is counted.
fn counted(error: &ExecuteError) -> Error {
    let kind = match error {
        ExecuteError::UnknownSkill(_) => ErrorKind::MethodNotFound,
        ExecuteError::InvalidParameters(_) => ErrorKind::InvalidParams,
        ExecuteError::ExecutionFailed(_) => ErrorKind::Internal,
    };
    kind.into()
}

/// Reads a call and checks its parameters against the skill's schema.
fn read<'a>(
    card: &'a AgentCard,
    method: &str,
    params: Value,
) -> Result<(&'a AgentSkill, SkillCall), ExecuteError> {
    let skill = card.skills.iter().find(|skill| skill.id == method);
    let skill = skill.ok_or_else(|| ExecuteError::UnknownSkill(method.to_owned()))?;
    let invalid = |why: String| ExecuteError::InvalidParameters(why);
    check(input_of(skill), &params).map_err(|error| match error {
        SchemaError::Violated(_) => invalid(error.to_string()),
        SchemaError::Schema(_) => ExecuteError::ExecutionFailed(error.to_string()),
    })?;
    let call = SkillCall::from_request(method, params);
    Ok((skill, call.map_err(|error| invalid(error.to_string()))?))
}

impl Endpoint {
    /// Returns the agent's card, if one of its skills has a schema.
    fn typed_card(&self) -> Option<AgentCard> {
        let card = self.service.card(&self.agent)?;
        card.skills.iter().any(is_typed).then_some(card)
    }

    async fn call_skill(
        &self,
        context: Context,
        skill: &AgentSkill,
        call: &SkillCall,
    ) -> Result<Value, ExecuteError> {
        let message = call.to_message(&clock::new_id(), None);
        let send = Call::SendMessage(SendMessageRequest::new(message));
        let answered = self.service.call(&context, send).await;
        let failed = |why: String| ExecuteError::ExecutionFailed(why);
        let answer = match answered.map_err(|error| failed(error.message))? {
            Reply::Message(answer) => answer.map_task(Arc::unwrap_or_clone),
            _ => return Err(failed(ErrorKind::Internal.text().to_owned())),
        };
        self.close(&context, &answer).await;
        let result = execute::result::from_answer(&answer)?;
        check(output_of(skill), &result)
            .map_err(|error| failed(format!("the result does not match the card: {error}")))?;
        Ok(result)
    }

    /// Cancels the call's task if it has not ended: its id is known only here, so nobody else could end it.
    async fn close(&self, context: &Context, answer: &SendMessageResponse) {
        let SendMessageResponse::Task(task) = answer else {
            return;
        };
        if task.status.state.is_terminal() {
            return;
        }
        let cancel = Call::CancelTask(CancelTaskRequest::new(task.id.as_str()));
        if let Err(error) = self.service.call(context, cancel).await {
            tracing::debug!(task = task.id, %error, "the task of a call could not be canceled");
        }
    }
}
