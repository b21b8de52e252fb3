//! Trace context of tool calls, in `_meta` and in the header: it comes into the program, and goes out of it.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Bytes, http::request::Parts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};

use crate::program::{Listening, mcp_tools, output};

const LIMIT: Duration = Duration::from_secs(120);
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
/// The address of a collector that does not listen; no call waits for it.
const COLLECTOR: &str = "http://127.0.0.1:9";

/// A server with a tool whose result is the trace context of its call.
#[derive(Clone)]
struct TraceServer;

impl ServerHandler for TraceServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema: JsonObject = [("type".to_owned(), json!("object"))].into_iter().collect();
        let tool = Tool::new("context", "shows the trace context", schema);
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = context.extensions.get::<Parts>();
        let header = request.and_then(|request| request.headers.get("traceparent"));
        let header = header.and_then(|value| value.to_str().ok());
        let in_call = context.meta.get_traceparent();
        assert_eq!(header, in_call, "the header says the same as the call");
        let seen = json!({"traceparent": in_call});
        Ok(CallToolResult::structured(seen).into())
    }
}

/// Serves the witness and returns its URL.
async fn witness() -> String {
    let service = StreamableHttpService::new(
        || Ok(TraceServer),
        Arc::new(LocalSessionManager::default()),
        Default::default(),
    );
    let app = Router::new().route_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
    url
}

/// Calls the witness with these variables in the environment; returns the context that it has seen.
async fn seen(target: [&str; 2], variables: &[(&str, &str)]) -> Value {
    let mut call = mcp_tools(&["call", target[0], target[1], "context"]);
    call.envs(variables.iter().copied());
    let (code, result, errors) = output(&mut call, LIMIT).await;
    assert_eq!(code, Some(0), "{errors}");
    let mut result: Value = serde_json::from_str(&result).unwrap();
    result["structuredContent"]["traceparent"].take()
}

/// Returns the ids of trace and span in a `traceparent`.
fn ids(traceparent: &Value) -> (&str, &str) {
    let text = traceparent.as_str().unwrap_or_default();
    let parts: Vec<&str> = text.split('-').collect();
    let [_, trace, span, _] = parts[..] else {
        panic!("expected a traceparent, found {traceparent}");
    };
    (trace, span)
}

#[tokio::test]
async fn a_call_stays_in_its_callers_trace_through_a_relay() {
    let url = witness().await;
    let caller = format!("00-{TRACE}-{SPAN}-01");
    let traced = [("OTEL_EXPORTER_OTLP_ENDPOINT", COLLECTOR), ("TRACEPARENT", &caller)];
    let program = env!("CARGO_BIN_EXE_mcp-tools");
    let relay = format!("env OTEL_EXPORTER_OTLP_ENDPOINT={COLLECTOR} {program} relay --url {url}");
    for target in [["--url", &url], ["--command", &relay]] {
        let context = seen(target, &traced).await;
        let (trace, span) = ids(&context);
        assert_eq!(trace, TRACE, "{target:?}");
        assert_ne!(span, SPAN, "the call has a span of its own: {target:?}");
    }
}

#[tokio::test]
async fn a_relay_that_exports_no_spans_passes_the_callers_context_on() {
    let url = witness().await;
    let caller = format!("00-{TRACE}-{SPAN}-01");
    let traced = [("OTEL_EXPORTER_OTLP_ENDPOINT", COLLECTOR), ("TRACEPARENT", &caller)];
    let relay = format!("{} relay --url {url}", env!("CARGO_BIN_EXE_mcp-tools"));
    let context = seen(["--command", &relay], &traced).await;
    assert_eq!(ids(&context).0, TRACE);
    for target in [["--url", &url], ["--command", &relay]] {
        assert_eq!(seen(target, &[]).await, Value::Null, "{target:?}");
    }
}

/// Posts a message to an MCP server; returns the id of its session, if it says one.
async fn post(url: &str, headers: &[(&str, &str)], message: &Value) -> Option<String> {
    let mut request = reqwest::Client::new().post(url).json(message);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let accepted = "application/json, text/event-stream";
    let answer = request.header("accept", accepted).send().await.unwrap();
    let session = answer.headers().get("mcp-session-id").cloned();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{status}: {text}");
    session.map(|id| id.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_caller_that_has_its_context_in_the_header_alone_is_understood() {
    let (spans, mut exported) = tokio::sync::mpsc::unbounded_channel();
    let collect = async move |body: Bytes| drop(spans.send(body));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async {
        axum::serve(listener, Router::new().fallback(collect)).await.unwrap();
    });
    let mut command = mcp_tools(&["serve", "--environment", "sum"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "10");
    let mut served = Listening::start(&mut command).await;
    let details = served.printed().await;
    let server = &details["mcpServers"]["environment"];
    let url = server["url"].as_str().unwrap();
    let token = server["headers"]["Authorization"].as_str().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let mut headers = vec![("authorization", token)];
    let session = post(url, &headers, &hello).await;
    if let Some(session) = &session {
        headers.push(("mcp-session-id", session));
    }
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    post(url, &headers, &ready).await;
    let caller = format!("00-{TRACE}-{SPAN}-01");
    headers.push(("traceparent", &caller));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "list_numbers", "arguments": {}}});
    post(url, &headers, &call).await;
    let parent = u64::from_str_radix(SPAN, 16).unwrap().to_be_bytes();
    let below = async {
        while let Some(body) = exported.recv().await {
            if body.windows(parent.len()).any(|bytes| bytes == parent) {
                return;
            }
        }
        panic!("nothing more is exported");
    };
    let found = tokio::time::timeout(LIMIT, below).await;
    found.expect("a span below the caller's is exported");
}
