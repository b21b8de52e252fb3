//! The location of a scheme's credential in a request (specification 4.5, RFC 6750, RFC 7617).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;

use super::{Check, PeerCertificate, decision::CheckResult};
use crate::auth::bearer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CredentialLocation {
    /// `Authorization: Bearer`.
    Bearer,
    /// `Authorization: Basic`.
    Basic,
    /// A header of the scheme's own.
    Header(HeaderName),
    /// A query parameter.
    Query(String),
    Cookie(String),
    /// The TLS connection.
    Connection,
}

/// The parts of a request that can have credentials.
pub(super) struct Head<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) query: &'a str,
    pub(super) certificate: Option<&'a PeerCertificate>,
}

impl CredentialLocation {
    /// Checks the credential at this location. A repeated credential counts as none, because other readers of
    /// the request may use the other one.
    pub(super) async fn check(
        &self,
        head: &Head<'_>,
        check: &Check,
        now: Timestamp,
    ) -> CheckResult {
        match self {
            Self::Connection => {
                head.certificate.map_or(CheckResult::Nothing, |one| check.certificate(one))
            }
            Self::Basic => match basic(head.headers) {
                None => CheckResult::Nothing,
                Some(Some((name, password))) => check.password(&name, &password),
                Some(None) => CheckResult::Wrong("expected base64 of NAME:PASSWORD".to_owned()),
            },
            Self::Bearer | Self::Header(_) | Self::Query(_) | Self::Cookie(_) => {
                match self.shown(head) {
                    Some(text) => check.text(&text, now).await,
                    None => CheckResult::Nothing,
                }
            }
        }
    }

    /// Returns the text at this location; none for connections.
    pub(super) fn shown(&self, head: &Head<'_>) -> Option<String> {
        match self {
            Self::Connection => None,
            Self::Basic => only(head.headers.get_all(header::AUTHORIZATION).iter()).and_then(plain),
            Self::Bearer => bearer(head.headers).ok().map(str::to_owned),
            Self::Header(name) => only(head.headers.get_all(name).iter()).and_then(plain),
            Self::Query(name) => only(
                url::form_urlencoded::parse(head.query.as_bytes())
                    .filter(|(key, _)| key == name)
                    .map(|(_, value)| value.into_owned()),
            ),
            Self::Cookie(name) => only(cookies(head.headers).filter(|(key, _)| key == name))
                .map(|(_, value)| value.to_owned()),
        }
    }
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next();
    first.filter(|_| all.next().is_none())
}

fn plain(value: &HeaderValue) -> Option<String> {
    value.to_str().ok().map(str::to_owned)
}

/// Returns user name and password, if there is one `Authorization: Basic` header; `Some(None)` if its content is
/// invalid.
fn basic(headers: &HeaderMap) -> Option<Option<(String, String)>> {
    let value = only(headers.get_all(header::AUTHORIZATION).iter())?;
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = STANDARD.decode(encoded.trim()).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Some(text.and_then(|text| {
        let (name, password) = text.split_once(':')?;
        Some((name.to_owned(), password.to_owned()))
    }))
}

/// Returns the cookies by name (RFC 6265, section 4.2).
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    pairs.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::Secrets, auth::Secret, caller::Caller};

    async fn check(
        place: &CredentialLocation,
        headers: &[(HeaderName, &str)],
        query: &str,
    ) -> Option<bool> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let head = Head { headers: &map, query, certificate: None };
        let check = Check {
            secrets: Secrets::default().with("me", &Secret::new("s e")).unwrap(),
            ..Check::default()
        };
        match place.check(&head, &check, Timestamp::UNIX_EPOCH).await {
            CheckResult::Nothing => None,
            CheckResult::Verified(proof) => {
                assert_eq!(proof.caller, Caller::new("me"));
                Some(true)
            }
            CheckResult::Wrong(_) => Some(false),
            CheckResult::Unchecked => panic!("nothing is asked elsewhere"),
        }
    }

    #[tokio::test]
    async fn a_credential_is_in_one_place() {
        use header::{AUTHORIZATION, COOKIE};
        let key = HeaderName::from_static("x-key");
        let at = |place: &str| match place {
            "bearer" => CredentialLocation::Bearer,
            "basic" => CredentialLocation::Basic,
            "query" => CredentialLocation::Query("key".to_owned()),
            "cookie" => CredentialLocation::Cookie("key".to_owned()),
            "connection" => CredentialLocation::Connection,
            _ => CredentialLocation::Header(HeaderName::from_static("x-key")),
        };
        type Headers<'a> = &'a [(HeaderName, &'a str)];
        let cases: &[(&str, Headers<'_>, &str, Option<bool>)] = &[
            ("bearer", &[(AUTHORIZATION, "Bearer s e")], "", Some(true)),
            ("bearer", &[(AUTHORIZATION, "Bearer s")], "", Some(false)),
            ("bearer", &[(AUTHORIZATION, "Basic bWU6cyBl")], "", None),
            ("basic", &[(AUTHORIZATION, "basic bWU6cyBl")], "", Some(true)),
            ("basic", &[(AUTHORIZATION, "Basic bWU6cw==")], "", Some(false)),
            ("basic", &[(AUTHORIZATION, "Basic ?")], "", Some(false)),
            ("basic", &[(AUTHORIZATION, "Bearer s")], "", None),
            ("header", &[(key.clone(), "s e")], "", Some(true)),
            ("header", &[(key.clone(), "s e"), (key.clone(), "s e")], "", None),
            ("header", &[], "key=s+e", None),
            ("query", &[], "a=1&key=s%20e", Some(true)),
            ("query", &[], "key=s+e&key=s+e", None),
            ("query", &[], "", None),
            ("cookie", &[(COOKIE, "a=1; key=s e")], "", Some(true)),
            ("cookie", &[(COOKIE, "key=x")], "", Some(false)),
            ("cookie", &[(COOKIE, "nokey=x")], "", None),
            ("connection", &[(key.clone(), "s e")], "", None),
        ];
        for (number, (place, headers, query, expected)) in cases.iter().enumerate() {
            let seen = check(&at(place), headers, query).await;
            assert_eq!(seen, *expected, "case {number} ({place})");
        }
    }
}
