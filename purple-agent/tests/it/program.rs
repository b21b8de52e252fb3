//! Tests of the program `purple-agent`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    green::{Green, Plan},
    model::{KEY, Model, Protocol},
};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_purple-agent"));
    command.args(arguments).stdin(Stdio::null());
    for variable in ["PURPLE_POLICY", "PURPLE_SETTINGS", "OPENAI_API_KEY"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a program to its end while the servers of the test run.
async fn output(mut command: Command) -> Output {
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    run.await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn run_tells_the_result_and_exits_with_it() {
    let green = Green::start(Plan::of("shop", 11)).await;
    let passed = output(program(&["run", "--green", green.url.as_str(), "--json"])).await;
    let report: Value = serde_json::from_slice(&passed.stdout).unwrap();
    assert_eq!((report["verdict"].as_str(), passed.status.code()), (Some("passed"), Some(0)));
    assert_eq!(report["work"]["ended"], "finished");
    let progress = text(&passed.stderr);
    assert!(
        progress.contains("message 2: mcp_details\n")
            && progress.contains("called confirm_order\n"),
        "{progress}"
    );
    let lies = program(&[
        "run",
        "--green",
        green.url.as_str(),
        "--policy",
        "scripted",
        "--set",
        r#"steps=[{"tool": "connect_to_mcp_server"}, {"tool": "submit"}]"#,
    ]);
    let failed = output(lies).await;
    assert_eq!(failed.status.code(), Some(1));
    let shown = text(&failed.stdout);
    assert!(
        shown.starts_with("failed\n  work: finished, 2 steps\n  agent: The script has ended.\n"),
        "{shown}"
    );
}

#[tokio::test]
async fn programs_that_cannot_be_run_are_distinguished_from_failures() {
    for (arguments, code, expected) in [
        (vec!["run", "--green", "http://127.0.0.1:1"], 4, "cannot be reached"),
        (vec!["run"], 2, "--green <URL>"),
        (
            vec!["run", "--green", "http://127.0.0.1:1", "--policy", "clever"],
            2,
            "there is no policy \"clever\"",
        ),
        (vec!["serve", "--policy", "llm"], 2, "model: expected a string, found nothing"),
        (vec!["serve", "--settings", "{"], 2, "--settings: expected a JSON object"),
        (vec!["serve", "--settings", "@/no/such/file"], 3, "cannot read /no/such/file"),
        (vec!["serve", "--mcp-details", "/no/such/file"], 3, "cannot read /no/such/file"),
        (vec!["serve", "--mcp-details", "Cargo.toml"], 3, "Cargo.toml: expected JSON"),
        (vec!["serve", "--listen", "203.0.113.1:1"], 4, "cannot listen on 203.0.113.1:1"),
    ] {
        let output = output(program(&arguments)).await;
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
    }
}

#[tokio::test]
async fn only_the_model_service_gets_its_key() {
    // The second error is cut within the key.
    for before in ["Incorrect API key provided: ".to_owned(), " ".repeat(490)] {
        let body = json!({"error": {"message": format!("{before}{KEY}")}});
        is_refused_without_the_key(body.to_string()).await;
    }
}

async fn is_refused_without_the_key(body: String) {
    let model = Model::start(Protocol::OpenAi, vec![(403, Vec::new(), body)]).await;
    let green = Green::start(Plan::of("sum", 1)).await;
    let base_url = format!("base_url={}", model.base_url);
    let mut command = program(&[
        "run",
        "--green",
        green.url.as_str(),
        "--policy",
        "llm",
        "--set",
        "model=m",
        "--set",
        &base_url,
        "--wait-for-result",
        "1",
        "--json",
    ]);
    command.env("OPENAI_API_KEY", KEY).env("RUST_LOG", "trace");
    let output = output(command).await;
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{shown}");
    assert!(shown.contains("***") && !shown.contains(&KEY[..8]), "{shown}");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn every_help_wraps_evenly() {
    crate::command_line::helps_wrap_evenly(env!("CARGO_BIN_EXE_purple-agent"));
}

#[tokio::test]
async fn a_reader_that_leaves_ends_every_command_quietly() {
    let green = Green::start(Plan::of("sum", 1)).await;
    for further in [&[][..], &["--json"]] {
        let mut command = program(&[&["run", "--green", green.url.as_str()], further].concat());
        let ended = move || crate::command_line::ends_quietly(&mut command);
        tokio::task::spawn_blocking(ended).await.unwrap();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_agent_leaves_no_mcp_server_behind() {
    let dir = tempfile::tempdir().unwrap();
    let server = crate::deaf::program(dir.path()).display().to_string();
    let details = dir.path().join("details.json");
    let document = json!({"mcpServers": {"deaf": {"command": server}}});
    std::fs::write(&details, document.to_string()).unwrap();
    let green = Green::start(Plan::of("sum", 1)).await;
    let mut command = program(&["run", "--green", green.url.as_str(), "--policy", "scripted"]);
    command
        .args(["--set", r#"steps=[{"tool": "connect_to_mcp_server"}]"#])
        .args(["--allow-command", &server])
        .arg("--mcp-details")
        .arg(details);
    let ended = tokio::task::spawn_blocking(move || {
        crate::deaf::ends_with(command.spawn().unwrap(), dir.path());
    });
    ended.await.unwrap();
}

/// A server process that is killed when this is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn serve_says_where_it_listens_and_stops_in_good_order() {
    let mut command =
        program(&["serve", "--listen", "127.0.0.1:0", "--policy", "lies", "--name", "liar"]);
    let mut server = Server(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let url = line.strip_prefix("listening on ").unwrap();
    let card: Value = reqwest::get(format!("{url}/.well-known/agent-card.json"))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(card["name"], "liar");
    let pid = server.0.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let status = tokio::task::spawn_blocking(move || server.0.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(0));
}
