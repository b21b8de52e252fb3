//! A search engine on the web: an instance of SearXNG, by its [search API].
//!
//! The instance has to give results as JSON (`search.formats` in its `settings.yml`).
//!
//! [search API]: https://docs.searxng.org/dev/search_api.html

use std::time::Duration;

use reqwest_0_13::{Client, StatusCode, redirect};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::client::tls;

/// How long an instance may take, which waits for other engines itself.
const LIMIT: Duration = Duration::from_secs(15);

/// How large an answer may be, in bytes; a page has some twenty results.
const MOST: usize = 2 << 20;

/// How much of a result is told, in characters.
const TOLD: usize = 500;

/// An instance of SearXNG.
#[derive(Clone, Debug)]
pub struct Engine {
    http: Client,
    search: Url,
}

/// What was found: an address, what it is called, and a piece of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The address.
    pub url: Url,
    /// What it is called.
    pub title: String,
    /// A piece of its text.
    pub description: String,
}

/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The client cannot be made.
    #[error("the search engine cannot be asked: {0}")]
    Client(String),
    /// Nobody answered, or not within 15 seconds.
    #[error("the search engine at {engine} cannot be reached: {reason}")]
    Unreachable {
        /// Where it is.
        engine: Url,
        /// What happened.
        reason: String,
    },
    /// It gives no JSON.
    #[error(
        "the search engine at {engine} gives no JSON: add json to search.formats in its settings.yml"
    )]
    NoJson {
        /// Where it is.
        engine: Url,
    },
    /// It answered with another status.
    #[error("the search engine at {engine} answered with HTTP status {status}")]
    Status {
        /// Where it is.
        engine: Url,
        /// The status.
        status: u16,
    },
    /// What it answered is not what SearXNG answers.
    #[error("the search engine at {engine} answered something else than results: {reason}")]
    Malformed {
        /// Where it is.
        engine: Url,
        /// What is wrong with it.
        reason: String,
    },
    /// None of the engines that it asks answered.
    #[error("no engine answered the search engine at {engine}: {reasons}")]
    Unresponsive {
        /// Where it is.
        engine: Url,
        /// Which engines, and why.
        reasons: String,
    },
}

/// The answer, as far as it is read.
#[derive(Deserialize)]
struct Page {
    results: Vec<Value>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

impl Engine {
    /// The instance at this address, below which `search` is.
    ///
    /// # Errors
    /// [`EngineError::Client`]
    pub fn new(instance: &Url) -> Result<Self, EngineError> {
        let failed = |error: &dyn std::fmt::Display| EngineError::Client(error.to_string());
        let http = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| failed(&error))?)
            // It is the operator's, and nobody else is meant.
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

    /// The first page of results, in the engine's order. What is no web address is left out.
    ///
    /// # Errors
    /// [`EngineError`]
    pub async fn search(&self, query: &str) -> Result<Vec<Found>, EngineError> {
        let mut url = self.search.clone();
        url.query_pairs_mut()
            .append_pair("q", query)
            .append_pair("format", "json");
        let page = self.page(url).await?;
        let found: Vec<Found> = page.results.iter().filter_map(found).collect();
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
            reason: error.without_url().to_string(),
        };
        let malformed = |reason: String| EngineError::Malformed {
            engine: engine(),
            reason,
        };
        let mut reply = self.http.get(url).send().await.map_err(unreachable)?;
        match reply.status() {
            StatusCode::OK => {}
            // What SearXNG answers to a format that is not set.
            StatusCode::FORBIDDEN => return Err(EngineError::NoJson { engine: engine() }),
            other => {
                return Err(EngineError::Status {
                    engine: engine(),
                    status: other.as_u16(),
                });
            }
        }
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MOST {
                return Err(malformed(format!("more than {MOST} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|error| malformed(error.to_string()))
    }
}

fn found(result: &Value) -> Option<Found> {
    let url = Url::parse(result["url"].as_str()?).ok()?;
    let text = |key: &str| {
        let text = result[key].as_str().unwrap_or_default();
        text.chars().take(TOLD).collect::<String>()
    };
    let is_web = matches!(url.scheme(), "http" | "https");
    is_web.then(|| Found {
        title: text("title"),
        description: text("content"),
        url,
    })
}

/// Each is a list of a name and a reason.
fn reasons(engines: &[Value]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = |engine: &Value| format!("{} ({})", text(&engine[0]), text(&engine[1]));
    engines.iter().map(reason).collect::<Vec<_>>().join(", ")
}
