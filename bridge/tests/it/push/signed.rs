//! Signed deliveries of the program, checked with what it publishes; and what it gave up.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bridge::auth::{KeySource, TrustedIssuer, Verifier};
use jiff::Timestamp;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    receiver::{Answer, Delivery, Receiver},
    say, until,
};
use crate::{client::Client, program::Bridge};

async fn claims(bridge: &Bridge, audience: &str, token: &str) -> serde_json::Map<String, Value> {
    let issuer = bridge.url().to_owned();
    let keys = format!("{issuer}/.well-known/jwks.json").parse().unwrap();
    let keys = KeySource::keys(keys, false).unwrap();
    let verifier = Verifier::new([TrustedIssuer { issuer, keys }], [audience.to_owned()]);
    verifier.verify(token, Timestamp::now()).await.unwrap().claims
}

/// Returns the algorithm in a token's header.
fn algorithm(token: &str) -> Value {
    let (header, _) = token.split_once('.').unwrap();
    let header = URL_SAFE_NO_PAD.decode(header).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    header["alg"].clone()
}

async fn check(bridge: &Bridge, url: &str, task: &Value, one: &Delivery) -> Value {
    let token = &one.headers["x-a2a-notification-signature"];
    let claims = claims(bridge, url, token).await;
    let hash = format!("{:x}", Sha256::digest(&one.raw));
    assert_eq!((&claims["request_body_sha256"], &claims["taskId"]), (&json!(hash), task));
    claims["jti"].clone()
}

/// Returns a bridge that signs as these lines of its `[push]` say.
fn signing(folder: &Path, push: &str) -> Bridge {
    let file = folder.join("bridge.toml");
    let config = format!(
        "store = 'memory'\n[push]\n{push}\nallow = ['127.0.0.0/8']\n\
         [[agents]]\nname = 'agent'\nbuiltin = 'sample'\n"
    );
    fs::write(&file, config).unwrap();
    Bridge::serve(&["--config", file.to_str().unwrap()])
}

#[tokio::test]
async fn deliveries_are_signed_by_a_key_of_the_operator_too() {
    let receiver = Receiver::start().await;
    for (kind, expected) in [(&PKCS_ECDSA_P256_SHA256, "ES256"), (&PKCS_ED25519, "EdDSA")] {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key.pem");
        let pem = KeyPair::generate_for(kind).unwrap().serialize_pem();
        fs::write(&key, pem).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let bridge = signing(folder.path(), "key = { file = 'key.pem', id = 'own' }");
        let url = receiver.at(&format!("/{expected}"));
        let said = say("m", "hi", &json!({"url": url}));
        let client = Client::of(bridge.url());
        let sent = client.call("agent", "SendMessage", &said).await.unwrap();
        let got = receiver.wait_for_end(&format!("/{expected}")).await;
        for one in &got {
            check(&bridge, &url, &sent["result"]["task"]["id"], one).await;
            let token = &one.headers["x-a2a-notification-signature"];
            assert_eq!(algorithm(token), expected);
        }
    }
}

#[tokio::test]
async fn deliveries_are_signed_when_configured() {
    let receiver = Receiver::start().await;
    let folder = tempfile::tempdir().unwrap();
    let bridge = signing(folder.path(), "signed = true");
    let client = Client::of(bridge.url());
    let own = json!({"scheme": "Bearer", "credentials": "own"});
    for (path, authentication, is_signature) in [
        ("/plain", Value::Null, true),
        ("/asked", json!({"scheme": "Bearer"}), true),
        ("/own", own, false),
    ] {
        let url = receiver.at(path);
        let config = json!({"url": url, "authentication": authentication});
        let sent = client.call("agent", "SendMessage", &say(path, "hi", &config)).await.unwrap();
        let task = &sent["result"]["task"]["id"];
        let got = receiver.wait_for_end(path).await;
        let mut ids = Vec::new();
        for one in &got {
            ids.push(check(&bridge, &url, task, one).await.to_string());
            let signature = &one.headers["x-a2a-notification-signature"];
            let shown = one.headers["authorization"].strip_prefix("Bearer ").unwrap();
            assert_eq!(shown == signature, is_signature, "{path}");
            assert_eq!(algorithm(signature), "RS256");
        }
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), got.len(), "each has an id of its own");
    }
}

fn push(arguments: &[&str]) -> (bool, String) {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_bridge"));
    let output = bridge.arg("push").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[tokio::test]
async fn given_up_deliveries_are_listed_and_retried() {
    let receiver = Receiver::start().await;
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let serve =
        || Bridge::serve(&["--store", &store, "--builtin", "sample", "--push-allow", "loopback"]);
    let mut bridge = serve();
    receiver.answer("/hook", &[Answer::Status(410)]);
    let config = json!({"id": "mine", "url": receiver.at("/hook"), "token": "secret"});
    let said = say("m", "hi", &config);
    let sent = Client::of(bridge.url()).call("sample", "SendMessage", &said).await.unwrap();
    let task = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
    receiver.wait("/hook", |got| got.len() == 1).await;
    let (done, said) = push(&["list", "--store", &store]);
    assert!(!done && said.contains("is in use"), "{said}");
    // The failure is stored a moment after the answer came; a restart would retry the delivery.
    let metrics = format!("{}/metrics", bridge.url());
    let given_up = r#"bridge_push_settings_given_up{agent="sample"} 1"#;
    let read = async || reqwest::get(&metrics).await?.text().await;
    until(async || read().await.unwrap().contains(given_up)).await;
    bridge.kill();
    let (done, said) = push(&["list", "--store", &store]);
    let host = receiver.at("").replace("http://", "");
    assert!(done && said.starts_with(&format!("sample {task} mine {host} event ")), "{said}");
    assert!(said.trim_end().ends_with(": HTTP status 410") && !said.contains("secret"), "{said}");
    let (done, said) = push(&["retry", "--store", &store, &task]);
    assert!(done && said.starts_with("1 will be retried"), "{said}");
    let _bridge = serve();
    receiver.wait_for_end("/hook").await;
}
