//! The spans of requests. No span is made unless traces are exported; see [`bridge_telemetry`].

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{Next, from_fn},
    response::Response,
};
use bridge_telemetry::{Instrument as _, Kind, TraceContext, current, fail, set, span};

/// Records the outcome of the request in the current span, once its operation is known.
pub(crate) fn answered(agent: &str, operation: &'static str, outcome: &'static str) {
    if !bridge_telemetry::is_on() {
        return;
    }
    let span = current();
    bridge_telemetry::rename(&span, &format!("{operation} {agent}"));
    set(&span, "rpc.method", operation);
    set(&span, "gen_ai.agent.name", agent);
    if outcome != "OK" {
        fail(&span, outcome);
    }
}

/// Adds a span to every request of an app, in the caller's trace. If nothing is traced, the app is unchanged.
pub(crate) fn requests(app: Router) -> Router {
    if bridge_telemetry::is_on() { app.layer(from_fn(request)) } else { app }
}

async fn request(request: Request, next: Next) -> Response {
    // The route has names in place of ids and bots' secrets.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("", MatchedPath::as_str);
    let method = request.method().clone();
    let begun = span(Kind::Server, || format!("{method} {route}"));
    let span = TraceContext::read(request.headers()).adopt(begun);
    set(&span, "http.request.method", method.as_str());
    set(&span, "http.route", route);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    set(&span, "http.response.status_code", status.as_u16());
    if status.is_server_error() {
        fail(&span, status.as_u16());
    }
    response
}
