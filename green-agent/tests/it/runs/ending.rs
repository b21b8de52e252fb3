//! The order in which the programs of a trial end.

use std::fs;

use super::{Folder, shown};

/// It asks a site once more when it is told to end.
const AGENT: &str = r#"import os, signal, sys, time, urllib.request
from agent import server
def leave(*_):
    time.sleep(0.5)
    print("took leave:", urllib.request.urlopen(sys.argv[2]).status, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
server(sys.argv[1]).serve_forever()
"#;

#[test]
fn servers_end_after_the_agents_that_use_them() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9008'\n\
         cmd = 'python3 -m http.server 9008 --bind 127.0.0.1'\n\
         [[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009 {site}'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\ncontains = 'hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(AGENT);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(0), "{}", shown(&ended));
    let log = folder.only_run().join("a/trial-1/a.log");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("took leave: 200"), "{log}");
}

/// It prints why it cannot evaluate, and answers with an internal error, or not at all, or breaks off.
const EVALUATOR: &str = r#"import json, sys, time
from agent import Agent, server
class Broken(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print("KeyError: no such task in the dataset", file=sys.stderr, flush=True)
        if "hangs" in sys.argv:
            time.sleep(60)
        if "breaks" in sys.argv:
            return
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "'task'"}})
server(sys.argv[1], Broken).serve_forever()
"#;

#[test]
fn an_evaluator_that_breaks_is_shown_with_what_it_printed() {
    for (way, how) in [
        ("", "(-32603)"),
        ("hangs", "the others were waiting for green"),
        (
            "breaks",
            "{\"error\":\"the upstream did not answer: connection closed before message completed\"}",
        ),
    ] {
        let folder = Folder::new(&format!(
            "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009 {way}'\n\
             [[participants]]\nrole = 'assistant'\nbuiltin = 'echo'\n\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = {{ idle = '1s', stop = '1s' }}\n"
        ));
        folder.agent(EVALUATOR);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
        let printed =
            format!("{how}; it last printed:\n           KeyError: no such task in the dataset\n");
        assert!(shown(&ended).contains(&printed), "{}", shown(&ended));
    }
}

/// Its work ends with an error that only its log tells, and its task is polled in vain.
const ENDLESS: &str = r#"import json, sys
from agent import Agent, server
class Endless(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "message" in request["method"]:
            print("KeyError: no such task in the dataset", file=sys.stderr, flush=True)
        else:
            print(f'INFO: "POST {self.path} HTTP/1.1" 200 OK', file=sys.stderr, flush=True)
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "submitted"}}})
server(sys.argv[1], Endless).serve_forever()
"#;

#[test]
fn lines_of_an_access_log_keep_no_trial_alive_and_hide_no_error() {
    let folder = Folder::new(
        "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [[participants]]\nrole = 'assistant'\nbuiltin = 'echo'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = { idle = '1s', stop = '1s' }\n",
    );
    folder.agent(ENDLESS);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
    let printed =
        "it last printed:\n           KeyError: no such task in the dataset\n         transcript";
    assert!(shown(&ended).contains(printed), "{}", shown(&ended));
}

/// It answers with a server error, and prints why afterwards, as servers in Python do.
const BROKEN: &str = r#"import sys
from agent import Agent, server
class Broken(Agent):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send(500, {})
        self.wfile.flush()
        print("KeyError: no such tool", file=sys.stderr, flush=True)
server(sys.argv[1], Broken).serve_forever()
"#;

#[test]
fn an_agent_that_breaks_is_shown_with_what_it_printed_after_its_answer() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n\
         [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'Hello'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n",
    );
    folder.agent(BROKEN);
    let ended = folder.run(&["run", "a.toml"]);
    assert_eq!(ended.status.code(), Some(1), "{}", shown(&ended));
    let printed =
        "a answered with status 500; it last printed:\n           KeyError: no such tool\n";
    assert!(shown(&ended).contains(printed), "{}", shown(&ended));
}

/// It ends its task with a word of its own, and waits for the client.
const FINISHED: &str = r#"import json, sys
from agent import Agent, server
class Finished(Agent):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send(200, {"jsonrpc": "2.0", "id": request["id"], "result": {
            "kind": "task", "id": "t", "contextId": "c", "status": {"state": "finished"}}})
server(sys.argv[1], Finished).serve_forever()
"#;

#[test]
fn a_state_that_a2a_does_not_have_is_named_as_the_cause_of_a_hang() {
    let program = "endpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py 9009'\n";
    let conversation =
        "[config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'p'\ntext = 'Hello'\n";
    let participant = "[[participants]]\nrole = 'p'\n";
    for (agents, role, code) in [
        (format!("[green_agent]\n{participant}{program}{conversation}"), "p", 1),
        (format!("[green_agent]\n{program}{participant}builtin = 'echo'\n"), "green", 4),
    ] {
        let folder = Folder::new(&format!(
            "{agents}[harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = {{ idle = '1s', stop = '1s' }}\n"
        ));
        folder.agent(FINISHED);
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(code), "{}", shown(&ended));
        let cause =
            format!("the task of {role} is in the state \"finished\", which A2A does not have");
        assert!(shown(&ended).contains(&cause), "{}", shown(&ended));
    }
}

#[test]
fn the_report_of_a_program_that_lacks_a_package_says_how_to_install_it() {
    let (declared, old_sdk) =
        ("[harness]\nversion = 1\n", "requires = [\"python:a2a-sdk[http-server]<1\"]");
    for (harness, lacked, how) in [
        (
            "",
            "No module named 'judge'",
            "Its requires = [\"python:.\"] installs the project of this folder",
        ),
        (declared, "No module named 'a2a.server.apps'", old_sdk),
        (
            declared,
            "cannot import name 'A2AClient' from 'a2a.client' (/venv/a2a/client/__init__.py)",
            old_sdk,
        ),
        (
            declared,
            "cannot import name 'DataPart' from 'a2a.types' (/venv/a2a/types/__init__.py)",
            old_sdk,
        ),
    ] {
        let folder = Folder::new(&format!(
            "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 mine.py'\n\
             [[participants]]\nrole = 'assistant'\nbuiltin = 'echo'\n{harness}"
        ));
        folder.file("mine.py", &format!("raise ImportError(\"{lacked}\")\n"));
        let ended = folder.run(&["run", "a.toml"]);
        assert_eq!(ended.status.code(), Some(4), "{}", shown(&ended));
        assert!(shown(&ended).contains(how), "{}", shown(&ended));
    }
}
