//! Runs the examples of this crate.

use std::{path::PathBuf, process::Command};

/// Returns the path at which cargo has built an example.
pub(crate) fn example(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let target: PathBuf = this.ancestors().nth(2).unwrap().into();
    let program = target.join("examples").join(name);
    let shown = program.display();
    assert!(program.exists(), "no {shown}; `cargo test` without --test builds it");
    program
}

#[test]
fn an_agent_has_a_tool_of_its_own() {
    let output = Command::new(example("own_tool")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("list_messages: {\"count\":1,"), "{said}");
    assert!(lines[1].starts_with("message_age: {\"seconds\":"), "{said}");
}
