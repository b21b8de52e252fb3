//! The client that the official conformance suite tests.
//!
//! Scenarios for features of [`mcp_tools::client::Connection`] use that client. Scenarios for other features
//! (OAuth and questions to a user, which are not needed because episodes issue their own tokens) use the client of
//! `rmcp`.
//!
//! The suite starts the program with the server's URL and names the scenario in environment variables.

mod authorize;
mod plain;
mod work;

use std::{env, error::Error};

use rmcp::service::ClientLifecycleMode;
use serde_json::Value;

/// The scenario, as the suite passes it.
struct Scenario {
    url: String,
    name: String,
    /// Further data of the scenario, such as credentials.
    context: Value,
    /// Whether the scenario tests 2026-07-28.
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
    // rmcp's own client uses the process-wide TLS provider.
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
