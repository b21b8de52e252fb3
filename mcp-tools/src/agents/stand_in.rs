//! Sites that are reached somewhere else: a demonstration's club has a name on the web and a port here.

use std::str::FromStr;

use url::{Position, Url};

/// Somebody who stands in for a site: whoever asks for the site reaches the other, and is told the site's
/// address in place of the other's. Written `SITE=URL`; only scheme, host and port of both count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandIn {
    site: Url,
    real: Url,
}

/// Why a text names no stand-in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StandInError {
    /// It is no pair.
    #[error("expected SITE=URL, such as https://club.example=http://127.0.0.1:9020, found {0:?}")]
    Pair(String),
    /// One of the two is no address of a host.
    #[error("expected an http or https URL with a host, found {0:?}")]
    Url(String),
}

impl FromStr for StandIn {
    type Err = StandInError;

    fn from_str(text: &str) -> Result<Self, StandInError> {
        let pair = || StandInError::Pair(text.to_owned());
        let (site, real) = text.split_once('=').ok_or_else(pair)?;
        Ok(Self {
            site: address(site)?,
            real: address(real)?,
        })
    }
}

impl StandIn {
    /// Where an address of the site is really reached; none if it is another site's.
    pub(super) fn real(&self, url: &Url) -> Option<Url> {
        moved(url, &self.site, &self.real)
    }

    /// The site's address of one where it is really reached.
    pub(super) fn apparent(&self, url: &Url) -> Option<Url> {
        moved(url, &self.real, &self.site)
    }
}

fn address(text: &str) -> Result<Url, StandInError> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| StandInError::Url(text.to_owned()))
}

/// The same path at another origin, if it was at this one.
fn moved(url: &Url, from: &Url, to: &Url) -> Option<Url> {
    let is_there = url.origin() == from.origin();
    let address = || {
        format!(
            "{}{}",
            &to[..Position::BeforePath],
            &url[Position::BeforePath..]
        )
    };
    is_there.then(|| Url::parse(&address()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_there_and_back() {
        let stand_in: StandIn = "https://club.example=http://127.0.0.1:9020"
            .parse()
            .unwrap();
        for (site, real) in [
            ("https://club.example/", "http://127.0.0.1:9020/"),
            (
                "https://club.example:443/a?b#c",
                "http://127.0.0.1:9020/a?b#c",
            ),
        ] {
            let (site, real) = (Url::parse(site).unwrap(), Url::parse(real).unwrap());
            assert_eq!(stand_in.real(&site), Some(real.clone()));
            assert_eq!(stand_in.apparent(&real), Some(site));
        }
        for other in [
            "http://club.example/",
            "https://www.club.example/",
            "http://127.0.0.1:1/",
        ] {
            assert_eq!(stand_in.real(&Url::parse(other).unwrap()), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_stand_in_is_told() {
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
            let error = text.parse::<StandIn>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
