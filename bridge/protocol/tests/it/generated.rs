//! Checks that the files generated from `a2a.proto` are up to date.

use std::{fs, path::Path};

use sha2::{Digest as _, Sha256};

#[test]
fn generated_answers_are_unchanged() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let sums = fs::read_to_string(proto.join("SHA256SUMS")).unwrap();
    assert!(!sums.is_empty(), "SHA256SUMS names no file");
    for line in sums.lines() {
        let (expected, name) = line.split_once("  ").unwrap();
        let found = Sha256::digest(fs::read(proto.join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            found, expected,
            "proto/{name} was changed: run proto/generate, as proto/README.md says"
        );
    }
}
