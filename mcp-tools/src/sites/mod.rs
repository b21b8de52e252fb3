//! Searches sites in the operator's index, and with a search engine.
//!
//! The index is a TOML or JSON file with a list `sites` of `url`, `title`, `description` and `keywords`; it
//! replaces a web search on machines without web access. [`Engine`] queries an instance of SearXNG.

mod engine;
mod rank;

pub use engine::{Engine, EngineError};

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// An index of sites, in the order of their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    sites: Vec<Site>,
}

/// One site in the index, or found by an engine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The address.
    pub url: Url,
    /// The title.
    pub title: String,
    /// The description.
    #[serde(default)]
    pub description: String,
    /// Further words that the site is found by.
    #[serde(default)]
    pub keywords: Vec<String>,
}

impl Sites {
    /// Reads an index. A file whose name ends in `.json` is read as JSON, any other as TOML.
    ///
    /// # Errors
    /// If the file cannot be read, or is no index.
    pub fn read(path: &Path) -> Result<Self, SitesError> {
        let text = fs::read_to_string(path).map_err(|error| SitesError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let read = match is_json {
            true => serde_json::from_str(&text).map_err(|error| error.to_string()),
            false => toml::from_str(&text).map_err(|error| error.to_string()),
        };
        read.map_err(|reason| SitesError::Malformed { path: path.to_owned(), reason })
    }

    /// Creates an index of these sites.
    pub fn new(sites: impl IntoIterator<Item = Site>) -> Self {
        let sites = sites.into_iter().collect();
        Self { sites }
    }

    /// Returns at most `most` sites that have a word of the query, the best first; equal ones are in the file's
    /// order.
    pub fn search(&self, query: &str, most: usize) -> Vec<&Site> {
        let words = rank::words(query);
        let scored = self.sites.iter().map(|site| (rank::score(site, &words), site));
        let mut found: Vec<_> = scored.filter(|(score, _)| *score > 0).collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().take(most).map(|(_, site)| site).collect()
    }
}

impl Site {
    /// Returns the site as a search result.
    pub fn to_json(&self) -> Value {
        let url = self.url.as_str().trim_end_matches('/');
        json!({"url": url, "title": self.title, "description": self.description})
    }
}

/// The reason why an index of sites cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SitesError {
    /// The file does not exist or cannot be read.
    #[error("the index of sites {} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// The file has another format.
    #[error(
        "the index of sites {} is not valid, expected a list sites of url, title, description and keywords: {reason}",
        path.display()
    )]
    Malformed {
        path: PathBuf,
        /// The position in the file, and what was expected there.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(url: &str, title: &str, description: &str, keywords: &[&str]) -> Site {
        Site {
            url: url.parse().unwrap(),
            title: title.to_owned(),
            description: description.to_owned(),
            keywords: keywords.iter().map(ToString::to_string).collect(),
        }
    }

    fn sites() -> Sites {
        Sites::new([
            site("https://flights.example", "Flights", "Book flights to Urmston", &[]),
            site(
                "https://urmstontownjfc.co.uk",
                "Urmston Town Juniors FC",
                "A football club for children",
                &["football", "juniors"],
            ),
            site("https://tennis.example", "Tennis Club", "Juniors welcome", &["tennis"]),
        ])
    }

    #[test]
    fn the_name_of_a_site_counts_more_than_its_description() {
        let sites = sites();
        for (query, expected) in [
            (
                "Urmston Town Juniors FC official website",
                &["urmstontownjfc.co.uk", "flights.example", "tennis.example"][..],
            ),
            ("football", &["urmstontownjfc.co.uk"]),
            ("FLIGHTS!", &["flights.example"]),
            ("the for of a", &[]),
            ("hotel", &[]),
            ("", &[]),
        ] {
            let found = sites.search(query, 10);
            let hosts: Vec<_> = found.iter().filter_map(|site| site.url.host_str()).collect();
            assert_eq!(hosts, expected, "{query}");
        }
        assert_eq!(sites.search("juniors urmston", 1).len(), 1);
    }

    #[test]
    fn an_index_is_toml_or_json() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            Sites::read(&path)
        };
        let toml = write("a.toml", "[[sites]]\nurl = 'https://a.example'\ntitle = 'A'\n").unwrap();
        let json = r#"{"sites": [{"url": "https://a.example", "title": "A"}]}"#;
        assert_eq!(write("a.json", json).unwrap(), toml);
        for (text, expected) in [
            ("[[sites]]\nurl = 'a'\ntitle = 'A'\n", "relative URL"),
            ("[[sites]]\nurl = 'https://a.example'\n", "missing field `title`"),
            ("[[sites]]\nurl = 'https://a.example'\ntitle = 'A'\nx = 1\n", "unknown field `x`"),
        ] {
            let error = write("b.toml", text).unwrap_err().to_string();
            assert!(error.contains("b.toml") && error.contains(expected), "{error}");
        }
        let missing = Sites::read(&folder.path().join("none.toml")).unwrap_err().to_string();
        assert!(missing.contains("cannot be read"), "{missing}");
    }
}
