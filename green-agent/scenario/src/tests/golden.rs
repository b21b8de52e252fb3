//! Tests the messages for the files in `scenarios/invalid`, as their authors would see them.

use std::{fs, path::Path};

use crate::{ScenarioFile, collect, parse};

const INVALID: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/invalid");

/// Returns the messages for a file, with its path relative to the workspace's root.
fn message(file: &ScenarioFile) -> String {
    let text = fs::read_to_string(&file.path).unwrap();
    let path = Path::new("scenarios").join(format!("{}.toml", file.name));
    match parse(&path, &text) {
        Ok(_) => panic!("{} is valid", file.name),
        Err(errors) => errors.to_string(),
    }
}

fn invalid_files() -> Vec<ScenarioFile> {
    collect(&[INVALID.into()], None).unwrap()
}

#[test]
fn messages_stay_as_they_are() {
    let messages: Vec<String> = invalid_files().iter().map(message).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("invalid_scenarios", messages.join("\n\n"));
    });
}

#[test]
fn every_file_says_how_it_fails() {
    for file in invalid_files() {
        let message = message(&file);
        let expected = file.sidecar.unwrap_or_else(|| panic!("{} has no sidecar", file.name));
        assert_eq!(expected.exit, 3, "{}", file.name);
        assert!(message.contains(&expected.message), "{message}\n{expected:?}");
    }
}
