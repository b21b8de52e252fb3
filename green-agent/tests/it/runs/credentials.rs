//! Tests evaluations of agents that require credentials.

use std::{fs, path::Path};

use super::{Folder, shown};

/// An agent that answers callers with the key, and repeats the key.
const AGENT: &str = r#"import sys
from agent import Agent, server
class Guarded(Agent):
    card = {**Agent.card, "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
            "security": [{"key": []}]}
    def do_POST(self):
        if self.headers.get("X-API-Key") != "hunter2-hunter2": return self.send(401, {"error": "no key"})
        super().do_POST()
    def answer(self): return "hello, " + self.headers["X-API-Key"]
server(sys.argv[1], Guarded).serve_forever()
"#;

fn conversation(credential: &str) -> Folder {
    folder(&format!(
        "evaluator = 'conversation'\n{credential}\
         [[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello, hunter2-hunter2'\n"
    ))
}

/// An episode in which the agent does nothing, and so fails.
fn episode(credential: &str) -> Folder {
    folder(&format!("evaluator = 'episode'\nenvironment = 'shop'\n{credential}"))
}

fn folder(config: &str) -> Folder {
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\ncmd = 'python3 mine.py 9009'\nendpoint = 'http://127.0.0.1:9009'\n\
         [config]\n{config}\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n"
    ));
    folder.agent(AGENT);
    folder.file(".env", "HOSTED_AGENT=hunter2-hunter2\n");
    folder
}

/// Returns whether a file below a folder contains a text.
fn is_said(folder: &Path, text: &str) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.any(|path| match path.is_dir() {
        true => is_said(&path, text),
        false => String::from_utf8_lossy(&fs::read(path).unwrap()).contains(text),
    })
}

#[test]
fn an_agent_whose_card_wants_the_credential_too_is_waited_for_and_shown_it() {
    let credential = "[[config.credential]]\nagent = 'a'\nheader = 'X-API-Key'\nsecret = { env = 'HOSTED_AGENT' }\n";
    let folder = conversation(credential);
    let guarded = "    def do_GET(self):\n        \
                   if self.headers.get(\"X-API-Key\") != \"hunter2-hunter2\": return self.send(401, {})\n        \
                   super().do_GET()\n    def answer";
    folder.agent(&AGENT.replace("    def answer", guarded));
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    assert!(!is_said(&folder.0.path().join("runs"), "hunter2"));
}

#[test]
fn only_the_agent_with_the_role_gets_a_credential() {
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
fn an_agent_that_refuses_the_request_is_reported_with_the_key_to_set() {
    for folder in [conversation(""), episode("")] {
        let ended = folder.run(&["run", "a.toml"]);
        let said = shown(&ended);
        // This is no fault of the agent.
        assert_eq!(ended.status.code(), Some(4), "{said}");
        assert!(said.contains("[[config.credential]] says"), "{said}");
    }
}

#[test]
fn the_agent_of_an_episode_is_sent_its_credential() {
    let folder = episode(
        "[[config.credential]]\nagent = 'a'\nscheme = 'key'\nsecret = { env = 'HOSTED_AGENT' }\n",
    );
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    assert!(is_said(&folder.0.path().join("runs"), "hello, "));
    assert!(!is_said(&folder.0.path().join("runs"), "hunter2"));
}

#[test]
fn an_agent_that_refuses_only_its_task_is_scored_unless_it_is_trusted() {
    let refusing = "    def do_POST(self):\n        \
                    request = json.loads(self.rfile.read(int(self.headers[\"content-length\"])))\n        \
                    if \"send\" in request[\"method\"]: return self.send(401, {})\n        \
                    error = {\"code\": -32001, \"message\": \"no such task\"}\n        \
                    self.send(200, {\"jsonrpc\": \"2.0\", \"id\": request[\"id\"], \"error\": error})\n";
    let (before, _) = AGENT.split_once("    def do_POST").unwrap();
    let agent =
        format!("import json\n{before}{refusing}server(sys.argv[1], Guarded).serve_forever()\n");
    let credential =
        "[[config.credential]]\nagent = 'a'\nscheme = 'key'\nsecret = { env = 'HOSTED_AGENT' }\n";
    for folder in [conversation(credential), episode(credential)] {
        folder.agent(&agent);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
        let path = folder.0.path().join("a.toml");
        let scenario = fs::read_to_string(&path).unwrap();
        let trusting = scenario.replace("role = 'a'\n", "role = 'a'\ntrusted = true\n");
        fs::write(&path, trusting).unwrap();
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
    }
}
