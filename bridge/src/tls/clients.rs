//! Client certificates: verifies their issuers, and passes them to handlers.

use std::{path::Path, sync::Arc};

use rustls::{
    RootCertStore,
    crypto::CryptoProvider,
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use sha2::{Digest as _, Sha256};
use x509_cert::{
    Certificate,
    der::{Decode as _, asn1::Ia5String},
    ext::pkix::{SubjectAltName, name::GeneralName},
};

use super::{TlsError, certificates, invalid_file};
use crate::access::PeerCertificate;

/// Accepts client certificates issued by the authorities in this file. Clients need not have one.
pub(super) fn verifier(
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    const EXPECTED: &str = "certificates that vouch for those of clients";
    let mut roots = RootCertStore::empty();
    for root in certificates(path)? {
        roots.add(root).map_err(|error| invalid_file(path, EXPECTED, &error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
    let built = builder.allow_unauthenticated().build();
    built.map_err(|error| invalid_file(path, EXPECTED, &error))
}

/// Reads a certificate; `None` if it is invalid, in which case it was not verified either.
pub(super) fn read(der: &[u8]) -> Option<PeerCertificate> {
    let certificate = Certificate::from_der(der).ok()?.tbs_certificate;
    let names = certificate.get::<SubjectAltName>().ok().flatten();
    let names = names.map_or(Vec::new(), |(_, SubjectAltName(names))| names);
    Some(PeerCertificate {
        subject: certificate.subject.to_string(),
        names: names.iter().filter_map(name).collect(),
        fingerprint: format!("{:x}", Sha256::digest(der)),
    })
}

fn name(name: &GeneralName) -> Option<String> {
    let text = |text: &Ia5String| Some(text.to_string());
    match name {
        GeneralName::Rfc822Name(name)
        | GeneralName::DnsName(name)
        | GeneralName::UniformResourceIdentifier(name) => text(name),
        _ => None,
    }
}
