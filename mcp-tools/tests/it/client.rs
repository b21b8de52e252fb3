//! rmcp's own client, in each era of the protocol.

use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult, ProtocolVersion},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;

pub(crate) type Client = RunningService<RoleClient, ()>;

/// The lifecycle with sessions, and the one without.
pub(crate) fn eras() -> [ClientLifecycleMode; 2] {
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ]
}

pub(crate) async fn connect(
    url: &str,
    token: &str,
    era: ClientLifecycleMode,
) -> Result<Client, ClientInitializeError> {
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
    let transport = StreamableHttpClientTransport::from_config(config);
    ().serve_with_lifecycle(transport, era).await
}

/// Calls a tool with an object of arguments.
pub(crate) async fn call(client: &Client, tool: &str, arguments: &Value) -> CallToolResult {
    let request = CallToolRequestParams::new(tool.to_owned())
        .with_arguments(arguments.as_object().unwrap().clone());
    client.call_tool(request).await.unwrap()
}

/// What a call shows; it must not be an error.
pub(crate) async fn shown(client: &Client, tool: &str, arguments: &Value) -> Value {
    let result = call(client, tool, arguments).await;
    assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
    result.structured_content.unwrap_or_default()
}
