//! Reads authentication challenges of a registry (RFC 9110, section 11.6.1; distribution specification,
//! "Authentication"): by password, or by a token from a token server.

use http_auth::{ChallengeRef, parse_challenges};
use url::Url;

/// The authentication that a registry requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User name and password.
    Basic,
    /// A token, to be fetched from this URL.
    Token(Url),
}

/// Chooses from `WWW-Authenticate` headers. Tokens are preferred, because registries that offer both have the
/// password for older clients. `None` if no challenge is supported.
pub(super) fn read<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Challenge> {
    let challenges = headers.flat_map(|header| parse_challenges(header).unwrap_or_default());
    let mut found = None;
    for challenge in challenges {
        match asked_by(&challenge) {
            Some(token @ Challenge::Token(_)) => return Some(token),
            Some(Challenge::Basic) => found = Some(Challenge::Basic),
            None => {}
        }
    }
    found
}

fn asked_by(challenge: &ChallengeRef<'_>) -> Option<Challenge> {
    if challenge.scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    let is_bearer = challenge.scheme.eq_ignore_ascii_case("bearer");
    let mut realm = Url::parse(&parameter(challenge, "realm").filter(|_| is_bearer)?).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = parameter(challenge, name) {
            realm.query_pairs_mut().append_pair(name, &value);
        }
    }
    Some(Challenge::Token(realm))
}

fn parameter(challenge: &ChallengeRef<'_>, wanted: &str) -> Option<String> {
    let mut parameters = challenge.params.iter();
    let (_, value) = parameters.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    Some(value.to_unescaped())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_parsed() {
        let token = |url: &str| Some(Challenge::Token(Url::parse(url).unwrap()));
        for (headers, expected) in [
            (&[r#"Basic realm="r""#][..], Some(Challenge::Basic)),
            (
                &[
                    r#"Bearer realm="https://auth.test/token",service="reg",scope="repository:a/b:pull,push""#,
                ],
                token("https://auth.test/token?service=reg&scope=repository%3Aa%2Fb%3Apull%2Cpush"),
            ),
            (
                &[r#"Basic realm="r""#, r#"bearer realm="https://auth.test/t?x=1""#],
                token("https://auth.test/t?x=1"),
            ),
            (&[r#"Bearer service="reg""#], None),
            (&[r#"Bearer realm="nowhere""#], None),
            (&["Negotiate"], None),
            (&["\"", ""], None),
            (&[], None),
        ] {
            assert_eq!(read(headers.iter().copied()), expected, "{headers:?}");
        }
    }
}
