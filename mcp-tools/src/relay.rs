//! An MCP server over standard input and output that has the tools of another server, for clients that can only start
//! programs.

use bridge_telemetry::Instrument as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::stdio,
};
use tokio::task::JoinError;

use crate::{
    client::{CallError, Connection},
    trace,
};

/// The reason why a relay failed.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The first message on standard input was not the beginning of MCP.
    #[error("expected an MCP client on standard input: {0}")]
    Begin(String),
    /// The relay's task panicked or was cancelled.
    #[error("the relay failed: {0}")]
    Broken(JoinError),
}

/// Forwards the calls of the client on standard input, and the results, until standard input ends.
pub async fn relay(connection: Connection) -> Result<(), RelayError> {
    let serving = Relay(connection).serve(stdio()).await;
    let serving = serving.map_err(|error| RelayError::Begin(error.to_string()))?;
    serving.waiting().await.map_err(RelayError::Broken)?;
    Ok(())
}

struct Relay(Connection);

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.0.name(), version))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools().await.map_err(|error| not_passed(&error))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let span = trace::incoming(&request.name, &context);
        let caller = context.meta.get_traceparent();
        let calling = self.0.call_for(caller, &request.name, arguments);
        let result = calling.instrument(span).await;
        Ok(result.map_err(|error| not_passed(&error))?.into())
    }
}

fn not_passed(error: &CallError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
