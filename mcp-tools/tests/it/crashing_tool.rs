//! A tool that panics costs its caller one call.

use async_trait::async_trait;
use mcp_tools::{
    context::{AgentContext, Settings},
    server::ToolServer,
    tools::Tool,
};
use rmcp::{
    ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult, JsonObject},
};
use std::sync::Arc;

/// A tool that panics if it is called without arguments.
struct Crashing;

#[async_trait]
impl Tool for Crashing {
    fn describe(&self) -> rmcp::model::Tool {
        rmcp::model::Tool::new("crash", "crashes", JsonObject::new())
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        assert!(!arguments.is_empty(), "a bug in the tool");
        CallToolResult::success(Vec::new())
    }
}

#[tokio::test(start_paused = true)]
async fn the_caller_of_a_tool_that_panics_gets_an_error() {
    let tools = [Arc::new(Crashing) as Arc<dyn Tool>];
    let server = ToolServer::new(tools, AgentContext::new(Settings::default()));
    let (here, there) = tokio::io::duplex(4096);
    let serving = tokio::spawn(server.serve(there));
    let client = ().serve(here).await.unwrap();
    let call = CallToolRequestParams::new("crash");
    let crashed = client.call_tool(call.clone()).await.unwrap();
    assert_eq!(crashed.is_error, Some(true));
    let text = crashed.content[0].as_text().unwrap();
    assert_eq!(text.text, "the tool \"crash\" crashed in this call");
    let arguments = JsonObject::from_iter([("careful".to_owned(), true.into())]);
    let fine = client.call_tool(call.with_arguments(arguments)).await.unwrap();
    assert_ne!(fine.is_error, Some(true));
    drop(serving.await.unwrap());
}
