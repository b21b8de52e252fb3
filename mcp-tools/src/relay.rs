//! An MCP server over standard input and output that passes everything on to another one, for clients
//! that only start programs.

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

use crate::client::{CallError, Connection};

/// Why a relay ended badly.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// What came over standard input was not the beginning of MCP.
    #[error("expected an MCP client on standard input: {reason}")]
    Begin {
        /// What was wrong.
        reason: String,
    },
    /// The relay itself broke.
    #[error("the relay broke: {0}")]
    Broken(#[from] JoinError),
}

/// Passes on what a client on standard input asks, and the answers, until that ends.
pub async fn relay(connection: Connection) -> Result<(), RelayError> {
    let serving = Relay(connection).serve(stdio()).await;
    let serving = serving.map_err(|error| RelayError::Begin {
        reason: error.to_string(),
    })?;
    serving.waiting().await?;
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
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = self.0.call(&request.name, arguments).await;
        Ok(result.map_err(|error| not_passed(&error))?.into())
    }
}

fn not_passed(error: &CallError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
