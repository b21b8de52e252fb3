//! `web_search`

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer, arguments::Arguments, described, requiring};
use crate::{context::AgentContext, sites::Sites};

/// How many sites an answer has if nobody says, and at most.
const USUAL: u64 = 5;
const MOST: u64 = 20;

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
        let query = arguments
            .string("query")?
            .filter(|query| !query.trim().is_empty());
        let limit = arguments.number("limit")?.unwrap_or(USUAL);
        arguments.finish()?;
        let missing = || FieldError::new("words to look for", "nothing").inside("query");
        let query = query.ok_or_else(missing)?;
        if !(1..=MOST).contains(&limit) {
            let expected = format!("a number from 1 to {MOST}");
            return Err(FieldError::unexpected(expected, &json!(limit)).inside("limit"));
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let found = self.0.search(&query, most).into_iter();
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
        requiring(
            described("web_search", description, &properties),
            &["query"],
        )
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(self.search(arguments).map_err(|error| error.to_string()))
    }
}
