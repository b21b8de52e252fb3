//! A run followed from another terminal.

use super::{Folder, SCENARIO, TASKS, shown};

#[test]
fn a_run_can_be_watched() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["watch", &run]);
    let said = shown(&output);
    assert_eq!(said.matches(" trial 1 ").count(), 4, "{said}");
    assert!(said.ends_with("ended: 2 passed, 2 failed\n"), "{said}");
    let output = folder.run(&["watch", "."]);
    assert!(shown(&output).contains("not the folder of a run"), "{}", shown(&output));
}
