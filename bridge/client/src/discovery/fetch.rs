//! Fetches one location: follows redirects within its host, and observes the limits.

use std::collections::BTreeSet;

use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, LOCATION},
    redirect,
};
use url::Url;

use super::{Discovered, DiscoveryError, DiscoveryOptions, Reach};
use crate::{
    body::{self, Unread},
    certificate,
    credentials::is_loopback,
    error::root_cause,
    guard::{Guard, Private},
    interface::without_user,
};

/// Fetches the locations of one target.
pub(super) struct Fetcher<'a> {
    http: reqwest::Client,
    guard: Guard,
    target: &'a Url,
    options: &'a DiscoveryOptions,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(
        target: &'a Url,
        options: &'a DiscoveryOptions,
    ) -> Result<Self, DiscoveryError> {
        if !matches!(target.scheme(), "http" | "https") || target.host().is_none() {
            let target = target.to_string();
            return Err(DiscoveryError::Scheme { target });
        }
        let builder = reqwest::Client::builder()
            .connect_timeout(options.connect)
            .redirect(redirect::Policy::none())
            .tcp_nodelay(true);
        let guard = options.guard();
        let builder = guard.on(options.roots.add_to(builder));
        // A proxy from the environment is for other machines.
        let builder = match is_loopback(target) {
            true => builder.no_proxy(),
            false => builder,
        };
        let http = builder
            .build()
            .map_err(|error| unreachable(target, &error))?;
        Ok(Self {
            http,
            guard,
            target,
            options,
        })
    }

    /// Fetches a location. Returns the body and the address after redirects, or `None` if there is nothing.
    pub(super) async fn get(&self, place: &Url) -> Result<Option<(Url, Vec<u8>)>, DiscoveryError> {
        let limit = self.options.place;
        let fetched = tokio::time::timeout(limit, self.follow(place)).await;
        fetched.unwrap_or_else(|_| {
            let url = place.to_string();
            Err(DiscoveryError::Timeout { url, limit })
        })
    }

    async fn follow(&self, place: &Url) -> Result<Option<(Url, Vec<u8>)>, DiscoveryError> {
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
                let status = status.as_u16();
                let url = url.to_string();
                return Err(DiscoveryError::Status { url, status });
            }
        }
        let limit = self.options.redirects;
        let url = url.to_string();
        Err(DiscoveryError::Redirects { url, limit })
    }

    async fn ask(&self, url: &Url) -> Result<Response, DiscoveryError> {
        let literal = self.guard.check_literal(url);
        literal.map_err(|found| private(url, &found))?;
        let request = self
            .http
            .get(url.clone())
            .header(ACCEPT, "application/json");
        let request = match self.options.credentials.check(self.target, url) {
            Ok(()) => self.options.credentials.show(request),
            Err(_) => request,
        };
        request
            .send()
            .await
            .map_err(|error| unreachable(url, &error))
    }

    fn redirected(&self, url: &Url, reply: &Response) -> Result<Url, DiscoveryError> {
        let location = reply.headers().get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let limit = self.options.redirects;
        let to = location
            .and_then(|location| url.join(location).ok())
            .ok_or_else(|| DiscoveryError::Redirects {
                url: url.to_string(),
                limit,
            })?;
        match self.options.allow_elsewhere || is_same_host(url, &to) {
            true => Ok(to),
            false => Err(DiscoveryError::Elsewhere {
                url: url.to_string(),
                to: to.to_string(),
            }),
        }
    }

    async fn read(&self, url: &Url, reply: Response) -> Result<Vec<u8>, DiscoveryError> {
        let limit = self.options.size;
        body::read(reply, limit).await.map_err(|error| match error {
            Unread::TooLarge => DiscoveryError::TooLarge {
                url: url.to_string(),
                limit,
            },
            Unread::Broken(error) => unreachable(url, &error),
        })
    }

    /// Removes the endpoints with private addresses unless these are allowed, and records the permission for
    /// later calls. Then moves the first endpoint that accepts a connection to the front (specification 5.2).
    ///
    /// [`DiscoveryError::Private`] if no endpoint remains.
    pub(super) async fn allowed(&self, agent: Discovered) -> Result<Discovered, DiscoveryError> {
        let mut refused = None;
        let mut ways = Vec::new();
        for way in std::iter::once(agent.reach).chain(agent.others) {
            match self.guard.check(way.url()).await {
                Ok(()) => ways.push(way),
                Err(found) => refused = refused.or_else(|| Some(private(way.url(), &found))),
            }
        }
        let first = self.first_connected(&ways).await;
        match (ways.is_empty(), refused) {
            (true, Some(refused)) => Err(refused),
            (_, _) => Ok(Discovered {
                reach: ways.remove(first),
                others: ways,
                allow_private: self.guard.allow_private,
                ..agent
            }),
        }
    }

    /// The index of the first endpoint that accepts a connection, or 0 if none does. If all have one origin
    /// there is nothing to choose, and no connection is made.
    async fn first_connected(&self, ways: &[Reach]) -> usize {
        let origins: BTreeSet<_> = ways.iter().map(origin).collect();
        if origins.len() < 2 {
            return 0;
        }
        let mut refused = BTreeSet::new();
        for (place, way) in ways.iter().enumerate() {
            if refused.contains(&origin(way)) {
                continue;
            }
            if self.connects(way.url()).await {
                return place;
            }
            tracing::warn!(agent = %without_user(way.url()), "nobody takes a connection, so the card's next interface is tried");
            refused.insert(origin(way));
        }
        0
    }

    /// Whether the server accepts a connection. HEAD has no effect.
    async fn connects(&self, url: &Url) -> bool {
        let asked = self.http.head(url.clone()).send();
        match tokio::time::timeout(self.options.place, asked).await {
            Ok(Err(error)) => !error.is_connect(),
            Ok(Ok(_)) | Err(_) => true,
        }
    }
}

fn origin(way: &Reach) -> String {
    way.url().origin().ascii_serialization()
}

/// Whether two addresses have the same host and port, or the redirect only goes from http to https at default
/// ports.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let is_secured = (from.scheme(), to.scheme()) == ("http", "https")
        && from.port().is_none()
        && to.port().is_none();
    from.host() == to.host() && (from.origin() == to.origin() || is_secured)
}

fn private(url: &Url, found: &Private) -> DiscoveryError {
    DiscoveryError::Private {
        url: without_user(url),
        address: found.address.to_string(),
    }
}

/// The innermost error says what happened; an error of the guard also says the address.
fn unreachable(url: &Url, error: &reqwest::Error) -> DiscoveryError {
    match Private::in_error(error) {
        Some(found) => private(url, found),
        None => DiscoveryError::Unreachable {
            url: url.to_string(),
            cause: certificate::distrust(error).unwrap_or_else(|| root_cause(error)),
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
            let options = DiscoveryOptions {
                allow_private,
                ..DiscoveryOptions::default()
            };
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
