//! Agents that send too much, or do not end, cost only their own trial, and the report says why.

use std::{fs, future::pending, sync::Arc};

use axum::{Json, Router, routing::get};
use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, Part};
use serde_json::json;
use tokio::net::TcpListener;

use super::{Folder, records, shown};

/// It answers the first message with a stream that does not end, and prints what it was asked for.
const FLOOD: &str = r#"import json, sys
from agent import Agent, server
class Endless(Agent):
    card = {**Agent.card, "capabilities": {"streaming": True}}
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        def tell(result):
            event = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        tell({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}})
        while True:
            tell({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": True,
                  "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x" * 50_000}]}})
server(sys.argv[1], Endless).serve_forever()
"#;

#[test]
fn an_agent_that_sends_without_end_ends_its_trial_as_its_fault() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstream = true\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntranscript_limit = 2\n",
    );
    folder.agent(FLOOD);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    let why = "more than 2 MiB were sent, the most of it by a (harness.transcript_limit)";
    assert!(shown(&ended).contains(why), "{}", shown(&ended));
    assert_eq!(records(&folder.only_run())[0].outcome.title(), "agent error");
}

/// It answers each message with a task that has a long text.
const LONG: &str = r#"import json, sys
from agent import Agent, server
class Long(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
            "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": "x" * 1_000_000 + " the end"}]}]}})
server(sys.argv[1], Long).serve_forever()
"#;

#[test]
fn a_long_answer_is_shown_by_its_beginning_and_its_end() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(LONG);
    let ended = folder.run(&["run", "a.toml"]);
    let said = shown(&ended);
    assert!(said.len() < 20_000, "{} bytes", said.len());
    assert!(said.contains("bytes are left out here]"), "{said}");
    assert!(said.contains("xxx the end\""), "{said}");
    let records = fs::metadata(folder.only_run().join("records.jsonl")).unwrap();
    assert!(records.len() < 40_000, "{records:?}");
}

/// When it is asked for its task, it returns another one, as an agent does that confuses its tasks.
const CONFUSED: &str = r#"import json, sys
from agent import Agent, server
class Confused(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        task = {"kind": "task", "id": "mine", "contextId": "c", "status": {"state": "working"}}
        if request["method"] == "tasks/get":
            task = {**task, "id": "other", "status": {"state": "completed"}}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": task})
server(sys.argv[1], Confused).serve_forever()
"#;

#[test]
fn the_result_of_another_task_does_not_count() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstate = 'completed'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(CONFUSED);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    let why = "id: expected \"mine\", the id of the task that was asked for, found \"other\"";
    assert!(shown(&ended).contains(why), "{}", shown(&ended));
}

/// It sends the end of its task, and then nothing but comments.
const OPEN: &str = r#"import json, sys, time
from agent import Agent, server
class Open(Agent):
    card = {**Agent.card, "capabilities": {"streaming": True}}
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}
        event = {"jsonrpc": "2.0", "id": request["id"], "result": task}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        while True:
            time.sleep(0.1)
            self.wfile.write(b":\n\n")
server(sys.argv[1], Open).serve_forever()
"#;

#[test]
fn a_stream_that_stays_open_after_the_task_is_named_as_the_reason() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstream = true\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = { total = '5s' }\n",
    );
    folder.agent(OPEN);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    let why = "a has sent the end of its task, but has not closed its stream";
    assert!(shown(&ended).contains(why), "{}", shown(&ended));
}

/// It answers a message with 3 MB, and does not end.
struct Endless;

#[async_trait]
impl Executor for Endless {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        for _ in 0..60 {
            let piece = Update::piece("a", vec![Part::text("x".repeat(50_000))], false);
            turn.handle.emit(vec![piece]).await.unwrap();
        }
        turn.cancel_signal.canceled().await;
        Vec::new()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_over_grpc_count_although_they_are_not_recorded() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let modes = ["text/plain", "application/json"].map(str::to_owned);
    let card = AgentCard {
        default_input_modes: modes.to_vec(),
        ..AgentCard::named("endless", "does not end")
    };
    let agent = Agent::new("endless", card, Arc::new(Endless));
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
    let app = host.router(&format!("http://{address}")).await.unwrap();
    let card = json!({
        "name": "endless", "description": "d", "version": "1", "capabilities": {"streaming": true},
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "supportedInterfaces": [{"url": address.to_string(), "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
    });
    let card = get(move || async move { Json(card) });
    let app = Router::new().route("/.well-known/agent-card.json", card).fallback_service(app);
    let server = tokio::spawn(bridge_program::serve(listener, app, pending()));
    let participant = format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://{address}'\n[config]\n"
    );
    for (scenario, who) in [
        (
            format!(
                "{participant}evaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\nstream = true\n"
            ),
            "a",
        ),
        (format!("{participant}evaluator = 'episode'\nenvironment = 'sum'\n"), "a"),
        (
            format!(
                "{participant}evaluator = 'pipeline'\n[[config.step]]\nid = 'x'\nskill = 's'\n"
            ),
            "a",
        ),
        (
            format!(
                "[green_agent]\nendpoint = 'http://{address}'\n[[participants]]\nrole = 'a'\nbuiltin = 'echo'\n"
            ),
            "green",
        ),
    ] {
        let limit = "[harness]\nversion = 1\nsnapshot = false\ntranscript_limit = 2\n";
        let folder = Folder::new(&(scenario + limit));
        let ended = tokio::task::spawn_blocking(move || folder.run(&["run", "a.toml"]));
        let ended = ended.await.unwrap();
        let why = format!(
            "more than 2 MiB were sent, the most of it by {who} (harness.transcript_limit)"
        );
        assert!(shown(&ended).contains(&why), "{}", shown(&ended));
    }
    server.abort();
}
