//! Runs the examples of this crate as a reader would.

use std::{fs, path::PathBuf, process::Command};

/// Returns the path at which cargo has built an example.
fn example(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let program = this.ancestors().nth(2).unwrap().join("examples").join(name);
    let shown = program.display();
    assert!(program.exists(), "no {shown}; `cargo test` without --test builds it");
    program
}

/// Writes a scenario whose Green agent is the example of an evaluator, and returns its folder.
fn scenario_of_own_evaluator() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = example("own_evaluator");
    let scenario = format!(
        r#"
        [green_agent]
        endpoint = "http://127.0.0.1:9009"
        cmd = "'{}' 127.0.0.1:9009"
        [[participants]]
        role = "echo"
        builtin = "echo"
        [[participants]]
        role = "sample"
        builtin = "sample"
        [config]
        word = "hello"
        [harness]
        version = 1
        ports = "auto"
        snapshot = false
        [[harness.expect]]
        on = "score"
        eq = 1
        [[harness.expect]]
        on = "status:2"
        path = "/message/parts/0/text"
        contains = "echo said"
        [[harness.expect]]
        on = "status:3"
        path = "/message/parts/0/text"
        contains = "sample said: You said: hello"
        "#,
        program.display()
    );
    let file = folder.path().join("own.toml");
    fs::write(&file, scenario).unwrap();
    folder
}

#[test]
fn a_scenario_names_an_evaluator_of_ones_own() {
    let folder = scenario_of_own_evaluator();
    let run = Command::new(env!("CARGO_BIN_EXE_green-agent"))
        .current_dir(folder.path())
        .args(["run", "own.toml"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
}

/// The example is also the supervisor of the agent that it starts. It does not mix two runs.
#[test]
fn a_program_of_ones_own_runs_a_scenario_and_reads_the_results() {
    let folder = scenario_of_own_evaluator();
    let run = || {
        let mut run = Command::new(example("run_scenario"));
        let ended = run.current_dir(folder.path()).args(["own.toml", "run"]).output().unwrap();
        let [out, err] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        (ended.status.code(), out, err)
    };
    let (code, out, err) = run();
    assert_eq!(out, "own trial 1: Passed {\"right\": 2.0, \"score\": 1.0}\n", "{err}");
    assert_eq!((code, &*err), (Some(0), "own trial 1 has ended\n"));
    let records = || fs::read_to_string(folder.path().join("run/records.jsonl")).unwrap();
    let before = records();
    let refused = "run: a run began here earlier; resume it, or name another folder\n";
    assert_eq!(run(), (Some(4), String::new(), refused.to_owned()));
    assert_eq!(records(), before);
}
