//! Tests the wrapper around an MCP server that a participant starts.

use std::{process::Stdio, time::Instant};

use green_agent::{
    recorder::{Masker, RECORD_STDIO, Recorder, RecorderOptions},
    transcript::{Hop, Transcript},
};
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use super::support::LIMIT;

/// Answers when its input has ended.
const SERVER: &str = "lines=$(cat); echo '{\"id\": 1, \"result\": {}}'";

#[tokio::test]
async fn a_server_may_answer_after_the_participant_has_sent_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript.jsonl");
    let transcript = Transcript::create(&path, Instant::now()).unwrap();
    let (masker, options) = (Masker::default(), RecorderOptions::default());
    let starting = Recorder::start(Vec::new(), transcript.clone(), masker.clone(), options);
    let mut recorder = starting.await.unwrap();
    let hop = Hop::new("purple", "environment");
    let tap = recorder.tap_stdio(hop, &transcript, &masker).await.unwrap();

    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    command.args([RECORD_STDIO, "--to", tap.as_str(), "--", "sh", "-c", SERVER]);
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let mut wrapper = command.stdin(input).stdout(output).spawn().unwrap();
    let mut to_server = wrapper.stdin.take().unwrap();
    to_server.write_all(b"{\"id\": 1, \"method\": \"ping\"}\n").await.unwrap();
    drop(to_server);
    let ended = timeout(LIMIT, wrapper.wait_with_output()).await.unwrap().unwrap();
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.stdout, b"{\"id\": 1, \"result\": {}}\n");
    let exchanges = transcript.entries().unwrap().into_iter().map(|entry| entry.exchange);
    assert_eq!(Vec::from_iter(exchanges), [1, 1]);
}
