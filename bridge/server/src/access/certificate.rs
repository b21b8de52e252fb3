//! Client certificates presented in the TLS handshake (specification 4.5.6).

use std::collections::BTreeSet;

use super::{
    check::qualified,
    decision::{CheckResult, Verified},
};
use crate::caller::Caller;

/// The prefix for the issuer in the ids of callers with certificates.
const ISSUER: &str = "x509";

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
    pub(super) fn check(&self, shown: &PeerCertificate) -> CheckResult {
        let subject = Some(&shown.subject).filter(|text| !text.is_empty());
        let known = subject.or(shown.names.first()).unwrap_or(&shown.fingerprint);
        let mut names = shown.names.iter().chain([&shown.subject, &shown.fingerprint]);
        let is_let_in = self.only.is_empty() || names.any(|one| self.only.contains(one));
        match is_let_in {
            true => CheckResult::Verified(Verified {
                caller: Caller::new(qualified(ISSUER, known)),
                scopes: BTreeSet::new(),
                is_token: false,
            }),
            false => CheckResult::Wrong("this certificate is not accepted".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
