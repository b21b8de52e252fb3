//! Tests encrypted gRPC: the client and the program use a socket, on the common port and on gRPC's own, with a
//! certificate that only clients with its authority trust.

use std::{fs, time::Duration};

use bridge_client::{Binding, Client, Fault, Options, Tls};
use bridge_protocol::a2a::{
    GetTaskRequest, Message, Part, Role, SendMessageRequest, SendMessageResponse, StreamResponse,
    TaskState,
};
use futures_util::TryStreamExt as _;
use rcgen::{CertifiedKey, KeyPair};
use tempfile::TempDir;
use tokio::process::Command;
use url::Url;

use crate::{
    program::{Bridge, run},
    venv,
};

/// Longer than a client takes.
const LIMIT: Duration = Duration::from_secs(300);

/// A folder with a certificate for `127.0.0.1`, and settings that use it.
struct Site(TempDir);

fn certificate() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap()
}

/// Makes a self-signed certificate of an authority, as `openssl req -x509` does, valid until this year.
fn authority(until: i32) -> CertifiedKey<KeyPair> {
    let mut parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
    let signing_key = KeyPair::generate().unwrap();
    let cert = parameters.self_signed(&signing_key).unwrap();
    CertifiedKey { cert, signing_key }
}

impl Site {
    fn new(grpc: &str) -> Self {
        Self::with(&certificate(), grpc)
    }

    fn with(made: &CertifiedKey<KeyPair>, grpc: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file =
            |name: &str, content: &str| fs::write(folder.path().join(name), content).unwrap();
        file("c.pem", &made.cert.pem());
        file("k.pem", &made.signing_key.serialize_pem());
        let settings = "store = 'memory'\ntls = { certificate = 'c.pem', key = 'k.pem' }\n";
        let agent = "[[agents]]\nname = 'sample'\nbuiltin = 'sample'\n";
        file("bridge.toml", &format!("{settings}{grpc}{agent}"));
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn serve(&self) -> Bridge {
        Bridge::serve(&["--config", &self.path("bridge.toml")])
    }

    fn tls(&self) -> Tls {
        Tls::trusting(&fs::read(self.path("c.pem")).unwrap()).unwrap()
    }
}

fn over_grpc(tls: Tls) -> Options {
    Options { binding: Some(Binding::Grpc), tls, ..Options::default() }
}

fn url(bridge: &Bridge) -> Url {
    bridge.url().parse().unwrap()
}

fn saying(id: &str, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(text)]))
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_answered() {
    for grpc in ["grpc = { card = true }\n", "grpc = { card = true, listen = '127.0.0.1:0' }\n"] {
        let site = Site::new(grpc);
        let bridge = site.serve();
        let options = over_grpc(site.tls());
        let client = Client::connect(&url(&bridge), &options).await.unwrap();
        assert_eq!(client.binding(), Binding::Grpc);
        let sent = client.send_message(saying("m-1", "hi")).await.unwrap();
        let SendMessageResponse::Task(task) = sent else {
            panic!("{sent:?} is no task");
        };
        assert_eq!(task.status.state, TaskState::Completed);
        let got = client.get_task(GetTaskRequest::new(&task.id)).await;
        assert_eq!(got.unwrap(), task);
        let streamed = client.send_streaming_message(saying("m-2", "hi")).await;
        let streamed: Vec<_> = streamed.unwrap().try_collect().await.unwrap();
        let Some(StreamResponse::StatusUpdate(last)) = streamed.last() else {
            panic!("{streamed:?}");
        };
        assert_eq!(last.status.state, TaskState::Completed);
    }
}

#[tokio::test]
async fn a_stranger_s_certificate_is_refused_by_what_is_wrong_with_it() {
    let site = Site::new("grpc = { card = true }\n");
    let bridge = site.serve();
    let here = url(&bridge);
    let known = Client::connect(&here, &over_grpc(site.tls())).await.unwrap();
    let mut elsewhere = known.card().clone();
    for interface in &mut elsewhere.supported_interfaces {
        interface.url = interface.url.replace("127.0.0.1", "localhost");
    }
    let another = Tls::trusting(certificate().cert.pem().as_bytes()).unwrap();
    let vouched = "its issuer is not trusted";
    for (tls, card, expected) in [
        (Tls::default(), known.card(), vouched),
        (another, known.card(), "it was not signed by the trusted authority of that name"),
        (site.tls(), &elsewhere, "not valid for name \"localhost\""),
    ] {
        let client = Client::for_card(card.clone(), &here, &over_grpc(tls)).unwrap();
        let error = client.get_task(GetTaskRequest::new("t")).await.unwrap_err();
        assert!(matches!(error.fault, Fault::Certificate(_)), "{error}");
        let told = error.to_string();
        let whole = "over GRPC: its certificate is not trusted: ";
        assert!(told.contains(whole) && told.contains(expected), "{told}");
        let error = client.send_streaming_message(saying("m-1", "hi")).await;
        assert!(error.is_err_and(|error| matches!(error.fault, Fault::Certificate(_))));
    }
    let error = Client::connect(&here, &Options::default()).await.unwrap_err();
    let told = error.to_string();
    assert!(told.contains("card at https://127.0.0.1") && told.contains(vouched), "{told}");
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_if_it_is_exactly_the_one_named() {
    let (made, another, expired) = (authority(2999), authority(2999), authority(2001));
    let tls = |made: &CertifiedKey<KeyPair>| Tls::trusting(made.cert.pem().as_bytes()).unwrap();
    for (made, tls, expected) in [
        (&made, tls(&made), None),
        (&made, tls(&another), Some("trust exactly this certificate")),
        (&made, Tls::default(), Some("trust exactly this certificate")),
        (&expired, tls(&expired), Some("expired")),
    ] {
        let site = Site::with(made, "grpc = { card = true }\n");
        let bridge = site.serve();
        for options in [over_grpc(tls.clone()), Options { tls, ..Options::default() }] {
            let connected = Client::connect(&url(&bridge), &options).await;
            let told = connected.err().map(|error| error.to_string());
            let told = told.unwrap_or_default();
            assert_eq!(told.is_empty(), expected.is_none(), "{told}");
            assert!(told.contains(expected.unwrap_or_default()), "{told}");
            let mut elsewhere = url(&bridge);
            elsewhere.set_host(Some("localhost")).unwrap();
            assert!(Client::connect(&elsewhere, &options).await.is_err());
        }
    }
}

/// Clients of others negotiate the encryption in their own way.
#[tokio::test]
async fn a_client_of_others_is_answered_too() {
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    let site = Site::new("grpc = { card = true }\n");
    let bridge = site.serve();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/a2a_sdk_tls.py");
    let mut command = Command::new(python);
    command.args([client, bridge.url(), &site.path("c.pem")]);
    let (passed, said) = run(&mut command, LIMIT).await;
    assert!(passed, "{said}");
}

#[tokio::test]
async fn the_command_line_trusts_an_authority_from_a_file() {
    let site = Site::new("grpc = { card = true }\n");
    let bridge = site.serve();
    for (arguments, ca, expected) in [
        (&["chat", "--binding", "grpc", "-m", "hi"][..], "c.pem", "You said: hi"),
        (&["discover"], "c.pem", "sample"),
        (&["chat", "-m", "hi"], "k.pem", "expected certificates in PEM"),
        (&["chat", "-m", "hi"], "none.pem", "No such file"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        let command = command.args(arguments).arg(bridge.url());
        let (passed, said) = run(command.arg("--ca").arg(site.path(ca)), LIMIT).await;
        assert_eq!(passed, ca == "c.pem", "{said}");
        assert!(said.contains(expected), "{said}");
    }
}
