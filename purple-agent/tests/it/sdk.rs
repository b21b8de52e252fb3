//! Tests the simulated model servers with the vendors' own SDKs: the SDKs must understand the answers, and their
//! requests must pass the same validation as ours.
//!
//! The SDKs are installed once, into a folder below `target/`.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    llm::FIXTURES,
    model::{KEY, Model, recorded},
};

/// The vendors' SDKs.
const SDKS: [&str; 3] = ["anthropic==2.12.0", "google-genai==3.4.0", "openai==3.54.0"];

#[tokio::test]
async fn the_vendors_sdks_understand_the_fake_services() {
    let python = crate::venv::with(&SDKS).await.join("bin/python");
    for (protocol, fixture) in FIXTURES {
        let model = Model::start(protocol, recorded(fixture, 7)).await;
        let provider = model.settings()["provider"].clone();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/talk.py");
        let base_url = model.base_url.as_str().trim_end_matches('/');
        let talk = Command::new(&python)
            .args([script, provider.as_str().unwrap(), base_url, KEY])
            .stderr(Stdio::piped())
            .output();
        let output = talk.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{protocol:?}: {said}");
        let understood: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tokens = understood[1].as_u64().unwrap();
        assert_eq!(understood[0], json!(["message_history", "connect_to_mcp_server"]));
        assert!((900..1000).contains(&tokens), "{protocol:?}: {tokens}");
    }
}
