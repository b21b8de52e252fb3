//! `mcp-tools list`: prints the tools of a server.

use std::error::Error;

use bridge_program::{Exit, outln};
use clap::Args;
use serde_json::json;

use super::target::Target;

/// Print the tools of a server as JSON
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    target: Target,
}

impl List {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        let connection = self.target.connect().await?;
        let tools = connection.tools().await;
        connection.close().await;
        outln!("{:#}", json!({"tools": tools?}));
        Ok(Exit::Passed)
    }
}
