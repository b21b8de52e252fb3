//! Assembles the document.

use bridge_protocol::{
    a2a::{AgentCard, Operation},
    dialect::{Version, places},
    wire::{Schemas, Wire as _},
};
use serde_json::{Map, Value, json};

use super::{
    components,
    operation::{self, PathGroup},
    security,
};
use crate::server::Endpoint;

/// Returns the document for these agents, if the bridge is at `base`. Paths are relative to an agent's own address; each agent is a
/// server.
pub(super) fn of(endpoints: &[Endpoint], base: &str) -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    add(&mut paths, "/", "post", json_rpc());
    add(&mut paths, "/", "get", usage());
    for group in PathGroup::ALL {
        for operation in Operation::ALL {
            let path = group.path(operation);
            for method in operation.http_methods() {
                let described = operation::of(operation, method, group, &mut schemas);
                add(&mut paths, &path, &method.to_lowercase(), described);
            }
        }
    }
    let card = AgentCard::describe(&mut schemas);
    add(&mut paths, &places::below("", places::CURRENT), "get", self::card(&card));
    for (path, operation) in beside(&card) {
        add(&mut paths, path, "get", operation);
        paths[path]["servers"] = json!([{"url": base}]);
    }
    let mut schemas = components::with_common(schemas);
    if endpoints.iter().any(|one| !one.access.is_open()) {
        security::refusals(&mut paths);
        security::reasons(&mut schemas["Status"]);
    }
    let tags = operation::tags().chain(["JSON-RPC", "Cards", "Bridge"]);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A2A bridge",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents behind the Agent2Agent protocol: HTTP+JSON in 1.0 and in 0.3, and JSON-RPC at \
                            each agent's address. Paths are below the address of an agent.",
        },
        "servers": servers(endpoints, base),
        "tags": tags.map(|name| json!({"name": name})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {"schemas": schemas},
    });
    security::add(&mut document, endpoints);
    document
}

fn add(paths: &mut Map<String, Value>, path: &str, method: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method] = operation;
}

fn servers(endpoints: &[Endpoint], base: &str) -> Value {
    let server = |one: &Endpoint| {
        let mut server =
            json!({"url": format!("{base}{}", one.own_path), "description": one.agent});
        if let Some(turns) = &one.turns {
            server["x-turns"] = json!(turns);
        }
        server
    };
    endpoints.iter().map(server).collect()
}

fn json_rpc() -> Value {
    let response = json!({"application/json": {"schema": components::common("JsonRpcResponse")}});
    let retry_after = components::retry_after();
    json!({
        "operationId": "JSONRPC",
        "tags": ["JSON-RPC"],
        "summary": "A JSON-RPC 2.0 request of any version of A2A",
        "parameters": [components::version(&Version::ALL), components::extensions()],
        "requestBody": {
            "required": true,
            "content": {"application/json": {
                "schema": components::common("JsonRpcRequest"),
                "example": {
                    "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
                    "params": components::example(Version::V1_0),
                },
            }},
        },
        "responses": {
            "200": {
                "description": "The response, which may be an error. In a stream each event has one response.",
                "content": {
                    "application/json": {"schema": components::common("JsonRpcResponse")},
                    "text/event-stream": {"schema": components::events(&components::common("JsonRpcResponse"))},
                },
            },
            "413": {"description": "The body is too large", "content": response},
            "429": {"description": "The caller has reached a limit", "content": response, "headers": retry_after},
            "503": {
                "description": "The request cannot be answered at present", "content": response, "headers": retry_after,
            },
        },
    })
}

fn card(schema: &Value) -> Value {
    json!({
        "operationId": "GetAgentCard",
        "tags": ["Cards"],
        "summary": "The agent's card",
        "description": "With A2A-Version 1.0 the document of 1.0; without it a document that clients of 0.3 can read too.",
        "parameters": [components::version(&Version::ALL)],
        "responses": {
            "200": {
                "description": "The card",
                "content": {"application/json": {"schema": schema}},
            },
            "304": {"description": "The card has not changed since the version in If-None-Match"},
            "400": components::refused("The version is not supported"),
            "404": {"description": "The agent no longer exists"},
        },
    })
}

fn usage() -> Value {
    let responses = json!({
        "200": components::text("How the agent is called"),
        "302": {"description": "The page to try it, for browsers"},
        "405": components::refused("The client accepts only JSON, for which there is POST"),
    });
    named("Usage", "Answers health checks and browsers", &responses)
}

fn named(id: &str, summary: &str, responses: &Value) -> Value {
    json!({"operationId": id, "tags": ["Bridge"], "summary": summary, "responses": responses})
}

/// Returns the paths that belong to no single agent.
fn beside(card: &Value) -> [(&'static str, Value); 4] {
    let catalogue = json!({
        "type": "object", "required": ["agents"],
        "properties": {"agents": {"type": "array", "items": card}},
    });
    let listed = json!({
        "200": {
            "description": "The cards",
            "content": {"application/json": {"schema": catalogue}},
        },
        "304": {"description": "The cards have not changed since the version in If-None-Match"},
        "400": components::refused("The version is not supported"),
    });
    [
        ("/a2a/catalog", named("ListAgents", "The cards of all agents", &listed)),
        (
            "/healthz",
            named("Lives", "Whether the process runs", &json!({"200": components::text("OK")})),
        ),
        (
            "/readyz",
            named(
                "IsReady",
                "Whether the bridge can serve requests",
                &json!({"200": components::text("OK"), "503": components::text("The reason why it cannot")}),
            ),
        ),
        (
            "/metrics",
            named(
                "Metrics",
                "Metrics for monitoring",
                &json!({"200": {"description": "The text format of Prometheus, or OpenMetrics if Accept names it", "content": {
                    "text/plain": {"schema": {"type": "string"}},
                    "application/openmetrics-text": {"schema": {"type": "string"}},
                }}}),
            ),
        ),
    ]
}
