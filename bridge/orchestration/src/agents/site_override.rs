//! Sites whose requests go to another address. A demonstration's club, for example, has a public name but runs on
//! a local port.

use std::str::FromStr;

use bridge_client::web_url;
use url::{Position, Url};

/// An address that replaces the address of a site. Requests for the site go to that address, and results show the
/// address of the site. It is written `SITE=URL`; only the scheme, host and port of both count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteOverride {
    site: Url,
    actual_url: Url,
}

/// The reason why a text is not a valid override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteOverrideError {
    /// The text has not the form `SITE=URL`.
    #[error("expected SITE=URL, such as https://club.example=http://127.0.0.1:9020, found {0:?}")]
    Pair(String),
    /// One of the two is not a URL with a host.
    #[error("expected an http or https URL with a host, found {0:?}")]
    Url(String),
}

impl FromStr for SiteOverride {
    type Err = SiteOverrideError;

    fn from_str(text: &str) -> Result<Self, SiteOverrideError> {
        let pair = || SiteOverrideError::Pair(text.to_owned());
        let (site, actual_url) = text.split_once('=').ok_or_else(pair)?;
        Ok(Self { site: address(site)?, actual_url: address(actual_url)? })
    }
}

impl SiteOverride {
    /// Returns the address to send requests to, or `None` if the URL belongs to another site.
    pub(super) fn actual_url(&self, url: &Url) -> Option<Url> {
        moved(url, &self.site, &self.actual_url)
    }

    /// Returns the site's URL for an address that requests are sent to.
    pub(super) fn public_url(&self, url: &Url) -> Option<Url> {
        moved(url, &self.actual_url, &self.site)
    }
}

fn address(text: &str) -> Result<Url, SiteOverrideError> {
    web_url(text).ok_or_else(|| SiteOverrideError::Url(text.to_owned()))
}

/// Moves a URL from one origin to another and keeps its path; `None` if it has another origin.
fn moved(url: &Url, from: &Url, to: &Url) -> Option<Url> {
    let is_there = url.origin() == from.origin();
    let address = || format!("{}{}", &to[..Position::BeforePath], &url[Position::BeforePath..]);
    is_there.then(|| Url::parse(&address()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_there_and_back() {
        let site_override: SiteOverride =
            "https://club.example=http://127.0.0.1:9020".parse().unwrap();
        for (site, actual_url) in [
            ("https://club.example/", "http://127.0.0.1:9020/"),
            ("https://club.example:443/a?b#c", "http://127.0.0.1:9020/a?b#c"),
        ] {
            let (site, actual_url) = (Url::parse(site).unwrap(), Url::parse(actual_url).unwrap());
            assert_eq!(site_override.actual_url(&site), Some(actual_url.clone()));
            assert_eq!(site_override.public_url(&actual_url), Some(site));
        }
        for other in ["http://club.example/", "https://www.club.example/", "http://127.0.0.1:1/"] {
            assert_eq!(site_override.actual_url(&Url::parse(other).unwrap()), None, "{other}");
        }
    }

    #[test]
    fn an_invalid_override_is_reported() {
        for (text, expected) in [
            ("https://club.example", "expected SITE=URL"),
            (
                "club.example=http://h",
                "expected an http or https URL with a host, found \"club.example\"",
            ),
            (
                "https://c=file:///x",
                "expected an http or https URL with a host, found \"file:///x\"",
            ),
        ] {
            let error = text.parse::<SiteOverride>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
