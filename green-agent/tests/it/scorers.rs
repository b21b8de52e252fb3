//! The functions in Python that users copy from the documentation grade answers as it says.

use std::process::Command;

#[test]
fn functions_of_the_documentation_grade_as_the_packages_that_they_replace() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let files = [
        "green-agent/tests/it/scorers.py",
        "scenarios/debate/scorer.py",
        "docs/existing-evaluations.md",
    ];
    let output = Command::new("python3").current_dir(root).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
