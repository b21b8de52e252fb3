//! Certificates of clients: who vouches for them, and what handlers are told of them.

use std::{net::SocketAddr, path::Path, sync::Arc};

use axum::{
    Router,
    extract::{ConnectInfo, Request, connect_info::Connected},
    middleware::{Next, from_fn},
    response::Response,
    serve::IncomingStream,
};
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

use super::{TlsError, TlsListener, certificates, wrong};
use crate::access::PeerCertificate;

/// Believes those in this file when they vouch for clients. Clients need not show anything.
pub(super) fn verifier(
    path: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    const EXPECTED: &str = "certificates that vouch for those of clients";
    let mut roots = RootCertStore::empty();
    for root in certificates(path)? {
        roots
            .add(root)
            .map_err(|error| wrong(path, EXPECTED, &error))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
    let built = builder.allow_unauthenticated().build();
    built.map_err(|error| wrong(path, EXPECTED, &error))
}

/// Who is connected.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    address: SocketAddr,
    certificate: Option<PeerCertificate>,
}

impl Connected<IncomingStream<'_, TlsListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        let (_, connection) = stream.io().get_ref();
        let shown = connection.peer_certificates().and_then(<[_]>::first);
        Self {
            address: *stream.remote_addr(),
            certificate: shown.and_then(|der| read(der)),
        }
    }
}

/// The app, told who is connected in the way of [`serve`](crate::serve()), and with which certificate.
pub(super) fn told(app: Router) -> Router {
    app.layer(from_fn(tell))
}

async fn tell(mut request: Request, next: Next) -> Response {
    let extensions = request.extensions_mut();
    if let Some(ConnectInfo(peer)) = extensions.remove::<ConnectInfo<Peer>>() {
        extensions.insert(ConnectInfo(peer.address));
        if let Some(certificate) = peer.certificate {
            extensions.insert(certificate);
        }
    }
    next.run(request).await
}

/// What a certificate says; nothing, if it is none, and then nobody vouched for it.
fn read(der: &[u8]) -> Option<PeerCertificate> {
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
        GeneralName::OtherName(_)
        | GeneralName::DirectoryName(_)
        | GeneralName::EdiPartyName(_)
        | GeneralName::IpAddress(_)
        | GeneralName::RegisteredId(_) => None,
    }
}
