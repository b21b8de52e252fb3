//! Tests agents that are kept between trials: two real programs, of which one calls the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use green_agent::{
    problem::Outcome,
    record::{RunFolder, TrialRecord},
};
use tempfile::TempDir;

use crate::{
    ports,
    support::{eventually, wait_until_gone},
};

/// An agent that does what the text of a message says: `crash`, `hang`, `leave` a task unfinished, answer
/// while it still asks the other agent (`background`). It asks the other agent, if it has one, the same, and
/// names its process and its seed.
const AGENT: &str = r#"
import json, os, sys, threading, time, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
name, port, other = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
me = f"{name} pid {os.getpid()} seed {os.environ.get('HARNESS_SEED')} trial {os.environ.get('HARNESS_TRIAL')}"
card = {"protocolVersion": "0.3.0", "name": name, "description": "obeys", "version": "1",
        "url": f"http://127.0.0.1:{port}/", "preferredTransport": "JSONRPC", "capabilities": {},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": []}
print(me, "started", flush=True)
def ask(text):
    part = {"kind": "text", "text": text}
    message = {"kind": "message", "messageId": uuid.uuid4().hex, "role": "user", "parts": [part]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(other[0], json.dumps(body).encode(), headers)
    try:
        return json.load(urllib.request.urlopen(request))["result"]["artifacts"][0]["parts"][0]["text"]
    except Exception as error:
        return str(error)
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
    def do_GET(self):
        print("card", flush=True)
        self.answer(card)
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = asked["params"]["message"]
        text = message["parts"][0]["text"]
        print("asked", text, flush=True)
        if "crash" in text:
            os._exit(3)
        if "hang" in text or ("background" in text and not other):
            time.sleep(3600)
        if other and "background" in text:
            threading.Thread(target=ask, args=(text,), daemon=True).start()
            heard = ""
        else:
            heard = ask(text) if other else ""
        state = "working" if "leave" in text and not other else "completed"
        artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": f"{text}; {me}; {heard}"}]}
        task = {"kind": "task", "id": uuid.uuid4().hex, "contextId": message.get("contextId") or uuid.uuid4().hex,
                "status": {"state": state}, "artifacts": [artifact]}
        self.answer({"jsonrpc": "2.0", "id": asked["id"], "result": task})
        print("answered", text, flush=True)
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"#;

/// A folder with a scenario of two agents, whose dataset has a task for each text.
struct Folder(TempDir);

impl Folder {
    fn new(texts: &[&str], harness: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        file("agent.py", AGENT);
        let rows = texts
            .iter()
            .enumerate()
            .map(|(at, text)| format!("{{\"id\": \"t{at}\", \"text\": \"{text}\"}}\n"));
        file("tasks.jsonl", &rows.collect::<String>());
        let place = folder.path().join("agent.py");
        let place = place.display();
        let scenario = format!(
            "[green_agent]\n\
             [[participants]]\nrole = 'front'\nendpoint = 'http://127.0.0.1:9009'\n\
             cmd = 'python3 {place} front 9009 {{helper}}'\n\
             [[participants]]\nrole = 'helper'\nendpoint = 'http://127.0.0.1:9019'\n\
             cmd = 'python3 {place} helper 9019'\n\
             [config]\nevaluator = 'conversation'\n\
             [[config.turn]]\nto = 'front'\ntext = '{{row.id}} {{row.text}}'\nstate = 'completed'\n\
             [harness]\nversion = 1\nports = 'auto'\nreuse = 'agents'\nseed = 7\n\
             dataset = 'tasks.jsonl'\n{harness}"
        );
        file("a.toml", &scenario);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        command.current_dir(self.path()).args(args);
        command
    }

    /// Runs the scenario and returns what was printed, and the trials in their order.
    fn run(&self, more: &[&str]) -> (Output, Vec<Trial>) {
        let args = [&["run", "a.toml"], more].concat();
        let output = self.program(&args).output().unwrap();
        (output, self.trials())
    }

    /// Returns the only run.
    fn only_run(&self) -> PathBuf {
        let runs = fs::read_dir(self.path().join("runs")).unwrap();
        let runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    fn trials(&self) -> Vec<Trial> {
        let run = self.only_run();
        let records = RunFolder::read(&run).unwrap().records;
        let mut trials: Vec<Trial> = records.into_iter().map(|one| Trial::of(&run, one)).collect();
        trials.sort_by_key(|trial| (trial.record.sample.clone(), trial.record.trial));
        trials
    }
}

/// The results of a trial.
struct Trial {
    record: TrialRecord,
    transcript: String,
    /// The output of the agents, by role.
    logs: BTreeMap<&'static str, String>,
}

impl Trial {
    fn of(run: &Path, record: TrialRecord) -> Self {
        let folder = run.join(record.folder.as_deref().unwrap());
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        Self {
            transcript: text("transcript.jsonl"),
            logs: ["front", "helper"].map(|role| (role, text(&format!("{role}.log")))).into(),
            record,
        }
    }

    /// Returns the processes that answered.
    fn processes(&self) -> BTreeSet<i32> {
        let after = self.transcript.split(" pid ").skip(1);
        after.map(|text| text.split(' ').next().unwrap().parse().unwrap()).collect()
    }
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn agents_stay_and_each_trial_has_its_own_transcript_and_logs() {
    let folder = Folder::new(&["one", "two", "three"], "trials = 2\n");
    let (output, trials) = folder.run(&["--jobs", "1"]);
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(trials.len(), 6);
    let processes = trials[0].processes();
    assert_eq!(processes.len(), 2, "{}", trials[0].transcript);
    let mut contexts = BTreeSet::new();
    for trial in &trials {
        assert_eq!(trial.processes(), processes, "{}", trial.transcript);
        assert_eq!(trial.record.parties, trials[0].record.parties);
        let own = trial.record.sample.as_deref().unwrap();
        for hop in ["green -> front", "front -> helper"] {
            assert!(trial.transcript.contains(hop), "{hop} {}", trial.transcript);
        }
        // The request and the reply on each of the two hops.
        for said in ["messageId", "artifactId"] {
            let count = trial.transcript.matches(said).count();
            assert_eq!(count, 2, "{}", trial.transcript);
        }
        assert!(trial.transcript.contains("seed 7 trial None"));
        let after = trial.transcript.split("\"contextId\":\"").skip(1);
        contexts.extend(after.map(|text| text.split('"').next().unwrap().to_owned()));
        for (role, log) in &trial.logs {
            let others = ["t0", "t1", "t2"].into_iter().filter(|id| *id != own);
            for other in others {
                assert!(!trial.transcript.contains(&format!("{other} ")));
                assert!(!log.contains(other), "{role} of {own}: {log}");
            }
            assert_eq!(log.matches("asked").count(), 1, "{role} of {own}: {log}");
            assert_eq!(log.matches("answered").count(), 1, "{role} of {own}: {log}");
        }
    }
    // Each task has a separate context, on each hop.
    assert_eq!(contexts.len(), 12);
    let cards: usize =
        trials.iter().map(|trial| trial.logs["helper"].matches("card").count()).sum();
    assert_eq!(cards, 1, "readiness is waited for once");
    processes.into_iter().for_each(wait_until_gone);
}

#[test]
fn agents_that_crash_hang_or_are_busy_are_replaced() {
    let texts = ["one", "crash", "two", "hang", "three", "leave", "four", "background", "five"];
    let folder = Folder::new(&texts, "timeout = { idle = '2s' }\n");
    let (output, trials) = folder.run(&["--jobs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let outcomes: Vec<Outcome> = trials.iter().map(|trial| trial.record.outcome).collect();
    let (passed, error) = (Outcome::Passed, Outcome::AgentError);
    assert_eq!(
        outcomes,
        [passed, error, passed, error, passed, passed, passed, passed, passed],
        "{}",
        shown(&output)
    );
    let problems = trials[1].record.problems.iter();
    let crash = problems.map(|one| one.message.as_str()).collect::<String>();
    assert!(crash.contains("front exited with code 3"), "{crash}");
    assert!(crash.contains("asked t1 crash"), "{crash}");
    assert!(!crash.contains("t0"), "{crash}");
    // The trials with numbers in their names were answered by five different sets.
    let sets: BTreeSet<BTreeSet<i32>> = [0, 2, 4, 6, 8].map(|at| trials[at].processes()).into();
    assert_eq!(sets.len(), 5);
    assert_eq!(trials[5].processes(), trials[4].processes());
    let shown = shown(&output);
    for reason in [
        "a task of helper had not ended when the trial ended",
        "helper had not answered when the trial ended",
    ] {
        assert!(shown.contains(&format!("a: agents are restarted: {reason}")), "{shown}");
    }
    sets.into_iter().flatten().for_each(wait_until_gone);
}

/// The trials of another scenario do not come between those of one, which would have its agents stopped.
#[test]
fn scenarios_do_not_take_the_place_of_each_others_agents() {
    let folder = Folder::new(&["one", "two", "three"], "");
    let text = fs::read_to_string(folder.path().join("a.toml")).unwrap();
    fs::write(folder.path().join("b.toml"), text).unwrap();
    let (output, trials) = folder.run(&["b.toml", "--jobs", "1"]);
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(trials.len(), 6);
    let sets: BTreeSet<_> = trials.iter().map(Trial::processes).collect();
    assert_eq!(sets.len(), 2, "{sets:?}");
}

#[test]
fn no_more_sets_run_than_trials_may_and_other_settings_get_their_own() {
    let texts = ["one", "two", "three", "four", "five", "six"];
    let folder = Folder::new(&texts, "matrix = { tone = ['high', 'low'] }\n");
    let file = folder.path().join("a.toml");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("helper 9019'", "helper 9019 '\nenv = { TONE = '{matrix.tone}' }");
    fs::write(&file, text).unwrap();
    let (output, trials) = folder.run(&["--jobs", "2"]);
    assert!(output.status.success(), "{}", shown(&output));
    let sets_of = |tone: &str| -> BTreeSet<BTreeSet<i32>> {
        let trials = trials.iter().filter(|trial| trial.record.cell["tone"] == tone);
        trials.map(Trial::processes).collect()
    };
    let (high, low) = (sets_of("high"), sets_of("low"));
    assert!(high.is_disjoint(&low), "{high:?} {low:?}");
    assert!(high.len() <= 2 && low.len() <= 2, "{high:?} {low:?}");
}

#[test]
fn agents_at_fixed_ports_are_kept_by_one_trial_after_the_other() {
    let folder = Folder::new(&["one", "two", "three", "four"], "");
    let file = folder.path().join("a.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    for port in ["9009", "9019"] {
        text = text.replace(port, &ports::unused().to_string());
    }
    fs::write(&file, text.replace("ports = 'auto'\n", "")).unwrap();
    let (output, trials) = folder.run(&["--jobs", "3"]);
    assert!(output.status.success(), "{}", shown(&output));
    let sets: BTreeSet<_> = trials.iter().map(Trial::processes).collect();
    assert_eq!(sets.len(), 1, "{sets:?}");
}

#[test]
fn a_killed_run_leaves_no_agent_and_is_resumed_with_new_ones() {
    let folder = Folder::new(&["one", "two", "hang", "three"], "timeout = { idle = '3s' }\n");
    let mut running = folder.program(&["run", "a.toml", "--jobs", "1"]);
    let mut running = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("two trials", || {
        // The folder of all runs is there a moment before that of the run.
        let run = fs::read_dir(folder.path().join("runs")).ok()?.next()?.ok()?.path();
        let records = RunFolder::read(&run).ok()?.records;
        (records.len() == 2).then_some(())
    });
    running.kill().unwrap();
    running.wait().unwrap();
    let before = folder.trials();
    assert_eq!(before.len(), 2);
    let first = before[0].processes();
    first.iter().copied().for_each(wait_until_gone);
    let run = folder.only_run();
    let output = folder.program(&["run", "--resume", run.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let trials = folder.trials();
    assert_eq!(trials.len(), 4);
    assert!(trials[3].processes().is_disjoint(&first));
}
