//! Tests that the tests which `SECURITY.md` names exist, and that every threat has one.

use std::{fs, path::Path};

#[test]
fn every_threat_is_shown_by_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let named = |line: &str| -> Vec<(String, String)> {
        let spans = line.split('`').skip(1).step_by(2);
        let tests = spans.filter_map(|span| span.split_once(".rs::"));
        tests.map(|(file, name)| (format!("{file}.rs"), name.to_owned())).collect()
    };
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let threats = rows.filter(|row| row.matches(" | ").count() == 2);
    let threats = threats.filter(|row| !row.starts_with("| threat |"));
    let mut count = 0;
    for threat in threats {
        let tests = named(threat);
        assert!(!tests.is_empty(), "no test: {threat}");
        for (file, name) in tests {
            let source = fs::read_to_string(root.join(&file));
            let source = source.unwrap_or_else(|error| panic!("{file}: {error}"));
            let test = format!("fn {name}(");
            assert!(source.contains(&test), "there is no {name} in {file}");
            count += 1;
        }
    }
    assert!(count > 40, "the page is read: {count}");
}
