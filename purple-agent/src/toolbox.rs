//! The tools that an agent can call: its own, and those of the connected MCP server.

use std::{collections::BTreeSet, sync::Arc};

use mcp_tools::{
    client::Connection,
    context::AgentContext,
    tools::{self, Tool},
};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};

/// The prefix of a server's tool whose name is also the name of one of the agent's own tools.
const PREFIX: &str = "server_";

/// A tool that can be called.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The tool under the name by which the agent calls it. Its description is data, in particular if it comes
    /// from a server.
    pub tool: rmcp::model::Tool,
    /// The owner of the tool.
    pub origin: Origin,
}

/// The owner of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The agent itself.
    Own,
    /// The connected MCP server.
    Server,
}

/// The tools of one conversation.
pub(crate) struct Toolbox {
    own: Vec<Arc<dyn Tool>>,
    /// The connected server's tools at the last listing.
    listed: Option<Listed>,
}

struct Listed {
    connection: Arc<Connection>,
    changes: u64,
    tools: Vec<rmcp::model::Tool>,
}

impl Toolbox {
    /// Creates a toolbox of the standard tools and these.
    pub(crate) fn new(further: &[Arc<dyn Tool>]) -> Self {
        let mut own = tools::standard();
        own.extend(further.iter().cloned());
        Self { own, listed: None }
    }

    /// Returns the tools that can be called now. A server that fails to list its tools has none.
    pub(crate) async fn offered(&mut self, context: &AgentContext) -> Vec<Offered> {
        self.list(context).await;
        self.all().collect()
    }

    /// Calls a tool by its name in [`Offered`]. Any failure is a result with `is_error`.
    pub(crate) async fn call(
        &self,
        context: &AgentContext,
        name: &str,
        arguments: JsonObject,
    ) -> CallToolResult {
        if let Some(own) = self.own.iter().find(|tool| tool.describe().name == name) {
            return own.call(context, arguments).await;
        }
        let theirs = self.listed.as_ref().and_then(|listed| {
            let tools = listed.tools.iter().map(|tool| tool.name.as_ref());
            let theirs = self.named(tools).into_iter().find(|(here, _)| here == name);
            theirs.map(|(_, there)| (&listed.connection, there))
        });
        match theirs {
            Some((connection, tool)) => match connection.call(&tool, arguments).await {
                Ok(result) => result,
                Err(error) => failure(error.to_string()),
            },
            None => failure(self.no_such_tool(name)),
        }
    }

    /// Returns whether a tool declares that it changes something (`readOnlyHint` false). Such calls must not run
    /// at the same time as others. Calls of tools without a declaration may run in parallel: a model that requests
    /// several calls at once states that they are independent.
    pub(crate) fn keeps_order(&self, name: &str) -> bool {
        let offered = self.all().find(|offered| offered.tool.name == name);
        let annotations = offered.and_then(|offered| offered.tool.annotations);
        annotations.is_some_and(|says| says.read_only_hint == Some(false))
    }

    /// Lists the server's tools again if the server changed or reported that its tools changed.
    async fn list(&mut self, context: &AgentContext) {
        let Some(connection) = context.connection() else {
            self.listed = None;
            return;
        };
        let changes = connection.tool_changes();
        let is_current = |listed: &Listed| {
            Arc::ptr_eq(&listed.connection, &connection) && listed.changes == changes
        };
        if self.listed.as_ref().is_some_and(is_current) {
            return;
        }
        self.listed = match connection.tools().await {
            Ok(tools) => Some(Listed { connection, changes, tools }),
            Err(error) => {
                tracing::warn!(server = connection.name(), %error, "the server's tools are not known");
                None
            }
        };
    }

    /// Returns the agent's own tools, and those of the server.
    fn all(&self) -> impl Iterator<Item = Offered> {
        let own =
            self.own.iter().map(|tool| Offered { tool: tool.describe(), origin: Origin::Own });
        let tools = self.listed.iter().flat_map(|listed| &listed.tools);
        let named = self.named(tools.clone().map(|tool| tool.name.as_ref()));
        own.chain(tools.zip(named).map(|(tool, (here, _))| {
            let mut tool = tool.clone();
            tool.name = here.into();
            Offered { tool, origin: Origin::Server }
        }))
    }

    /// Returns pairs of names for the server's tools: the name for the agent, and the server's own name.
    fn named<'a>(&self, tools: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
        let own = self.own.iter().map(|tool| tool.describe().name.into_owned());
        let mut taken: BTreeSet<String> = own.collect();
        let mut named = Vec::new();
        for there in tools {
            let mut here = there.to_owned();
            while !taken.insert(here.clone()) {
                here.insert_str(0, PREFIX);
            }
            named.push((here, there.to_owned()));
        }
        named
    }

    fn no_such_tool(&self, name: &str) -> String {
        let names: Vec<_> = self.all().map(|offered| offered.tool.name).collect();
        format!("there is no tool {name:?}; there are {}", names.join(", "))
    }
}

fn failure(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_tool_is_renamed_if_the_agent_has_one_of_the_name() {
        let toolbox = Toolbox::new(&[]);
        let theirs = ["search", "list_messages", "server_list_messages"];
        let here: Vec<_> =
            toolbox.named(theirs.into_iter()).into_iter().map(|(here, _)| here).collect();
        assert_eq!(here, ["search", "server_list_messages", "server_server_list_messages"]);
    }

    #[tokio::test]
    async fn a_tool_that_is_not_there_is_answered_with_those_that_are() {
        let toolbox = Toolbox::new(&[]);
        let agent = crate::PurpleAgent::new(
            crate::policy::builtin("lies", &serde_json::Value::Null).unwrap(),
            crate::agent::AgentSettings::default(),
        );
        let result = toolbox.call(&agent.context(), "fly", JsonObject::new()).await;
        let text = serde_json::to_string(&result).unwrap();
        assert_eq!(result.is_error, Some(true));
        assert!(
            text.contains("there is no tool") && text.contains("connect_to_mcp_server"),
            "{text}"
        );
    }
}
