//! Evaluates the search and discovery calls so far.

use serde_json::Value;

use super::{DISCOVER, SEARCH};
use crate::policy::{CompletedCall, Step};

/// The calls so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchProgress<'a>(&'a [Step]);

/// A site on which an agent was searched.
#[derive(Debug)]
pub(super) struct Site {
    /// The address.
    pub(super) url: String,
    /// The result of discovery.
    pub(super) answer: Value,
}

/// An agent that was found.
#[derive(Debug)]
pub(super) struct Agent {
    /// The address of its site, and the text of the search result.
    pub(super) site: String,
    /// The result of discovery.
    pub(super) says: Value,
}

impl<'a> SearchProgress<'a> {
    pub(super) fn of(steps: &'a [Step]) -> Self {
        Self(steps)
    }

    /// Returns the found sites, or the reason why the search failed; `None` before the search.
    pub(super) fn found(self) -> Option<Result<Vec<String>, String>> {
        let called = self.calls(SEARCH).next_back()?;
        if called.failed() {
            return Some(Err(called.text()));
        }
        let data = called.data();
        let results = data["results"].as_array().into_iter().flatten();
        let urls = results.filter_map(|result| result["url"].as_str().map(str::to_owned));
        Some(Ok(urls.collect()))
    }

    /// Returns the next site without discovery, among the first `most` sites.
    pub(super) fn next_site(self, most: usize) -> Option<String> {
        let sites = self.found()?.ok()?;
        let asked = self.asked();
        let is_new = |site: &String| asked.iter().all(|one| one.url != *site);
        sites.into_iter().take(most).find(is_new)
    }

    /// Returns the sites with discovery results, in order. One that has not answered yet is asked again.
    pub(super) fn asked(self) -> Vec<Site> {
        let calls = self.calls(DISCOVER);
        let calls = calls.filter(|called| called.data()["status"] != "working");
        let site = |called: &CompletedCall| Site {
            url: called.call.arguments["target_url"].as_str().unwrap_or_default().to_owned(),
            answer: called.data(),
        };
        calls.map(site).collect()
    }

    /// Returns the agents that were found.
    pub(super) fn agents(self) -> Vec<Agent> {
        let found = self.asked().into_iter();
        let found = found.filter(|site| site.answer["status"] == "success");
        let agent = |site: Site| Agent { site: self.result(&site.url), says: site.answer };
        found.map(agent).collect()
    }

    /// Returns the text of a site's search result.
    fn result(self, url: &str) -> String {
        let results = self.calls(SEARCH).next_back().map(CompletedCall::data);
        let results = results.as_ref().and_then(|data| data["results"].as_array());
        let is_it = |result: &&Value| result["url"] == url;
        let told = results.into_iter().flatten().find(is_it);
        let text = |key: &str| told.and_then(|told| told[key].as_str()).unwrap_or_default();
        format!("{url} . {} . {}", text("title"), text("description"))
    }

    fn calls(self, tool: &str) -> impl DoubleEndedIterator<Item = &'a CompletedCall> {
        let called = self.0.iter().flat_map(|step| &step.called);
        called.filter(move |called| called.call.name == tool)
    }
}
