//! Tests the queue of trials: how many run at once, what an interrupted run still starts, and how a run
//! counts that fails or whose evaluator ends early.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use green_agent::snapshot::path_for;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::support::eventually;

/// A folder with scenarios, whose sites write a file `started.NAME.PID` there.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = "echo > \"$1/started.$2.$$\"\n\
                    until [ $(ls \"$1\" | grep -c \"^started\\.$3\\.\") -ge \"$4\" ]; do sleep 0.02; done\n\
                    exec python3 -m http.server \"$5\" --bind 127.0.0.1 --directory \"$1\"\n";
        fs::write(folder.path().join("site.sh"), site).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a scenario that becomes ready when `count` sites of the scenario `awaited` have started.
    fn scenario(&self, name: &str, awaited: &str, count: u32, more: &str) -> PathBuf {
        let folder = self.path().display();
        let text = format!(
            "[green_agent]\n\
             [[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
             [[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9009'\n\
             cmd = 'sh {folder}/site.sh {folder} {name} {awaited} {count} 9009'\n\
             [config]\nevaluator = 'conversation'\n\
             [[config.turn]]\nto = 'assistant'\ntext = 'Hello'\nstate = 'completed'\n\
             [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntimeout = {{ ready = '60s' }}\n{more}"
        );
        let file = self.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        file
    }

    fn started(&self, name: &str) -> usize {
        let names = fs::read_dir(self.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let beginning = format!("started.{name}.");
        names.filter(|name| name.starts_with(&beginning)).count()
    }

    fn program(&self, files: &[PathBuf], more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        let runs = self.path().join("runs");
        command.current_dir(self.path()).arg("run").args(files);
        command.args(more).arg("--runs").arg(runs);
        command
    }
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Each trial becomes ready when all four have started.
#[test]
fn trials_of_one_scenario_run_at_once() {
    let folder = Folder::new();
    let file = folder.scenario("all", "all", 4, "");
    let output = folder.program(&[file], &["--trials", "4", "--jobs", "4"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(folder.started("all"), 4);
}

/// Each of the four becomes ready when all have started.
#[test]
fn the_agents_of_a_scenario_start_at_once() {
    let folder = Folder::new();
    let file = folder.scenario("all", "all", 4, "");
    let path = folder.path().display();
    let another = |port: u16| {
        format!(
            "[[participants]]\nrole = 'site_{port}'\nserver = 'http://127.0.0.1:{port}'\n\
             cmd = 'sh {path}/site.sh {path} all all 4 {port}'\n"
        )
    };
    let others: String = (9010..9013).map(another).collect();
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("[config]", &format!("{others}[config]"));
    fs::write(&file, text).unwrap();
    let output = folder.program(&[file], &[]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(folder.started("all"), 4);
}

/// The first scenario becomes ready when the third has started, which takes the second one's place in the
/// queue.
#[test]
fn a_slow_scenario_holds_back_no_other() {
    let folder = Folder::new();
    let files = [
        folder.scenario("first", "third", 1, ""),
        folder.scenario("second", "second", 1, ""),
        folder.scenario("third", "third", 1, ""),
    ];
    let output = folder.program(&files, &["--jobs", "2"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn a_run_that_was_interrupted_starts_nothing_more() {
    let folder = Folder::new();
    let files = [
        folder.scenario("first", "never", 1, ""),
        folder.scenario("second", "second", 1, ""),
        folder.scenario("third", "third", 1, ""),
    ];
    let mut running = folder.program(&files, &["--jobs", "1"]);
    let mut running = running.stdout(Stdio::null()).spawn().unwrap();
    eventually("the first site", || (folder.started("first") > 0).then_some(()));
    let pid = Pid::from_raw(running.id().try_into().unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(4));
    assert_eq!((folder.started("second"), folder.started("third")), (0, 0));
}

#[test]
fn a_run_that_is_ended_at_once_says_how_it_goes_on() {
    let folder = Folder::new();
    let site = folder.path().join("site.sh");
    let deaf = format!("trap '' TERM INT\n{}", fs::read_to_string(&site).unwrap());
    fs::write(site, deaf).unwrap();
    let file = folder.scenario("first", "never", 1, "");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("'60s'", "'60s', stop = '30s'")).unwrap();
    let said = folder.path().join("stderr");
    let mut running = folder.program(&[file], &[]);
    running.stdout(Stdio::null());
    running.stderr(fs::File::create(&said).unwrap());
    let mut running = running.spawn().unwrap();
    let pid = Pid::from_raw(running.id().try_into().unwrap());
    eventually("the site", || (folder.started("first") > 0).then_some(()));
    kill(pid, Signal::SIGINT).unwrap();
    let says = |words: &str| {
        eventually(words, || {
            let said = fs::read_to_string(&said).ok()?;
            said.contains(words).then_some(())
        });
    };
    says("press Ctrl-C again");
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(4));
    let runs = folder.path().join("runs");
    says(&format!("to continue: green-agent run --resume {}", runs.display()));
}

#[test]
fn no_snapshot_is_accepted_of_a_trial_that_failed() {
    let folder = Folder::new();
    let expected = "\n[[harness.expect]]\non = 'score'\neq = 7\n";
    let file = folder.scenario("failing", "failing", 1, expected);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("snapshot = false\n", "")).unwrap();
    let output = folder.program(std::slice::from_ref(&file), &["--snapshots", "accept"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(shown(&output).contains("not accepted"), "{}", shown(&output));
    assert!(!path_for(&file).exists());
}

/// A green agent that answers and exits before its answer was read.
const GREEN: &str = r#"
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
port = int(sys.argv[1])
card = {"protocolVersion": "0.3.0", "name": "green", "description": "judges", "version": "1",
        "url": f"http://127.0.0.1:{port}/", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": []}
class Handler(BaseHTTPRequestHandler):
    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
    def do_GET(self):
        self.answer(card)
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"winner": "assistant", "score": 1, "note": os.environ["EVALUATOR_API_KEY"]}
        task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
                "artifacts": [{"artifactId": "a", "parts": [{"kind": "data", "data": result}]}]}
        self.answer({"jsonrpc": "2.0", "id": asked["id"], "result": task})
        os._exit(0)
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"#;

const SECRET: &str = "q7Zt-41xWm-Lr09-vPc2";

#[test]
fn the_result_before_an_evaluators_exit_counts_and_its_secrets_are_masked() {
    let folder = Folder::new();
    fs::write(folder.path().join("green.py"), GREEN).unwrap();
    let variables = format!("EVALUATOR_API_KEY={SECRET}\n");
    fs::write(folder.path().join(".env"), variables).unwrap();
    let text = format!(
        "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\ncmd = 'python3 {}/green.py 9009'\n\
         env = {{ EVALUATOR_API_KEY = '${{EVALUATOR_API_KEY}}' }}\n\
         [[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
         [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n\
         [[harness.expect]]\non = 'score'\neq = 1\n",
        folder.path().display()
    );
    let file = folder.path().join("ends.toml");
    fs::write(&file, text).unwrap();
    let report = folder.path().join("runs/report.json");
    let reports = format!("json={}", report.display());
    let more = ["--trials", "5", "--report", &reports];
    let output = folder.program(&[file], &more).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!shown(&output).contains(SECRET), "{}", shown(&output));
    let written = files(&folder.path().join("runs"));
    let names: Vec<_> = written.iter().filter_map(|path| path.file_name()).collect();
    assert!(names.iter().any(|name| *name == "results.json"), "{names:?}");
    for file in written {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(SECRET), "{}: {text}", file.display());
    }
}

/// Returns every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}
