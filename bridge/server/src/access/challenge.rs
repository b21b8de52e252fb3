//! Writes `WWW-Authenticate` challenges (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 7617, section 2).

use super::{credential_location::CredentialLocation, plan::Demand};

/// Returns one challenge for each accepted scheme. The challenge for an invalid token has the reason.
pub(super) fn missing(demand: &Demand<'_>, wrong: Option<&(String, String)>) -> Vec<String> {
    let access = demand.access;
    let broken = wrong.and_then(|(name, why)| Some((&access.scheme(name)?.place, why)));
    let mut all: Vec<String> = Vec::new();
    for scheme in demand.schemes() {
        let mut challenge = scheme.place.challenge(access.realm());
        if let (CredentialLocation::Bearer, Some((CredentialLocation::Bearer, why))) =
            (&scheme.place, broken)
        {
            let why = quoted(why);
            challenge += &format!(", error=\"invalid_token\", error_description=\"{why}\"");
        }
        if !all.contains(&challenge) {
            all.push(challenge);
        }
    }
    all
}

/// Returns the challenge for a token with more scopes. It names all required scopes, because the client must request a
/// new token with all of them.
pub(super) fn insufficient(demand: &Demand<'_>, scheme: &str, required: &[String]) -> Vec<String> {
    let Some(scheme) = demand.access.scheme(scheme) else {
        return Vec::new();
    };
    let challenge = scheme.place.challenge(demand.access.realm());
    let scopes = quoted(&required.join(" "));
    vec![format!("{challenge}, error=\"insufficient_scope\", scope=\"{scopes}\"")]
}

impl CredentialLocation {
    fn challenge(&self, realm: &str) -> String {
        let realm = quoted(realm);
        let key = |at: &str, name: &str| {
            format!("ApiKey realm=\"{realm}\", in=\"{at}\", name=\"{}\"", quoted(name))
        };
        match self {
            Self::Bearer => format!("Bearer realm=\"{realm}\""),
            Self::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            Self::Header(name) => key("header", name.as_str()),
            Self::Query(name) => key("query", name),
            Self::Cookie(name) => key("cookie", name),
            Self::Connection => format!("Certificate realm=\"{realm}\""),
        }
    }

    /// Returns a description of the credential for people.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Bearer => "one header Authorization: Bearer TOKEN".to_owned(),
            Self::Basic => "one header Authorization: Basic with name and password".to_owned(),
            Self::Header(name) => format!("a key in the header {name}"),
            Self::Query(name) => format!("a key in the query parameter {name}"),
            Self::Cookie(name) => format!("a key in the cookie {name}"),
            Self::Connection => "a client certificate".to_owned(),
        }
    }
}

/// Returns a text for a quoted string in a header: characters that are not allowed are removed or become `'`.
fn quoted(text: &str) -> String {
    let allowed = |c: &char| matches!(c, ' '..='~') && *c != '\\';
    text.replace('"', "'").chars().filter(allowed).collect()
}
