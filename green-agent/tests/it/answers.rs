//! Tests the checks of the answer to a turn in runs of the program.

use std::{fs, process::Command};

const SCENARIO: &str = r#"
[green_agent]
[[participants]]
role = "agent"
builtin = "echo"
[config]
evaluator = "conversation"
[[config.turn]]
to = "agent"
text = "{row.text}"
[[config.turn]]
to = "agent"
text = "{row.text}"
contains_all = ["items", "total"]
contains_any = ["price", "cost"]
expect = [
    { path = "/items", count = 2 },
    { path = "$.items[*].price", gt = 0 },
    { path = "/total", eq = "{row.total}" },
    { not = true, contains = "{row.secret}" },
]
[harness]
version = 1
dataset = "tasks.jsonl"
"#;

#[test]
fn the_checks_of_a_turn_decide_about_its_trial_and_score() {
    let folder = tempfile::tempdir().unwrap();
    let order = r#"{"items": [{"price": 2}, {"price": 3}], "total": 5}"#;
    let row = |text: String, total, secret| {
        serde_json::json!({"text": text, "total": total, "secret": secret}).to_string()
    };
    let fenced = format!("Here it is:\n```json\n{order}\n```");
    let rows = [
        row(fenced.clone(), 5, "4711"),
        row(fenced.clone(), 6, "4711"),
        row(fenced, 5, "price"),
        row(order.to_owned(), 5, "4711"),
    ];
    fs::write(folder.path().join("a.toml"), SCENARIO).unwrap();
    fs::write(folder.path().join("tasks.jsonl"), rows.join("\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_green-agent"));
    let output = command.current_dir(&folder).args(["run", "a.toml"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "4 trials",
        "1 passed, 3 failed",
        // The first turn always passes: of eight turns, five do.
        "score 0.625",
        "turn 2 (line 19): expected 6 at /total, got 5",
        "turn 2 (line 20): expected an answer without \"price\", got \"Echo: Here it is:",
        "turn 2 (line 17): expected a count of 2 at /items, got 0: nothing at /items; the answer is \"Echo: {",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
