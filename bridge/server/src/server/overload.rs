//! Refuses requests that are not processed, because the server is full or the request's head is not valid. The answer
//! has the format of the binding, if path and headers show it.
//!
//! Requests of bots and the checks of operators have connections of their own, so that a flood of clients breaks no turn.

use axum::{
    body::Body,
    http::{
        Method,
        header::{CONTENT_TYPE, RETRY_AFTER},
        request::Parts,
    },
    response::{IntoResponse as _, Response},
};
use bridge_program::Rejection;
use bridge_protocol::a2a::{Binding, Error, ErrorKind};

use super::{body::RETRY_AFTER_SECONDS, jsonrpc, rest};

/// Returns the answer to a request that is not processed.
pub fn reject(head: &Parts, reason: Rejection) -> Response<Body> {
    let error = match reason {
        Rejection::Overloaded => Error::unavailable(reason.text(), RETRY_AFTER_SECONDS),
        Rejection::HeadTooLarge | Rejection::Host => {
            Error::new(ErrorKind::InvalidRequest, reason.text())
        }
    };
    let path = head.uri.path();
    match presumed_binding(head, path) {
        #[cfg(feature = "grpc")]
        Some(Binding::Grpc) => super::grpc::error_response(&error),
        Some(Binding::HttpJson) => {
            rest::error_response_at(path, &head.headers, reason.status(), error)
        }
        Some(Binding::JsonRpc) => jsonrpc::error_response(reason.status(), error),
        _ => plain(reason),
    }
}

/// Returns whether connections are reserved for requests to this path: the calls of bots, the keys with which they check tokens,
/// and health checks.
pub fn is_reserved(path: &str) -> bool {
    let single =
        ["/.well-known/openid-configuration", "/.well-known/jwks.json", "/healthz", "/readyz"];
    is_for_bots(path) || single.contains(&path)
}

/// Returns whether bots call this path.
pub(crate) fn is_for_bots(path: &str) -> bool {
    ["/bots/", "/v3/"].iter().any(|prefix| path.starts_with(prefix))
}

/// Returns the binding of a request, if path and headers show it.
fn presumed_binding(head: &Parts, path: &str) -> Option<Binding> {
    #[cfg(feature = "grpc")]
    if super::grpc::is_grpc(&head.headers) {
        return Some(Binding::Grpc);
    }
    let is_rest = |segment: &str| {
        segment.starts_with("message:") || matches!(segment, "tasks" | "extendedAgentCard" | "card")
    };
    let is_legacy = ["/tasks/send", "/tasks/get", "/tasks/cancel"];
    let is_legacy = is_legacy.iter().any(|place| path.ends_with(place));
    match head.method == Method::POST {
        _ if !is_legacy && path.split('/').any(is_rest) => Some(Binding::HttpJson),
        true => Some(Binding::JsonRpc),
        false => None,
    }
}

fn plain(reason: Rejection) -> Response<Body> {
    let again = match reason {
        Rejection::Overloaded => Some([(RETRY_AFTER, RETRY_AFTER_SECONDS)]),
        Rejection::HeadTooLarge | Rejection::Host => None,
    };
    (reason.status(), again, [(CONTENT_TYPE, "text/plain")], reason.text()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, http::Request};
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn refusals_have_the_format_of_their_binding() {
        for (method, path, media_type, expected) in [
            ("POST", "/a2a", "application/json", "application/json"),
            ("POST", "/a2a/echo", "application/json", "application/json"),
            ("POST", "/tasks/send", "application/json", "application/json"),
            ("POST", "/a2a/echo/message:send", "application/json", "application/a2a+json"),
            ("GET", "/a2a/echo/tasks/1", "", "application/a2a+json"),
            ("GET", "/a2a/echo/v1/tasks/1", "", "application/json"),
            ("GET", "/.well-known/agent-card.json", "", "text/plain"),
            ("GET", "/healthz", "", "text/plain"),
        ] {
            for reason in [Rejection::Overloaded, Rejection::HeadTooLarge, Rejection::Host] {
                let request = Request::builder().method(method).uri(path);
                let request = request.header(CONTENT_TYPE, media_type).body(()).unwrap();
                let response = reject(&request.into_parts().0, reason);
                assert_eq!(response.status(), reason.status(), "{path}");
                let again = response.headers().get(RETRY_AFTER);
                assert_eq!(again.is_some(), reason == Rejection::Overloaded, "{path}");
                assert_eq!(response.headers()[CONTENT_TYPE], expected, "{path}");
                let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
                let error = serde_json::from_slice::<Value>(&body).unwrap_or_default();
                let is_told = error["error"]["message"] == reason.text();
                assert_eq!(is_told, expected != "text/plain", "{path}: {error}");
            }
        }
    }

    #[cfg(feature = "grpc")]
    #[test]
    fn a_refusal_over_grpc_has_a_status() {
        let request = Request::post("/lf.a2a.v1.A2AService/GetTask");
        let request = request.header(CONTENT_TYPE, "application/grpc").body(()).unwrap();
        let response = reject(&request.into_parts().0, Rejection::Overloaded);
        assert_eq!(response.headers()["grpc-status"], "14");
    }
}
