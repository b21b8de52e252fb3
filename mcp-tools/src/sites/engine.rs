//! A client of SearXNG instances, which are search engines on the web with a [search API].
//!
//! The instance must return results as JSON (`search.formats` in its `settings.yml`).
//!
//! [search API]: https://docs.searxng.org/dev/search_api.html

use std::time::Duration;

use reqwest_0_13::{Client, StatusCode, redirect};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::Site;
use crate::client::tls;

/// The time limit of a search. An instance itself waits for other engines.
const LIMIT: Duration = Duration::from_secs(15);

/// The largest answer, in bytes; a page has about twenty results.
const MAX_ANSWER: usize = 2 << 20;

/// The largest description of a result, in characters.
const MAX_DESCRIPTION: usize = 500;

/// An instance of SearXNG.
#[derive(Clone, Debug)]
pub struct Engine {
    http: Client,
    search: Url,
}

/// The reason why a search has no results page.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EngineError {
    /// The HTTP client cannot be created.
    #[error("the client of the search engine cannot be created: {0}")]
    Client(String),
    /// The instance did not answer within 15 seconds, or cannot be reached.
    #[error("the search engine at {engine} cannot be reached: {reason}")]
    Unreachable { engine: Url, reason: String },
    /// The instance does not return JSON.
    #[error(
        "the search engine at {0} does not return JSON: add json to search.formats in its settings.yml"
    )]
    NoJson(Url),
    /// The instance answered with an error status.
    #[error("the search engine at {engine} answered with HTTP status {status}")]
    Status { engine: Url, status: u16 },
    /// The answer is not one of SearXNG.
    #[error("the search engine at {engine} returned no valid results: {reason}")]
    Malformed { engine: Url, reason: String },
    /// None of the engines that the instance queries answered.
    #[error("none of the engines that the search engine at {engine} queries answered: {reasons}")]
    Unresponsive { engine: Url, reasons: String },
}

/// The fields of an answer that are used.
#[derive(Deserialize)]
struct Page {
    results: Vec<Value>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

impl Engine {
    /// Creates a client for the instance whose path `search` is below this URL.
    ///
    /// # Errors
    /// [`EngineError::Client`]
    pub fn new(instance: &Url) -> Result<Self, EngineError> {
        let failed = |error: &dyn std::fmt::Display| EngineError::Client(error.to_string());
        let http = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| failed(&error))?)
            // The operator allowed only this address, so redirects are not followed.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(LIMIT)
            .build()
            .map_err(|error| failed(&error))?;
        let mut search = instance.clone();
        search.set_query(None);
        search.set_fragment(None);
        let base = instance.path().trim_end_matches('/').to_owned();
        search.set_path(&format!("{base}/search"));
        Ok(Self { http, search })
    }

    /// Returns the first page of results in the engine's order, each with an excerpt of the text as its description. Results
    /// without a web address are omitted.
    ///
    /// # Errors
    /// If the engine cannot be reached, answers with an error or not with JSON, or none of its own engines answered.
    pub async fn search(&self, query: &str) -> Result<Vec<Site>, EngineError> {
        let mut url = self.search.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let page = self.page(url).await?;
        let found: Vec<Site> = page.results.iter().filter_map(found).collect();
        match found.is_empty() && !page.unresponsive_engines.is_empty() {
            true => Err(EngineError::Unresponsive {
                engine: self.search.clone(),
                reasons: reasons(&page.unresponsive_engines),
            }),
            false => Ok(found),
        }
    }

    async fn page(&self, url: Url) -> Result<Page, EngineError> {
        let engine = || self.search.clone();
        let unreachable = |error: reqwest_0_13::Error| EngineError::Unreachable {
            engine: engine(),
            reason: bridge_http::root_cause(&error),
        };
        let malformed = |reason: String| EngineError::Malformed { engine: engine(), reason };
        let mut reply = self.http.get(url).send().await.map_err(unreachable)?;
        match reply.status() {
            StatusCode::OK => {}
            // SearXNG answers 403 if a format is not enabled.
            StatusCode::FORBIDDEN => return Err(EngineError::NoJson(engine())),
            other => {
                return Err(EngineError::Status { engine: engine(), status: other.as_u16() });
            }
        }
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(malformed(format!("more than {MAX_ANSWER} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))
    }
}

fn found(result: &Value) -> Option<Site> {
    let url = Url::parse(result["url"].as_str()?).ok()?;
    let text = |key: &str| {
        let text = result[key].as_str().unwrap_or_default();
        text.chars().take(MAX_DESCRIPTION).collect::<String>()
    };
    let is_web = matches!(url.scheme(), "http" | "https");
    let (title, description) = (text("title"), text("content"));
    is_web.then(|| Site { url, title, description, keywords: Vec::new() })
}

/// Formats the list of unresponsive engines; each entry is a list of a name and a reason.
fn reasons(engines: &[Value]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = |engine: &Value| format!("{} ({})", text(&engine[0]), text(&engine[1]));
    engines.iter().map(reason).collect::<Vec<_>>().join(", ")
}
