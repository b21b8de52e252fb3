//! Makes the folders of runs as large as the page must open, and as hostile as agents can be.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufWriter, Write as _},
    path::Path,
};

use green_agent::{
    problem::{Outcome, Owner, Problem, ProblemKind},
    record::{Manifest, ManifestScenario, TokenCounts, TrialRecord, Usage, VERSION},
};
use serde_json::{Value, json};

/// Texts that would do something if they were taken for markup, script, an address or a direction.
pub(super) const HOSTILE: [&str; 8] = [
    "</script><script>alert('script')</script>",
    "<img src=x onerror=\"alert('img')\"><svg onload=alert('svg')>",
    "javascript:alert('link')",
    "\u{202e}txet desrever\u{2066}\u{200b}\u{feff}",
    "nul \u{0} escape \u{1b}[31m bell \u{7}",
    "<!-- <script> -->]]>\u{2028}\u{2029}",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
    "\" onmouseover=\"alert('attribute')\" x=\"' onfocus='alert(2)",
];

/// The messages of the largest transcript.
pub(super) const MESSAGES: usize = 100_000;

/// The size of the largest message.
pub(super) const LARGE: usize = 5_000_000;

const SCENARIOS: usize = 25;
/// The scenario whose name has no place to break a line, and which fails for a cause of its own.
const LONG_NAMED: usize = 6;
const CELLS: [&str; 2] = ["small", "large"];
const SAMPLES: usize = 20;
const TRIALS: usize = 10;

/// Writes a run of 10,000 trials, the last of them with two attempts. `shift` moves what fails, so that two runs differ.
pub(super) fn run(folder: &Path, shift: usize) {
    fs::create_dir_all(folder).unwrap();
    let mut manifest = Manifest::begun("2026-01-02T03:04:05Z".to_owned());
    let mut records = BufWriter::new(fs::File::create(folder.join("records.jsonl")).unwrap());
    for scenario in 0..SCENARIOS {
        let name = scenario_name(scenario);
        manifest.scenarios.push(ManifestScenario {
            trials: None,
            name: name.clone(),
            path: format!("scenarios/{name}.toml"),
            digest: Some("sha256:00".to_owned()),
            must_fail: None,
            gate: green_agent::scenario::gate::Gates::default(),
        });
        for cell in 0..CELLS.len() {
            for sample in 0..SAMPLES {
                for trial in 0..TRIALS {
                    let record = record(scenario, cell, sample, trial, shift);
                    write_transcript(
                        folder,
                        &record,
                        trial + TRIALS * (sample + SAMPLES * (cell + CELLS.len() * scenario)),
                    );
                    serde_json::to_writer(&mut records, &record).unwrap();
                    records.write_all(b"\n").unwrap();
                }
            }
        }
    }
    let again = TrialRecord {
        attempt: 2,
        ..record(SCENARIOS - 1, CELLS.len() - 1, SAMPLES - 1, TRIALS - 1, shift)
    };
    serde_json::to_writer(&mut records, &again).unwrap();
    records.write_all(b"\n").unwrap();
    records.flush().unwrap();
    manifest.write(folder).unwrap();
}

fn scenario_name(at: usize) -> String {
    match at {
        3 => format!("hostile/{}", HOSTILE[1]),
        LONG_NAMED => format!("pipeline/{}", "\u{1f9ea}_long_".repeat(20)),
        _ => format!("{}/scenario_{at:02}", ["debate", "shop", "pipeline", "bot"][at % 4]),
    }
}

fn record(scenario: usize, cell: usize, sample: usize, trial: usize, shift: usize) -> TrialRecord {
    let number = trial + TRIALS * (sample + SAMPLES * (cell + CELLS.len() * scenario));
    // A number without a pattern, but the same in every run.
    let lot = (number + shift * 97).wrapping_mul(0x9e37_79b9) >> 7 & 0xff;
    let problems = match lot {
        0..40 if scenario == LONG_NAMED => vec![problem(
            ProblemKind::Crashed,
            Owner::Environment,
            &format!("{} is missing", "/tables".repeat(30)),
        )],
        0..40 => vec![problem(
            ProblemKind::GoalMissed,
            Owner::Agent,
            &format!(
                "the environment does not report success: the order \"{number}\" was not confirmed"
            ),
        )],
        40..48 => vec![problem(
            ProblemKind::Crashed,
            Owner::Agent,
            &format!(
                "purple exited with code 7 while the evaluation ran; it last printed:\n  {}",
                HOSTILE[number % 8]
            ),
        )],
        48..52 => vec![problem(
            ProblemKind::Model,
            Owner::Model,
            "the model answered 429: quota exceeded",
        )],
        52..54 => vec![problem(ProblemKind::Hung, Owner::Evaluator, HOSTILE[number % 8])],
        _ => Vec::new(),
    };
    let outcome = problems.iter().map(Problem::outcome).max().unwrap_or_default();
    let score = if outcome == Outcome::Passed { 1.0 } else { (lot % 7) as f64 / 10.0 };
    let counts = TokenCounts {
        input_tokens: 400 + lot as u64,
        output_tokens: 60 + lot as u64 / 2,
        total_tokens: 460 + lot as u64 * 3 / 2,
    };
    TrialRecord {
        version: VERSION,
        key: format!("{number:032x}"),
        scenario: scenario_name(scenario),
        scenario_digest: "sha256:00".to_owned(),
        sample: Some(format!("{}", sample + 1)),
        sample_digest: None,
        cell: BTreeMap::from([("model".to_owned(), CELLS[cell].to_owned())]),
        trial: u32::try_from(trial + 1).unwrap(),
        seed: number as u64,
        attempt: 1,
        outcome,
        exit: problems.iter().map(Problem::exit).max().unwrap_or_default(),
        problems,
        note: None,
        state: Some("completed".to_owned()),
        metrics: BTreeMap::from([
            ("score".to_owned(), score),
            ("steps".to_owned(), (lot % 9 + 2) as f64),
        ]),
        results: vec![json!({"score": score, "note": HOSTILE[number % 8], "link": HOSTILE[2]})],
        usage: Some(Usage {
            all: counts,
            by_role: BTreeMap::from([("purple".to_owned(), counts)]),
        }),
        started: "2026-01-02T03:04:05.000Z".to_owned(),
        seconds: 0.4 + lot as f64 / 50.0,
        phases: BTreeMap::from([("starting".to_owned(), 0.1), ("evaluating".to_owned(), 0.3)]),
        folder: Some(format!("trials/{number}")),
        parties: BTreeMap::new(),
    }
}

fn problem(kind: ProblemKind, owner: Owner, message: &str) -> Problem {
    kind.because(message).owned_by(owner)
}

/// Writes a transcript for each trial in twenty, the first of which is large and hostile.
fn write_transcript(folder: &Path, record: &TrialRecord, number: usize) {
    if !number.is_multiple_of(20) {
        return;
    }
    let folder = folder.join(record.folder.as_ref().unwrap());
    fs::create_dir_all(&folder).unwrap();
    let mut lines = Lines::new(&folder);
    if number == 0 {
        for (at, text) in HOSTILE.iter().enumerate() {
            lines.exchange("green -> purple", at, text);
        }
        lines.exchange("purple -> <img src=x onerror=alert(9)>", 1, HOSTILE[0]);
        lines.exchange("green -> purple", 2, &"very long ".repeat(LARGE / 10));
        while lines.seq < MESSAGES {
            let at = lines.seq;
            lines.exchange(
                ["runner -> green", "green -> purple", "purple -> environment"][at % 3],
                at,
                "Add up the numbers and submit their sum.",
            );
        }
    } else {
        for at in 0..6 {
            lines.exchange(
                ["green -> purple", "purple -> environment"][at % 2],
                at,
                "Order two red mugs, shipping included.",
            );
        }
        if number.is_multiple_of(3) {
            lines.failure("purple -> environment");
        }
    }
    lines.out.flush().unwrap();
    let log: String = (0..200)
        .map(|at| format!("2026-01-02 03:04:05 INFO step {at} {}\n", HOSTILE[at % 8]))
        .collect();
    fs::write(folder.join("purple.log"), log).unwrap();
    fs::write(folder.join("green.log"), "listening\n").unwrap();
}

struct Lines {
    out: BufWriter<fs::File>,
    seq: usize,
    exchange: u64,
}

impl Lines {
    fn new(folder: &Path) -> Self {
        let file = fs::File::create(folder.join("transcript.jsonl")).unwrap();
        Self { out: BufWriter::new(file), seq: 0, exchange: 0 }
    }

    fn line(&mut self, hop: &str, direction: &str, mut rest: Value) {
        self.seq += 1;
        rest["seq"] = self.seq.into();
        rest["time"] = (self.seq as f64 * 0.0007).into();
        rest["hop"] = hop.into();
        rest["exchange"] = self.exchange.into();
        rest["direction"] = direction.into();
        serde_json::to_writer(&mut self.out, &rest).unwrap();
        self.out.write_all(b"\n").unwrap();
    }

    /// Writes a request and its answer, over MCP to the environment and over A2A to agents.
    fn exchange(&mut self, hop: &str, at: usize, text: &str) {
        self.exchange += 1;
        let (asked, answered) = match hop.ends_with("environment") {
            true => (
                json!({"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": {"name": "submit", "arguments": {"answer": 195, "big": 12_345_678_901_234_567_890_u64, "why": text}}}),
                json!({"jsonrpc": "2.0", "id": at, "result": {"content": [{"type": "text", "text": text}], "isError": at % 700 == 2}}),
            ),
            false => (
                json!({"jsonrpc": "2.0", "id": at, "method": "message/send", "params": {"message": {"kind": "message", "messageId": format!("m{}", if at % 500 == 4 { at - 1 } else { at }), "role": "user", "parts": [{"kind": "text", "text": text}]}}}),
                json!({"jsonrpc": "2.0", "id": at, "result": {"kind": "task", "id": "t", "contextId": "c", "status": {"state": if at % 900 == 7 { "failed" } else { "completed" }}, "artifacts": [{"artifactId": "a", "name": "Result", "parts": [{"kind": "text", "text": text}]}]}}),
            ),
        };
        self.line(hop, "forward", json!({"kind": "request", "method": "POST", "path": "/", "headers": {"content-type": "application/json"}, "body": asked}));
        self.line(hop, "back", json!({"kind": "reply", "status": 200, "headers": {"content-type": "application/json"}, "body": answered}));
    }

    fn failure(&mut self, hop: &str) {
        self.exchange += 1;
        self.line(hop, "forward", json!({"kind": "request", "method": "POST", "path": "/mcp", "body": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}));
        self.line(hop, "back", json!({"kind": "failure", "error": "connection refused"}));
    }
}
