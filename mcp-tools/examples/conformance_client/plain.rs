//! What an agent's own connection does.

use std::error::Error;

use mcp_tools::{
    allowed::Allowed,
    client::{Connection, Lifecycle, Options},
    connection::ConnectionDetails,
};
use rmcp::model::JsonObject;

use crate::{Scenario, work::arguments};

/// Connects, lists the tools, and calls each, or those that the suite names.
pub(crate) async fn run(scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let details = ConnectionDetails::http("conformance", scenario.url.parse()?);
    let options = Options {
        lifecycle: match scenario.is_stateless {
            true => Lifecycle::Discover,
            false => Lifecycle::Initialize,
        },
        ..Options::default()
    };
    let connection = Connection::open(&details, &Allowed::default(), &options).await?;
    let tools = connection.tools().await?;
    for (tool, arguments) in named(scenario).unwrap_or_else(|| {
        let each = tools
            .iter()
            .map(|tool| (tool.name.to_string(), arguments(tool)));
        each.collect()
    }) {
        // A tool that fails is the suite's way to see what happens next.
        if let Err(error) = connection.call(&tool, arguments).await {
            eprintln!("{tool}: {error}");
        }
    }
    connection.close().await;
    Ok(())
}

/// The calls that the suite wants.
fn named(scenario: &Scenario) -> Option<Vec<(String, JsonObject)>> {
    let calls = scenario.context.get("toolCalls")?.as_array()?.iter();
    let call = |call: &serde_json::Value| {
        let name = call["name"].as_str()?.to_owned();
        Some((name, call["arguments"].as_object()?.clone()))
    };
    calls.map(call).collect()
}
