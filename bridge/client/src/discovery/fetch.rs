//! Fetches one location: follows redirects within its host, and observes the limits.

use std::collections::BTreeSet;

use bridge_http::{BodyError, read_body, redirect_target, root_cause_with_proxy, with_proxy_for};
use reqwest::{Response, StatusCode, header::ACCEPT, redirect};
use url::Url;

use super::{AgentEndpoint, Discovered, DiscoveryError, DiscoveryOptions, Result};
use crate::{
    certificate,
    guard::{AddressGuard, PrivateAddress},
    interface::without_user,
};

/// Fetches the locations of one target.
pub(super) struct Fetcher<'a> {
    http: reqwest::Client,
    guard: AddressGuard,
    target: &'a Url,
    options: &'a DiscoveryOptions,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(target: &'a Url, options: &'a DiscoveryOptions) -> Result<Self> {
        if !matches!(target.scheme(), "http" | "https") || target.host().is_none() {
            return Err(DiscoveryError::Scheme(without_user(target)));
        }
        let builder = reqwest::Client::builder()
            .connect_timeout(options.connect)
            .redirect(redirect::Policy::none())
            .tcp_nodelay(true);
        let guard = options.guard();
        let builder = guard.on(options.tls.add_to(builder));
        let http =
            with_proxy_for(target, builder).build().map_err(|error| unreachable(target, &error))?;
        Ok(Self { http, guard, target, options })
    }

    /// Fetches a location. Returns the body and the address after redirects, or `None` if there is nothing.
    pub(super) async fn get(&self, place: &Url) -> Result<Option<(Url, Vec<u8>)>> {
        let limit = self.options.place;
        let fetched = tokio::time::timeout(limit, self.follow(place)).await;
        fetched.unwrap_or_else(|_| {
            let url = without_user(place);
            Err(DiscoveryError::Timeout { url, limit })
        })
    }

    async fn follow(&self, place: &Url) -> Result<Option<(Url, Vec<u8>)>> {
        let mut url = place.clone();
        for _ in 0..=self.options.redirects {
            let reply = self.ask(&url).await?;
            let status = reply.status();
            if status.is_redirection() {
                url = self.redirected(&url, &reply)?;
            } else if status.is_success() {
                let body = self.read(&url, reply).await?;
                return Ok(Some((url, body)));
            } else if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
                return Ok(None);
            } else {
                let (url, status) = (without_user(&url), status.as_u16());
                return Err(DiscoveryError::Status { url, status });
            }
        }
        Err(self.too_many_redirects(&url))
    }

    async fn ask(&self, url: &Url) -> Result<Response> {
        let literal = self.guard.check_literal(url);
        literal.map_err(|found| private(url, &found))?;
        let request = self.http.get(url.clone()).header(ACCEPT, "application/json");
        let request = match self.options.credentials.check(self.target, url) {
            Ok(()) => self.options.credentials.apply_to(request),
            Err(_) => request,
        };
        request.send().await.map_err(|error| unreachable(url, &error))
    }

    fn redirected(&self, url: &Url, reply: &Response) -> Result<Url> {
        let to = redirect_target(reply).ok_or_else(|| self.too_many_redirects(url))?;
        match self.options.allow_elsewhere || is_same_host(url, &to) {
            true => Ok(to),
            false => {
                Err(DiscoveryError::Elsewhere { url: without_user(url), to: without_user(&to) })
            }
        }
    }

    fn too_many_redirects(&self, url: &Url) -> DiscoveryError {
        DiscoveryError::Redirects { url: without_user(url), limit: self.options.redirects }
    }

    async fn read(&self, url: &Url, reply: Response) -> Result<Vec<u8>> {
        let limit = self.options.size;
        read_body(reply, limit).await.map_err(|error| match error {
            BodyError::TooLarge => DiscoveryError::TooLarge { url: without_user(url), limit },
            BodyError::Broken(error) => unreachable(url, &error),
        })
    }

    /// Removes the endpoints with private addresses unless these are allowed, and records the permission for
    /// later calls. Then moves the first endpoint that accepts a connection to the front (specification 5.2).
    ///
    /// # Errors
    /// [`DiscoveryError::Private`] if no endpoint remains.
    pub(super) async fn allowed(&self, agent: Discovered) -> Result<Discovered> {
        let mut refused = None;
        let mut endpoints = Vec::new();
        for endpoint in std::iter::once(agent.endpoint).chain(agent.others) {
            match self.guard.check(endpoint.url()).await {
                Ok(()) => endpoints.push(endpoint),
                Err(found) => refused = refused.or_else(|| Some(private(endpoint.url(), &found))),
            }
        }
        let first = self.first_connected(&endpoints).await;
        match (endpoints.is_empty(), refused) {
            (true, Some(refused)) => Err(refused),
            (_, _) => Ok(Discovered {
                endpoint: endpoints.remove(first),
                others: endpoints,
                allow_private: self.guard.allow_private,
                ..agent
            }),
        }
    }

    /// Returns the index of the first endpoint that accepts a connection, or 0 if none does. If all have one origin
    /// there is nothing to choose, and no connection is made.
    async fn first_connected(&self, endpoints: &[AgentEndpoint]) -> usize {
        let origins: BTreeSet<_> = endpoints.iter().map(origin).collect();
        if origins.len() < 2 {
            return 0;
        }
        let mut refused = BTreeSet::new();
        for (place, endpoint) in endpoints.iter().enumerate() {
            if refused.contains(&origin(endpoint)) {
                continue;
            }
            if self.connects(endpoint.url()).await {
                return place;
            }
            tracing::warn!(agent = %without_user(endpoint.url()), "the connection is refused, trying the card's next interface");
            refused.insert(origin(endpoint));
        }
        0
    }

    /// Returns whether the server accepts a connection. HEAD has no effect.
    async fn connects(&self, url: &Url) -> bool {
        let asked = self.http.head(url.clone()).send();
        match tokio::time::timeout(self.options.place, asked).await {
            Ok(Err(error)) => !error.is_connect(),
            Ok(Ok(_)) | Err(_) => true,
        }
    }
}

fn origin(endpoint: &AgentEndpoint) -> String {
    endpoint.url().origin().ascii_serialization()
}

/// Returns whether two addresses have the same host and port, or the redirect only goes from http to https at default
/// ports.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let is_secured = (from.scheme(), to.scheme()) == ("http", "https")
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host() && (from.origin() == to.origin() || is_secured)
}

fn private(url: &Url, found: &PrivateAddress) -> DiscoveryError {
    DiscoveryError::Private { url: without_user(url), address: found.address.to_string() }
}

/// Returns the error for a failed request. The innermost cause describes the failure; an error of the guard also has
/// the address.
fn unreachable(url: &Url, error: &reqwest::Error) -> DiscoveryError {
    match PrivateAddress::in_error(error) {
        Some(found) => private(url, found),
        None => DiscoveryError::Unreachable {
            url: without_user(url),
            cause: certificate::rejection(error)
                .or_else(|| certificate::refusal(error))
                .unwrap_or_else(|| root_cause_with_proxy(error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The permission of the discovery holds for the calls too.
    #[tokio::test]
    async fn an_agent_is_called_as_it_was_looked_for() {
        let target = Url::parse("https://agent.test/card.json").unwrap();
        let agent = |url: &str| {
            let card = serde_json::json!({"name": "n", "url": url});
            Discovered::from_card(card, target.clone()).unwrap()
        };
        for (allow_private, url, expected) in [
            (false, "https://1.1.1.1/", Some(false)),
            (true, "https://1.1.1.1/", Some(true)),
            (false, "https://10.0.0.1/", None),
            (true, "https://10.0.0.1/", Some(true)),
        ] {
            let options = DiscoveryOptions { allow_private, ..DiscoveryOptions::default() };
            let fetcher = Fetcher::new(&target, &options).unwrap();
            let found = fetcher.allowed(agent(url)).await.ok();
            assert_eq!(found.map(|agent| agent.allow_private), expected, "{url}");
        }
    }

    #[test]
    fn a_redirect_stays_on_its_host() {
        for (from, to, same) in [
            ("http://h/a", "http://h/b", true),
            ("http://h/a", "https://h/a", true),
            ("https://h/a", "http://h/a", false),
            ("http://h:1/a", "http://h:2/a", false),
            ("http://h:1/a", "https://h/a", false),
            ("http://h/a", "http://www.h/a", false),
        ] {
            let (one, other) = (Url::parse(from).unwrap(), Url::parse(to).unwrap());
            assert_eq!(is_same_host(&one, &other), same, "{from} {to}");
        }
    }
}
