//! Tests a run whose records cannot be written. A limit for the size of files stands for a full disk.

use std::process::Command;

use super::*;

const TRIALS: usize = 200;

#[test]
fn a_run_that_cannot_be_recorded_ends_and_is_resumed() {
    let folder = Folder::new(&format!(
        "[green_agent]\n[[participants]]\nrole = 'a'\nbuiltin = 'sample'\n[config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'a'\ntext = 'hi'\n[harness]\nversion = 1\ntrials = {TRIALS}\nsnapshot = false\n"
    ));
    // A transcript is smaller than the limit, the records of all trials are larger.
    let limited = "ulimit -f 40; trap '' XFSZ; exec \"$0\" run a.toml";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_green-agent")]);
    let ended = command.current_dir(folder.0.path()).output().unwrap();
    let said = shown(&ended);
    assert_eq!(ended.status.code(), Some(4), "{said}");
    assert!(said.contains("records.jsonl: "), "{said}");
    assert!(said.contains("because the run cannot be recorded"), "{said}");
    assert!(said.contains("--resume"), "{said}");

    let run = folder.only_run();
    let recorded = || RunFolder::read(&run).unwrap().records.len();
    let before = recorded();
    let begun = fs::read_dir(run.join("a")).unwrap().count();
    assert!(0 < before && before < begun && begun < TRIALS, "{before} of {begun}: {said}");
    let resumed = folder.run(&["run", "--resume", run.to_str().unwrap()]);
    assert!(resumed.status.success(), "{}", shown(&resumed));
    assert_eq!(recorded(), TRIALS);
}
