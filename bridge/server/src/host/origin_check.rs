//! Refuses requests that a web page may have sent in its visitor's name: from another site, as `Origin` shows
//! (RFC 6454, section 7), or to a host name that resolves to the bridge without its consent, as `Host` shows
//! (DNS rebinding).

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{
        HeaderMap,
        header::{CONTENT_TYPE, HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::Response,
};
use bridge_protocol::a2a::Binding;
use url::Url;

use super::HttpGuard;
use crate::{
    access::Refusal,
    server::{Origin, is_for_bots},
};

/// The wildcard for all origins and all names.
const WILDCARD: &str = "*";

/// Refuses requests that may come from another site's page.
pub(super) async fn refuse(
    State(guard): State<Arc<HttpGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let Err(message) = guard.check_request(&request) else {
        return next.run(request).await;
    };
    tracing::debug!("a request was refused: {message}");
    let headers = request.headers();
    let content = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let binding = match content.is_some_and(|content| content.starts_with(b"application/grpc")) {
        true => Binding::Grpc,
        false => Binding::HttpJson,
    };
    Refusal::foreign(message).response(binding, headers, None)
}

impl HttpGuard {
    fn check_request(&self, request: &Request) -> Result<(), String> {
        let headers = request.headers();
        // Over HTTP/2 the host is in the request's URI.
        let host = match request.uri().authority() {
            Some(authority) => Some(authority.as_str()),
            None => headers.get(HOST).map(|host| host.to_str().unwrap_or("?")),
        };
        let own_origin = request.extensions().get::<Origin>();
        // `bridge_program::serve` refuses this, other servers may not: a proxy in front may go by another of the names.
        if headers.get_all(HOST).iter().count() > 1 {
            return Err("Host: expected one name, found several".to_owned());
        }
        // Each agent may have its own callback URL, by whose name its bot calls; no page knows the secret in it.
        let is_checked = own_origin.is_none() && !is_for_bots(request.uri().path());
        if let Some(host) = host.filter(|host| is_checked && !self.has_name(host)) {
            return Err(format!(
                "Host: expected a name of this machine or of the public URL, found {host:?}: set `public_url` or \
                --public-url to the URL that clients use, or allow the name with `hosts` or --allow-host"
            ));
        }
        self.check_origin(headers, host, own_origin)
    }

    fn check_origin(
        &self,
        headers: &HeaderMap,
        host: Option<&str>,
        told: Option<&Origin>,
    ) -> Result<(), String> {
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or("?");
            if !self.may_call(origin, host, told) {
                return Err(format!(
                    "Origin: expected a page of this address or an allowed one, found {origin:?}: allow it with \
                     `cors.origins` of the configuration or --allow-origin"
                ));
            }
        }
        Ok(())
    }

    fn may_call(&self, origin: &str, host: Option<&str>, own_origin: Option<&Origin>) -> bool {
        let is_named = self.origins.iter().any(|known| {
            known == WILDCARD || known.trim_end_matches('/').eq_ignore_ascii_case(origin)
        });
        let public = self.public_url.as_ref();
        let public = public.map(|url| url.origin().ascii_serialization());
        let ours = public.into_iter().chain(own_origin.map(|own_origin| own_origin.0.clone()));
        let is_same = host.is_some_and(|host| {
            let site = origin.split_once("://").map(|(_, site)| site);
            site.is_some_and(|site| site.eq_ignore_ascii_case(host))
        });
        is_named || is_same || ours.into_iter().any(|ours| ours.eq_ignore_ascii_case(origin))
    }

    /// Returns whether requests to this `HOST:PORT` are meant for the bridge. IP addresses always are, because only
    /// names can be made to resolve to it by others.
    fn has_name(&self, host: &str) -> bool {
        let Some(names) = &self.hosts else {
            return true;
        };
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let public = self.public_url.as_ref().and_then(Url::host_str);
        let mut known = names.iter().map(String::as_str).chain(public);
        bare.parse::<IpAddr>().is_ok()
            || is_local(&name)
            || known.any(|known| known == WILDCARD || known.eq_ignore_ascii_case(&name))
    }
}

/// Returns whether a name cannot exist in the public DNS: names of this machine (RFC 6761, 6.3), and those by which a
/// container reaches its host (`host.docker.internal`).
fn is_local(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost") || name.ends_with(".internal")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn guard() -> HttpGuard {
        HttpGuard {
            origins: vec!["https://app.example".into(), "https://other.example/".into()],
            public_url: Some("https://agents.example/base".parse().unwrap()),
            hosts: Some(vec!["mybox".into()]),
            ..HttpGuard::default()
        }
    }

    fn checked(
        guard: &HttpGuard,
        headers: &[(&str, &str)],
        told: Option<&str>,
    ) -> Result<(), String> {
        checked_at("/", guard, headers, told)
    }

    fn checked_at(
        path: &str,
        guard: &HttpGuard,
        headers: &[(&str, &str)],
        told: Option<&str>,
    ) -> Result<(), String> {
        let mut request = Request::post(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        if let Some(told) = told {
            request.extensions_mut().insert(Origin(told.to_owned()));
        }
        guard.check_request(&request)
    }

    #[test]
    fn only_names_of_ours_are_answered() {
        for (host, is_ours) in [
            ("127.0.0.1:3978", true),
            ("[::1]:3978", true),
            ("localhost:3978", true),
            ("LOCALHOST.", true),
            ("a.localhost", true),
            ("host.docker.internal:3978", true),
            ("agents.example", true),
            ("MyBox:80", true),
            ("evil.example:3978", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("a b", false),
            ("me@evil.example", false),
        ] {
            let checked = checked(&guard(), &[("host", host)], None);
            assert_eq!(checked.is_ok(), is_ours, "{host}: {checked:?}");
        }
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert!(checked(&guard(), &two, None).is_err());
        for hosts in [None, Some(vec!["mybox".to_owned(), "*".to_owned()])] {
            let anywhere = HttpGuard { hosts, ..guard() };
            assert_eq!(checked(&anywhere, &[("host", "evil.example")], None), Ok(()));
        }
        let told = checked(&guard(), &[("host", "a.example")], Some("https://a.example"));
        assert_eq!(told, Ok(()), "a proxy is believed that the operator named");
    }

    #[test]
    fn a_bot_calls_by_any_name() {
        for (path, may_call) in [
            ("/bots/secret/v3/conversations/c/activities", true),
            ("/v3/attachments/a", true),
            ("/a2a/bot", false),
            ("/bots", false),
        ] {
            let checked = checked_at(path, &guard(), &[("host", "tunnel.example")], None);
            assert_eq!(checked.is_ok(), may_call, "{path}");
        }
    }

    #[test]
    fn only_pages_of_ours_may_call() {
        for (host, origin, may_call) in [
            ("localhost:3978", "http://localhost:3978", true),
            ("localhost:3978", "http://localhost:8080", false),
            ("localhost:3978", "https://app.example", true),
            ("localhost:3978", "https://other.example", true),
            ("localhost:3978", "https://agents.example", true),
            ("localhost:3978", "https://evil.example", false),
            ("localhost:3978", "null", false),
            ("localhost:3978", "https://app.example.evil.example", false),
        ] {
            let checked = checked(&guard(), &[("host", host), ("origin", origin)], None);
            assert_eq!(checked.is_ok(), may_call, "{host} {origin}: {checked:?}");
        }
        let told = [("host", "127.0.0.1:3978"), ("origin", "https://told.example")];
        assert_eq!(checked(&guard(), &told, Some("https://told.example")), Ok(()));
        let both = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("origin", "https://evil.example"),
        ];
        assert!(checked(&guard(), &both, None).is_err());
        let all = HttpGuard { origins: vec!["*".into()], ..guard() };
        assert_eq!(checked(&all, &[("host", "localhost"), ("origin", "null")], None), Ok(()));
    }
}
