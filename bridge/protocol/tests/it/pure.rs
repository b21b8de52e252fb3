//! Tests that nothing below this package and `bridge-translate` does more than compute: no cryptography, no source of randomness, no
//! validator, no runtime.

use std::{env, process::Command};

#[test]
fn no_dependency_does_more_than_compute() {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--all-features"])
        .args(["--package", "bridge-protocol", "--package", "bridge-translate"])
        .args(["--prefix", "none", "--format", "{lib}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    for known in ["serde_json", "bridge_translate"] {
        assert!(tree.lines().any(|name| name == known), "{tree}");
    }
    let banned = ["getrandom", "jsonschema", "libc", "rand", "regex", "ring", "tokio"];
    let found: Vec<&str> = tree.lines().filter(|name| banned.contains(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}
