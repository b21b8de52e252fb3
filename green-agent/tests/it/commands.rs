//! Tests the commands that a new user runs first.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::command_line;

const PROGRAM: &str = env!("CARGO_BIN_EXE_green-agent");

fn green_agent(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(arguments);
    command
}

fn said(folder: &Path, arguments: &[&str]) -> Output {
    green_agent(folder, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_help_wraps_evenly() {
    command_line::helps_wrap_evenly(PROGRAM);
}

#[test]
fn a_reader_that_leaves_ends_every_command_quietly() {
    let folder = tempfile::tempdir().unwrap();
    assert!(said(folder.path(), &["new", "--kind", "episode", "shop.toml"]).status.success());
    let commands: [&[&str]; 7] = [
        &["--help"],
        &["list", "."],
        &["check", "."],
        &["schema"],
        &["run", "shop.toml"],
        &["run", "shop.toml", "--trials", "3", "--show-logs"],
        &["new", "another.toml"],
    ];
    for arguments in commands {
        command_line::ends_quietly(&mut green_agent(folder.path(), arguments));
    }
}

#[test]
fn a_new_scenario_passes_unchanged() {
    let help = text(&said(Path::new("."), &["new", "--help"]).stdout);
    let kinds = help.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let kinds: Vec<&str> = kinds.filter_map(|line| line.split(':').next()).collect();
    assert!(kinds.contains(&"conversation") && kinds.contains(&"agentbeats"), "{help}");
    for kind in kinds.iter().filter(|kind| !["text", "json"].contains(kind)) {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("{kind}.toml");
        assert!(said(folder.path(), &["new", "--kind", kind, &file]).status.success());
        let run = said(folder.path(), &["run", &file, "--install"]);
        let shown = text(&run.stdout) + &text(&run.stderr);
        assert!(run.status.success(), "{kind}: {shown}");
        assert!(text(&run.stdout).contains("\n1 passed, 0 failed"), "{kind}: {shown}");
    }
}

#[test]
fn twenty_trials_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let new = said(folder.path(), &["new", "--kind", "episode", "shop.toml"]);
    assert!(new.status.success());
    let run = said(folder.path(), &["run", "shop.toml", "--trials", "20"]);
    let shown = text(&run.stdout);
    let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].contains("20 trials of "), "{shown}");
    assert!(lines[0].contains("s: 20 passed"), "{shown}");
    assert!(!shown.contains("transcript and output"), "{shown}");

    // An impossible expectation fails all trials in the same way, which is said once.
    let text_of = fs::read_to_string(folder.path().join("shop.toml")).unwrap();
    let failing = format!("{text_of}\n[[harness.expect]]\non = \"score\"\neq = 7\n");
    fs::write(folder.path().join("failing.toml"), failing).unwrap();
    let run = said(folder.path(), &["run", "failing.toml", "--trials", "3"]);
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{shown}");
    assert!(shown.contains("  trial 1 and 2 others: "), "{shown}");
    assert_eq!(shown.matches("transcript and output").count(), 1, "{shown}");
}

#[test]
fn a_report_of_an_unknown_kind_is_refused_with_those_that_there_are() {
    for (report, expected) in [
        (
            "xml=a.xml",
            "there is no report \"xml\"; expected KIND=FILE, where KIND is one of: terminal, json, junit, csv",
        ),
        ("html", "html cannot be printed; expected KIND=FILE"),
        ("json=", "\"json=\" names no file; expected KIND=FILE"),
    ] {
        let run = said(Path::new("."), &["run", "x.toml", "--report", report]);
        let shown = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{shown}");
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_others_and_its_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let new = said(folder.path(), &["new", "--kind", "episode", "shop.toml"]);
    assert!(new.status.success());
    fs::create_dir(folder.path().join("taken")).unwrap();
    said(folder.path(), &["run", "shop.toml"]);
    let made = fs::read_dir(folder.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    let arguments = ["report", made.to_str().unwrap(), "--report", "junit=taken"];
    let run = said(folder.path(), &[&arguments[..], &["--report", "csv=a.csv"]].concat());
    let shown = text(&run.stderr);
    assert_eq!(run.status.code(), Some(4), "{shown}");
    assert!(shown.contains("cannot write the report junit=taken"), "{shown}");
    assert!(folder.path().join("a.csv").is_file(), "{shown}");
    assert_eq!(fs::read_dir(folder.path().join("taken")).unwrap().count(), 0);
}

#[test]
fn two_agents_cannot_be_started_at_one_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let agent = |role: &str| {
        format!(
            "[[participants]]\nrole = \"{role}\"\nendpoint = \"http://127.0.0.1:9013\"\ncmd = \"agent --port 9013\"\n"
        )
    };
    let file = format!(
        "[green_agent]\n{}{}[config]\nevaluator = \"conversation\"\n[[config.turn]]\nto = \"a\"\ntext = \"Hi\"\n[harness]\nversion = 1\n",
        agent("a"),
        agent("b")
    );
    fs::write(folder.path().join("a.toml"), &file).unwrap();
    let refused = said(folder.path(), &["check", "a.toml"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let expected =
        "b: http://127.0.0.1:9013/ is the endpoint of a too; give each a port of its own";
    assert!(text(&refused.stderr).contains(expected), "{refused:?}");
    let moved = format!("{file}ports = \"auto\"\n");
    fs::write(folder.path().join("a.toml"), moved).unwrap();
    let check = said(folder.path(), &["check", "a.toml"]);
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn agents_that_cannot_be_started_as_said_are_found_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = |cmd: &str| {
        format!(
            "[green_agent]\n[[participants]]\nrole = \"purple\"\nendpoint = \"http://127.0.0.1:9011\"\ncmd = \"{cmd}\"\n\
             [config]\nevaluator = \"conversation\"\n[[config.turn]]\nto = \"purple\"\ntext = \"Hi\"\n\
             [harness]\nversion = 1\nports = \"auto\"\n"
        )
    };
    fs::write(folder.path().join("a.toml"), file("agent --port 9011")).unwrap();
    let check = said(folder.path(), &["check", "a.toml"]);
    assert!(check.status.success(), "{check:?}");
    assert!(text(&check.stdout).starts_with("1 scenario read, 0 with errors"));
    fs::write(folder.path().join("b.toml"), file("agent")).unwrap();
    let check = said(folder.path(), &["check", "b.toml"]);
    assert_eq!(check.status.code(), Some(3), "{check:?}");
    let expected = "neither cmd nor a variable PORT or *_PORT of env names port 9011";
    assert!(text(&check.stderr).contains(expected), "{check:?}");
    for command in ["run", "check"] {
        let refused = said(folder.path(), &[command, "a.toml", "--agent", "prple=http://h"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let shown = text(&refused.stderr);
        assert!(
            shown.contains("no agent has the role \"prple\"; expected one of: purple"),
            "{shown}"
        );
    }
}

#[test]
fn check_notes_what_is_almost_a_placeholder() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[green_agent]\n[[participants]]\nrole = \"a\"\nbuiltin = \"sample\"\n\
                [config]\nevaluator = \"conversation\"\n[[config.turn]]\nto = \"a\"\ntext = \"Hi {rwo.input}\"\n\
                [harness]\nversion = 1\n";
    fs::write(folder.path().join("a.toml"), file).unwrap();
    let check = said(folder.path(), &["check", "a.toml"]);
    assert!(check.status.success(), "{check:?}");
    let shown = text(&check.stderr);
    assert!(
        shown.contains("note: a.toml:9:12: {rwo.input} ") && shown.contains("{row.input}?"),
        "{shown}"
    );
}

#[test]
fn check_says_which_variables_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = |keys: &str| {
        format!(
            "[green_agent]\n[[participants]]\nrole = \"a\"\n{keys}\n\
             [config]\nevaluator = \"conversation\"\n[[config.turn]]\nto = \"a\"\ntext = \"Hi\"\n"
        )
    };
    let checked = |keys: &str| {
        fs::write(folder.path().join("a.toml"), file(keys)).unwrap();
        said(folder.path(), &["validate", "a.toml"])
    };
    const ENDPOINT: &str = "endpoint = 'http://127.0.0.1:9011'\n";

    let noted = checked(&format!("{ENDPOINT}cmd = 'agent --port 9011 --model ${{MODEL}}'"));
    assert!(noted.status.success(), "{noted:?}");
    let expected = "note: a.toml: a: ${MODEL} in cmd stays as it is, because no shell runs cmd";
    assert!(text(&noted.stderr).contains(expected), "{noted:?}");

    let noted = checked("policy = 'llm'\nsettings = { model = '${MODEL}' }");
    assert!(noted.status.success(), "{noted:?}");
    let expected = "note: a.toml: a: ${MODEL} in settings stays as it is";
    assert!(text(&noted.stderr).contains(expected), "{noted:?}");
    let copied = "steps = [{ tool = 'a', arguments = { b = '${last}' } }]";
    let quiet = checked(&format!("policy = 'scripted'\nsettings = {{ {copied} }}"));
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{quiet:?}");

    for (keys, expected) in [
        (
            "endpoint = 'https://${HOST}/a2a'",
            "a.toml:4:12: participants[0].endpoint: expected a URL without ${NAME}",
        ),
        (
            &*format!("{ENDPOINT}cmd = 'agent'\nenv = {{ KEY = '${{env:KEY}}' }}"),
            "a.toml: a: env.KEY has a `${` that begins no ${NAME} or ${NAME:-default}",
        ),
    ] {
        let refused = checked(keys);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(text(&refused.stderr).contains(expected), "{refused:?}");
    }
}

/// Several outcomes are not compared with one transcript.
#[test]
fn a_scenario_with_a_matrix_lacks_no_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    assert!(said(folder.path(), &["new", "a.toml"]).status.success());
    let file = folder.path().join("a.toml");
    let written = fs::read_to_string(&file).unwrap();
    let (before, _) = written.split_once("snapshot = false").unwrap();
    for (added, expected) in [("", "missing"), ("matrix = { name = ['Ada'] }", "off")] {
        fs::write(&file, format!("{before}{added}\n")).unwrap();
        let listed = text(&said(folder.path(), &["list", "a.toml"]).stdout);
        assert!(listed.contains(&format!("assistant  {expected}")), "{listed}");
    }
}

#[test]
fn serve_names_both_things_that_it_serves() {
    let output = said(Path::new("."), &["serve"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("<--environment <NAME>|--pipeline <FILE>>"), "{error}");
}

#[test]
fn settings_of_an_episode_are_refused_with_a_pipeline() {
    for flag in ["--seed=1", "--time=10m", "--steps=3", "--acknowledge-after=5s"] {
        let output = said(Path::new("."), &["serve", "--pipeline", "a.toml", flag]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("'--pipeline <FILE>' cannot be used with"), "{error}");
    }
}

#[test]
fn a_served_file_that_is_no_pipeline_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.toml");
    for (content, expected) in [
        (
            "[green_agent]\nendpoint = 'http://127.0.0.1:1'\n",
            "expected config.evaluator = \"pipeline\"",
        ),
        ("x = 1\n", "green_agent: missing"),
    ] {
        fs::write(&file, content).unwrap();
        let output = said(folder.path(), &["serve", "--pipeline", "a.toml"]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn settings_of_a_pipeline_are_refused_with_an_environment() {
    for flag in ["--agent=http://127.0.0.1:1", "--registry=http://127.0.0.1:1", "--steps=0"] {
        // Nobody can listen at this address of the documentation.
        let elsewhere = "--listen=203.0.113.1:1";
        let output = said(Path::new("."), &["serve", "--environment", "sum", elsewhere, flag]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flag}: {error}");
    }
}

#[test]
fn what_cannot_be_read_or_written_has_its_own_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "[green_agent]\n").unwrap();
    let listed = said(folder.path(), &["list", "."]);
    assert_eq!(listed.status.code(), Some(3), "{listed:?}");
    let shown = text(&listed.stdout);
    assert!(shown.contains("cannot be read") && shown.ends_with(" 1 error\n"), "{shown}");
    let unwritten = said(folder.path(), &["new", "bad.toml/a.toml"]);
    assert_eq!(unwritten.status.code(), Some(4), "{unwritten:?}");
    for (path, expected) in [
        ("/dev/null", "/dev/null: neither a file nor a folder"),
        ("none.toml", "none.toml: no such file or folder"),
    ] {
        let unread = said(folder.path(), &["check", path]);
        assert_eq!(unread.status.code(), Some(3), "{unread:?}");
        assert!(text(&unread.stderr).contains(expected), "{unread:?}");
    }
    // What is printed can be given to a shell as it is.
    let new = text(&said(folder.path(), &["new", "my shop.toml"]).stdout);
    assert!(new.ends_with("then: green-agent run 'my shop.toml'\n"), "{new}");
}

#[test]
fn a_flag_that_would_do_nothing_is_refused() {
    for arguments in [
        ["run", "a.toml", "--serve-only", "--report=json"],
        ["run", "a.toml", "--serve-only", "--shard=1/2"],
        ["run", "a.toml", "--serve-only", "--accept-baseline"],
        ["noise", "run", "--detect", "0"],
        ["noise", "run", "--detect", "NaN"],
    ] {
        let refused = said(Path::new("."), &arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {refused:?}");
    }
}

#[test]
fn two_reports_have_two_files() {
    let folder = tempfile::tempdir().unwrap();
    assert!(said(folder.path(), &["new", "a.toml"]).status.success());
    for arguments in [["run", "a.toml"], ["report", "a.toml"]] {
        let reports = ["--report", "csv=x", "--report", "terminal", "--report", "json=x"];
        let refused = said(folder.path(), &[&arguments[..], &reports].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let shown = text(&refused.stderr);
        assert!(shown.contains("--report csv=x and --report json=x name the same file"), "{shown}");
    }
    assert!(!folder.path().join("runs").exists());
}
