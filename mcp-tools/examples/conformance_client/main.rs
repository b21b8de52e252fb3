//! The fixture that the official conformance suite tests clients with.
//!
//! What an agent's own connection does is tested with [`mcp_tools::client::Connection`]. What it does not
//! do, since episodes hand their tokens out themselves (OAuth, questions to a user), goes over the same
//! protocol crate with its own client.
//!
//! The suite starts it with the server's URL, and says in variables which scenario that is.

mod authorize;
mod plain;
mod work;

use std::{env, error::Error};

use rmcp::service::ClientLifecycleMode;
use serde_json::Value;

/// What the suite says.
struct Scenario {
    url: String,
    name: String,
    /// What the scenario needs to be told beside that, such as credentials.
    context: Value,
    /// Whether it is about 2026-07-28.
    is_stateless: bool,
}

impl Scenario {
    fn read() -> Result<Self, Box<dyn Error>> {
        let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
        let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
        Ok(Self {
            url: env::args().next_back().ok_or("expected the server's URL")?,
            name: env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default(),
            context: serde_json::from_str(&context).unwrap_or_default(),
            is_stateless: version.as_str() >= "2026-07-28",
        })
    }

    fn lifecycle(&self) -> ClientLifecycleMode {
        match self.is_stateless {
            false => ClientLifecycleMode::Initialize,
            true => ClientLifecycleMode::Discover {
                preferred_versions: vec![rmcp::model::ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::read()?;
    // rmcp's own client takes the process's.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match &*scenario.name {
        "initialize"
        | "tools_call"
        | "sse-retry"
        | "http-custom-headers"
        | "http-invalid-tool-headers"
        | "json-schema-ref-no-deref" => plain::run(&scenario).await,
        _ => authorize::run(&scenario).await,
    }
}
