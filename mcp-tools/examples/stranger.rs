//! An untrusted MCP server over standard streams, for the tests of the client.

use rmcp::ServiceExt as _;

#[path = "../tests/it/stranger.rs"]
mod stranger;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = stranger::HostileServer::new(|| std::process::exit(7));
    server.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
