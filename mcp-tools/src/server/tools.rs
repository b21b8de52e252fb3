//! An MCP server for an agent's tools, to be used by other agents.

use std::{sync::Arc, time::Duration};

use axum::Router;
use bridge_telemetry::Instrument as _;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, Implementation, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool as Described,
    },
    service::{RequestContext, RunningService, ServerInitializeError},
    transport::stdio,
};

use tokio::time::sleep;

use super::{Admission, Authenticator, ServerSettings, Unauthorized, protected, unread::unread};
use crate::{
    context::AgentContext,
    episodes::{TokenHash, catch_panic, token_hash},
    secret::Secret,
    tools::Tool,
    trace,
};

/// The time between two reports of progress, shorter than the limits of known clients.
const PROGRESS: Duration = Duration::from_secs(2);

/// The user key of all callers.
const KEY: &str = "tools";

/// Tools with their context. Clones share both.
#[derive(Clone)]
pub struct ToolServer {
    tools: Arc<[Arc<dyn Tool>]>,
    context: AgentContext,
}

impl ToolServer {
    /// Creates a server of these tools.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>, context: AgentContext) -> Self {
        let tools = tools.into_iter().collect();
        Self { tools, context }
    }

    /// Returns the server over HTTP, for callers that have the token.
    pub fn router(self, token: &Secret, settings: ServerSettings) -> Router {
        protected(OneToken::new(token), move |()| self.clone(), settings)
    }

    /// Runs the server over standard input and output.
    ///
    /// # Errors
    /// If standard input does not begin with the messages of MCP.
    pub async fn over_stdio(
        self,
    ) -> Result<RunningService<RoleServer, Self>, ServerInitializeError> {
        self.serve(stdio()).await
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.describe().name == name)
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mcp-tools", version))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter().map(|tool| tool.describe());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Described> {
        self.find(name).map(|tool| tool.describe())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.find(&request.name) else {
            let tools = self.tools.iter().map(|tool| tool.describe().name);
            let tools = tools.collect::<Vec<_>>().join(", ");
            let message = format!("there is no tool {:?}; there are {tools}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let span = trace::incoming(&request.name, &context);
        let call = catch_panic(tool.call(&self.context, arguments)).instrument(span);
        let result = with_progress(&context, call).await;
        Ok(result.unwrap_or_else(|panic| crashed(&request.name, &panic)).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unread(request))
    }
}

/// Returns the result of a tool that panicked, without which the caller would wait until its own limit.
fn crashed(tool: &str, panic: &str) -> CallToolResult {
    tracing::error!(tool, panic, "a tool crashed");
    let text = format!("the tool {tool:?} crashed in this call");
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// Waits for a result, and reports meanwhile that there is progress if the caller asked for this: many clients then wait
/// longer.
async fn with_progress<T>(
    context: &RequestContext<RoleServer>,
    result: impl Future<Output = T>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else {
        return result.await;
    };
    let reports = async {
        let mut reports = 0.0;
        loop {
            sleep(PROGRESS).await;
            reports += 1.0;
            let report = ProgressNotificationParam::new(token.clone(), reports);
            if let Err(error) = context.peer.notify_progress(report).await {
                tracing::debug!(%error, "the caller gets no progress");
            }
        }
    };
    tokio::select! {
        result = result => result,
        () = reports => unreachable!("reports never end"),
    }
}

/// Admits callers with one token, of which only the hash is stored.
#[derive(Clone)]
pub(crate) struct OneToken(TokenHash);

impl OneToken {
    pub(crate) fn new(token: &Secret) -> Self {
        Self(token_hash(token.expose()))
    }
}

impl Authenticator for OneToken {
    type User = ();

    fn admit(&self, token: &str) -> Result<Admission<()>, Unauthorized> {
        match token_hash(token) == self.0 {
            true => Ok(Admission { key: KEY.to_owned(), user: () }),
            false => Err(Unauthorized::Unknown),
        }
    }

    fn knows(&self, key: &str) -> bool {
        key == KEY
    }
}
