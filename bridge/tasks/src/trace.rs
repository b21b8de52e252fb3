//! Creates the spans of turns and of push notifications.
//!
//! Their names are those of OpenTelemetry's conventions for generative AI. There are none unless traces are exported; see
//! [`bridge_telemetry`].
//!
//! The log has the span of each message, so that later work in another process, or after a restart, belongs to the same
//! trace.

use bridge_telemetry::{Kind, Span, TraceContext, set, span};

/// Begins the span of a turn, below the request with its message.
pub(crate) fn turn(agent: &str, task: &str, turn: u64, cause: &TraceContext) -> Span {
    if !bridge_telemetry::is_on() {
        return Span::none();
    }
    let span = cause.adopt(span(Kind::Internal, || format!("invoke_agent {agent}")));
    set(&span, "gen_ai.operation.name", "invoke_agent");
    set(&span, "gen_ai.agent.name", agent);
    set(&span, "a2a.task.id", task);
    set(&span, "a2a.turn", turn);
    span
}

/// Reads the span of a message from the log.
pub fn of_message(traceparent: Option<&str>) -> TraceContext {
    traceparent.map(TraceContext::parse).unwrap_or_default()
}

/// Begins the span of a push notification, below the request with the message that caused it.
pub fn delivery(agent: &str, task: &str, host: &str, cause: &TraceContext) -> Span {
    if !bridge_telemetry::is_on() {
        return Span::none();
    }
    let span = cause.adopt(span(Kind::Client, || "push notification".into()));
    set(&span, "gen_ai.agent.name", agent);
    set(&span, "a2a.task.id", task);
    set(&span, "server.address", host);
    span
}
