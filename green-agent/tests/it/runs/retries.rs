//! Tests that trials with broken infrastructure are retried on request.

use green_agent::record::{RunFolder, TrialRecord};

use super::{Folder, records, shown};

/// A server that fails at its first two starts.
const FLAKY: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9009'\n\
     cmd = 'sh -c \"echo >> starts; [ $(wc -l < starts) -gt 2 ] && exec python3 -m http.server 9009 --bind 127.0.0.1\"'\n\
     [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
     [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\n";

#[test]
fn a_broken_trial_is_retried_and_every_attempt_is_kept() {
    let folder = Folder::new(&format!("{FLAKY}retries = {{ infrastructure = 2 }}\n"));
    let output = folder.run(&["run", "a.toml"]);
    assert!(output.status.success(), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let attempts: Vec<_> = run
        .records
        .iter()
        .map(|one| (one.attempt, one.outcome.title(), one.folder.clone().unwrap()))
        .collect();
    let attempt = |number, title, folder: &str| (number, title, folder.to_owned());
    assert_eq!(
        attempts,
        [
            attempt(1, "not run", "a/trial-1"),
            attempt(2, "not run", "a/trial-1/try-2"),
            attempt(3, "passed", "a/trial-1/try-3"),
        ]
    );
    assert_eq!((run.counted().len(), run.retried().len()), (1, 2));
    for folder in attempts.iter().map(|one| &one.2) {
        assert!(run.path.join(folder).join("transcript.jsonl").exists(), "{folder}");
    }
}

#[test]
fn a_broken_trial_is_not_retried_by_default() {
    let folder = Folder::new(FLAKY);
    let output = folder.run(&["run", "a.toml"]);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(records(&folder.only_run()).len(), 1);
}

#[test]
fn a_trial_that_could_not_begin_runs_again_when_its_run_is_resumed() {
    let folder = Folder::new(FLAKY);
    folder.run(&["run", "a.toml"]);
    let run = folder.only_run();
    let resume = ["run", "--resume", run.to_str().unwrap()];
    for exit in [4, 0] {
        let output = folder.run(&resume);
        assert_eq!(output.status.code(), Some(exit), "{}", shown(&output));
    }
    let attempts: Vec<_> = records(&run).iter().map(|one| one.outcome.title()).collect();
    assert_eq!(attempts, ["not run", "not run", "passed"]);
}

/// A server that cannot start as long as a file is missing.
const LACKING: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [[participants]]\nrole = 'site'\nserver = 'http://127.0.0.1:9009'\n\
     cmd = 'sh -c \"echo >> starts; [ -e there ] && exec python3 -m http.server 9009 --bind 127.0.0.1\"'\n\
     [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
     [harness]\nversion = 1\nports = 'auto'\nsnapshot = false\ntrials = 8\n";

#[test]
fn trials_of_which_the_first_ones_cannot_begin_are_not_all_tried() {
    let folder = Folder::new(LACKING);
    let starts = || std::fs::read(folder.0.path().join("starts")).unwrap().len();
    let output = folder.run(&["run", "a.toml", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    assert_eq!(starts(), 5, "{}", shown(&output));
    let said = "trial 6 and 2 others: agent cannot be started: not tried, because the first 5 trials could not begin";
    assert!(shown(&output).contains(said), "{}", shown(&output));

    folder.file("there", "");
    let run = folder.only_run().display().to_string();
    let output = folder.run(&["run", "--resume", &run]);
    assert!(output.status.success(), "{}", shown(&output));
    let run = RunFolder::read(&folder.only_run()).unwrap();
    let attempts = |records: Vec<&TrialRecord>| -> Vec<u32> {
        records.iter().map(|one| one.attempt).collect()
    };
    // The other three were not tried before.
    assert_eq!(attempts(run.counted()), [2, 2, 2, 2, 2, 1, 1, 1]);
    assert_eq!(attempts(run.retried()), [1; 5]);
}

#[test]
fn scenarios_that_cannot_be_read_are_all_reported_and_do_not_prevent_that_the_run_is_resumed() {
    let scenario = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n[config]\n\
                    evaluator = 'conversation'\n[[config.turn]]\nto = 'assistant'\ntext = 'Hello'\n\
                    [harness]\nversion = 1\nsnapshot = false\n";
    let folder = Folder::new(scenario);
    for name in ["b.toml", "c.toml"] {
        folder.file(name, "[green_agent\n");
    }
    let output = folder.run(&["run", "."]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let run = folder.only_run();
    let counted = || RunFolder::read(&run).unwrap().counted().len();
    assert_eq!(counted(), 3);
    let output = folder.run(&["run", "--resume", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert_eq!(counted(), 3);
}
