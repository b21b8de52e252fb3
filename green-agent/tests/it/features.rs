//! Tests which features of other crates the programs are built with.

use std::{path::Path, process::Command};

/// With serde_json's `raw_value`, a member with its name is a text to parse for each `serde_json::Value`, without any
/// limits: see `bridge_protocol::wire::json`. axum's `json` enables it, in the tests of the workspace too.
#[test]
fn the_programs_have_no_raw_values_of_serde_json() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--workspace", "--edges", "normal,features"])
        .args(["--invert", "serde_json", "--depth", "1"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let output = tree.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("serde_json feature \"std\""), "{told}");
    assert!(!told.contains("raw_value"), "{told}");
}
