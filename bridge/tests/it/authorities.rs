//! Tests bots with a certificate that no public authority made: the environment names the authority.

use std::{fs, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::{program::Bridge, running::run};

/// The time limit of one command.
const LIMIT: Duration = Duration::from_secs(300);

/// Answers each activity in the response.
const BOT: &str = r#"
import http.server, json, ssl, sys
class Bot(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"activities": [{"type": "message", "text": "hello"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bot)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("bot.pem", "bot.key")
server.socket = tls.wrap_socket(server.socket, server_side=True)
print(f"listening on https://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
"#;

#[tokio::test]
async fn the_environment_names_further_authorities() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // It is marked as an authority, as `openssl req -x509` does.
    let mut parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = parameters.self_signed(&key).unwrap();
    // One certificate of a bundle may be unreadable.
    let unreadable = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(path("roots.pem"), format!("{unreadable}{}", made.pem())).unwrap();
    fs::write(path("bot.pem"), made.pem()).unwrap();
    fs::write(path("bot.key"), key.serialize_pem()).unwrap();
    let bot =
        Bridge::listening(Command::new("python3").args(["-c", BOT]).current_dir(folder.path()));

    let agent = format!(
        "[[agents]]\nname = 'a'\nbot = '{}'\ndelivery = 'expectRepliesAlways'\n",
        bot.url()
    );
    fs::write(path("bridge.toml"), format!("store = 'memory'\n{agent}")).unwrap();
    let status_with = async |authorities: &str| {
        let mut bridge = Command::new(env!("CARGO_BIN_EXE_bridge"));
        bridge.args(["serve", "--listen", "127.0.0.1:0", "--config", &path("bridge.toml")]);
        let bridge = Bridge::listening(bridge.env("SSL_CERT_FILE", path(authorities)));
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let send = reqwest::Client::builder().no_proxy().build().unwrap();
        let send = send.post(format!("{}/a2a/message:send", bridge.url()));
        let send = send.header("a2a-version", "1.0").json(&json!({ "message": message }));
        let mut sent: Value = send.send().await.unwrap().json().await.unwrap();
        sent["task"]["status"].take()
    };
    let known = status_with("roots.pem").await;
    assert_eq!(known["state"], "TASK_STATE_COMPLETED", "{known}");
    // The certificate will be rejected again, so the bot is asked once.
    let unknown = status_with("absent.pem").await;
    let said = unknown["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(said.ends_with("it cannot be reached."), "{unknown}");

    // The doctor calls bots as the bridge does, without a proxy.
    let doctor = async |authorities: &str| {
        let mut doctor = tokio::process::Command::new(env!("CARGO_BIN_EXE_bridge"));
        doctor.args(["doctor", bot.url()]).env("SSL_CERT_FILE", path(authorities));
        doctor.env("HTTPS_PROXY", "http://127.0.0.1:9").env_remove("NO_PROXY");
        run(&mut doctor, LIMIT).await.1
    };
    let (known, unknown) = (doctor("roots.pem").await, doctor("absent.pem").await);
    assert!(known.contains("answered: hello"), "{known}");
    assert!(unknown.contains("SSL_CERT_FILE in the environment names"), "{unknown}");
}
