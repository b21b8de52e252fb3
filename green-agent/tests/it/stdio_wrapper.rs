//! Tests the wrapper around an MCP server that a participant starts.

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use green_agent::{
    recorder::{Masker, RECORD_STDIO, Recorder, RecorderOptions},
    transcript::{Hop, Transcript},
};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::support::LIMIT;

const REQUEST: &[u8] = b"{\"id\": 1, \"method\": \"ping\"}\n";
const ANSWER: &[u8] = b"{\"id\": 1, \"result\": {}}\n";

/// Answers when its input has ended.
const SERVER: &str = "lines=$(cat); echo '{\"id\": 1, \"result\": {}}'";

/// Reads nothing, and answers after something was sent to it.
const DEAF: &str = "exec 0<&-; touch deaf; until [ -e sent ]; do sleep 0.02; done; echo '{\"id\": 1, \"result\": {}}'; exit 3";

/// A wrapper around a server that is a shell script, and the transcript.
async fn wrapped(folder: &Path, server: &str) -> (Child, Transcript, Recorder) {
    let transcript = Transcript::create(&folder.join("transcript.jsonl"), Instant::now()).unwrap();
    let (masker, options) = (Masker::default(), RecorderOptions::default());
    let starting = Recorder::start(Vec::new(), transcript.clone(), masker.clone(), options);
    let mut recorder = starting.await.unwrap();
    let hop = Hop::new("purple", "environment");
    let tap = recorder.tap_stdio(hop, &transcript, &masker).await.unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    command.args([RECORD_STDIO, "--to", tap.as_str(), "--", "sh", "-c", server]);
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    (command.spawn().unwrap(), transcript, recorder)
}

#[tokio::test]
async fn a_server_may_answer_after_the_participant_has_sent_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrapper, transcript, _recorder) = wrapped(folder.path(), SERVER).await;
    let mut to_server = wrapper.stdin.take().unwrap();
    to_server.write_all(REQUEST).await.unwrap();
    drop(to_server);
    let ended = timeout(LIMIT, wrapper.wait_with_output()).await.unwrap().unwrap();
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.stdout, ANSWER);
    let exchanges = transcript.entries().unwrap().into_iter().map(|entry| entry.exchange);
    assert_eq!(Vec::from_iter(exchanges), [1, 1]);
}

#[tokio::test]
async fn a_server_that_reads_no_more_may_answer_and_has_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let (mut wrapper, transcript, _recorder) = wrapped(folder.path(), DEAF).await;
    until(|| folder.path().join("deaf").exists()).await;
    let mut to_server = wrapper.stdin.take().unwrap();
    to_server.write_all(REQUEST).await.unwrap();
    until(|| !transcript.entries().unwrap().is_empty()).await;
    fs::write(folder.path().join("sent"), "").unwrap();
    let ended = timeout(LIMIT, wrapper.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    assert_eq!(ended.stdout, ANSWER);
}

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, waiting).await.unwrap();
}
