//! The client's requests after authorization, and its answers to requests of the server.

use std::error::Error;

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult,
        GetPromptRequestParams, JsonObject, ReadResourceRequestParams, Tool,
    },
    service::{ClientServiceExt as _, RequestContext},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};

use crate::Scenario;

/// Connects, lists everything that the server offers, and calls every tool.
pub(crate) async fn run(scenario: &Scenario, token: Option<&str>) -> Result<(), Box<dyn Error>> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(&*scenario.url);
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let client = User.serve_with_lifecycle(transport, scenario.lifecycle()).await?;
    for tool in client.list_all_tools().await? {
        let call = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments(&tool));
        client.call_tool(call).await?;
    }
    if scenario.name == "http-standard-headers" {
        for resource in client.list_all_resources().await? {
            client.read_resource(ReadResourceRequestParams::new(resource.uri.clone())).await?;
        }
        for prompt in client.list_all_prompts().await? {
            client.get_prompt(GetPromptRequestParams::new(prompt.name)).await?;
        }
    }
    client.cancel().await?;
    Ok(())
}

/// Returns a value for each required argument of a tool.
pub(crate) fn arguments(tool: &Tool) -> JsonObject {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let value = |(name, schema): (&String, &Value)| (name.clone(), something(schema));
    properties.into_iter().flatten().map(value).collect()
}

fn something(schema: &Value) -> Value {
    match schema["type"].as_str() {
        _ if !schema["default"].is_null() => schema["default"].clone(),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(5),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => json!("text"),
    }
}

/// A user who agrees to everything and keeps all default values.
#[derive(Clone)]
struct User;

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        // The JSON of this capability is constant.
        config.capabilities.elicitation =
            serde_json::from_value(json!({"form": {"applyDefaults": true}})).ok();
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = json!(request);
        let properties = request["requestedSchema"]["properties"].as_object();
        let value = |(name, schema): (&String, &Value)| (name.clone(), something(schema));
        let content: Map<String, Value> = properties.into_iter().flatten().map(value).collect();
        serde_json::from_value(json!({"action": "accept", "content": content}))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}
