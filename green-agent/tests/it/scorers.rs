//! The functions in Python that users copy from the documentation grade answers as it says.

use std::{fs, process::Command};

use regex::Regex;

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

#[test]
fn the_expression_for_the_end_of_an_answer_accepts_markup_and_nothing_else() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evaluations.md"));
    let page = page.unwrap();
    let line = page.lines().find(|line| line.starts_with("matches = '(?i)ANSWER")).unwrap();
    let expression = line.split('\'').nth(1).unwrap().replace("{row.target}", "4");
    let expression = Regex::new(&expression).unwrap();
    for (answer, right) in [
        ("ANSWER: 4", true),
        ("I count.\n**Answer**: (4).\n", true),
        ("**Answer:** **4**", true),
        ("answer :\n4", true),
        (r"Answer: $\boxed{4}$", true),
        ("ANSWER: 42", false),
        ("ANSWER: 4.5", false),
        ("ANSWER: 4 or 5", false),
        ("ANSWER: 4\nANSWER: 5", false),
        ("4", false),
    ] {
        assert_eq!(expression.is_match(answer), right, "{answer}");
    }
}
