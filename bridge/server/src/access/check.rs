//! Checks the credentials that callers present for a scheme.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Secrets,
    decision::{CheckResult, Verified},
};
use crate::{
    auth::{Identity, Refusal, Verifier},
    caller::Caller,
};

/// The default claims with the scopes of a token: RFC 8693, section 4.2, and Entra's own.
const SCOPES: [&str; 2] = ["scope", "scp"];

/// The prefix for the issuer in the ids of callers with certificates.
const ISSUER: &str = "x509";

/// The credentials accepted for one scheme; several kinds may be accepted.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Signed tokens.
    pub token: Option<TokenCheck>,
    /// Fixed keys, passwords or tokens.
    pub secrets: Secrets,
    /// Client certificates.
    pub certificates: Option<Certificates>,
}

/// The signed tokens that are accepted.
#[derive(Clone, Debug)]
pub struct TokenCheck {
    /// Checks issuer, audience and signature.
    pub verifier: Arc<Verifier>,
    /// The claim with the scopes, as a text with spaces or a list; `scope` or `scp` if absent.
    pub scopes: Option<String>,
    /// The claim with the tenant or tenants that the caller may use. If absent, callers may use any.
    pub tenants: Option<String>,
}

impl Check {
    /// Checks a token or key.
    pub(super) async fn text(&self, shown: &str, now: Timestamp) -> CheckResult {
        if let Some(name) = self.secrets.owner(shown) {
            return known(name);
        }
        match &self.token {
            Some(token) => token.check(shown, now).await,
            None => CheckResult::Wrong("the secret is not known".to_owned()),
        }
    }

    /// Checks a user name with a password.
    pub(super) fn password(&self, name: &str, password: &str) -> CheckResult {
        match self.secrets.is_of(name, password) {
            true => known(name),
            false => CheckResult::Wrong("the name or the password is wrong".to_owned()),
        }
    }

    /// Checks a client certificate.
    pub(super) fn certificate(&self, certificate: &PeerCertificate) -> CheckResult {
        match &self.certificates {
            Some(some) => some.check(certificate),
            None => CheckResult::Wrong("certificates are not accepted".to_owned()),
        }
    }
}

fn known(name: &str) -> CheckResult {
    CheckResult::Verified(Verified {
        caller: Caller::new(name),
        scopes: BTreeSet::new(),
        is_token: false,
    })
}

/// A client's certificate, as an [`axum::Extension`] set by the TLS listener. The listener has verified its
/// issuer and that the client has its private key. This crate's own TLS does so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The subject (RFC 4514), such as `CN=alice,O=Example`; may be empty.
    pub subject: String,
    /// The alternative names (RFC 5280, section 4.2.1.6): hosts, URIs and mailboxes.
    pub names: Vec<String>,
    /// The SHA-256 fingerprint, in lower-case hexadecimal digits.
    pub fingerprint: String,
}

/// The client certificates that are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// Accepted subjects, alternative names or fingerprints; if empty, every certificate with a trusted
    /// issuer.
    pub only: BTreeSet<String>,
}

impl Certificates {
    /// Identifies the caller by subject, first alternative name or fingerprint, in this order, because the
    /// first two do not change when the certificate is renewed.
    fn check(&self, shown: &PeerCertificate) -> CheckResult {
        let subject = Some(&shown.subject).filter(|text| !text.is_empty());
        let known = subject.or(shown.names.first()).unwrap_or(&shown.fingerprint);
        let mut names = shown.names.iter().chain([&shown.subject, &shown.fingerprint]);
        let is_let_in = self.only.is_empty() || names.any(|one| self.only.contains(one));
        match is_let_in {
            true => self::known(&qualified(ISSUER, known)),
            false => CheckResult::Wrong("this certificate is not accepted".to_owned()),
        }
    }
}

impl TokenCheck {
    /// Accepts the tokens that this verifier accepts.
    pub fn new(verifier: Verifier) -> Self {
        Self { verifier: Arc::new(verifier), scopes: None, tenants: None }
    }

    async fn check(&self, token: &str, now: Timestamp) -> CheckResult {
        match self.verifier.verify(token, now).await {
            Ok(identity) => self.proof(&identity),
            // The location of keys is the operator's concern and is not shown to the caller.
            Err(Refusal::Keys(_)) => CheckResult::Unchecked,
            Err(refusal) => CheckResult::Wrong(refusal.to_string()),
        }
    }

    fn proof(&self, identity: &Identity) -> CheckResult {
        let subject = identity.subject.as_deref().filter(|text| !text.is_empty());
        let Some(subject) = subject else {
            let why = "expected a token with a subject (sub)";
            return CheckResult::Wrong(why.to_owned());
        };
        let caller = Caller::new(qualified(&identity.issuer, subject));
        CheckResult::Verified(Verified {
            caller: match &self.tenants {
                None => caller,
                Some(claim) => caller.bound_to(claim_words(identity.claims.get(claim))),
            },
            scopes: self.scopes(identity),
            is_token: true,
        })
    }

    fn scopes(&self, identity: &Identity) -> BTreeSet<String> {
        let words_of = |claim: &str| claim_words(identity.claims.get(claim));
        match &self.scopes {
            Some(claim) => words_of(claim),
            None => SCOPES.into_iter().flat_map(words_of).collect(),
        }
    }
}

/// Returns the caller's id from issuer and subject, unique among all issuers. The part before the space has no space
/// itself, and callers with secrets have names without spaces.
fn qualified(issuer: &str, subject: &str) -> String {
    let plain = |text: &str| text.replace(char::is_control, "%");
    let issuer = plain(issuer).replace('%', "%25").replace(' ', "%20");
    format!("{issuer} {}", plain(subject))
}

/// Returns the words of a claim: a text with spaces between them, or a list.
fn claim_words(claim: Option<&Value>) -> BTreeSet<String> {
    match claim {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(subject: Option<&str>, claims: &Value) -> CheckResult {
        let check = TokenCheck {
            tenants: claims.get("org").map(|_| "org".to_owned()),
            ..TokenCheck::new(Verifier::new([], []))
        };
        check.proof(&Identity {
            issuer: "https://id.test".to_owned(),
            subject: subject.map(str::to_owned),
            claims: claims.as_object().cloned().unwrap_or_default(),
        })
    }

    #[test]
    fn a_token_speaks_of_its_issuers_subject_with_its_scopes() {
        for (claims, scopes) in [
            (json!({}), &[][..]),
            (json!({"scope": "read write"}), &["read", "write"]),
            (json!({"scp": ["read"], "scope": 7}), &["read"]),
        ] {
            let CheckResult::Verified(proof) = shown(Some("me"), &claims) else {
                panic!("no proof");
            };
            assert_eq!(proof.caller, Caller::new("https://id.test me"));
            assert!(proof.scopes.iter().eq(scopes), "{:?}", proof.scopes);
        }
        for subject in [None, Some("")] {
            assert!(matches!(shown(subject, &json!({})), CheckResult::Wrong(_)));
        }
    }

    #[test]
    fn a_claim_binds_a_caller_to_tenants() {
        for (claims, may) in [
            (json!({}), [true, true, true]),
            (json!({"org": "one"}), [true, false, false]),
            (json!({"org": ["one", "two"]}), [true, true, false]),
            (json!({"org": null}), [false, false, false]),
        ] {
            let CheckResult::Verified(proof) = shown(Some("me"), &claims) else {
                panic!("no proof");
            };
            let seen = [Some("one"), Some("two"), None].map(|name| proof.caller.may_name(name));
            assert_eq!(seen, may);
        }
    }

    #[test]
    fn subjects_of_two_issuers_differ() {
        assert_ne!(qualified("a b", "c"), qualified("a", "b c"));
        assert_ne!(qualified("a%20b", "c"), qualified("a b", "c"));
        assert_eq!(qualified("a", "b\u{1f}c"), "a b%c");
    }

    #[test]
    fn a_certificate_is_its_subject_name_or_fingerprint() {
        let certificate = |subject: &str, names: &[&str]| PeerCertificate {
            subject: subject.to_owned(),
            names: names.iter().map(|one| (*one).to_owned()).collect(),
            fingerprint: "ab12".to_owned(),
        };
        let only = |names: &[&str]| Certificates {
            only: names.iter().map(|one| (*one).to_owned()).collect(),
        };
        for (rule, shown, expected) in [
            (only(&[]), certificate("CN=a", &["n"]), Some("x509 CN=a")),
            (only(&[]), certificate("", &["n"]), Some("x509 n")),
            (only(&[]), certificate("", &[]), Some("x509 ab12")),
            (only(&["n"]), certificate("CN=a", &["n"]), Some("x509 CN=a")),
            (only(&["ab12"]), certificate("CN=a", &[]), Some("x509 CN=a")),
            (only(&["CN=b"]), certificate("CN=a", &["n"]), None),
            (only(&["CN=b"]), certificate("", &[]), None),
        ] {
            let seen = match rule.check(&shown) {
                CheckResult::Verified(proof) => Some(proof.caller.id),
                CheckResult::Nothing | CheckResult::Wrong(_) | CheckResult::Unchecked => None,
            };
            assert_eq!(seen.as_deref(), expected, "{shown:?}");
        }
    }
}
