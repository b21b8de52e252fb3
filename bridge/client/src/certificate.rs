//! Explains why a TLS certificate was rejected: the server's by this client, or this client's by the server.

use std::error::Error;

use bridge_http::{is_authority, tls_error};
use rustls::{AlertDescription, CertificateError};

/// Explains why a certificate was rejected, if that is the cause of the error.
pub fn rejection(error: &(dyn Error + 'static)) -> Option<String> {
    match tls_error(error)? {
        rustls::Error::InvalidCertificate(wrong) => Some(describe(wrong)),
        _ => None,
    }
}

/// Explains why the server wants another certificate of this client, if that is the cause of the error.
pub(crate) fn refusal(error: &(dyn Error + 'static)) -> Option<String> {
    let rustls::Error::AlertReceived(alert) = tls_error(error)? else {
        return None;
    };
    match alert {
        AlertDescription::CertificateRequired => Some(
            "it requires a certificate of this client (--cert FILE and --key FILE of the programs)"
                .to_owned(),
        ),
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::DecryptError
        | AlertDescription::AccessDenied => {
            Some(format!("it refuses the certificate of this client: {alert:?}"))
        }
        _ => None,
    }
}

fn describe(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => {
            "its issuer is not trusted: expected a certificate of a public authority, or of one that is \
             named as trusted (--ca FILE of the programs, or SSL_CERT_FILE in the environment)"
                .to_owned()
        }
        CertificateError::BadSignature => {
            "it was not signed by the trusted authority of that name".to_owned()
        }
        other if is_authority(other) => {
            "it is the certificate of an authority, such as a self-signed one: if it is the agent's own, trust \
             exactly this certificate (--ca FILE of the programs)"
                .to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_server_says_that_it_wants_a_certificate() {
        for (alert, expected) in [
            (AlertDescription::CertificateRequired, Some("it requires a certificate")),
            (
                AlertDescription::UnknownCA,
                Some("it refuses the certificate of this client: UnknownCA"),
            ),
            (AlertDescription::ProtocolVersion, None),
        ] {
            let error = io::Error::other(rustls::Error::AlertReceived(alert));
            let told = refusal(&error).unwrap_or_default();
            assert!(told.starts_with(expected.unwrap_or_default()), "{told}");
            assert_eq!(told.is_empty(), expected.is_none(), "{told}");
        }
    }

    #[test]
    fn distrust_is_found_where_it_is_hidden() {
        let hidden = |wrong| io::Error::other(rustls::Error::InvalidCertificate(wrong));
        for (error, expected) in [
            (hidden(CertificateError::UnknownIssuer), Some("its issuer is not trusted")),
            (io::Error::other(hidden(CertificateError::Revoked)), Some("Revoked")),
            (io::Error::other(rustls::Error::DecryptError), None),
            (io::Error::other("broken"), None),
        ] {
            let found = rejection(&error);
            let fits = found.as_deref().map(|found| found.starts_with(expected.unwrap_or("?")));
            assert_eq!(fits, expected.map(|_| true), "{error}: {found:?}");
        }
    }
}
