//! `web_search`

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer};
use crate::{
    arguments::{Arguments, tool},
    context::AgentContext,
    sites::Sites,
};

/// How many sites an answer has if nobody says, and at most.
const USUAL: usize = 5;
const MOST: usize = 20;

/// Finds sites in an index of this machine.
#[derive(Debug)]
pub struct WebSearch(Arc<Sites>);

impl WebSearch {
    /// The search in this index.
    pub fn new(sites: Arc<Sites>) -> Self {
        Self(sites)
    }

    fn search(&self, arguments: JsonObject) -> Result<Value, FieldError> {
        let mut arguments = Arguments::new(arguments);
        let query: Option<String> = arguments.optional("query")?;
        let limit = arguments.limit("limit", USUAL, MOST)?;
        arguments.done()?;
        let missing = || FieldError::new("words to look for", "nothing").inside("query");
        let query = query.filter(|query| !query.trim().is_empty());
        let query = query.ok_or_else(missing)?;
        let found = self.0.search(&query, limit).into_iter();
        let results: Vec<Value> = found.map(|site| site.to_json()).collect();
        Ok(json!({"query": query, "results": results}))
    }
}

#[async_trait]
impl Tool for WebSearch {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "query": {"type": "string", "description": "What to look for, in words."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "The most sites of an answer; 5 if left out."},
        });
        let description = "Search the web for sites about something. Each result has url, title and description, the best first; \
            no results if nothing fits.";
        tool("web_search", description, properties, &["query"])
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(self.search(arguments).map_err(|error| error.to_string()))
    }
}
