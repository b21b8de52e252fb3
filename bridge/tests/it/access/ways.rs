//! Sends the same request in every binding and returns whether its caller is admitted.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, header::WWW_AUTHENTICATE},
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::app;

/// A request in the form of a binding.
pub(super) enum ApiCall {
    /// JSON-RPC: version, method and parameters.
    Rpc(&'static str, &'static str, Value),
    /// Any other body by POST at a path.
    Post(String, Value),
    /// HTTP+JSON by GET at a path.
    Get(String),
    /// gRPC, the message as JSON.
    #[cfg(feature = "grpc")]
    Grpc(bridge_protocol::a2a::Operation, Value),
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    /// HTTP's status, or the one that stands for gRPC's.
    pub(super) status: u16,
    /// The challenges for missing credentials.
    pub(super) challenges: Vec<String>,
    pub(super) headers: HeaderMap,
    /// The body; in gRPC the status with its details, or the answer, as JSON.
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn new(status: u16, headers: HeaderMap, text: String) -> Self {
        let challenges = headers.get_all(WWW_AUTHENTICATE).iter();
        let challenges = challenges.map(|value| value.to_str().unwrap().to_owned());
        Self { status, challenges: challenges.collect(), headers, text }
    }
}

impl ApiCall {
    pub(super) async fn ask(&self, app: &Router, headers: &[(&str, &str)]) -> Answer {
        match self {
            Self::Rpc(version, method, params) => {
                let mut headers = headers.to_vec();
                headers.push(("a2a-version", version));
                let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
                http("POST", "/a2a", &headers, &body, app).await
            }
            Self::Post(path, body) => http("POST", path, headers, body, app).await,
            Self::Get(path) => http("GET", path, headers, &Value::Null, app).await,
            #[cfg(feature = "grpc")]
            Self::Grpc(operation, message) => grpc(*operation, message, headers, app).await,
        }
    }
}

async fn http(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
    app: &Router,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string()),
    };
    let answer = app.clone().oneshot(app::named(request).body(body).unwrap()).await;
    let answer = answer.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Answer::new(status, headers, app::text(answer).await)
}

#[cfg(feature = "grpc")]
async fn grpc(
    operation: bridge_protocol::a2a::Operation,
    message: &Value,
    metadata: &[(&str, &str)],
    app: &Router,
) -> Answer {
    use crate::grpc::{call, decoded};
    use bridge_protocol::{
        a2a::{AgentCard, ListTasksResponse, Operation},
        dialect::Version,
        protobuf::v1,
        wire::to_value,
    };
    let asked = Version::V1_0.params_to_v1(operation, message.clone(), "");
    let answered = call(app, metadata, &asked.unwrap()).await;
    let status = match answered.code {
        0 => 200,
        3 | 9 => 400,
        5 => 404,
        7 => 403,
        8 => 429,
        16 => 401,
        other => panic!("nobody expected the status {other} of gRPC"),
    };
    let text = match (answered.code, operation) {
        (0, Operation::ListTasks) => {
            to_value(&answered.one::<v1::ListTasksResponse, ListTasksResponse>())
        }
        (0, Operation::GetExtendedAgentCard) => {
            to_value(&answered.one::<v1::AgentCard, AgentCard>())
        }
        (0, _) => Value::Null,
        (code, _) => json!({
            "code": code,
            "message": decoded(&answered.error.message),
            "details": answered.error.data,
        }),
    };
    Answer::new(status, answered.status, text.to_string())
}
