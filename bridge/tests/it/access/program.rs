//! The program as its configuration protects it: schemes in the file, certificates of clients, mistakes.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use bridge::auth;
use jiff::Timestamp;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::jwks;
use crate::{
    app::say,
    program::{Bridge, run},
    terminal::bridge,
};

const LIMIT: Duration = Duration::from_secs(300);

pub(super) fn folder(config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bridge.toml");
    fs::write(&path, format!("store = 'memory'\n{config}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    folder
}

pub(super) fn serve(folder: &Path) -> Bridge {
    Bridge::serve(&["--config", folder.join("bridge.toml").to_str().unwrap()])
}

async fn send(http: &reqwest::Client, bridge: &Bridge, header: (&str, &str)) -> StatusCode {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": say("m", "hi")});
    let post = http.post(format!("{}/a2a", bridge.url())).header(header.0, header.1);
    post.json(&body).send().await.unwrap().status()
}

#[tokio::test]
async fn the_file_says_what_callers_show() {
    let folder = folder(
        r#"
[[agents]]
name = "a"
builtin = "echo"
card.security = [{ token = [] }, { key = [] }]
card.security_schemes.token.httpAuthSecurityScheme = { scheme = "Bearer" }
card.security_schemes.key.apiKeySecurityScheme = { location = "header", name = "X-Key" }
access.token.token = { issuer = "https://id.test", audience = ["echo-agent"], jwks_file = "keys.json" }
access.token.secrets = { fixed = "X" }
access.key.secrets = { ci = { file = "key" } }
"#,
    );
    fs::write(folder.path().join("keys.json"), jwks().to_string()).unwrap();
    fs::write(folder.path().join("key"), "open sesame\n").unwrap();
    let bridge = serve(folder.path());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let token = super::token(super::ISSUER, "me", &json!({}));
    for (header, value, expected) in [
        ("authorization", format!("Bearer {token}"), StatusCode::OK),
        ("authorization", "Bearer X".to_owned(), StatusCode::OK),
        ("x-key", "open sesame".to_owned(), StatusCode::OK),
        ("x-key", "X".to_owned(), StatusCode::UNAUTHORIZED),
        ("authorization", "Bearer Y".to_owned(), StatusCode::UNAUTHORIZED),
        ("accept", "*/*".to_owned(), StatusCode::UNAUTHORIZED),
    ] {
        assert_eq!(send(&http, &bridge, (header, &value)).await, expected, "{header}: {value}");
    }
}

#[tokio::test]
async fn a_card_says_where_the_keys_of_its_tokens_are() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let issuer = auth::Issuer::open(auth::IssuerSettings::new(&url), Timestamp::now()).await;
    let issuer = Arc::new(issuer.unwrap());
    let app = auth::router(issuer.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let folder = folder(&format!(
        r#"
[[agents]]
name = "a"
builtin = "echo"
card.security = [{{ oidc = [] }}]
extended_card.skills = [{{ id = "more", description = "For those we know" }}]
access.oidc.token.audience = ["echo-agent"]
card.security_schemes.oidc.openIdConnectSecurityScheme.openIdConnectUrl = "{url}/.well-known/openid-configuration"
"#
    ));
    let bridge = serve(folder.path());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (audience, subject, expected) in [
        ("echo-agent", Some("me"), StatusCode::OK),
        ("echo-agent", None, StatusCode::UNAUTHORIZED),
        ("another", Some("me"), StatusCode::UNAUTHORIZED),
    ] {
        let subject = auth::Subject {
            audience: audience.to_owned(),
            subject: subject.map(str::to_owned),
            service_url: None,
        };
        let token = issuer.token(&subject, Timestamp::now()).await.unwrap();
        let shown = format!("Bearer {}", token.expose());
        let seen = send(&http, &bridge, ("authorization", &shown)).await;
        assert_eq!(seen, expected, "{audience} {:?}", subject.subject);
        if expected == StatusCode::OK {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"});
            let post = http.post(format!("{}/a2a", bridge.url())).bearer_auth(token.expose());
            let card: Value = post.json(&body).send().await.unwrap().json().await.unwrap();
            let ids = [0, 1].map(|place| &card["result"]["skills"][place]["id"]);
            assert_eq!(ids, ["echo", "more"], "{card}");
        }
    }
}

/// Someone who vouches for others, and a certificate for them.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::new([]).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(parameters, key) }
    }

    /// Returns a certificate with its key in PEM.
    fn vouch(&self, common_name: &str, host: &str) -> String {
        let mut parameters = CertificateParams::new([host.to_owned()]).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        format!("{}{}", certificate.pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn a_certificate_is_a_caller() {
    let authority = Authority::new("authority");
    let folder = folder(
        r#"
tls = { certificate = "server.pem", key = "server.pem", client_ca = "ca.pem" }
[[agents]]
name = "a"
builtin = "echo"
card.security = [{ mutual = [] }]
card.security_schemes.mutual.mtlsSecurityScheme = {}
access.mutual.certificates.only = ["alice.test", "CN=bob"]
"#,
    );
    let file = |name: &str| folder.path().join(name);
    fs::write(file("ca.pem"), authority.certificate.pem()).unwrap();
    fs::write(file("server.pem"), authority.vouch("server", "127.0.0.1")).unwrap();
    let bridge = serve(folder.path());
    let root = reqwest::Certificate::from_pem(authority.certificate.pem().as_bytes()).unwrap();
    let client = |identity: Option<String>| {
        let builder = reqwest::Client::builder()
            .use_rustls_tls()
            .add_root_certificate(root.clone())
            .no_proxy();
        let with = |pem: String| reqwest::Identity::from_pem(pem.as_bytes()).unwrap();
        match identity.map(with) {
            Some(identity) => builder.identity(identity),
            None => builder,
        }
        .build()
        .unwrap()
    };
    for (identity, expected) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some(authority.vouch("alice", "alice.test")), StatusCode::OK),
        (Some(authority.vouch("bob", "host.test")), StatusCode::OK),
        (Some(authority.vouch("eve", "eve.test")), StatusCode::UNAUTHORIZED),
    ] {
        let http = client(identity);
        assert_eq!(send(&http, &bridge, ("accept", "*/*")).await, expected);
    }
    let strangers = Authority::new("strangers").vouch("alice", "alice.test");
    let post = client(Some(strangers)).post(format!("{}/a2a", bridge.url()));
    assert!(post.body("{}").send().await.is_err(), "nobody vouches for it");
}

#[tokio::test]
async fn the_command_line_shows_a_certificate() {
    let authority = Authority::new("authority");
    let folder = folder(
        r#"
tls = { certificate = "server.pem", key = "server.pem", client_ca = "ca.pem" }
grpc = { card = true }
[[agents]]
name = "a"
builtin = "echo"
card.security = [{ mutual = [] }]
card.security_schemes.mutual.mtlsSecurityScheme = {}
access.mutual.certificates = {}
"#,
    );
    let write = |name: &str, pem: String| fs::write(folder.path().join(name), pem).unwrap();
    write("ca.pem", authority.certificate.pem());
    write("server.pem", authority.vouch("server", "127.0.0.1"));
    write("alice.pem", authority.vouch("alice", "alice.test"));
    write("other.pem", authority.vouch("other", "other.test"));
    write("strange.pem", Authority::new("strangers").vouch("alice", "alice.test"));
    let bridge = serve(folder.path());
    let alice = ["--cert", "alice.pem", "--key", "alice.pem"];
    for (command, own, passes, expected) in [
        (&["chat", "-m", "hi"][..], &alice[..], true, "Echo: hi"),
        (&["chat", "-m", "hi", "--binding", "rest"], &alice, true, "Echo: hi"),
        (&["chat", "-m", "hi", "--binding", "grpc"], &alice, true, "Echo: hi"),
        (&["discover"], &alice, true, "a 1.0.0  speaks"),
        (&["chat", "-m", "hi"], &[], false, "or --cert FILE --key FILE"),
        (
            &["chat", "-m", "hi"],
            &["--cert", "strange.pem", "--key", "strange.pem"],
            false,
            "cannot be reached",
        ),
        (
            &["chat", "-m", "hi"],
            &["--cert", "alice.pem", "--key", "other.pem"],
            false,
            "--key other.pem: expected the certificate's private key",
        ),
        (
            &["chat", "-m", "hi"],
            &["--cert", "alice.pem", "--key", "ca.pem"],
            false,
            "--key ca.pem: expected the certificate's private key",
        ),
        (&["chat", "-m", "hi"], &["--cert", "alice.pem"], false, "--key <FILE>"),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_bridge"));
        program.current_dir(folder.path()).args(command).args(own);
        let (passed, said) = run(program.args(["--ca", "ca.pem", bridge.url()]), LIMIT).await;
        assert_eq!(passed, passes, "{command:?} {own:?}: {said}");
        assert!(said.contains(expected), "{command:?} {own:?}: {said}");
    }
}

#[tokio::test]
async fn an_agent_with_unchecked_security_is_not_served() {
    let agent = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
    let bearer = "card.security_schemes.s.httpAuthSecurityScheme = { scheme = 'Bearer' }\n";
    let mutual = "card.security_schemes.s.mtlsSecurityScheme = {}\n";
    for (more, expected) in [
        (bearer.to_owned(), "expected [agents.access.s] with token or secrets"),
        (format!("{mutual}access.s.certificates = {{}}\n"), "client_ca in the table tls"),
        (format!("{bearer}access.s.token = {{ audience = ['a'] }}\n"), "token: expected issuer"),
        (format!("{bearer}access.s.secrets = {{ 'a b' = 'x' }}\n"), "without white space"),
        (
            format!(
                "{bearer}access.s.secrets = {{ a = 'x' }}\n\
                 card.skills = [{{ id = 'k', description = 'd', security = [{{ t = [] }}] }}]\n"
            ),
            "requires the security scheme \"t\"",
        ),
        (
            format!(
                "{bearer}access.s.secrets = {{ a = 'x' }}\n\
                 card.skills = [{{ id = 'k', description = 'd', security = [{{ s = ['pay'] }}] }}]\n"
            ),
            "only signed tokens carry any",
        ),
        (
            format!(
                "{bearer}access.s.secrets = {{ a = 'x' }}\nextended_card.security = [{{ s = [] }}]\n"
            ),
            "the extended card differs from the card in its security requirements",
        ),
        ("access.t.secrets = { a = 'x' }\n".to_owned(), "\"t\", which the card does not declare"),
    ] {
        let folder = folder(&format!("{agent}{more}"));
        let config = folder.path().join("bridge.toml");
        let mut serve = bridge(&["serve", "--listen", "127.0.0.1:0", "--config"]);
        let (done, said) = run(serve.arg(config), LIMIT).await;
        assert!(!done && said.contains(expected), "{said}\n{expected}");
    }
}
