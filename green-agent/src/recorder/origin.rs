//! The two origins of a hop: the upstream's own, and the one under which the recorder stands for it.

use std::{collections::BTreeSet, sync::Arc};

use url::{Position, Url};

/// The hosts by which servers call themselves when they know no better.
const THIS_MACHINE: [&str; 5] = ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"];

/// Translates addresses of the upstream to addresses of the recorder.
///
/// Both have the same paths, so only scheme, host and port ever differ.
#[derive(Clone, Debug)]
pub(super) struct Origins {
    upstream: Url,
    recorder: Url,
    /// The origins of the recorder on all hops.
    ours: Arc<BTreeSet<String>>,
    /// Whether all addresses in a card are taken for the upstream's.
    trusted: bool,
}

/// Where a URL leads, seen from a caller that reaches the upstream through the recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// To the upstream; the same place on the recorder.
    Upstream(String),
    /// Back to wherever it was read: it is relative, and so stays on the recorder by itself.
    Here,
    /// To the recorder, on this hop or another: somebody was told that address.
    Recorded,
    /// Somewhere else, where the recorder does not follow.
    Elsewhere,
}

impl Origins {
    /// The recorder listens at `port` of this machine for `upstream`.
    ///
    /// # Errors
    /// `upstream` is not a URL to which another scheme, host and port can be given.
    pub(super) fn new(upstream: &Url, port: u16) -> Result<Self, url::ParseError> {
        let mut recorder = Url::parse("http://127.0.0.1/")?;
        // Only a URL without a host refuses a port.
        let _ = recorder.set_port(Some(port));
        Ok(Self {
            upstream: upstream.clone(),
            recorder,
            ours: Arc::default(),
            trusted: false,
        })
    }

    /// Among the recorder's origins on all hops, this one included.
    pub(super) fn among(self, ours: Arc<BTreeSet<String>>) -> Self {
        Self { ours, ..self }
    }

    /// Whether a card that names other addresses, such as a container's, means the upstream all the same.
    pub(super) fn trusting(self, trusted: bool) -> Self {
        Self { trusted, ..self }
    }

    /// Where a URL of a card leads.
    pub(super) fn follow_card(&self, url: &str) -> Leads {
        match (self.follow(url), Url::parse(url)) {
            (Leads::Elsewhere, Ok(parsed)) if self.trusted && parsed.has_host() => {
                self.on_recorder(&parsed)
            }
            (leads, _) => leads,
        }
    }

    fn on_recorder(&self, url: &Url) -> Leads {
        let origin = &self.recorder[..Position::BeforePath];
        Leads::Upstream(format!("{origin}{}", &url[Position::BeforePath..]))
    }

    /// The recorder's address for the upstream's endpoint, with the endpoint's path and query.
    pub(super) fn endpoint(&self) -> Url {
        let mut endpoint = self.recorder.clone();
        endpoint.set_path(self.upstream.path());
        endpoint.set_query(self.upstream.query());
        endpoint
    }

    /// Whether this is the path of the upstream's endpoint, and that is the address of a card, wherever that lies.
    pub(super) fn is_card(&self, path: &str) -> bool {
        path == self.upstream.path() && path.ends_with(".json")
    }

    /// The upstream's address for a path and query that the recorder was asked for.
    pub(super) fn target(&self, path: &str, query: Option<&str>) -> Url {
        let mut target = self.upstream.clone();
        target.set_path(path);
        target.set_query(query);
        target.set_fragment(None);
        target
    }

    /// Where `url` leads. Ports decide, together with the host's name: agents often tell callers
    /// the address they listen on, or `localhost`, whatever the address they are reached at.
    pub(super) fn follow(&self, url: &str) -> Leads {
        let url = match Url::parse(url) {
            Ok(url) => url,
            Err(url::ParseError::RelativeUrlWithoutBase) if is_path(url) => return Leads::Here,
            Err(_) => return Leads::Elsewhere,
        };
        if self.ours.contains(&url.origin().ascii_serialization()) {
            return Leads::Recorded;
        }
        let same_port = url.port_or_known_default() == self.upstream.port_or_known_default();
        let same_host = url.host_str().is_some_and(|host| {
            Some(host) == self.upstream.host_str() || THIS_MACHINE.contains(&host)
        });
        if same_port && same_host {
            self.on_recorder(&url)
        } else {
            Leads::Elsewhere
        }
    }
}

/// Whether a relative URL names no host: neither `//host/path` nor a bare `127.0.0.1:50051`.
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
        assert_eq!(plain.follow_card(other), Leads::Elsewhere);
        let trusting = plain.trusting(true);
        let here = Leads::Upstream("http://127.0.0.1:4000/a2a".to_owned());
        assert_eq!(trusting.follow_card(other), here);
        assert_eq!(
            trusting.follow(other),
            Leads::Elsewhere,
            "a redirect stays one"
        );
    }

    fn origins(upstream: &str) -> Origins {
        Origins::new(&upstream.parse().unwrap(), 4000).unwrap()
    }

    #[test]
    fn an_endpoint_keeps_its_path() {
        for (upstream, expected) in [
            ("http://127.0.0.1:9109", "http://127.0.0.1:4000/"),
            (
                "http://agent.example:9109/a2a/x",
                "http://127.0.0.1:4000/a2a/x",
            ),
            (
                "https://agent.example/mcp?tenant=1",
                "http://127.0.0.1:4000/mcp?tenant=1",
            ),
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
        let origins = origins("http://agent.example:9109/a2a").among(Arc::new(ours.into()));
        let recorder = |path: &str| Leads::Upstream(format!("http://127.0.0.1:4000{path}"));
        for (url, expected) in [
            ("http://agent.example:9109", recorder("/")),
            ("http://localhost:9109/v1?x=1", recorder("/v1?x=1")),
            ("http://0.0.0.0:9109/", recorder("/")),
            ("http://[::1]:9109/", recorder("/")),
            ("http://[::]:9109/", recorder("/")),
            ("http://agent.example:9110/", Leads::Elsewhere),
            ("http://127.0.0.1:4001/a2a", Leads::Recorded),
            ("http://other.example:9109/", Leads::Elsewhere),
            ("/v1", Leads::Here),
            ("v1/card?at=12:30", Leads::Here),
            ("localhost:50051", Leads::Elsewhere),
            ("127.0.0.1:50051", Leads::Elsewhere),
            ("//agent.example:9109/", Leads::Elsewhere),
            ("", Leads::Here),
        ] {
            assert_eq!(origins.follow(url), expected, "{url}");
        }
    }
}
