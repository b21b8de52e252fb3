//! What a policy sees and what it answers.

use mcp_tools::context::AgentContext;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::Value;

use crate::toolbox::Offered;

/// Where the agent stands when its policy is asked.
#[derive(Debug)]
pub struct Situation<'a> {
    /// The messages that came in, the connection details, the connection.
    pub context: &'a AgentContext,
    /// What can be called: the agent's own tools, and those of the MCP server once one is connected.
    pub tools: &'a [Offered],
    /// What was called so far, oldest first.
    pub steps: &'a [Step],
    /// How many more steps the agent may take.
    pub steps_left: u32,
}

/// What a policy chooses.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Call these tools, one after the other. It counts as one step.
    Call(Vec<ToolCall>),
    /// Nothing can be done before another message comes.
    Wait {
        /// What is missing, for the one who is to send it.
        missing: String,
    },
    /// Nothing more is to be done.
    Finish {
        /// What is said at the end.
        text: String,
        /// The answer as data, if there is one.
        data: Option<Value>,
    },
}

/// A tool that is to be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Tells calls apart; a model's own id where a model asked for it.
    pub id: String,
    /// The tool, as [`Offered`] names it.
    pub name: String,
    /// What it is called with.
    pub arguments: JsonObject,
}

impl ToolCall {
    /// A call of this tool; the id is the tool's name.
    pub fn new(name: impl Into<String>, arguments: JsonObject) -> Self {
        let name = name.into();
        Self {
            id: name.clone(),
            name,
            arguments,
        }
    }
}

/// What was called at one go.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The calls with their results, in order.
    pub called: Vec<Called>,
}

/// A call and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Called {
    /// The call.
    pub call: ToolCall,
    /// Its result. A tool that cannot be reached or does not exist gives one with `is_error` too.
    pub result: CallToolResult,
}

impl Situation<'_> {
    /// The last call and what came of it.
    pub fn last(&self) -> Option<&Called> {
        self.steps.last()?.called.last()
    }

    /// Whether the agent's tools or the server's have one of this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|offered| offered.tool.name == name)
    }
}

impl Called {
    /// Whether the tool says that it failed.
    pub fn failed(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// The text of the result, a line a block.
    pub fn text(&self) -> String {
        let blocks = self.result.content.iter();
        let texts: Vec<&str> = blocks
            .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
            .collect();
        texts.join("\n")
    }

    /// The result as data: its structured content, else its text if that is JSON, else null.
    pub fn data(&self) -> Value {
        match &self.result.structured_content {
            Some(data) => data.clone(),
            None => serde_json::from_str(&self.text()).unwrap_or_default(),
        }
    }
}
