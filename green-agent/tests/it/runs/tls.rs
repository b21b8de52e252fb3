//! Agents that are reached over https, with a certificate that no public authority made.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use super::{Folder, shown};

const AGENT: &str = r#"import ssl, sys
from agent import Agent, server
Agent.scheme = "https"
encrypted = server(sys.argv[1])
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("agent.pem", "agent.key")
if len(sys.argv) > 2:
    tls.verify_mode, _ = ssl.CERT_REQUIRED, tls.load_verify_locations(sys.argv[2])
encrypted.socket = tls.wrap_socket(encrypted.socket, server_side=True)
encrypted.serve_forever()
"#;

/// The scenario of an agent at an https address; its command ends with `more`.
fn scenario(more: &str) -> String {
    format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\ncmd = 'python3 mine.py 9009{more}'\nendpoint = 'https://127.0.0.1:9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = {{ ready = '10m' }}\n"
    )
}

/// A server of models.
const MODEL: &str = r#"
class Model(Agent):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "hello"}
        self.send(200, {"choices": [{"message": message, "finish_reason": "stop"}]})
"#;

#[test]
fn a_policy_trusts_the_authority_of_its_models_server() {
    let scenario = |ca: &str| {
        format!(
            "[green_agent]\n[[participants]]\nrole = 'a'\npolicy = 'llm'\n\
             settings = {{ model = 'm', base_url = 'https://127.0.0.1:{{row.port}}/v1', retries = 0{ca} }}\n\
             [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
             [harness]\nversion = 1\ndataset = 'port.jsonl'\n"
        )
    };
    let folder = Folder::new(&scenario(", ca = 'agent.pem'"));
    let server = AGENT.replace(
        "encrypted = server(sys.argv[1])",
        &format!("{MODEL}encrypted = server(0, Model)"),
    );
    let server = server
        .replace("encrypted.serve", "print(encrypted.server_port, flush=True)\nencrypted.serve");
    folder.agent(&server);
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    folder.file("agent.pem", &made.cert.pem());
    folder.file("agent.key", &made.signing_key.serialize_pem());
    let mut model = Server::start(&folder);
    folder.file("port.jsonl", &format!("{{\"port\": {}}}\n", model.port()));

    let trusted = folder.run(&["run", "a.toml", "--runs", "with"]);
    assert_eq!(trusted.status.code(), Some(0), "{}", shown(&trusted));

    folder.file("a.toml", &scenario(""));
    let unknown = folder.run(&["run", "a.toml", "--runs", "without"]);
    assert_eq!(unknown.status.code(), Some(4), "{}", shown(&unknown));
    assert!(shown(&unknown).contains("UnknownIssuer"), "{}", shown(&unknown));

    folder.file("a.toml", &scenario(", ca = 'nothing.pem'"));
    let absent = folder.run(&["check", "a.toml"]);
    let why = "ca: expected a file with certificates in PEM, found \"nothing.pem\": No such file";
    assert!(shown(&absent).contains(why), "{}", shown(&absent));
}

/// A running server, such as one of models, which ends with the test.
pub(super) struct Server(Child);

impl Server {
    pub(super) fn start(folder: &Folder) -> Self {
        let mut python = Command::new("python3");
        let python = python.arg("mine.py").current_dir(folder.0.path());
        Self(python.stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Returns the port, which the server prints once it listens.
    pub(super) fn port(&mut self) -> u16 {
        let mut line = String::new();
        let output = self.0.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_certificate_that_is_not_public_is_refused_at_once_and_accepted_when_it_is_named() {
    let folder = Folder::new(&scenario(""));
    folder.agent(AGENT);
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    folder.file("agent.pem", &made.cert.pem());
    folder.file("agent.key", &made.signing_key.serialize_pem());

    let refused = folder.run(&["run", "a.toml"]);
    assert_eq!(refused.status.code(), Some(4), "{}", shown(&refused));
    let why = "agent never ready: the certificate of a at https://127.0.0.1:";
    assert!(shown(&refused).contains(why), "{}", shown(&refused));
    assert!(shown(&refused).contains("--ca FILE"), "{}", shown(&refused));

    let accepted = folder.run(&["run", "a.toml", "--ca", "agent.pem", "--runs", "with"]);
    assert_eq!(accepted.status.code(), Some(0), "{}", shown(&accepted));

    let absent = folder.run(&["run", "a.toml", "--ca", "nothing.pem"]);
    assert_eq!(absent.status.code(), Some(3), "{}", shown(&absent));
    assert!(shown(&absent).contains("--ca nothing.pem: No such file"));
}

#[test]
fn a_certificate_is_shown_to_an_agent_that_requires_one() {
    let folder = Folder::new(&scenario(" mine.pem"));
    folder.agent(AGENT);
    for (name, host) in [("agent", "127.0.0.1"), ("mine", "mine.test")] {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        folder.file(&format!("{name}.pem"), &made.cert.pem());
        folder.file(&format!("{name}.key"), &made.signing_key.serialize_pem());
    }
    let run = ["run", "a.toml", "--ca", "agent.pem", "--runs", "with"];
    let mine = ["--cert", "mine.pem", "--key", "mine.key"];
    let accepted = folder.run(&[&run[..], &mine[..]].concat());
    assert_eq!(accepted.status.code(), Some(0), "{}", shown(&accepted));

    let absent = folder.run(&[&run[..], &["--cert", "mine.pem", "--key", "no.key"]].concat());
    assert_eq!(absent.status.code(), Some(3), "{}", shown(&absent));
    assert!(shown(&absent).contains("--key no.key: No such file"));
}
