//! Tests the commands that people use: asking a bot, chatting with an agent, checking a configuration.

use std::{
    process::{Output, Stdio},
    time::Duration,
};

use axum::{Json, Router, http::StatusCode, routing::post};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, process::Command, time::timeout};

use crate::program::{Bridge, output, run};

const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn bridge(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[tokio::test]
async fn what_cannot_be_reached_is_exit_code_4() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin.sock");
    let socket = socket.to_str().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = &listener.local_addr().unwrap().to_string();
    for (arguments, expected) in [
        (&["discover", "http://127.0.0.1:1"][..], "is it running"),
        (&["discover", "oci://127.0.0.1:1"], "cannot be reached"),
        (&["registry", "list", "127.0.0.1:1"], "cannot be reached"),
        (&["tasks", "--admin", socket, "list"], "no bridge answers"),
        (&["chat", "http://127.0.0.1:1", "-m", "hi"], "cannot be reached"),
        (&["doctor", "http://127.0.0.1:1", "--listen", taken], "cannot listen on"),
    ] {
        let output = timeout(LIMIT, bridge(arguments).output());
        let output = output.await.unwrap().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {told}");
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}

/// Returns the output of `bridge chat` for these lines of input.
pub(crate) async fn chat(arguments: &[&str], lines: &str) -> String {
    let output = told(arguments, lines).await;
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `bridge chat` with these lines of input.
async fn told(arguments: &[&str], lines: impl AsRef<[u8]>) -> Output {
    let mut command = bridge(&[&["chat"], arguments].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_ref()).await.unwrap();
    drop(stdin);
    let output = timeout(LIMIT, child.wait_with_output()).await;
    output.unwrap().unwrap()
}

#[tokio::test]
async fn a_conversation_continues_until_it_ends() {
    let server = Bridge::serve(&["--store", "memory"]);
    let url = format!("{}/a2a", server.url());
    for more in [&[][..], &["--no-stream"], &["--version", "0.3"]] {
        let said = chat(&[&[url.as_str()], more].concat(), "-multi\nhello\nend\nagain\n").await;
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with('{')).collect();
        assert!(lines.iter().any(|line| line.contains("hello")), "{more:?}: {said}");
        assert_eq!(*lines.last().unwrap(), "You said: again", "{more:?}: {said}");
    }
}

#[tokio::test]
async fn every_event_can_be_had_as_json_and_a_file_sent_along() {
    let server = Bridge::serve(&["--store", "memory"]);
    let url = format!("{}/a2a", server.url());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "content").unwrap();
    let said =
        chat(&[&url, "--json", "--file", file.to_str().unwrap(), "--message", "hi"], "").await;
    let events: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sent = &events[0]["task"]["history"][0]["parts"];
    assert_eq!(
        sent[1],
        json!({"raw": "Y29udGVudA==", "filename": "a.txt", "mediaType": "text/plain"})
    );
    let last = &events.last().unwrap()["statusUpdate"]["status"]["state"];
    assert_eq!(last, "TASK_STATE_COMPLETED");
    let (well, told) =
        run(&mut bridge(&["chat", "http://127.0.0.1:9/", "--message", "x"]), LIMIT).await;
    assert!(!well && told.contains("cannot be reached"), "{told}");
}

/// Answers by calling back, or in the answer if that is asked for; fails to stream.
async fn on_activity(Json(activity): Json<Value>) -> (StatusCode, Json<Value>) {
    let text = |name: &str| activity[name].as_str().unwrap_or_default().to_owned();
    let said = json!({"type": "message", "text": format!("Echo: {}", text("text"))});
    match text("deliveryMode").as_str() {
        "stream" => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!("no streams"))),
        "expectReplies" => (StatusCode::OK, Json(json!({"activities": [said]}))),
        _ => {
            let conversation = activity["conversation"]["id"].as_str().unwrap();
            let url = format!("{}v3/conversations/{conversation}/activities", text("serviceUrl"));
            reqwest::Client::new().post(url).json(&said).send().await.unwrap();
            (StatusCode::OK, Json(json!({})))
        }
    }
}

async fn shut() -> StatusCode {
    StatusCode::UNAUTHORIZED
}

#[tokio::test]
async fn a_bot_is_looked_at() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/api/messages", post(on_activity)).route("/shut", post(shut));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let look = async |path: &str| {
        let url = format!("{here}{path}");
        run(&mut bridge(&["doctor", &url]), LIMIT).await
    };
    let (well, told) = look("/api/messages").await;
    assert!(well, "{told}");
    assert!(told.contains("called back: Echo: hello"), "{told}");
    assert!(told.contains("answered: Echo: hello"), "{told}");
    assert!(told.contains("stream         not supported by this bot (500)"), "{told}");
    assert!(told.contains(&format!("bot = \"{here}/api/messages\"")), "{told}");
    let (well, told) = look("/shut").await;
    assert!(well && told.contains("agents.auth.issuer"), "{told}");
    let (well, told) = look("/").await;
    assert!(!well && told.contains("often /api/messages"), "{told}");
}

#[tokio::test]
async fn a_new_configuration_is_valid_and_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let file = file.to_str().unwrap();
    let (well, told) = run(&mut bridge(&["config", "new", file]), LIMIT).await;
    assert!(well, "{told}");
    let (well, told) = run(&mut bridge(&["config", "check", file]), LIMIT).await;
    assert!(well && told.contains("agents assistant"), "{told}");
    let (code, _, told) = output(&mut bridge(&["config", "new", file]), LIMIT).await;
    assert!(code == Some(2) && told.contains("exists already: name another file"), "{told}");
    let below = format!("{file}/below.toml");
    let (code, _, told) = output(&mut bridge(&["config", "new", &below]), LIMIT).await;
    assert!(code == Some(4) && told.contains("cannot write "), "{told}");
    std::fs::write(file, "[[agents]]\nname = 'a'\nbot = 7\n").unwrap();
    let (well, told) = run(&mut bridge(&["serve", "--config", file]), LIMIT).await;
    assert!(!well && told.contains("bridge.toml:3:7: agents[0].bot: "), "{told}");
}

#[tokio::test]
async fn flags_for_running_bots_need_one() {
    for flag in ["--turns=late", "--channel-id=a2a", "--first-contact", "--allow-anonymous-bots"] {
        let arguments = ["serve", "--store", "memory", "--listen", "127.0.0.1:0", flag];
        let (well, told) = run(&mut bridge(&arguments), LIMIT).await;
        assert!(!well && told.contains("--bot <NAME=URL>"), "{flag}: {told}");
    }
}

#[tokio::test]
async fn others_are_only_served_when_that_is_meant() {
    for (arguments, expected) in [
        (&["--listen", "0.0.0.0:0"][..], "--allow-plain-http"),
        (
            &["--listen", "0.0.0.0:0", "--allow-plain-http", "--bot", "a=http://127.0.0.1:9/"],
            "--allow-anonymous-bots",
        ),
    ] {
        let arguments = [&["serve", "--store", "memory"], arguments].concat();
        let (well, told) = run(&mut bridge(&arguments), LIMIT).await;
        assert!(!well && told.contains(expected), "{told}");
    }
    // `config check` reports the same.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let text = "listen = '0.0.0.0:0'\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for command in [&["config", "check"][..], &["check"]] {
        let (well, told) = run(&mut bridge(&[command, &[file]].concat()), LIMIT).await;
        assert!(!well && told.contains("--allow-plain-http"), "{told}");
    }
}

#[test]
fn every_help_wraps_evenly() {
    crate::command_line::helps_wrap_evenly(env!("CARGO_BIN_EXE_bridge"));
}

#[tokio::test]
async fn a_reader_that_leaves_ends_every_command_quietly() {
    let server = Bridge::serve(&["--store", "memory"]);
    let agent = format!("{}/a2a", server.url());
    let agent = agent.as_str();
    let commands: [&[&str]; 8] = [
        &["--help"],
        &["discover", agent],
        &["discover", "--json", agent],
        &["check", agent],
        &["check", "--json", agent],
        &["chat", agent, "-m", "hello"],
        &["chat", agent, "-m", "-stream", "--json"],
        &["config", "schema"],
    ];
    for arguments in commands {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bridge"));
        command.args(arguments);
        let ended = move || crate::command_line::ends_quietly(&mut command);
        tokio::task::spawn_blocking(ended).await.unwrap();
    }
}

#[tokio::test]
async fn the_input_of_a_conversation_is_text() {
    let server = Bridge::serve(&["--store", "memory"]);
    let url = format!("{}/a2a", server.url());
    let marked = told(&[&url], "\u{feff}hello\n").await;
    assert_eq!(String::from_utf8(marked.stdout).unwrap(), "You said: hello\n");
    let binary = told(&[&url], b"hello\n\xff\n").await;
    assert_eq!(binary.status.code(), Some(3));
    assert_eq!(String::from_utf8(binary.stdout).unwrap(), "You said: hello\n");
    let wrong: [&[&str]; 3] = [
        &["serve", "--builtin=nobody"],
        &["chat", &url, "--wait=0", "-m=x"],
        &["tasks", "list", "--limit=0"],
    ];
    for arguments in wrong {
        let (code, _, errors) = output(&mut bridge(arguments), LIMIT).await;
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
    }
}

/// The other codes of the table are in `chatting`.
#[tokio::test]
async fn a_file_that_cannot_be_read_is_exit_code_3() {
    let server = Bridge::serve(&["--store", "memory"]);
    let url = format!("{}/a2a", server.url());
    let named: &[&str] = &["chat", &url, "-m", "x", "--file", "/no/such/file"];
    let (code, _, errors) = crate::program::output(&mut bridge(named), LIMIT).await;
    assert_eq!(code, Some(3), "{errors}");
    for (lines, code) in [("/file /no/such/file\nhello\n", 3), ("/fly\n", 1), ("hello\n", 0)] {
        let output = told(&[&url], lines).await;
        assert_eq!(output.status.code(), Some(code), "{lines:?}");
    }
}
