//! Unmodified bots call back while the bridge speaks TLS with a certificate that they do not know.

use std::{fs, net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    bots::AGENTS_SDK,
    program::{Bridge, run},
    terminal::bridge,
};

/// The name that the certificate is for.
const NAME: &str = "agents.example";

/// The time limit of an examination of the bot.
const LIMIT: Duration = Duration::from_secs(300);

/// Returns a configuration with TLS and this bot, and the certificate.
fn folder(bot: &Bridge) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("c.pem"), made.cert.pem()).unwrap();
    fs::write(path("k.pem"), made.signing_key.serialize_pem()).unwrap();
    let url = bot.url();
    let agent = |name: &str, more: &str| {
        format!("[[agents]]\nname = '{name}'\nbot = '{url}/api/messages'\n{more}\n")
    };
    let agents = agent("near", "") + &agent("far", "callback_url = 'https://localhost:1'");
    let config = format!(
        "store = 'memory'\npublic_url = 'https://{NAME}'\n\
         tls = {{ certificate = 'c.pem', key = 'k.pem' }}\n{agents}"
    );
    fs::write(path("bridge.toml"), config).unwrap();
    (folder, made.cert.pem())
}

#[tokio::test]
async fn a_bot_of_this_machine_calls_back_over_plain_http() {
    let bot = AGENTS_SDK.start().await;
    let (folder, certificate) = folder(&bot);
    let config = folder.path().join("bridge.toml");
    let config = config.to_str().unwrap();
    let served = Bridge::serve(&["--config", config]);
    let address = served.url().strip_prefix("https://").unwrap();
    let address: SocketAddr = address.parse().unwrap();
    let http = reqwest::Client::builder()
        .add_root_certificate(reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap())
        .resolve(NAME, address)
        .no_proxy()
        .build()
        .unwrap();
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message},
    });
    let answer = http
        .post(format!("https://{NAME}:{}/a2a/near", address.port()))
        .header("a2a-version", "1.0")
        .json(&request);
    let answer: Value = answer.send().await.unwrap().json().await.unwrap();
    assert!(answer.to_string().contains("Echo: hello"), "{answer}");

    // The doctor has the bot call back in the same way, and sees what would come of another.
    for (agent, place, expected) in [
        ("near", "http://127.0.0.1:", "the settings of near are right"),
        ("far", "https://localhost:", "delivery = \"expectRepliesAlways\""),
    ] {
        let mut look = bridge(&["doctor", "--config", config, "--agent", agent]);
        let (_, told) = run(&mut look, LIMIT).await;
        let place = format!("calls back at {place}");
        assert!(told.contains(&place) && told.contains(expected), "{told}");
    }
}
