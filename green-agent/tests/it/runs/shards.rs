//! Runs of parts, and the run that they are joined to.

use std::{collections::BTreeSet, fs, path::Path};

use green_agent::record::{RunFolder, TrialRecord};

use super::{Folder, SCENARIO, TASKS, records, shown};

#[test]
fn the_runs_of_all_parts_join_to_a_whole_one() {
    let folder = Folder::new(SCENARIO);
    folder.file("tasks.jsonl", TASKS);
    let part = |part: &str, dir: &str| {
        let args = ["run", "a.toml", "--trials", "3", "--shard", part, "--runs", dir];
        folder.run(&args);
        let mut runs = fs::read_dir(folder.0.path().join(dir)).unwrap();
        runs.next().unwrap().unwrap().path().display().to_string()
    };
    let parts = [part("1/3", "one"), part("2/3", "two"), part("3/3", "three")];
    folder.run(&["run", "a.toml", "--trials", "3"]);
    let whole = records(&folder.only_run());
    let [one, two, three] = parts.each_ref().map(String::as_str);
    let output = folder.run(&["merge", one, two, three, two, "--into", "merged"]);
    assert!(output.status.success(), "{}", shown(&output));
    let said = shown(&output);
    assert!(said.contains("12 trials of 4 runs in merged"), "{said}");
    let doubles = said.matches("which is left out").count();
    assert_eq!(doubles, records(Path::new(two)).len(), "{said}");
    let merged = RunFolder::read(&folder.0.path().join("merged")).unwrap();
    let keys = |records: &[TrialRecord]| -> BTreeSet<String> {
        records.iter().map(|one| one.key.clone()).collect()
    };
    assert_eq!(keys(&merged.records), keys(&whole));
    assert_eq!(merged.records.len(), whole.len());
    for record in &merged.records {
        let trial = merged.path.join(record.folder.as_ref().unwrap());
        assert!(trial.join("transcript.jsonl").exists());
    }

    let output = folder.run(&["merge", one, three, "--into", "parts"]);
    assert!(shown(&output).contains("no run has the part 2/3"), "{}", shown(&output));
    let said = "a: no run has the part 2/3; to continue: green-agent run --resume parts";
    let report = folder.run(&["report", "parts"]);
    assert!(shown(&report).contains(said), "{}", shown(&report));
    // Missing trials are run by resuming the joined run.
    let output = folder.run(&["run", "--resume", "parts"]);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let report = folder.run(&["report", "parts"]);
    assert!(!shown(&report).contains("no run has"), "{}", shown(&report));
    assert_eq!(keys(&records(&folder.0.path().join("parts"))), keys(&whole));

    // A part that was killed says nothing itself.
    let path = Path::new(one).join("records.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    fs::write(&path, lines.split_inclusive('\n').skip(1).collect::<String>()).unwrap();
    let output = folder.run(&["merge", one, two, three, "--into", "cut"]);
    let ended = lines.lines().count();
    let expected = format!("note: a: only {} of {ended} trials have ended", ended - 1);
    assert!(shown(&output).contains(&expected), "{}", shown(&output));
    // Its reports say so, too.
    let report = folder.run(&["report", "cut"]);
    assert!(shown(&report).contains("a: only 11 of 12 trials have ended"), "{}", shown(&report));

    folder.file("a.toml", &SCENARIO.replace("{row.input},", "{row.input}:"));
    let other = part("2/3", "other");
    let output = folder.run(&["merge", one, &other, "--into", "mixed"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("differ in the scenario a: sha256:"), "{}", shown(&output));
    assert!(!folder.0.path().join("mixed").exists());
}
