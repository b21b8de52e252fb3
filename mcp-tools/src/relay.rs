//! An MCP server that has the tools of another one: over standard input and output, for clients that can only start programs, and
//! over HTTP, for servers that are programs.

use std::{future::pending, sync::Arc};

use axum::Router;
use bridge_telemetry::Instrument as _;
use futures_util::StreamExt as _;
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler, ServiceExt as _,
    handler::client::progress::ProgressSubscriber,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ProgressToken, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
    transport::stdio,
};
use tokio::task::JoinError;

use crate::{
    client::{CallError, Connection},
    secret::Secret,
    server::{OneToken, ServerSettings, protected, unread},
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

/// Forwards calls and their results. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Relay {
    connection: Arc<Connection>,
}

impl Relay {
    /// Creates a relay to the server of a connection.
    pub fn new(connection: Connection) -> Self {
        Self { connection: Arc::new(connection) }
    }

    /// Forwards the calls of the client on standard input, until standard input ends; then closes the connection, because a server
    /// keeps a session that is not ended.
    ///
    /// # Errors
    /// If the client on standard input does not begin the protocol, or serving it breaks off.
    pub async fn over_stdio(self) -> Result<(), RelayError> {
        let relay = self.clone();
        let served = async {
            let serving = self.serve(stdio()).await;
            let serving = serving.map_err(|error| RelayError::Begin(error.to_string()))?;
            serving.waiting().await.map_err(RelayError::Broken)
        };
        let served = served.await;
        relay.close().await;
        served.map(drop)
    }

    /// Closes the connection, which ends the session at the server.
    pub(crate) async fn close(&self) {
        self.connection.close().await;
    }

    /// Returns the server over HTTP, for callers that have the token.
    pub fn router(&self, token: &Secret, settings: ServerSettings) -> Router {
        let relay = self.clone();
        protected(OneToken::new(token), move |()| relay.clone(), settings)
    }

    /// Waits until the connection has ended: a program that serves tools has ended, for example.
    pub async fn ended(&self) {
        self.connection.ended().await;
    }
}

/// Passes on the reports of progress, with the caller's token. `rmcp` may hand them over in another order; then an older one is left
/// out.
async fn pass_on(reports: Option<(ProgressToken, ProgressSubscriber)>, caller: &Peer<RoleServer>) {
    if let Some((token, mut reports)) = reports {
        let mut progress = f64::NEG_INFINITY;
        while let Some(mut report) = reports.next().await {
            if report.progress >= progress {
                progress = report.progress;
                report.progress_token = token.clone();
                if let Err(error) = caller.notify_progress(report).await {
                    tracing::debug!(%error, "the caller gets no progress");
                }
            }
        }
    }
    pending::<()>().await;
}

/// Returns the error for the caller: the server's own, or the reason why there is no answer.
fn not_passed(error: CallError) -> ErrorData {
    match error {
        CallError::Rejected { code, message, .. } => ErrorData::new(ErrorCode(code), message, None),
        error => ErrorData::internal_error(error.to_string(), None),
    }
}

impl ServerHandler for Relay {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.connection.name(), version));
        config.instructions = self.connection.instructions();
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.connection.tools().await.map_err(not_passed)?;
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
        let reports = match context.meta.get_progress_token() {
            Some(token) => Some((token, self.connection.reports().await)),
            None => None,
        };
        let followed = reports.as_ref().map(|(_, reports)| reports.progress_token().clone());
        let calling = self.connection.call_for(caller, followed, &request.name, arguments);
        let result = tokio::select! {
            result = calling.instrument(span) => result,
            () = pass_on(reports, &context.peer) => unreachable!("it never ends"),
            // A call that is dropped is cancelled at the server. Nobody gets this error.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        Ok(result.map_err(not_passed)?.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unread(request))
    }
}
