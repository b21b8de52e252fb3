//! Tests the recording of standard streams.

use serde_json::json;

use super::*;

#[tokio::test]
async fn lines_become_exchanges_by_their_ids() {
    let mut setup = Setup::new("http://127.0.0.1:9", small()).await;
    let masker = Masker::new(vec![SECRET.to_owned()]);
    let hop = Hop::new("purple", "environment");
    let transcript = setup.transcript.clone();
    let tap = setup.recorder.tap_stdio(hop.clone(), &transcript, &masker).await.unwrap();
    let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
    let answer =
        |id: u64, text: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}});
    for (direction, line) in [
        ("forward", call(1, "a")),
        ("forward", call(2, "b")),
        ("back", answer(2, SECRET)),
        ("back", json!({"jsonrpc": "2.0", "method": "notifications/message"})),
        ("back", answer(1, "done")),
    ] {
        let line = format!("{line}\n");
        let taken = setup.client.post(tap.join(direction).unwrap()).body(line);
        assert!(taken.send().await.unwrap().status().is_success());
    }
    let entries = transcript.entries().unwrap();
    let exchanges: Vec<u64> = entries.iter().map(|entry| entry.exchange).collect();
    assert_eq!(exchanges, [1, 2, 2, 3, 1]);
    assert!(entries.iter().all(|entry| entry.hop == hop));
    let masked = entries[2].content.body().and_then(Body::json).unwrap();
    assert_eq!(masked["result"]["text"], "[masked]");
    let elsewhere = setup.client.post(tap.join("sideways").unwrap()).send();
    assert_eq!(elsewhere.await.unwrap().status(), 404);
}
