//! Checks in front of the agents: allowed web pages, host names, and trusted proxies.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method,
        header::{ETAG, FORWARDED, RETRY_AFTER, WWW_AUTHENTICATE},
        uri::Authority,
    },
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use ipnet::IpNet;
use tower_http::cors::{AllowHeaders, Any, CorsLayer};
use url::Url;

use super::origin_check;
use crate::{quota::ClientAddress, server::Origin};

/// The time for which a browser need not ask again whether a page may call; browsers allow at most two hours.
const PREFLIGHT_VALIDITY: Duration = Duration::from_hours(2);

/// The checks in front of the agents. The default allows no web pages of other addresses and trusts no proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpGuard {
    /// Origins of web pages that may call the agents, such as `https://app.example`; `*` for all. Pages of
    /// the bridge's own address are always allowed.
    pub origins: Vec<String>,
    /// The URL of the agents for clients, if known; its host name is allowed, and agent cards have it whatever proxies say.
    pub public_url: Option<Url>,
    /// Host names by which clients may call, in addition to that of `public_url`, `localhost` and all IP
    /// addresses; `*` or `None` for all. Programs that listen only on loopback should set it, because
    /// otherwise any web page can make a name resolve there.
    pub hosts: Option<Vec<String>>,
    /// Proxies that are trusted to name the address by which a client reached them, in `Forwarded` (RFC 7239)
    /// or `X-Forwarded-Host` and `X-Forwarded-Proto`, and the client's own, in `Forwarded` or `X-Forwarded-For`. Without a
    /// `public_url`, agent cards have the former; limits of callers without credentials apply to the latter. The server must
    /// provide the peer's address, as this crate's own `serve` does.
    pub trusted_proxies: Vec<IpNet>,
}

impl HttpGuard {
    /// Returns the app behind these checks.
    pub fn wrap(&self, app: Router) -> Router {
        let app = if self.origins.is_empty() { app } else { app.layer(self.cors()) };
        let app = app.layer(from_fn_with_state(Arc::new(self.clone()), origin_check::refuse));
        match self.trusted_proxies.is_empty() {
            true => app,
            false => app.layer(from_fn_with_state(Arc::new(self.clone()), forwarded)),
        }
    }

    fn cors(&self) -> CorsLayer {
        let layer = CorsLayer::new()
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            // `*` does not cover `Authorization` (Fetch, section 3.3.4).
            .allow_headers(AllowHeaders::mirror_request())
            .max_age(PREFLIGHT_VALIDITY)
            .expose_headers([
                ETAG,
                RETRY_AFTER,
                WWW_AUTHENTICATE,
                HeaderName::from_static("a2a-version"),
                HeaderName::from_static("a2a-extensions"),
                HeaderName::from_static("x-a2a-extensions"),
            ]);
        if self.origins.iter().any(|origin| origin == "*") {
            return layer.allow_origin(Any);
        }
        let origins = self.origins.iter();
        let origins = origins.filter_map(|origin| HeaderValue::from_str(origin).ok());
        layer.allow_origin(origins.collect::<Vec<_>>())
    }
}

async fn forwarded(
    State(guard): State<Arc<HttpGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map(|ConnectInfo(peer)| peer.ip().to_canonical());
    let is_trusted = |peer: IpAddr| guard.trusted_proxies.iter().any(|net| net.contains(&peer));
    if peer.is_some_and(is_trusted) {
        if let Some(origin) = origin(request.headers()) {
            let public = guard.public_url.as_ref();
            let public = public.map(|url| Origin(url.as_str().trim_end_matches('/').to_owned()));
            request.extensions_mut().insert(public.unwrap_or(origin));
        }
        if let Some(address) = client_address(request.headers()) {
            request.extensions_mut().insert(address);
        }
    }
    next.run(request).await
}

/// Returns the address by which the client reached the proxy. Only the last element of a list was added by the proxy;
/// the others may be forged by the client.
fn origin(headers: &HeaderMap) -> Option<Origin> {
    let [proto, host] = ["proto", "host"].map(|name| {
        let element = last(headers, FORWARDED.as_str());
        let usual = last(headers, &format!("x-forwarded-{name}"));
        agreed(element.and_then(|element| parameter(element, name)), usual)
    });
    let proto = proto.unwrap_or("http").to_ascii_lowercase();
    let host: Authority = host?.parse().ok()?;
    let is_plain = !host.as_str().contains('@') && matches!(proto.as_str(), "http" | "https");
    is_plain.then(|| Origin(format!("{proto}://{host}")))
}

/// Returns the client's address, as the proxy saw it; `None` if it is hidden or malformed.
fn client_address(headers: &HeaderMap) -> Option<ClientAddress> {
    let element = last(headers, FORWARDED.as_str());
    let standard = element.and_then(|element| parameter(element, "for"));
    let usual = last(headers, "x-forwarded-for");
    agreed(standard.map(address), usual.map(address))?.map(ClientAddress)
}

/// Parses an address with a port (RFC 7239, section 6), with brackets around IPv6, or alone.
fn address(named: &str) -> Option<IpAddr> {
    let with_port = named.parse::<SocketAddr>().map(|address| address.ip());
    let alone = || named.trim_matches(['[', ']']).parse();
    with_port.or_else(|_| alone()).ok()
}

/// Returns what a proxy says in `Forwarded` or in the usual header. Most proxies write one of them and pass on what a
/// client wrote into the other, so only what both say is believed if there are both.
fn agreed<T: PartialEq>(standard: Option<T>, usual: Option<T>) -> Option<T> {
    match (standard, usual) {
        (Some(standard), Some(usual)) => (standard == usual).then_some(standard),
        (standard, usual) => standard.or(usual),
    }
}

fn last<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    value.rsplit(',').next().map(str::trim)
}

/// Returns a parameter of one element of `Forwarded`.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        let is_it = key.eq_ignore_ascii_case(name);
        is_it.then(|| value.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trusted_proxy_names_the_client() {
        for (name, value, expected) in [
            ("x-forwarded-for", "10.0.0.1, 192.0.2.7", Some("192.0.2.7")),
            ("x-forwarded-for", "192.0.2.7:4711", Some("192.0.2.7")),
            ("x-forwarded-for", "2001:db8::1", Some("2001:db8::1")),
            ("forwarded", "for=evil, for=\"[2001:db8::1]:80\"", Some("2001:db8::1")),
            ("forwarded", "for=\"[2001:db8::1]\"", Some("2001:db8::1")),
            ("forwarded", "for=_hidden;proto=https", None),
            ("forwarded", "proto=https", None),
            ("x-forwarded-host", "a.test", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            let found = client_address(&headers).map(|ClientAddress(address)| address.to_string());
            assert_eq!(found.as_deref(), expected, "{name}: {value}");
        }
    }

    /// A proxy that knows one of the headers passes on the other one as the client has written it.
    #[test]
    fn a_client_cannot_name_itself_in_the_other_header() {
        for (forwarded, usual, expected) in [
            ("for=192.0.2.7", "192.0.2.7", Some("192.0.2.7")),
            ("for=10.0.0.1", "192.0.2.7", None),
            ("for=_hidden", "192.0.2.7", None),
            ("proto=https", "192.0.2.7", Some("192.0.2.7")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("forwarded", HeaderValue::from_static(forwarded));
            headers.insert("x-forwarded-for", HeaderValue::from_static(usual));
            let found = client_address(&headers).map(|ClientAddress(address)| address.to_string());
            assert_eq!(found.as_deref(), expected, "{forwarded}, {usual}");
        }
    }

    #[test]
    fn a_proxy_says_where_it_is_reached() {
        type Headers = &'static [(&'static str, &'static str)];
        let cases: &[(Headers, Option<&str>)] = &[
            (&[], None),
            (&[("x-forwarded-proto", "https")], None),
            (&[("x-forwarded-host", "a.test")], Some("http://a.test")),
            (
                &[("x-forwarded-host", "evil, a.test:8443"), ("x-forwarded-proto", "HTTPS")],
                Some("https://a.test:8443"),
            ),
            (
                &[("forwarded", "for=1.2.3.4;host=evil, for=5;host=\"a.test\";proto=https")],
                Some("https://a.test"),
            ),
            (&[("forwarded", "host=evil"), ("x-forwarded-host", "a.test")], None),
            (
                &[("forwarded", "host=a.test"), ("x-forwarded-host", "a.test")],
                Some("http://a.test"),
            ),
            (&[("x-forwarded-host", "me@evil")], None),
            (&[("x-forwarded-host", "a b")], None),
            (&[("x-forwarded-host", "a"), ("x-forwarded-proto", "ftp")], None),
        ];
        for (given, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let found = origin(&headers).map(|Origin(origin)| origin);
            assert_eq!(found.as_deref(), *expected, "{given:?}");
        }
    }
}
