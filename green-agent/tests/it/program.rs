//! Tests the program as a user runs it: the scenarios of the repository, exit codes, and remaining processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use green_agent::{
    scenario,
    snapshot::{SnapshotFile, path_for},
    transcript::{self, Names, canonical},
};
use green_agent_results::schema::ResultFile;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    schemas,
    support::{eventually, pid_in_text, wait_until_gone, within},
};

/// The limit for a start that may install packages before.
const INSTALL: Duration = Duration::from_secs(900);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn program(runs: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    command.current_dir(root()).args(args).arg("--runs").arg(runs);
    command
}

fn run(runs: &Path, args: &[&str]) -> Output {
    program(runs, args).output().unwrap()
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// One run serves several tests, because it takes half a minute.
#[test]
fn every_scenario_of_the_tree_ends_as_it_must() {
    let runs = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let to = format!("json={}", report.display());
    let args = ["run", "scenarios", "--install", "--jobs", "4", "--report", &to];
    let output = run(runs.path(), &args);
    assert!(output.status.success(), "{}", shown(&output));

    schemas::check(ResultFile::Report, &report);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let scenarios = report["scenarios"].as_array().unwrap();
    assert!(scenarios.len() >= 30, "only {} scenarios", scenarios.len());
    assert_eq!(report["exit"], 0);
    schemas::check_run(runs.path());
    for one in scenarios {
        snapshots_are_what_insta_sees(one);
    }
}

/// Checks that the canonical form of the recorded transcript equals the kept snapshot, as insta reads it.
fn snapshots_are_what_insta_sees(report: &Value) {
    let file = root().join(report["path"].as_str().unwrap());
    let Ok(scenario) = scenario::read(&file) else {
        return;
    };
    let has_samples = report["trials"][0]["sample"].is_string();
    let (Some(settings), "passed", false) =
        (&scenario.harness.snapshot, report["verdict"].as_str().unwrap(), has_samples)
    else {
        return;
    };
    let names = Names {
        origins: serde_json::from_value(report["trials"][0]["parties"].clone()).unwrap(),
        roles: scenario.participants.iter().map(|agent| agent.role.clone()).collect(),
    };
    let folder = root().join(report["trials"][0]["folder"].as_str().unwrap());
    let entries = transcript::read(&folder.join("transcript.jsonl")).unwrap();
    let snapshot = path_for(&file);
    let mut insta = insta::Settings::new();
    insta.set_snapshot_path(snapshot.parent().unwrap());
    insta.set_prepend_module_to_snapshot(false);
    insta.set_omit_expression(true);
    let name = snapshot.file_stem().unwrap().to_string_lossy().into_owned();
    insta.bind(|| insta::assert_snapshot!(name, canonical(&entries, &names, settings)));
    assert!(SnapshotFile::parse(&fs::read_to_string(&snapshot).unwrap()).is_ok());
}

#[test]
fn exit_codes_tell_the_truth() {
    let runs = tempfile::tempdir().unwrap();
    for (scenario, code, says) in [
        ("scenarios/v0_3/interview.toml", 0, "1 passed, 0 failed"),
        ("scenarios/failing/wrong_turn.toml", 1, "expected completed, got input-required"),
        ("scenarios/failing/green_rejects.toml", 4, "evaluation rejected"),
        ("scenarios/no_such_file.toml", 3, "no_such_file.toml"),
        ("scenarios/invalid/bad_regex.toml", 3, "bad_regex.toml:"),
        ("scenarios/failing/dies_at_start.toml", 4, "agent never ready: echo exited with code 3"),
        ("scenarios/failing/missing_requirement.toml", 4, "not run"),
    ] {
        let output = run(runs.path(), &["run", scenario, "--install"]);
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(code), "{scenario}: {text}");
        assert!(text.contains(says), "{scenario}: expected {says:?} in {text}");
    }
}

#[test]
fn several_scenarios_exit_with_what_is_worst() {
    let runs = tempfile::tempdir().unwrap();
    let paths = ["scenarios/failing/wrong_turn.toml", "scenarios/invalid/bad_regex.toml"];
    let both = run(runs.path(), &["run", paths[0], paths[1], "--install"]);
    assert_eq!(both.status.code(), Some(3), "{}", shown(&both));
}

#[test]
fn a_trial_leaves_its_folder() {
    let runs = tempfile::tempdir().unwrap();
    let output = run(runs.path(), &["run", "scenarios/messages/leaderboard.toml", "--install"]);
    assert!(output.status.success(), "{}", shown(&output));
    let run = fs::read_dir(runs.path()).unwrap().next().unwrap().unwrap().path();
    let folder = run.join("messages/leaderboard/trial-1");
    let results: Value =
        serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["participants"]["echo"], "agent-echo");
    assert_eq!(results["results"][0]["score"], 1.0);
    for file in ["transcript.jsonl", "report.json", "green.log", "echo.log"] {
        assert!(folder.join(file).is_file(), "{file} is missing");
    }
}

/// Returns the process id of the hanging agent's child: the agent ignores SIGTERM, starts a child in a separate
/// session, and prints the id into its log.
fn hanging_child(runs: &Path) -> i32 {
    eventually("the hanging agent's child", || {
        let run = fs::read_dir(runs).ok()?.next()?.ok()?.path();
        let log = fs::read_to_string(run.join("failing/hangs/trial-1/green.log")).ok()?;
        pid_in_text(&log, "child ")
    })
}

#[test]
fn nothing_runs_on_after_a_run_that_hung() {
    let runs = tempfile::tempdir().unwrap();
    let output = run(runs.path(), &["run", "scenarios/failing/hangs.toml", "--install"]);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    wait_until_gone(hanging_child(runs.path()));
}

#[test]
fn nothing_runs_on_after_any_signal() {
    for (signal, code) in
        [(Signal::SIGINT, Some(4)), (Signal::SIGTERM, Some(4)), (Signal::SIGKILL, None)]
    {
        let runs = tempfile::tempdir().unwrap();
        let args = ["run", "scenarios/failing/hangs.toml", "--install"];
        let mut running = program(runs.path(), &args).spawn().unwrap();
        let child = hanging_child(runs.path());
        kill(Pid::from_raw(running.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(running.wait().unwrap().code(), code, "{signal}");
        wait_until_gone(child);
    }
}

#[test]
fn served_agents_can_be_reached_until_the_program_is_stopped() {
    let runs = tempfile::tempdir().unwrap();
    let log = runs.path().join("stdout");
    let args = ["run", "scenarios/v1/interview.toml", "--install", "--serve-only"];
    let mut command = program(runs.path(), &args);
    let mut running = command.stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let url = within(INSTALL, "the agent's address", || {
        let text = fs::read_to_string(&log).ok()?;
        let (_, url) = text.split_once("interviewer listening on ")?;
        url.split_once('\n').map(|(url, _)| url.to_owned())
    });
    let card = reqwest_card(&url);
    assert!(card["name"].is_string(), "{card}");
    kill(Pid::from_raw(running.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(0));
}

fn reqwest_card(url: &str) -> Value {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let url = format!("{url}.well-known/agent-card.json");
        reqwest::get(url).await.unwrap().json().await.unwrap()
    })
}

#[test]
fn check_list_new_and_schema_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let plain = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
        command.current_dir(root()).args(args).output().unwrap()
    };
    let new = folder.path().join("mine.toml");
    let new = new.to_str().unwrap();
    for kind in ["conversation", "agentbeats"] {
        assert!(plain(&["new", new, "--kind", kind]).status.success());
        assert!(plain(&["check", new]).status.success());
        let again = plain(&["new", new]);
        assert_eq!(again.status.code(), Some(2), "{new} was overwritten");
        let told = shown(&again);
        assert!(told.contains("exists already: name another file"), "{told}");
        fs::remove_file(new).unwrap();
    }
    let all = plain(&["check", "scenarios"]);
    assert!(all.status.success(), "{}", shown(&all));
    let broken = plain(&["check", "scenarios/invalid/syntax_error.toml"]);
    assert_eq!(broken.status.code(), Some(3));
    let list = shown(&plain(&["list", "scenarios/debate"]));
    assert!(list.contains("debate/two_rounds  green -> pro_debater, con_debater"), "{list}");
    for (args, kept) in [
        (&["schema"][..], "scenarios/scenario.schema.json"),
        (&["schema", "record"], "green-agent/schemas/record.schema.json"),
    ] {
        let schema = shown(&plain(args));
        let kept = fs::read_to_string(root().join(kept)).unwrap();
        assert_eq!(schema.trim(), kept.trim());
    }
}

/// Closes the pipe early, as `| head` does.
#[test]
fn a_reader_that_leaves_ends_every_subcommand_quietly() {
    for args in [
        &["list", "scenarios"][..],
        &["check", "scenarios/sample"],
        &["schema"],
        &["run", "scenarios/sample/echo_1_0.toml"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let runs = tempfile::tempdir().unwrap();
        let mut command = match args[0] {
            "run" => program(runs.path(), args),
            _ => Command::new(env!("CARGO_BIN_EXE_green-agent")),
        };
        if args[0] != "run" {
            command.current_dir(root()).args(args);
        }
        let output = command.stdout(writer).output().unwrap();
        let said = shown(&output);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}
