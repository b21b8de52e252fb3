//! The tool `web_search`.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::{Tool, answer};
use crate::{
    arguments::{Arguments, tool},
    context::AgentContext,
    sites::{Engine, Site, Sites},
};

/// The default and the largest number of results.
const DEFAULT_RESULTS: usize = 5;
const MAX_RESULTS: usize = 20;

/// Finds sites in a local index, with a search engine, or with both; results from the index come first.
#[derive(Debug)]
pub struct WebSearch {
    index: Arc<Sites>,
    engine: Option<Engine>,
}

impl WebSearch {
    /// Creates a search in this index.
    pub fn new(index: Arc<Sites>) -> Self {
        Self { index, engine: None }
    }

    /// Adds a search engine, whose results follow those of the index.
    #[must_use]
    pub fn with_engine(self, engine: Engine) -> Self {
        let engine = Some(engine);
        Self { engine, ..self }
    }

    async fn search(&self, arguments: JsonObject) -> Result<Value, String> {
        let (query, limit) = read(arguments).map_err(|error| error.to_string())?;
        let indexed = self.index.search(&query, limit).into_iter();
        let mut results: Vec<Value> = indexed.map(Site::to_json).collect();
        if let Some(engine) = self.engine.as_ref().filter(|_| results.len() < limit) {
            let found = engine.search(&query).await;
            let found = found.or_else(|error| match results.is_empty() {
                true => Err(error.to_string()),
                false => Ok(Vec::new()),
            });
            for one in found?.iter().map(Site::to_json) {
                if results.len() < limit && results.iter().all(|known| known["url"] != one["url"]) {
                    results.push(one);
                }
            }
        }
        Ok(json!({"query": query, "results": results}))
    }
}

/// Reads the query and the number of wanted results.
fn read(arguments: JsonObject) -> Result<(String, usize), FieldError> {
    let mut arguments = Arguments::new(arguments);
    let query: Option<String> = arguments.optional("query")?;
    let limit = arguments.limit(DEFAULT_RESULTS, MAX_RESULTS)?;
    arguments.done()?;
    let missing = || FieldError::new("words to look for", "nothing").inside("query");
    let query = query.filter(|query| !query.trim().is_empty());
    Ok((query.ok_or_else(missing)?, limit))
}

#[async_trait]
impl Tool for WebSearch {
    fn describe(&self) -> rmcp::model::Tool {
        let properties = json!({
            "query": {"type": "string", "description": "What to look for, in words."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "The largest number of sites in an answer; 5 if absent."},
        });
        let description = "Search the web for sites about something. Each result has url, title and description, the best first; \
            no results if nothing fits.";
        tool("web_search", description, properties, &["query"])
    }

    async fn call(&self, _context: &AgentContext, arguments: JsonObject) -> CallToolResult {
        answer(self.search(arguments).await)
    }
}
