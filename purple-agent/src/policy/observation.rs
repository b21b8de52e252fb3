//! The input and output of a policy.

use mcp_tools::context::AgentContext;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ResourceContents};
use serde_json::Value;

use crate::toolbox::Offered;

/// The agent's state when its policy is called.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The received messages, the connection details and the connection. `received_goal` is what the agent is to do,
    /// `incoming_messages().history()` everything that it was told.
    pub context: &'a AgentContext,
    /// The tools that can be called: the agent's own, and those of the MCP server once it is connected.
    pub tools: &'a [Offered],
    /// The steps so far, oldest first.
    pub steps: &'a [Step],
    /// The number of steps that are left.
    pub steps_left: u32,
}

/// The choice of a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Calls these tools. It counts as one step.
    Call(Vec<ToolCall>),
    /// Waits for another message, because nothing can be done before.
    Wait {
        /// A description of the missing message, for its sender.
        missing: String,
    },
    /// Ends the work.
    Finish {
        /// The final text.
        text: String,
        /// The answer as data, if there is one.
        data: Option<Value>,
    },
}

impl Action {
    /// Ends the work with a text alone.
    pub(super) fn finish(text: String) -> Self {
        Self::Finish { text, data: None }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id of the call; a model's own id if a model requested it.
    pub id: String,
    /// The tool's name in [`Offered`].
    pub name: String,
    /// The arguments of the call.
    pub arguments: JsonObject,
}

impl ToolCall {
    /// Creates a call of this tool; its id is the tool's name.
    pub fn new(name: impl Into<String>, arguments: JsonObject) -> Self {
        let name = name.into();
        Self { id: name.clone(), name, arguments }
    }
}

/// The calls of one choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The calls with their results, in order.
    pub called: Vec<CompletedCall>,
}

/// A call and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedCall {
    /// The call.
    pub call: ToolCall,
    /// The result. A tool that is unknown or cannot be reached has a result with `is_error`.
    pub result: CallToolResult,
}

impl Observation<'_> {
    /// Returns the last call with its result.
    pub fn last(&self) -> Option<&CompletedCall> {
        self.steps.last()?.called.last()
    }

    /// Returns whether there is a tool with this name.
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|offered| offered.tool.name == name)
    }
}

impl CompletedCall {
    /// Returns whether the call failed.
    pub fn failed(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// Returns the text of the result, one line per content block. The text of an embedded resource counts.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.result.content.iter().filter_map(text_of).collect();
        texts.join("\n")
    }

    /// Returns the result as data: its structured content, else its text if that is JSON, else null.
    pub fn data(&self) -> Value {
        match &self.result.structured_content {
            Some(data) => data.clone(),
            None => serde_json::from_str(&self.text()).unwrap_or_default(),
        }
    }
}

/// Returns the text of a content block, if it has one.
pub(super) fn text_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text),
            _ => None,
        },
        _ => None,
    }
}
