//! Tests encrypted connections to a server with a self-signed certificate.

use std::fs;

use bridge::store::{PostgresStore, Store, StoreError, testing::Sample};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::server::Server;
use crate::ports;

/// Returns an authority, and its certificate in PEM.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_known_by_its_certificate() {
    let (own, other) = (authority("own"), authority("other"));
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &own).unwrap();
    let port = ports::unused();
    let server =
        Server::start_with_tls(&port.to_string(), &certificate.pem(), &key.serialize_pem());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (trusted, untrusted) = (file("own.pem", &own.pem()), file("other.pem", &other.pem()));
    let open = async |host: &str, more: &str| {
        let url = format!("postgres://bridge@{host}:{port}/postgres?sslmode=verify-full{more}");
        PostgresStore::open(&url.parse().unwrap()).await
    };
    let roots = |path: &str| format!("&sslrootcert={path}");
    let store = open("localhost", &roots(&trusted)).await.unwrap();
    Sample::new("t").create(&store, 1).await;
    store.ready().await.unwrap();
    for (host, more, expected) in [
        (
            "localhost",
            roots(&untrusted),
            "name the file with the authority's certificate in sslrootcert",
        ),
        (
            "localhost",
            String::new(),
            "name the file with the authority's certificate in sslrootcert",
        ),
        ("127.0.0.1", roots(&trusted), "use a name that is in the certificate as the host"),
    ] {
        let error = open(host, &more).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{host}{more}: {error}");
    }
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused() {
    let port = ports::unused();
    let _server = Server::start_at(&port.to_string());
    let url = format!("postgres://bridge@localhost:{port}/postgres?sslmode=verify-full");
    let error = PostgresStore::open(&url.parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("sslmode=disable"), "{error}");
}
