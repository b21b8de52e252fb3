//! Tests conversations with agents that require credentials.

use std::{fs, path::Path};

use super::{Folder, shown};

/// An agent on the standard library: it answers callers that have the key, and repeats the key.
const AGENT: &str = r#"
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
port = int(sys.argv[1])
CARD = {"name": "a", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": f"http://127.0.0.1:{port}/",
        "preferredTransport": "JSONRPC", "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
        "skills": [{"id": "s", "name": "s", "description": "s", "tags": ["s"]}],
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}, "security": [{"key": []}]}
class Agent(BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def send(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self): self.send(200, CARD)
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers.get("X-API-Key")
        if key != "hunter2-hunter2": return self.send(401, {"error": "no key"})
        message = {"kind": "message", "role": "agent", "messageId": "1", "parts": [{"kind": "text", "text": "hello, " + key}]}
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": message})
ThreadingHTTPServer(("127.0.0.1", port), Agent).serve_forever()
"#;

fn conversation(credential: &str) -> Folder {
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\ncmd = 'python3 agent.py 9009'\nendpoint = 'http://127.0.0.1:9009'\n\
         [config]\nevaluator = 'conversation'\n{credential}\
         [[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello, hunter2-hunter2'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
    ));
    folder.file("agent.py", AGENT);
    folder.file(".env", "HOSTED_AGENT=hunter2-hunter2\n");
    folder
}

/// Returns whether a file below a folder contains a text.
fn is_said(folder: &Path, text: &str) -> bool {
    let mut entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.any(|path| match path.is_dir() {
        true => is_said(&path, text),
        false => String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text),
    })
}

#[test]
fn an_agent_is_shown_the_credential_for_its_role_and_nobody_else_is() {
    for way in ["header = 'X-API-Key'", "scheme = 'key'"] {
        let folder = conversation(&format!(
            "[[config.credential]]\nagent = 'a'\n{way}\nsecret = {{ env = 'HOSTED_AGENT' }}\n"
        ));
        let ended = folder.run(&["run", "a.toml", "--report", "html=runs/report.html"]);
        assert_eq!(ended.status.code(), Some(0), "{way}: {}", shown(&ended));
        assert!(is_said(&folder.0.path().join("runs"), "hello, "));
        assert!(!is_said(&folder.0.path().join("runs"), "hunter2"));
        assert!(!shown(&ended).contains("hunter2"));
    }
}

#[test]
fn an_agent_that_refuses_who_asks_is_told_with_what_to_write() {
    let folder = conversation("");
    let ended = folder.run(&["run", "a.toml"]);
    let said = shown(&ended);
    // This is no fault of the agent.
    assert_eq!(ended.status.code(), Some(4), "{said}");
    assert!(said.contains("[[config.credential]] says"), "{said}");
}
