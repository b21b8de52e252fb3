//! Tests what the disk contains of webhooks and their secrets.

use std::{fs, path::Path};

use serde_json::json;

use super::{receiver::Receiver, say};
use crate::{client::Client, program::Bridge};

/// The secret that must not be stored in clear: it is in the URL, the token and the credentials.
const SECRET: &str = "hunter2-and-nobody-else";

/// Returns whether any file below a folder contains the secret.
fn stands_in(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.any(|path| match path.is_dir() {
        true => stands_in(&path),
        // The operators' socket is no file.
        false if !path.is_file() => false,
        false => {
            fs::read(path).unwrap().windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes())
        }
    })
}

/// Causes a delivery, and returns whether the secrets are on the disk then.
async fn pushed(receiver: &Receiver, push: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (config, data) = (folder.path().join("bridge.toml"), folder.path().join("data"));
    fs::write(folder.path().join("push.key"), "A".repeat(43) + "=").unwrap();
    let text = format!(
        "[push]\nallow = ['loopback']\n{push}\n[[agents]]\nname = 'agent'\nbuiltin = 'sample'\n"
    );
    fs::write(&config, text).unwrap();
    let store = format!("sled:{}", data.display());
    let mut bridge = Bridge::serve(&["--config", config.to_str().unwrap(), "--store", &store]);
    let path = format!("/{}/{SECRET}", push.len());
    let authentication = json!({"scheme": "Bearer", "credentials": SECRET});
    let hook =
        json!({"url": receiver.at(&path), "token": SECRET, "authentication": authentication});
    let said = say("m", "hi", &hook);
    Client::of(bridge.url()).call("agent", "SendMessage", &said).await.unwrap();
    let got = receiver.wait_for_end(&path).await;
    assert_eq!(got[0].headers["x-a2a-notification-token"], SECRET);
    assert_eq!(got[0].headers["authorization"], format!("Bearer {SECRET}"));
    bridge.kill();
    stands_in(&data)
}

#[tokio::test]
async fn secrets_of_webhooks_are_sealed_on_the_disk() {
    let receiver = Receiver::start().await;
    for (push, is_clear) in [("", true), ("seal = [{ file = 'push.key' }]", false)] {
        assert_eq!(pushed(&receiver, push).await, is_clear, "{push:?}");
    }
}
