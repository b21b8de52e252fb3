//! Tests the spans of `green-agent run` with a collector: a run is one trace, which continues in the agents and in
//! calls of tools.

mod collector;

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Output,
    thread,
};

use green_agent::{
    record::{RunFolder, TrialRecord},
    transcript::{self, Content},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use self::collector::{Collector, Span, Spans};
use crate::{dead_collector::DeadCollector, venv};

/// The text of a message, which no span may have.
const MESSAGE: &str = "a confidential question";
/// A credential of an agent, which no span may have either.
const KEY: &str = "sk-0123456789abcdef";

/// A conversation with a built-in bot, or with another agent by `{START}`.
const CONVERSATION: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\n{START}\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'assistant'\ntext = '{MESSAGE}'\ncontains = '{ANSWER}'\n\
     [harness]\nversion = 1\nports = 'auto'\n";

const EPISODE: &str = "[green_agent]\n[[participants]]\nrole = 'purple'\npolicy = 'sum-and-shop'\n\
     [config]\nevaluator = 'episode'\nenvironment = 'sum'\n\
     [harness]\nversion = 1\nports = 'auto'\n";

/// A folder with scenarios in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a conversation with the agent that is started like this.
    fn conversation(&self, name: &str, start: &str, answer: &str) {
        let values = [("{START}", start), ("{MESSAGE}", MESSAGE), ("{ANSWER}", answer)];
        let text = values
            .into_iter()
            .fold(CONVERSATION.to_owned(), |text, (place, value)| text.replace(place, value));
        self.file(name, &text);
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Runs all scenarios of the folder.
    async fn run(&self, collector: &str, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        command.current_dir(self.0.path());
        command.args(["run", ".", "--snapshots", "off", "--runs", "runs"]);
        command.args(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
        command.output().await.unwrap()
    }

    fn records(&self) -> Vec<TrialRecord> {
        RunFolder::read(&self.only_run()).unwrap().records
    }

    /// Returns the JSON bodies of all requests in the transcripts.
    fn requests(&self) -> Vec<Value> {
        let folders = self.records().into_iter().filter_map(|record| record.folder);
        let transcripts = folders.map(|folder| {
            transcript::read(&self.only_run().join(folder).join("transcript.jsonl")).unwrap()
        });
        let bodies = transcripts.flatten().filter_map(|entry| match entry.content {
            Content::Request { body, .. } => body?.json().cloned(),
            _ => None,
        });
        bodies.collect()
    }

    fn only_run(&self) -> std::path::PathBuf {
        let mut runs = std::fs::read_dir(self.0.path().join("runs")).unwrap();
        runs.next().unwrap().unwrap().path()
    }
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_from_its_scenarios_to_the_calls_of_tools() {
    let folder = Folder::new();
    folder.conversation("echo.toml", "builtin = 'echo'", MESSAGE);
    folder.conversation("python.toml", &python_agent().await, "It was traced.");
    folder.file("episode.toml", EPISODE);
    let collector = Collector::start().await;
    let output = folder.run(&collector.url, &["--trials", "2"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let spans = collector.spans();
    one_trace(&spans);
    hops_are_below_trials(&spans);
    the_agents_go_on_with_it(&spans);
    tools_go_on_with_it(&spans, &folder.requests());
    for secret in [MESSAGE, KEY] {
        assert!(!collector.was_told(secret), "{secret} is in a span");
    }
}

/// Returns how a scenario starts the agent whose spans are made by the SDK of OpenTelemetry.
async fn python_agent() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    format!(
        "endpoint = 'http://127.0.0.1:9009'\ncmd = '{} {} --port 9009'\n\
         env = {{ API_KEY = '{KEY}', PYTHONPATH = '{}' }}",
        venv::with(&venv::TRACED).await.join("bin/python").display(),
        here.join("tests/it/traces/agent.py").display(),
        here.join("../scenarios/v1").display(),
    )
}

fn one_trace(spans: &Spans) {
    let traces: BTreeSet<_> = spans.0.iter().map(|span| &span.trace).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    let run = spans.only("run");
    assert_eq!(run.parent, "");
    for span in spans.0.iter().filter(|span| span.id != run.id) {
        assert_eq!(spans.above(span).last(), Some(&"run"), "{span:?}");
        assert!(!span.has_failed, "{span:?}");
    }
    for scenario in ["echo", "python", "episode"] {
        let scenario = spans.only(&format!("scenario {scenario}"));
        assert_eq!(scenario.parent, run.id);
        for trial in ["trial 1", "trial 2"] {
            let trials = spans.named(trial).into_iter().filter(|trial| trial.parent == scenario.id);
            let outcomes: Vec<_> = trials.map(|trial| &trial.attributes["outcome"]).collect();
            assert_eq!(outcomes, ["passed"]);
        }
    }
}

fn hops_are_below_trials(spans: &Spans) {
    for (hop, scenario) in [
        ("green -> assistant", "scenario echo"),
        ("green -> assistant", "scenario python"),
        ("green -> purple", "scenario episode"),
        ("purple -> environment", "scenario episode"),
    ] {
        for trial in ["trial 1", "trial 2"] {
            let is_there = |hop: &Span| {
                let above = spans.above(hop);
                let answered = &hop.attributes["http.response.status_code"];
                above.contains(&trial) && above.contains(&scenario) && answered.starts_with('2')
            };
            let found = spans.named(hop).into_iter().any(is_there);
            assert!(found, "{hop} of {trial} of {scenario}: {spans:#?}");
        }
    }
}

/// Checks that each request that an agent received is a separate span below that of the hop; requests that wait for its
/// start are below the trial.
fn the_agents_go_on_with_it(spans: &Spans) {
    let mut posts = spans.named("SendMessage echo");
    posts.extend(spans.named("POST /"));
    let mut services = BTreeSet::new();
    for post in posts {
        assert_eq!(spans.above(post)[0], "green -> assistant", "{post:?}");
        services.insert(post.service.as_str());
    }
    assert_eq!(services, BTreeSet::from(["assistant", "green-agent"]));
}

/// Checks that a call of a tool has a span at both ends, and the call itself has the context.
fn tools_go_on_with_it(spans: &Spans, requests: &[Value]) {
    let calls = spans.named("execute_tool submit");
    let at_client = calls.iter().filter(|call| {
        calls.iter().any(|served| served.parent == call.id && served.attributes == call.attributes)
    });
    assert_eq!((calls.len(), at_client.count()), (4, 2), "{calls:#?}");
    let calls: Vec<_> =
        requests.iter().filter(|request| request["method"] == "tools/call").collect();
    assert!(!calls.is_empty(), "{requests:#?}");
    for call in calls {
        let context = call["params"]["_meta"]["traceparent"].as_str();
        let mut parts = context.unwrap_or_else(|| panic!("{call}")).split('-').skip(1);
        let (trace, span) = (parts.next().unwrap(), parts.next().unwrap());
        let caller = spans.0.iter().find(|one| one.id == span);
        let caller = caller.unwrap_or_else(|| panic!("{call}: {spans:#?}"));
        assert_eq!(caller.trace, trace);
        let tool = call["params"]["name"].as_str().unwrap();
        assert_eq!(caller.name, format!("execute_tool {tool}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_of_a_dataset_are_told_apart() {
    let folder = Folder::new();
    folder.file("rows.jsonl", "{\"id\": \"first\"}\n{\"id\": \"second\"}\n");
    folder.conversation("rows.toml", "builtin = 'echo'", MESSAGE);
    let path = folder.0.path().join("rows.toml");
    let more = "dataset = 'rows.jsonl'\nmatrix = { model = ['small'] }\n";
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + more).unwrap();
    let collector = Collector::start().await;
    let output = folder.run(&collector.url, &[]).await;
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let spans = collector.spans();
    let trials = spans.named("trial 1").into_iter();
    let told = trials.map(|one| [&one.attributes["sample"], &one.attributes["cell"]]);
    let told: BTreeSet<_> = told.collect();
    assert_eq!(
        told.into_iter().flatten().collect::<Vec<_>>(),
        ["first", "model=small", "second", "model=small"]
    );
}

/// An agent whose card is fine, and that answers no message.
#[derive(Clone, Copy)]
enum BrokenAgent {
    /// It answers with HTTP status 500.
    Failing,
    /// It closes the connection.
    Closing,
}

impl BrokenAgent {
    /// Returns how a scenario names the agent.
    fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let card = json!({"name": "Broken", "description": "breaks", "version": "1", "capabilities": {},
            "skills": [], "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [interface]});
        thread::spawn(move || {
            for stream in listener.incoming() {
                self.answer(&stream.unwrap(), &card.to_string());
            }
        });
        format!("endpoint = '{url}'")
    }

    fn answer(self, mut stream: &TcpStream, card: &str) {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let is_for_card = head.first().is_some_and(|line| line.starts_with("GET "));
        let (status, body) = match (is_for_card, self) {
            (true, _) => ("200 OK", card),
            (false, Self::Failing) => ("500 Internal Server Error", ""),
            (false, Self::Closing) => return,
        };
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_tell_what_failed() {
    let folder = Folder::new();
    folder.conversation("unmet.toml", "builtin = 'echo'", "something else");
    folder.conversation("failing.toml", &BrokenAgent::Failing.start(), "an answer");
    folder.conversation("closing.toml", &BrokenAgent::Closing.start(), "an answer");
    let collector = Collector::start().await;
    let output = folder.run(&collector.url, &[]).await;
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let spans = collector.spans();
    assert_eq!(error(spans.only("run")), Some("failed"));
    for (scenario, outcome, hop) in [
        ("unmet", "failed", None),
        ("failing", "agent error", Some("500")),
        ("closing", "agent error", Some("no answer")),
    ] {
        let scenario = spans.only(&format!("scenario {scenario}"));
        assert_eq!(error(scenario), Some("failed"), "{scenario:?}");
        let trial = spans.0.iter().find(|span| span.parent == scenario.id).unwrap();
        assert_eq!(error(trial), Some(outcome), "{trial:?}");
        assert_eq!(trial.attributes["outcome"], outcome);
        let hops = spans.named("green -> assistant").into_iter();
        let hops = hops.filter(|hop| spans.above(hop).contains(&scenario.name.as_str()));
        let errors: BTreeSet<_> = hops.filter_map(error).collect();
        assert_eq!(errors, hop.into_iter().collect(), "{scenario:?}");
    }
    assert!(!collector.was_told(MESSAGE));
}

/// Returns the kind of a span's error.
fn error(span: &Span) -> Option<&str> {
    let error = span.attributes.get("error.type").map(String::as_str);
    assert_eq!(error.is_some(), span.has_failed, "{span:?}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_work_costs_a_run_its_traces_and_nothing_else() {
    for collector in DeadCollector::ALL {
        let folder = Folder::new();
        folder.conversation("echo.toml", "builtin = 'echo'", MESSAGE);
        folder.file("episode.toml", EPISODE);
        let output = folder.run(&collector.url(), &["--trials", "10"]).await;
        let said = shown(&output);
        assert_eq!(output.status.code(), Some(0), "{collector:?}: {said}");
        let records = folder.records();
        let is_whole = |record: &TrialRecord| record.problems.is_empty() && record.folder.is_some();
        assert!(records.len() == 20 && records.iter().all(is_whole), "{collector:?}");
        let told = said.matches("traces do not reach the collector").count();
        assert!(told <= 1, "{collector:?}: {said}");
    }
}
