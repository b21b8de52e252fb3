//! The spans of tool calls. The place in the trace is in the call's `_meta`, as `traceparent`, which goes through every
//! transport of MCP; a caller that has it in the header of its HTTP request alone is understood too.

use axum::http::request::Parts;
use bridge_telemetry::{Kind, Span, TraceContext, set, span};
use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, RequestParamsMeta as _},
    service::RequestContext,
};

/// Begins the span of a call that goes out, and puts it into the call.
pub(crate) fn outgoing(request: &mut CallToolRequestParams) -> Span {
    let span = tool_span(Kind::Client, &request.name);
    if let Some(traceparent) = TraceContext::of(&span).traceparent() {
        request.set_traceparent(&traceparent);
    }
    span
}

/// Begins the span of a call that came in, below the caller's.
pub(crate) fn incoming(tool: &str, context: &RequestContext<RoleServer>) -> Span {
    let header = || {
        let request = context.extensions.get::<Parts>();
        request.map(|request| TraceContext::read(&request.headers))
    };
    let caller = context.meta.get_traceparent().map(TraceContext::parse);
    caller.or_else(header).unwrap_or_default().adopt(tool_span(Kind::Server, tool))
}

fn tool_span(kind: Kind, tool: &str) -> Span {
    let span = span(kind, || format!("execute_tool {tool}"));
    set(&span, "gen_ai.operation.name", "execute_tool");
    set(&span, "gen_ai.tool.name", tool);
    set(&span, "mcp.method.name", "tools/call");
    span
}
