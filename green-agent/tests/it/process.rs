//! Tests one agent's process, from its start to its end.

use std::{sync::Arc, time::Instant};

use bridge_client::Tls;
use green_agent::participant::{
    AgentExit, AgentProcess, StartError,
    ready::{ReadyCheck, ReadyError, wait_ready},
};
use tokio::{sync::mpsc, time::timeout};

use super::support::{LIMIT, pid_in, script};
use std::time::Duration;

async fn exit_of(text: &str) -> (AgentExit, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let agent = AgentProcess::start(&script(dir.path(), text)).unwrap();
    let exit = timeout(LIMIT, agent.wait()).await.unwrap();
    assert_eq!(agent.exited(), Some(exit));
    assert_eq!(agent.stop(Duration::ZERO).await, exit, "stopping twice changes nothing");
    (exit, agent.last_lines())
}

#[tokio::test]
async fn an_exit_is_reported_as_it_was() {
    let cases = [
        ("exit 0", AgentExit::Code(0)),
        ("exit 7", AgentExit::Code(7)),
        ("kill -KILL $$", AgentExit::Signal(9)),
        ("kill -TERM $$", AgentExit::Signal(15)),
    ];
    for (text, expected) in cases {
        assert_eq!(exit_of(text).await.0, expected, "{text}");
    }
}

#[tokio::test]
async fn the_last_words_are_complete_when_the_exit_is_known() {
    let (exit, lines) =
        exit_of("for i in 1 2 3; do echo out; done; echo 'no key' >&2; exit 3").await;
    assert_eq!(exit, AgentExit::Code(3));
    assert_eq!(lines.len(), 4);
    assert!(lines.contains(&"no key".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn its_environment_and_folder_are_those_of_the_launch() {
    let dir = tempfile::tempdir().unwrap();
    let mut launch =
        script(dir.path(), "echo $GREETING; pwd -P; echo $PATH; read x || echo no input");
    launch.env.insert("GREETING".to_owned(), "hello".to_owned());
    launch.path_prepend = vec!["/first".into(), "/second".into()];
    let agent = AgentProcess::start(&launch).unwrap();
    timeout(LIMIT, agent.wait()).await.unwrap();
    let lines = agent.last_lines();
    assert_eq!(lines[0], "hello");
    assert_eq!(lines[1], dir.path().canonicalize().unwrap().to_str().unwrap());
    assert!(lines[2].starts_with("/first:/second:/"), "{}", lines[2]);
    assert_eq!(lines[3], "no input");
    let log = std::fs::read_to_string(dir.path().join("purple.log")).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), lines);
}

#[tokio::test]
async fn slow_output_never_blocks_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let mut launch =
        script(dir.path(), "i=0; while [ $i -lt 5000 ]; do echo secret $i; i=$((i+1)); done");
    let (sink, mut shown) = mpsc::channel(8);
    launch.sink = Some(sink);
    launch.mask = Arc::new(|line| line.replace("secret", "***"));
    let agent = AgentProcess::start(&launch).unwrap();
    assert_eq!(timeout(LIMIT, agent.wait()).await.unwrap(), AgentExit::Code(0));
    assert_eq!(agent.lines_not_shown(), 5000 - 8);
    assert_eq!(shown.recv().await.unwrap().text, "*** 0");
    assert_eq!(agent.last_lines().last().unwrap(), "*** 4999");
}

#[tokio::test]
async fn an_agent_that_ends_in_good_order_has_the_time() {
    let dir = tempfile::tempdir().unwrap();
    let text = "trap 'echo bye; exit 5' TERM; echo $$ > up; while :; do sleep 0.05; done";
    let agent = AgentProcess::start(&script(dir.path(), text)).unwrap();
    pid_in(dir.path(), "up");
    assert_eq!(agent.exited(), None);
    assert_eq!(agent.stop(LIMIT).await, AgentExit::Code(5));
    // Some shells also print that the signal ended their `sleep`.
    assert!(agent.last_lines().contains(&"bye".to_owned()));
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let dir = tempfile::tempdir().unwrap();
    let text = "trap '' TERM; echo $$ > up; while :; do sleep 0.05; done";
    let agent = AgentProcess::start(&script(dir.path(), text)).unwrap();
    pid_in(dir.path(), "up");
    let begun = Instant::now();
    let exit = agent.stop(Duration::from_millis(300)).await;
    assert_eq!(exit, AgentExit::Signal(9));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert!(begun.elapsed() < LIMIT);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_explains_why() {
    let dir = tempfile::tempdir().unwrap();
    let start = |argv: &[&str]| {
        let mut launch = script(dir.path(), "");
        launch.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        AgentProcess::start(&launch).unwrap_err()
    };
    assert!(matches!(start(&[]), StartError::Empty(_)));
    let error = start(&["no-such-program"]).to_string();
    assert!(
        error.starts_with("purple: \"no-such-program\" is not a program in any of the"),
        "{error}"
    );
    assert!(error.contains("requires"), "{error}");
    for shell in ["source", "PORT=9019"] {
        let error = start(&[shell, "agent.py"]).to_string();
        assert!(error.contains("; no shell runs `cmd`; "), "{error}");
    }
    let error = start(&["./agent.py"]).to_string();
    assert!(error.contains(dir.path().to_str().unwrap()), "{error}");
    let error = start(&["/no/such/program"]).to_string();
    assert!(error.ends_with(
        "is not a program of this machine; check its path, and that it may be executed"
    ));

    let mut launch = script(&dir.path().join("none"), "");
    launch.log = dir.path().join("log");
    assert!(matches!(AgentProcess::start(&launch), Err(StartError::NoFolder { .. })));
}

#[tokio::test]
async fn waiting_for_a_card_ends_when_the_agent_does() {
    let dir = tempfile::tempdir().unwrap();
    let agent = AgentProcess::start(&script(dir.path(), "echo port taken >&2; exit 98")).unwrap();
    let endpoint = "http://127.0.0.1:1/".parse().unwrap();
    let error = wait_ready(
        "purple",
        &endpoint,
        ReadyCheck::Card,
        Some(&agent),
        Duration::ZERO,
        LIMIT,
        &Tls::default(),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, ReadyError::AgentExited { exit: AgentExit::Code(98), .. }));
    assert_eq!(
        error.to_string(),
        "purple exited with code 98 before its agent card could be read at http://127.0.0.1:1/; \
         it last printed:\nport taken"
    );
}
