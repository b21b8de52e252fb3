//! The reports of a small run: trials of three scenarios, one of which was retried, with texts that look like markup,
//! formulas and mentions.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use super::{agentbeats, atif, csv, html, junit, markdown, source::ReportSource, text};
use crate::{
    problem::{Outcome, Problem, ProblemKind},
    record::{Manifest, ManifestScenario, RunFolder, TokenCounts, TrialRecord, Usage, VERSION},
};
use green_agent_scenario::{
    ExpectedFailure,
    gate::{Comparison, Condition, FigureGate, Gates},
};

fn record(scenario: &str, trial: u32, problem: Option<Problem>) -> TrialRecord {
    let outcome = problem.as_ref().map_or(Outcome::Passed, Problem::outcome);
    let counts = TokenCounts { input_tokens: 40, output_tokens: 2, total_tokens: 42 };
    TrialRecord {
        version: VERSION,
        key: format!("{scenario}{trial}"),
        scenario: scenario.to_owned(),
        scenario_digest: "sha256:00".to_owned(),
        sample: None,
        sample_digest: None,
        cell: BTreeMap::new(),
        trial,
        seed: 7,
        attempt: 1,
        outcome,
        exit: problem.as_ref().map(Problem::exit).unwrap_or_default(),
        problems: problem.into_iter().collect(),
        note: None,
        state: Some("completed".to_owned()),
        metrics: BTreeMap::from([(
            "score".to_owned(),
            if outcome == Outcome::Passed { 1.0 } else { 0.25 },
        )]),
        results: vec![json!({"score": 1.0, "trial": trial})],
        usage: Some(Usage {
            all: counts,
            by_role: BTreeMap::from([("purple".to_owned(), counts)]),
        }),
        started: format!("2026-01-02T03:04:0{trial}.500Z"),
        seconds: 1.5,
        phases: BTreeMap::from([("evaluating".to_owned(), 1.0)]),
        folder: Some(format!("{scenario}/trial-{trial}")),
        parties: BTreeMap::new(),
    }
}

fn run(path: &Path) -> ReportSource {
    ReportSource::new(&run_folder(path), None)
}

fn run_folder(path: &Path) -> RunFolder {
    let hostile =
        "=HYPERLINK(\"x\") | `` </details> @somebody\n```\n\u{1b}[31m<script>alert(1)</script>";
    let broken = ProblemKind::Model.because("the model answered 429");
    let cell = |mut record: TrialRecord, model: &str| {
        record.cell = BTreeMap::from([("model".to_owned(), model.to_owned())]);
        record.sample = Some("=1+1".to_owned());
        record.key += model;
        record
    };
    let again = |record: TrialRecord| TrialRecord { attempt: 2, ..record };
    let records = vec![
        record("shop", 1, None),
        record("shop", 2, Some(ProblemKind::GoalMissed.because(hostile))),
        record("shop", 3, Some(broken.clone())),
        again(record("shop", 3, None)),
        record("debate", 1, Some(ProblemKind::Crashed.because("purple exited with code 7"))),
        cell(record("a|b`c", 1, None), "small"),
        cell(record("a|b`c", 1, Some(broken)), "large"),
        record("missing", 1, Some(ProblemKind::MissingRequirement.because("npm:x"))),
    ];
    let mut manifest = Manifest::begun("2026-01-02T03:04:00Z".to_owned());
    for name in ["shop", "debate", "a|b`c", "missing"] {
        let gate = |least: f64| FigureGate {
            figure: "pass_rate".to_owned(),
            conditions: vec![Condition { comparison: Comparison::Ge, number: least }],
        };
        let figures = match name {
            "debate" => vec![gate(0.0), gate(0.5)],
            _ => Vec::new(),
        };
        manifest.scenarios.push(ManifestScenario {
            trials: (name == "shop").then_some(5),
            name: name.to_owned(),
            path: format!("{name}.toml"),
            digest: None,
            must_fail: None,
            gate: Gates { figures, ..Gates::default() },
        });
    }
    RunFolder { path: path.to_owned(), manifest, records, torn: None }
}

fn lines() -> Vec<Value> {
    let part = |text: &str| json!([{"kind": "text", "text": text}]);
    let hop = |hop: &str, exchange: u64, direction: &str, mut content: Value| {
        content["hop"] = hop.into();
        content["exchange"] = exchange.into();
        content["direction"] = direction.into();
        content
    };
    let request =
        |body: Value| json!({"kind": "request", "method": "POST", "path": "/", "body": body});
    let reply = |body: Value| json!({"kind": "reply", "status": 200, "body": body});
    let event = |body: Value| json!({"kind": "event", "body": body});
    let mut lines = vec![
        hop(
            "green -> purple",
            1,
            "forward",
            json!({"kind": "request", "method": "GET", "path": "/.well-known/agent-card.json"}),
        ),
        hop(
            "green -> purple",
            1,
            "back",
            reply(json!({"name": "Shopper", "version": "2.1.0", "skills": []})),
        ),
        hop(
            "green -> purple",
            2,
            "forward",
            request(
                json!({"id": 1, "method": "message/stream", "params": {"message": {"messageId": "m", "parts": part("Buy two mugs.")}}}),
            ),
        ),
        hop("green -> purple", 2, "back", json!({"kind": "reply", "status": 200})),
        hop(
            "green -> purple",
            2,
            "back",
            event(
                json!({"id": 1, "result": {"kind": "status-update", "taskId": "t", "status": {"state": "working", "message": {"messageId": "w", "parts": part("Looking.")}}}}),
            ),
        ),
        hop(
            "purple -> environment",
            3,
            "forward",
            request(
                json!({"id": 1, "method": "tools/call", "params": {"name": "order", "arguments": {"mugs": 2}}}),
            ),
        ),
        hop(
            "purple -> environment",
            3,
            "back",
            reply(
                json!({"id": 1, "result": {"content": [{"type": "text", "text": "ordered"}], "isError": false}}),
            ),
        ),
        hop(
            "purple -> helper",
            4,
            "forward",
            request(
                json!({"id": 1, "method": "message/send", "params": {"message": {"messageId": "h", "parts": part("Is it red?")}}}),
            ),
        ),
        hop(
            "purple -> helper",
            4,
            "back",
            json!({"kind": "failure", "error": "connection refused"}),
        ),
        hop(
            "green -> purple",
            2,
            "back",
            event(
                json!({"id": 1, "result": {"kind": "artifact-update", "taskId": "t", "artifact": {"artifactId": "a", "parts": [{"kind": "data", "data": {"mugs": 2}}]}}}),
            ),
        ),
        hop(
            "green -> purple",
            2,
            "back",
            event(
                json!({"id": 1, "result": {"kind": "status-update", "taskId": "t", "final": true, "status": {"state": "completed"}}}),
            ),
        ),
        hop("green -> purple", 2, "back", json!({"kind": "end"})),
    ];
    for (at, line) in lines.iter_mut().enumerate() {
        line["seq"] = (at + 1).into();
        line["time"] = (at as f64 / 8.0).into();
    }
    lines
}

#[test]
fn a_run_as_junit() {
    insta::assert_snapshot!(junit::of(&run(Path::new("run"))).unwrap());
}

#[test]
fn a_run_as_csv() {
    insta::assert_snapshot!(csv::of(&run(Path::new("run"))).unwrap());
}

#[test]
fn a_run_as_markdown() {
    insta::assert_snapshot!(markdown::of(&run(Path::new("run"))));
}

#[test]
fn cells_of_a_scenario_are_compared_by_pass_at_the_same_k() {
    let mut folder = run_folder(Path::new("run"));
    let broken = ProblemKind::Model.because("the model answered 429");
    let trial = |model: &str, trial, problem| {
        let cell = BTreeMap::from([("model".to_owned(), model.to_owned())]);
        let key = format!("{model}{trial}");
        TrialRecord { cell, key, ..record("shop", trial, problem) }
    };
    folder.records = (1..=3).map(|number| trial("small", number, None)).collect();
    folder.records.extend((1..=2).map(|number| trial("large", number, None)));
    folder.records.push(trial("large", 3, Some(broken)));
    let run = ReportSource::new(&folder, None);
    let shown: Vec<_> = run.groups.iter().map(|group| group.pass.as_ref().unwrap().k).collect();
    assert_eq!(shown, [2, 2]);
}

#[test]
fn a_comment_is_never_longer_than_it_may_be() {
    let mut run = run(Path::new("run"));
    let long = |trial: u32| {
        let tail = "x".repeat(trial as usize);
        ProblemKind::GoalMissed.because(format!("{}{tail}", "`".repeat(100_000)))
    };
    run.folder.records = (0..200).map(|trial| record("shop", trial, Some(long(trial)))).collect();
    run.counted = run.folder.records.len();
    let comment = markdown::of(&run);
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.contains("more that did not pass."));
}

#[test]
fn trials_that_were_not_needed_or_were_interrupted_are_counted_apart() {
    let ended = |number: u32| match number {
        1..=24 => None,
        25..=32 => Some(ProblemKind::GoalMissed.because(format!("at 127.0.0.1:90{number}"))),
        33..=36 => Some(ProblemKind::Interrupted.because("by the user")),
        _ => Some(ProblemKind::StoppedEarly.because("the interval is narrow enough")),
    };
    let records = (1..=100).map(|number| record("shop", number, ended(number)));
    let mut folder = run_folder(Path::new("run"));
    folder.records = records.collect();
    folder.manifest.scenarios.truncate(1);
    folder.manifest.scenarios[0].trials = Some(100);
    let run = ReportSource::new(&folder, None);
    let (text, comment) = (text::of(&run), markdown::of(&run));
    assert!(text.contains("24 of 32"), "{text}");
    assert!(text.contains("24 passed, 8 failed, 4 interrupted, 64 not needed"), "{text}");
    assert!(text.contains("only 96 of 100 trials have ended"), "{text}");
    assert!(comment.starts_with("### 24 of 32 trials passed (75.0 %"), "{comment}");
    assert!(comment.contains("64 were not needed."), "{comment}");
    assert!(comment.contains("shop, trial 25 and 7 others: failed"), "{comment}");
    assert!(comment.contains("Alike: `trial 26`; `trial 27`; "), "{comment}");
    assert_eq!(comment.matches("<details>").count(), 2, "{comment}");
    // What was interrupted is not carried out, what was not needed is as it should be.
    let junit = junit::of(&run).unwrap();
    let suite = "tests=\"100\" skipped=\"64\" errors=\"4\" failures=\"8\"";
    assert!(junit.contains(suite), "{junit}");
}

#[test]
fn scenarios_that_must_fail_are_failures_only_if_they_end_otherwise() {
    let mut folder = run_folder(Path::new("run"));
    let crash = || Some(ProblemKind::Crashed.because("purple exited with code 7"));
    let broken = Some(ProblemKind::Model.because("the model answered 429"));
    folder.records =
        vec![record("shop", 1, crash()), record("debate", 1, None), record("a|b`c", 1, broken)];
    folder.manifest.scenarios.truncate(3);
    for (scenario, exit) in folder.manifest.scenarios.iter_mut().zip([1, 1, 4]) {
        let message = if exit == 1 { "code 7" } else { "429" }.to_owned();
        scenario.must_fail = Some(ExpectedFailure { exit, message });
        scenario.gate = Gates::default();
        scenario.trials = Some(1);
    }
    let run = ReportSource::new(&folder, None);
    let junit = junit::of(&run).unwrap();
    let all = "tests=\"6\" failures=\"1\" errors=\"0\"";
    assert!(junit.contains(all), "{junit}");
    let other =
        "its sidecar expects exit code 1 with &quot;code 7&quot;, but it ended with exit code 0";
    assert!(junit.contains(other), "{junit}");
    let comment = markdown::of(&run);
    let as_expected = "- `shop: failed with exit code 1 and \"code 7\", as its sidecar expects`\n";
    assert!(comment.contains(as_expected), "{comment}");
    assert!(!comment.contains("<details>"), "{comment}");
}

#[test]
fn a_run_as_text() {
    insta::assert_snapshot!(text::of(&run(Path::new("run"))));
}

#[test]
fn a_run_as_agentbeats_results() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("shop/trial-1");
    std::fs::create_dir_all(&trial).unwrap();
    let own = json!({"participants": {"purple": "0198"}, "results": []});
    std::fs::write(trial.join("results.json"), own.to_string()).unwrap();
    insta::assert_snapshot!(agentbeats::of(&run(folder.path())).unwrap());
}

#[test]
fn a_trial_as_atif() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("shop/trial-1");
    std::fs::create_dir_all(&trial).unwrap();
    let transcript: Vec<String> = lines().iter().map(Value::to_string).collect();
    std::fs::write(trial.join("transcript.jsonl"), transcript.join("\n") + "\n").unwrap();
    let target = folder.path().join("atif");
    atif::write(&run(folder.path()), &target).unwrap();
    insta::assert_snapshot!(
        std::fs::read_to_string(target.join("shop/trial-1/purple.json")).unwrap()
    );
}

#[test]
fn the_page_holds_no_text_of_the_run_but_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    html::write(&run(folder.path()), None, &page).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("id=\"block-run\""));
    assert!(!page.contains("alert(1)") && !page.contains("somebody"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_page_replaces_a_file_and_neither_the_link_to_it_nor_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let [page, link] = ["report.html", "link.html"].map(|name| folder.path().join(name));
    std::fs::write(&page, "old").unwrap();
    std::os::unix::fs::symlink(&page, &link).unwrap();
    let run = run(folder.path());
    html::write(&run, None, &link).unwrap();
    assert!(link.is_symlink() && std::fs::read_to_string(&page).unwrap().contains("block-run"));
    let device = folder.path().join("device.html");
    let _listener = std::os::unix::net::UnixListener::bind(&device).unwrap();
    assert!(html::write(&run, None, &device).is_err());
    assert!(!device.is_file());
}

#[test]
fn polls_of_a_task_are_no_steps_of_a_trajectory() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("shop/trial-1");
    std::fs::create_dir_all(&trial).unwrap();
    let line = |exchange: u64, direction: &str, content: Value| {
        let mut line = json!({"hop": "green -> purple", "exchange": exchange, "direction": direction, "time": 0.0});
        line.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        line
    };
    let ask = |exchange, method: &str, params: Value| {
        let body = json!({"id": 1, "method": method, "params": params});
        line(
            exchange,
            "forward",
            json!({"kind": "request", "method": "POST", "path": "/", "body": body}),
        )
    };
    let answer = |exchange, text: &str| {
        let message = json!({"messageId": "w", "parts": [{"kind": "text", "text": text}]});
        let task =
            json!({"kind": "task", "id": "t", "status": {"state": "working", "message": message}});
        line(
            exchange,
            "back",
            json!({"kind": "reply", "status": 200, "body": {"id": 1, "result": task}}),
        )
    };
    let send = |exchange| {
        let message = json!({"messageId": "m", "parts": [{"kind": "text", "text": "Go on."}]});
        ask(exchange, "message/send", json!({"message": message}))
    };
    let poll = |exchange| ask(exchange, "tasks/get", json!({"id": "t"}));
    let mut lines = vec![
        send(1),
        answer(1, "Looking."),
        poll(2),
        answer(2, "Looking."),
        poll(3),
        answer(3, "Done."),
        poll(4),
        answer(4, "Done."),
        send(5),
        answer(5, "Done."),
    ];
    for (at, line) in lines.iter_mut().enumerate() {
        line["seq"] = (at + 1).into();
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(trial.join("transcript.jsonl"), lines.join("\n") + "\n").unwrap();
    let target = folder.path().join("atif");
    atif::write(&run(folder.path()), &target).unwrap();
    let text = std::fs::read(target.join("shop/trial-1/purple.json")).unwrap();
    let trajectory: Value = serde_json::from_slice(&text).unwrap();
    let steps = trajectory["steps"].as_array().unwrap();
    let said: Vec<_> = steps.iter().map(|step| step["message"].as_str().unwrap()).collect();
    assert_eq!(said, ["Go on.", "Looking.", "Done.", "Go on.", "Done."]);
}

#[test]
fn a_comment_with_many_gates_names_those_that_are_not_met() {
    let mut folder = run_folder(Path::new("run"));
    let gate = |least: f64| FigureGate {
        figure: format!("{}{least}", "x".repeat(100)),
        conditions: vec![Condition { comparison: Comparison::Ge, number: least }],
    };
    let gates = &mut folder.manifest.scenarios[1].gate.figures;
    gates.extend((0..2_000).map(|number| gate(f64::from(number))));
    let comment = markdown::of(&ReportSource::new(&folder, None));
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.contains("| `debate` |"), "{comment}");
    assert!(comment.contains("**`debate: gate not met: "), "{comment}");
}

#[test]
fn a_record_with_an_impossible_time_does_not_end_the_report() {
    for seconds in [-1.0, 1e300] {
        let mut folder = run_folder(Path::new("run"));
        folder.records[0].seconds = seconds;
        let junit = junit::of(&ReportSource::new(&folder, None)).unwrap();
        assert!(junit.contains("trial 1"), "{junit}");
    }
}
