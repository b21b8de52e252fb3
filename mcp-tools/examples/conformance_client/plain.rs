//! Scenarios for the crate's own client.

use std::error::Error;

use mcp_tools::{
    allow_list::AllowList,
    client::{Connection, Lifecycle, Options},
    connection::ConnectionDetails,
};
use rmcp::model::JsonObject;

use crate::{Scenario, work::arguments};

/// Connects, lists the tools, and calls all of them, or those that the suite names.
pub(crate) async fn run(scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let details = ConnectionDetails::http("conformance", scenario.url.parse()?);
    let options = Options {
        lifecycle: if scenario.is_stateless { Lifecycle::Discover } else { Lifecycle::Initialize },
        ..Options::default()
    };
    let connection = Connection::open(&details, &AllowList::default(), &options).await?;
    let tools = connection.tools().await?;
    for (tool, arguments) in named(scenario).unwrap_or_else(|| {
        let each = tools.iter().map(|tool| (tool.name.to_string(), arguments(tool)));
        each.collect()
    }) {
        // The suite uses failing tools to test the client's next step.
        if let Err(error) = connection.call(&tool, arguments).await {
            eprintln!("{tool}: {error}");
        }
    }
    connection.close().await;
    Ok(())
}

/// Returns the calls that the suite names.
fn named(scenario: &Scenario) -> Option<Vec<(String, JsonObject)>> {
    let calls = scenario.context.get("toolCalls")?.as_array()?.iter();
    let call = |call: &serde_json::Value| {
        let name = call["name"].as_str()?.to_owned();
        Some((name, call["arguments"].as_object()?.clone()))
    };
    calls.map(call).collect()
}
