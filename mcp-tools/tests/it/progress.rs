//! Reports of progress while a tool works.

use std::sync::Arc;

use async_trait::async_trait;
use mcp_tools::{
    context::{AgentContext, Settings},
    server::ToolServer,
    tools::Tool,
};
use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult, JsonObject, ProgressNotificationParam},
    service::NotificationContext,
};
use tokio::sync::Notify;

/// A tool that works until its caller is told of progress.
struct Patient(Arc<Notify>);

#[async_trait]
impl Tool for Patient {
    fn describe(&self) -> rmcp::model::Tool {
        rmcp::model::Tool::new("wait", "waits", JsonObject::new())
    }

    async fn call(&self, _context: &AgentContext, _arguments: JsonObject) -> CallToolResult {
        self.0.notified().await;
        CallToolResult::success(Vec::new())
    }
}

/// A client that asks for progress, as rmcp's do.
struct Watching(Arc<Notify>);

impl ClientHandler for Watching {
    async fn on_progress(
        &self,
        _report: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.notify_one();
    }
}

/// Clients wait longer while there is progress.
#[tokio::test(start_paused = true)]
async fn a_caller_that_asks_for_progress_gets_it() {
    let told = Arc::new(Notify::new());
    let tools = [Arc::new(Patient(told.clone())) as Arc<dyn Tool>];
    let server = ToolServer::new(tools, AgentContext::new(Settings::default()));
    let (here, there) = tokio::io::duplex(4096);
    let serving = tokio::spawn(server.serve(there));
    let client = Watching(told).serve(here).await.unwrap();
    let result = client.call_tool(CallToolRequestParams::new("wait")).await;
    assert_ne!(result.unwrap().is_error, Some(true));
    drop(serving.await.unwrap());
}
