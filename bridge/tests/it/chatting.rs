//! Tests `bridge chat`, `discover` and `check` with agents of others: output is shown once, cannot control the
//! terminal, and the agent's outcome is the program's exit code.

use std::{
    convert::Infallible,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    time::timeout,
};

use crate::{program::output, terminal::bridge};

const LIMIT: Duration = Duration::from_secs(300);

/// Control sequences that clear the screen, set the title, and reverse the text, in their encodings of one and two bytes.
const NASTY: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\u{202e}gpj.exe\u{2066}\u{7f}";

/// An agent, and how often it was asked for its tasks.
#[derive(Clone)]
struct HostileAgent {
    here: String,
    lists: Arc<AtomicUsize>,
}

impl HostileAgent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stranger =
            Self { here: listener.local_addr().unwrap().to_string(), lists: Arc::default() };
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/", post(call))
            .with_state(stranger.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        stranger
    }
}

async fn card(State(stranger): State<HostileAgent>) -> Json<Value> {
    let url = format!("http://user:hunter2@{}/", stranger.here);
    Json(json!({
        "name": format!("n{NASTY}\nfake line"), "description": NASTY, "version": NASTY, "capabilities": {},
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": NASTY, "name": NASTY, "description": NASTY, "tags": []}],
        "signatures": [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ", "signature": "AAAA"}],
    }))
}

fn said(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]})
}

fn task(id: &str, state: &str, message: &Value) -> Value {
    json!({"id": id, "contextId": "c", "status": {"state": format!("TASK_STATE_{state}"), "message": message}})
}

async fn call(State(stranger): State<HostileAgent>, Json(call): Json<Value>) -> Response {
    let params = &call["params"];
    let result = match call["method"].as_str().unwrap() {
        "SendMessage" => {
            let asked = &params["message"];
            let part = &asked["parts"][0];
            let none = Value::Null;
            let task = match part["text"].as_str().unwrap_or_default() {
                "stranger" => return StatusCode::UNAUTHORIZED.into_response(),
                "fail" => task("t", "FAILED", &said("1", "it broke")),
                "reject" => task("t", "REJECTED", &none),
                "sign in" => task("t", "AUTH_REQUIRED", &none),
                "silence" => task("t", "INPUT_REQUIRED", &none),
                "invent" => task("t", "DAYDREAMING", &none),
                "later" => task("later", "SUBMITTED", &none),
                "nasty" => task("t", "COMPLETED", &said("1", NASTY)),
                "offer" => {
                    let mut message = said(asked["messageId"].as_str().unwrap(), "Which one?");
                    let yes = json!({"type": "imBack", "title": "Yes", "value": "yes, please"});
                    message["metadata"] =
                        json!({"urn:activity:fields": {"suggestedActions": {"actions": [yes]}}});
                    let card = json!({"data": {"type": "AdaptiveCard",
                        "body": [{"type": "TextBlock", "text": "A card"}],
                        "actions": [{"type": "Action.Submit", "title": "Order", "data": {"n": 1}}]}});
                    message["parts"].as_array_mut().unwrap().push(card);
                    task("t", "INPUT_REQUIRED", &message)
                }
                _ => {
                    let heard = part.get("text").or(part.get("data")).unwrap();
                    let said =
                        said(asked["messageId"].as_str().unwrap(), &format!("heard {heard}"));
                    task("t", "COMPLETED", &said)
                }
            };
            json!({"task": task})
        }
        "GetTask" => json!({
            "id": "later", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "history": [{"messageId": "?", "role": "ROLE_USER", "parts": [{"text": "later"}]}, said("2", "the answer")],
            "artifacts": [{"artifactId": "a", "parts": [{"text": "the "}, {"text": "answer"}]}],
        }),
        "ListTasks" => {
            let mut tasks = vec![task("t", "COMPLETED", &said("1", "old"))];
            if stranger.lists.fetch_add(1, Ordering::Relaxed) > 0 {
                tasks.insert(0, task("new", "COMPLETED", &said("news", "it is time")));
            }
            json!({"tasks": tasks, "nextPageToken": "", "pageSize": 5, "totalSize": 2})
        }
        other => panic!("{other}"),
    };
    Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).into_response()
}

fn assert_harmless(told: &str) {
    let commands = |one: &char| one.is_control() && *one != '\n';
    let turns = |one: &char| matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let found: Vec<char> = told.chars().filter(|one| commands(one) || turns(one)).collect();
    assert!(found.is_empty(), "{found:?} in {told}");
}

#[tokio::test]
async fn nothing_of_a_stranger_commands_the_terminal() {
    let here = HostileAgent::start().await.here;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    let nasty = json!({"name": NASTY, "url": NASTY, NASTY: {NASTY: NASTY}, "skills": [{"id": NASTY}, {"id": NASTY}],
        "security": [{NASTY: []}], "securitySchemes": {NASTY: {"type": NASTY}}});
    std::fs::write(&file, nasty.to_string()).unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        &["discover", &here][..],
        &["discover", "--json", &here],
        &["check", &here, file],
        &["check", "--json", &here, file],
        &["chat", &here, "nasty"],
        &["chat", &here, "-m", "nasty", "--json"],
    ] {
        let (_, stdout, stderr) = output(&mut bridge(arguments), LIMIT).await;
        assert_harmless(&(stdout.clone() + &stderr));
        assert!(stdout.contains("\\u202egpj.exe"), "{arguments:?}: {stdout}{stderr}");
        assert!(!(stdout.clone() + &stderr).contains("hunter2"), "{arguments:?}: {stdout}{stderr}");
        assert!(!stdout.contains("\nfake line"), "{arguments:?}: {stdout}");
        if arguments.contains(&"--json") {
            let lines: Vec<Value> = match arguments[0] {
                "chat" => stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
                _ => vec![serde_json::from_str(&stdout).unwrap()],
            };
            assert!(!lines.is_empty());
        }
    }
}

#[tokio::test]
async fn the_outcome_of_a_task_is_the_programs() {
    let here = HostileAgent::start().await.here;
    for (message, code, expected) in [
        ("hi", 0, "heard \"hi\""),
        ("-stream", 0, "heard \"-stream\""),
        ("later", 0, "the answer"),
        ("fail", 1, "it broke\n[failed]"),
        ("reject", 1, "[rejected]"),
        ("silence", 1, "the agent said nothing; its task is input_required"),
        ("invent", 0, "[daydreaming]"),
        ("sign in", 4, "[auth_required]"),
        ("stranger", 4, "requires valid credentials"),
    ] {
        let (found, stdout, stderr) =
            output(&mut bridge(&["chat", &here, "-m", message]), LIMIT).await;
        let told = stdout.clone() + &stderr;
        assert_eq!(found, Some(code), "{message}: {told}");
        assert!(told.contains(expected), "{message}: {told}");
        assert_eq!(told.matches(expected).count(), 1, "{message}: {told}");
        assert!(stderr.contains("signed in an invalid form"), "{stderr}");
    }
    let (found, _, stderr) = output(&mut bridge(&["chat", "127.0.0.1:9", "-m", "x"]), LIMIT).await;
    assert!(found == Some(4) && stderr.contains("cannot be reached"), "{stderr}");
    let (found, _, stderr) = output(&mut bridge(&["chat", "agents.test", "-m", "x"]), LIMIT).await;
    assert!(found == Some(2) && stderr.contains("is it https://agents.test"), "{stderr}");
}

/// Starts an agent that ends its stream, or sends nothing more, before its task has ended.
async fn start_unfinished(ends: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let card = json!({"name": "x", "description": "x", "version": "1", "capabilities": {"streaming": true}, "skills": [],
        "supportedInterfaces": [{"url": format!("http://{here}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let stream = async move |Json(call): Json<Value>| {
        let working = json!({"jsonrpc": "2.0", "id": call["id"],
            "result": {"task": task("t", "WORKING", &said("m", "a part"))}});
        let first = stream::iter([Ok::<_, Infallible>(format!("data: {working}\n\n"))]);
        let rest = match ends {
            true => stream::empty().left_stream(),
            false => stream::pending().right_stream(),
        };
        let body = Body::from_stream(first.chain(rest));
        ([("content-type", "text/event-stream")], body)
    };
    let app = Router::new()
        .route("/.well-known/agent-card.json", get(async move || Json(card)))
        .route("/", post(stream));
    tokio::spawn(async move { axum::serve(listener, app).await });
    here
}

#[tokio::test]
async fn a_card_that_leads_nowhere_is_told_as_the_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let card = json!({"name": "x", "description": "x", "version": "1", "capabilities": {}, "skills": [],
        "supportedInterfaces": [{"url": "http://127.0.0.1:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let app = Router::new().route("/.well-known/agent-card.json", get(async move || Json(card)));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (code, _, stderr) = output(&mut bridge(&["chat", &here, "-m", "hi"]), LIMIT).await;
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("the agent's card says that address"), "{stderr}");
    let (_, _, stderr) = output(&mut bridge(&["chat", "127.0.0.1:9", "-m", "x"]), LIMIT).await;
    assert!(!stderr.contains("card says"), "{stderr}");
}

/// No name server knows the host: only the proxy leads there. The card is on this machine, where no proxy is used.
#[tokio::test]
async fn an_agent_elsewhere_is_reached_through_the_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().to_string();
    let card = json!({"name": "x", "description": "x", "version": "1", "capabilities": {}, "skills": [],
        "supportedInterfaces": [{"url": "http://agents.invalid/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let proxied = async |Json(call): Json<Value>| {
        let result = json!({"message": said("m", "from afar")});
        Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": result}))
    };
    let app = Router::new().fallback(get(async move || Json(card)).post(proxied));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut chat = bridge(&["chat", &here, "-m", "hi"]);
    chat.env("http_proxy", format!("http://{here}")).env_remove("no_proxy").env_remove("NO_PROXY");
    let (code, stdout, stderr) = output(&mut chat, LIMIT).await;
    assert_eq!((code, &*stdout), (Some(0), "from afar\n"), "{stderr}");
}

#[tokio::test]
async fn an_answer_that_may_be_incomplete_is_reported() {
    for (ends, expected) in [
        (true, "the agent ended its stream; its task is working\n"),
        (false, "nothing more arrived for 1s; its task is working\n"),
    ] {
        let here = start_unfinished(ends).await;
        let mut chat = bridge(&["chat", &here, "-m", "hi", "--wait", "1"]);
        let (code, stdout, stderr) = output(&mut chat, LIMIT).await;
        assert_eq!((code, &*stdout), (Some(0), "a part\n"), "{stderr}");
        assert!(stderr.ends_with(expected), "{stderr}");
    }
}

#[tokio::test]
async fn offers_are_chosen_by_number_and_later_messages_are_printed() {
    let here = HostileAgent::start().await.here;
    let mut child = bridge(&["chat", &here])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    stdin.write_all(b"offer\n1 note=quick\noffer\n2\n/say 1\n").await.unwrap();
    let offered = ["Which one?", "A card", "  1. Order", "  2. Yes"];
    let expected = [
        &offered[..],
        &["heard {\"n\":1,\"note\":\"quick\"}"],
        &offered,
        &["heard \"yes, please\""],
        &["heard \"1\"", "it is time"],
    ]
    .concat();
    for expected in expected {
        let line = timeout(LIMIT, lines.next_line()).await.unwrap().unwrap();
        assert_eq!(line.as_deref(), Some(expected));
    }
    drop(stdin);
    assert!(timeout(LIMIT, child.wait()).await.unwrap().unwrap().success());
}

#[tokio::test]
async fn a_card_is_checked_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let twice = file("twice.json", r#"{"name": "a", "name": "b", "url": "https://h.test"}"#);
    let list = file("list.json", "[]");
    let open = file(
        "open.toml",
        "listen = '0.0.0.0:1'\nallow_plain_http = true\n[[agents]]\nname = 'a'\nbot = 'http://127.0.0.1:9/'\n",
    );
    let endless = file(
        "endless.toml",
        "[[agents]]\nname = 'a'\nbot = 'http://127.0.0.1:9/'\nsilent_end = 'working'\n",
    );
    for (arguments, code, expected) in [
        (&["check", &twice][..], 1, "error name [unique-members]"),
        (&["check", &list], 1, "list.json: no card, errors: 1"),
        (&["check", &open], 1, "others could call the bridge in the name of the bot a"),
        (&["config", "check", &open], 1, "others could call the bridge in the name of the bot a"),
        (
            &["check", &endless],
            0,
            "a client that waits for the answer gets it at the turn's time limit",
        ),
    ] {
        let (found, stdout, stderr) = output(&mut bridge(arguments), LIMIT).await;
        let told = stdout + &stderr;
        assert!(found == Some(code) && told.contains(expected), "{arguments:?}: {told}");
    }
    let nowhere = folder.path().join("nowhere");
    let store = format!("sled:{}", nowhere.display());
    let (found, _, stderr) = output(&mut bridge(&["push", "list", "--store", &store]), LIMIT).await;
    assert!(found == Some(4) && stderr.contains("contains no store"), "{stderr}");
    assert!(!nowhere.exists());
}
