//! The two origins (scheme, host and port) of a hop: the upstream's, and the recorder's in front of it.

use std::{collections::BTreeSet, sync::Arc};

use url::{Position, Url};

/// The hosts that servers use for themselves if they know no better.
const THIS_MACHINE: [&str; 5] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"];

/// Translates addresses of the upstream to addresses of the recorder.
///
/// Both have the same paths, so only scheme, host and port differ.
#[derive(Clone, Debug)]
pub(super) struct Origins {
    upstream: Url,
    recorder: Url,
    /// The origins of the recorder on all hops, including this one.
    pub(super) ours: Arc<BTreeSet<String>>,
    /// Whether all addresses in a card, such as a container's, count as the upstream's.
    pub(super) trusted: bool,
    /// The port that the upstream was written to listen at, if it was given another one. On this machine, it counts as the
    /// upstream's in a card.
    pub(super) written_port: Option<u16>,
}

/// The target of a URL, for a caller that reaches the upstream through the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UrlTarget {
    /// The upstream; contains the same address on the recorder.
    Upstream(String),
    /// The server it was read from: the URL is relative, and so stays on the recorder.
    Here,
    /// The recorder, on this hop or another: a party was given that address.
    Recorded,
    /// Another server, which the recorder does not cover.
    Elsewhere,
}

impl Origins {
    /// Returns the origins for a recorder that listens at `port` of this machine for `upstream`.
    pub(super) fn new(upstream: &Url, port: u16) -> Result<Self, url::ParseError> {
        let mut recorder = Url::parse("http://127.0.0.1/")?;
        // Only a URL without a host rejects a port.
        let _ = recorder.set_port(Some(port));
        Ok(Self {
            upstream: upstream.clone(),
            recorder,
            ours: Arc::default(),
            trusted: false,
            written_port: None,
        })
    }

    pub(super) fn follow_card(&self, url: &str) -> UrlTarget {
        match (self.follow(url), Url::parse(url)) {
            (UrlTarget::Elsewhere, Ok(parsed))
                if (self.trusted && parsed.has_host()) || self.is_as_written(&parsed) =>
            {
                self.on_recorder(&parsed)
            }
            (leads, _) => leads,
        }
    }

    /// Returns whether a URL has the port at which the upstream would listen without another one.
    fn is_as_written(&self, url: &Url) -> bool {
        self.written_port.is_some_and(|port| url.port_or_known_default() == Some(port))
            && url.host_str().is_some_and(|host| THIS_MACHINE.contains(&host))
    }

    fn on_recorder(&self, url: &Url) -> UrlTarget {
        let origin = &self.recorder[..Position::BeforePath];
        UrlTarget::Upstream(format!("{origin}{}", &url[Position::BeforePath..]))
    }

    /// Returns the recorder's address for the upstream's endpoint, with the endpoint's path and query.
    pub(super) fn endpoint(&self) -> Url {
        let mut endpoint = self.recorder.clone();
        endpoint.set_path(self.upstream.path());
        endpoint.set_query(self.upstream.query());
        endpoint
    }

    /// Returns whether this is the path of the upstream's endpoint and that endpoint is the URL of a card.
    pub(super) fn is_card(&self, path: &str) -> bool {
        path == self.upstream.path() && path.ends_with(".json")
    }

    /// Returns a URL of the upstream with the recorder's origin and everything else as it is written; `None` for any other
    /// text. Issuers are compared letter by letter, so that not even a slash may be added.
    pub(super) fn replaced(&self, url: &str) -> Option<String> {
        let UrlTarget::Upstream(_) = self.follow(url) else {
            return None;
        };
        let (_, host) = url.split_once("://")?;
        let path = host.find(['/', '?', '#']).map_or("", |at| &host[at..]);
        Some(format!("{}{path}", &self.recorder[..Position::BeforePath]))
    }

    /// Returns the upstream's address for a path and query of a request to the recorder.
    pub(super) fn target(&self, path: &str, query: Option<&str>) -> Url {
        let mut target = self.upstream.clone();
        target.set_path(path);
        target.set_query(query);
        target.set_fragment(None);
        target
    }

    /// Returns the target of `url`. Port and host name decide: agents often announce the address they listen
    /// on, or `localhost`, whatever address they are reached at.
    pub(super) fn follow(&self, url: &str) -> UrlTarget {
        let url = match Url::parse(url) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) if is_path(url) => return UrlTarget::Here,
            Err(_) => return UrlTarget::Elsewhere,
        };
        if self.ours.contains(&url.origin().ascii_serialization()) {
            return UrlTarget::Recorded;
        }
        let same_port = url.port_or_known_default() == self.upstream.port_or_known_default();
        let same_host = url.host_str().is_some_and(|host| {
            Some(host) == self.upstream.host_str() || THIS_MACHINE.contains(&host)
        });
        if same_port && same_host { self.on_recorder(&url) } else { UrlTarget::Elsewhere }
    }
}

/// Returns whether a URL is relative and names no host, as `//host/path` and a bare `127.0.0.1:50051` do.
fn is_path(url: &str) -> bool {
    let first = url.split(['/', '?', '#']).next().unwrap_or_default();
    !url.starts_with("//") && !first.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cards_other_address_is_followed_only_when_that_is_asked_for() {
        let plain = origins("http://127.0.0.1:9009/");
        let other = "http://agent:80/a2a";
        assert_eq!(plain.follow_card(other), UrlTarget::Elsewhere);
        let trusting = Origins { trusted: true, ..plain };
        let here = UrlTarget::Upstream("http://127.0.0.1:4000/a2a".to_owned());
        assert_eq!(trusting.follow_card(other), here);
        assert_eq!(trusting.follow(other), UrlTarget::Elsewhere, "a redirect stays one");
    }

    #[test]
    fn a_card_may_say_the_port_that_was_replaced() {
        let moved = Origins { written_port: Some(9009), ..origins("http://127.0.0.1:27036/") };
        let here = UrlTarget::Upstream("http://127.0.0.1:4000/a2a".to_owned());
        for url in
            ["http://0.0.0.0:9009/a2a", "http://localhost:9009/a2a", "http://127.0.0.1:27036/a2a"]
        {
            assert_eq!(moved.follow_card(url), here, "{url}");
        }
        for url in ["http://0.0.0.0:9019/a2a", "http://agent.example:9009/a2a"] {
            assert_eq!(moved.follow_card(url), UrlTarget::Elsewhere, "{url}");
        }
        assert_eq!(moved.follow("http://localhost:9009/a2a"), UrlTarget::Elsewhere);
    }

    fn origins(upstream: &str) -> Origins {
        Origins::new(&upstream.parse().unwrap(), 4000).unwrap()
    }

    #[test]
    fn an_endpoint_keeps_its_path() {
        for (upstream, expected) in [
            ("http://127.0.0.1:9109", "http://127.0.0.1:4000/"),
            ("http://agent.example:9109/a2a/x", "http://127.0.0.1:4000/a2a/x"),
            ("https://agent.example/mcp?tenant=1", "http://127.0.0.1:4000/mcp?tenant=1"),
        ] {
            assert_eq!(origins(upstream).endpoint().as_str(), expected);
        }
    }

    #[test]
    fn a_path_goes_to_the_same_path() {
        let origins = origins("http://127.0.0.1:9109/a2a?tenant=1");
        for (path, query, expected) in [
            ("/", None, "http://127.0.0.1:9109/"),
            (
                "/a2a/tasks/1:cancel",
                Some("x=%20"),
                "http://127.0.0.1:9109/a2a/tasks/1:cancel?x=%20",
            ),
            ("//b", None, "http://127.0.0.1:9109//b"),
        ] {
            assert_eq!(origins.target(path, query).as_str(), expected);
        }
    }

    #[test]
    fn urls_are_followed_by_host_and_port() {
        let ours = ["http://127.0.0.1:4000", "http://127.0.0.1:4001"].map(str::to_owned);
        let ours = Arc::new(ours.into());
        let origins = Origins { ours, ..origins("http://agent.example:9109/a2a") };
        let recorder = |path: &str| UrlTarget::Upstream(format!("http://127.0.0.1:4000{path}"));
        for (url, expected) in [
            ("http://agent.example:9109", recorder("/")),
            ("http://localhost:9109/v1?x=1", recorder("/v1?x=1")),
            ("http://0.0.0.0:9109/", recorder("/")),
            ("http://[::1]:9109/", recorder("/")),
            ("http://[::]:9109/", recorder("/")),
            ("http://agent.example:9110/", UrlTarget::Elsewhere),
            ("http://127.0.0.1:4001/a2a", UrlTarget::Recorded),
            ("http://other.example:9109/", UrlTarget::Elsewhere),
            ("/v1", UrlTarget::Here),
            ("v1/card?at=12:30", UrlTarget::Here),
            ("localhost:50051", UrlTarget::Elsewhere),
            ("127.0.0.1:50051", UrlTarget::Elsewhere),
            ("//agent.example:9109/", UrlTarget::Elsewhere),
            ("", UrlTarget::Here),
        ] {
            assert_eq!(origins.follow(url), expected, "{url}");
        }
    }
}
