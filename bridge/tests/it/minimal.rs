//! Tests the smallest surface of A2A 0.3 with the command lines of its document: a bot behind the bridge, at a custom
//! path, for callers with the token.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use axum::{Json, Router, routing::post};
use bridge_client::{Client, Credentials, Options};
use bridge_protocol::{
    a2a::{Message, Part, Role, SendMessageRequest, SendMessageResponse, TaskState},
    dialect::Version,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, process::Command};

use crate::program::{Bridge, run};

const LIMIT: Duration = Duration::from_secs(300);

/// The lines as the document prints them.
const LINES: &str = include_str!("minimal.sh");

/// Starts a bot that says one thing.
async fn bot() -> String {
    let answer = json!({"activities": [
        {"type": "message", "text": "Hi! How can I help?"},
        {"type": "endOfConversation"},
    ]});
    let app = Router::new().route("/api/messages", post(async move || Json(answer)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/messages", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

fn config(bot: &str) -> String {
    format!(
        r#"
store = "memory"
public_url = "http://localhost:8080"

[[agents]]
name = "hello-support"
bot = "{bot}"
path = "/a2a/v1"
delivery = "expectReplies"
flat_results = true

[agents.card]
name = "UST Hello Support"
description = "Answers brief internal FAQs."
provider = {{ organization = "UST", url = "https://ust.com" }}
security = [{{ bearer = [] }}]
security_schemes.bearer.httpAuthSecurityScheme = {{ scheme = "bearer" }}

[[agents.card.skills]]
id = "faq.answer"
name = "Answer short FAQs"
description = "Answers brief internal IT/HR FAQs."
examples = ["vpn reset", "expense policy"]

[agents.access.bearer.secrets]
demo = "X"
"#
    )
}

/// Runs lines, to which the bridge is at the address that the document prints.
async fn in_shell(bridge: &Bridge, lines: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let address = bridge.url().strip_prefix("http://").unwrap().to_owned();
    // The machine of the tests may have another program at that port.
    let elsewhere = format!("connect-to = \"localhost:8080:{address}\"\nnoproxy = \"*\"\n");
    fs::write(folder.path().join(".curlrc"), elsewhere).unwrap();
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", lines]);
    command.env("CURL_HOME", folder.path());
    run(&mut command, LIMIT).await
}

/// Runs the document's lines, and compares their output with that in the document.
async fn hold(bridge: &Bridge, said_by_the_bot: &str) {
    let (done, said) = in_shell(bridge, LINES).await;
    let (name, answer) = said.split_once('\n').unwrap();
    assert!(done && name == "\"UST Hello Support\"", "{said}");
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    let task = &mut answer["result"]["task"];
    assert_eq!(task["state"], "completed");
    let parts = &task["artifacts"][0]["parts"];
    assert_eq!(*parts, json!([{"kind": "text", "text": said_by_the_bot}]));
    assert!(task["id"].is_string() && task["history"].is_array(), "{task}");
}

/// The token in the document's lines is the agent's only on this machine.
#[tokio::test]
async fn an_initialised_agent_answers_the_printed_lines() {
    let folder = tempfile::tempdir().unwrap();
    let init = async |name: &str, listen: &str| {
        let place = folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        command.arg("init").arg(&place);
        command.args(["--template", "ust", "--listen", listen]);
        let (done, said) = run(&mut command, LIMIT).await;
        assert!(done, "{said}");
        place
    };
    let place = init("here", "127.0.0.1:8080").await;
    let card = fs::read_to_string(place.join("agent-card.json")).unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card["url"], "http://localhost:8080/a2a/v1");
    assert_eq!(card["provider"], json!({"organization": "UST", "url": "https://ust.com"}));
    let config = place.join("bridge.toml");
    let bridge = Bridge::serve(&["--config", config.to_str().unwrap(), "--store", "memory"]);
    hold(&bridge, "You said: vpn reset?").await;
    // The printed line again, with another question: it has the same message id.
    let other = LINES.replace("vpn reset?", "expense policy?");
    let (done, said) = in_shell(&bridge, &other).await;
    assert!(done && said.contains("You said: expense policy?"), "{said}");

    let token = |place: &Path| fs::read_to_string(place.join("token")).unwrap();
    assert_eq!(token(&place).trim(), "X");
    assert!(token(&init("everywhere", "192.0.2.1:8080").await).len() > 20);
}

#[tokio::test]
async fn the_printed_lines_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bridge.toml");
    fs::write(&path, config(&bot().await)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let bridge = Bridge::serve(&["--config", path.to_str().unwrap()]);
    hold(&bridge, "Hi! How can I help?").await;

    let anonymous = LINES.replace("  -H 'Authorization: Bearer X' \\\n", "");
    let status = anonymous.replace(
        "curl -s http://localhost:8080/a2a",
        "curl -s -w '\\n%{http_code}' http://localhost:8080/a2a",
    );
    let (_, said) = in_shell(&bridge, &status).await;
    let lines: Vec<&str> = said.lines().collect();
    let [_, answer, status] = lines[..] else {
        panic!("{said}");
    };
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!((&answer["error"]["code"], status), (&json!(-32001), "401"));
}

#[tokio::test]
async fn our_client_reads_the_flat_task() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bridge.toml");
    let text = config(&bot().await).replace("public_url = \"http://localhost:8080\"\n", "");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let bridge = Bridge::serve(&["--config", path.to_str().unwrap()]);
    let options = Options {
        version: Some(Version::V0_3),
        credentials: Credentials::default().bearer("X").unwrap(),
        ..Options::default()
    };
    let url = format!("{}/a2a/v1", bridge.url()).parse().unwrap();
    let client = Client::connect(&url, &options).await.unwrap();
    let hello = Message::new("m", Role::User, vec![Part::text("vpn reset?")]);
    let answer = client.send_message(SendMessageRequest::new(hello)).await.unwrap();
    let SendMessageResponse::Task(task) = answer else {
        panic!("a task is answered");
    };
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(task.artifacts[0].parts, [Part::text("Hi! How can I help?")]);
}
