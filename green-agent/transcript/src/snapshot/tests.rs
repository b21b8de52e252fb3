use super::*;

const TEXT: &str = "## runner -> green\n\n> message/send\n{ \"a\": 1 }\n< message\n";

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshots/echo/hello.snap");
    (folder, path)
}

#[test]
fn a_missing_snapshot_fails_and_is_kept_for_review() {
    let (_folder, path) = folder();
    let new = new_path(&path);
    let outcome = compare(SnapshotMode::Check, &path, TEXT).unwrap();
    assert_eq!(outcome, SnapshotOutcome::Missing { new: new.clone() });
    assert!(!path.exists());
    let kept = SnapshotFile::parse(&fs::read_to_string(new).unwrap()).unwrap();
    assert_eq!(kept.content(), TEXT.trim_end());
    assert_eq!(kept.source(), Some("scenarios/echo/hello.toml"));
}

#[test]
fn an_accepted_snapshot_matches_afterwards() {
    let (_folder, path) = folder();
    compare(SnapshotMode::Check, &path, TEXT).unwrap();
    let outcome = compare(SnapshotMode::Accept, &path, TEXT).unwrap();
    assert_eq!(outcome, SnapshotOutcome::Accepted);
    assert!(!new_path(&path).exists());
    let with_windows_breaks = TEXT.replace('\n', "\r\n") + "\n\n";
    for mode in [SnapshotMode::Check, SnapshotMode::Accept] {
        let outcome = compare(mode, &path, &with_windows_breaks).unwrap();
        assert_eq!(outcome, SnapshotOutcome::Same);
    }
    let outcome = compare(SnapshotMode::Accept, &path, "other").unwrap();
    assert_eq!(outcome, SnapshotOutcome::Accepted);
}

#[test]
fn a_snapshot_is_replaced_as_a_whole() {
    let (_folder, path) = folder();
    compare(SnapshotMode::Accept, &path, TEXT).unwrap();
    let former = fs::read_to_string(&path).unwrap();
    // Another name of the old file shows whether that file was written to.
    let old = path.with_extension("old");
    fs::hard_link(&path, &old).unwrap();
    compare(SnapshotMode::Accept, &path, "other").unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), former);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn a_difference_is_written_and_removed_when_it_is_resolved() {
    let (_folder, path) = folder();
    compare(SnapshotMode::Accept, &path, TEXT).unwrap();
    let changed = TEXT.replace("\"a\": 1", "\"a\": 2");
    let outcome = compare(SnapshotMode::Check, &path, &changed).unwrap();
    let SnapshotOutcome::Different { diff, new } = outcome else {
        panic!("{outcome:?}");
    };
    insta::assert_snapshot!(diff, @r#"
    --- snapshot
    +++ this run
    @@ -1,5 +1,5 @@
     ## runner -> green
     
     > message/send
    -{ "a": 1 }
    +{ "a": 2 }
     < message
    "#);
    assert!(new.exists());
    assert_eq!(compare(SnapshotMode::Check, &path, TEXT).unwrap(), SnapshotOutcome::Same);
    assert!(!new.exists());
}

#[test]
fn off_touches_nothing() {
    let (folder, path) = folder();
    let outcome = compare(SnapshotMode::Off, &path, TEXT).unwrap();
    assert_eq!(outcome, SnapshotOutcome::NotCompared);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_invalid_snapshot_is_an_error_until_it_is_accepted() {
    let (_folder, path) = folder();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "no front matter").unwrap();
    let error = compare(SnapshotMode::Check, &path, TEXT).unwrap_err();
    assert!(matches!(error, SnapshotError::Format { .. }), "{error}");
    let outcome = compare(SnapshotMode::Accept, &path, TEXT).unwrap();
    assert_eq!(outcome, SnapshotOutcome::Accepted);
}

fn with_insta(folder: &Path, check: impl FnOnce()) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(folder);
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(check);
}

#[test]
fn insta_reads_what_we_write() {
    let (_folder, path) = folder();
    compare(SnapshotMode::Accept, &path, TEXT).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    with_insta(path.parent().unwrap(), || {
        insta::assert_snapshot!("hello", TEXT);
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn we_read_what_insta_writes() {
    // insta itself wrote both files.
    let files = [
        ("../../snapshots/wire/agentbeats/debate.canonical.snap", "## runner -> green\n\ncard"),
        (
            "../results/src/expect/snapshots/green_agent_results__expect__tests__unmet_expectations_read_well.snap",
            "7: on = ",
        ),
    ];
    for (file, beginning) in files {
        let written = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let written = fs::read_to_string(written).unwrap();
        let parsed = SnapshotFile::parse(&written).unwrap();
        assert!(parsed.content().starts_with(beginning), "{file}");
        let (_folder, path) = folder();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &written).unwrap();
        let outcome = compare(SnapshotMode::Check, &path, parsed.content()).unwrap();
        assert_eq!(outcome, SnapshotOutcome::Same);
    }
}
