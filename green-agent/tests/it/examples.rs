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

#[test]
fn a_scenario_names_an_evaluator_of_ones_own() {
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
    let run = Command::new(env!("CARGO_BIN_EXE_green-agent"))
        .current_dir(folder.path())
        .args(["run", "own.toml"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
}
