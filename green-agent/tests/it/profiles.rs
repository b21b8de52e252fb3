//! Tests which packages the profiles of the workspace optimise. They are here because this package depends on all others.

use std::{fs, path::Path};

/// The crates in which a send spends next to nothing, so that they may be optimised less than the others.
const LESS: [&str; 4] = ["bridge-auth", "bridge-push", "bridge-telemetry", "bridge-verify"];

/// `[profile.release.package]` names packages one by one, and one that is missing would be many times slower.
#[test]
fn release_builds_optimise_every_crate_that_carries_messages() {
    let server = manifest("bridge/server/Cargo.toml");
    let dependencies = server["dependencies"].as_table().unwrap();
    let mut crates: Vec<&str> = dependencies.keys().map(String::as_str).collect();
    // A turn of a remote bot costs many times what the bridge adds.
    crates.retain(|name| name.starts_with("bridge-") && *name != "bridge-bots");
    crates.push("bridge-server");
    assert!(crates.len() > 8, "the manifest is read: {crates:?}");
    let workspace = manifest("Cargo.toml");
    let optimised = &workspace["profile"]["release"]["package"];
    for name in crates {
        let wanted = if LESS.contains(&name) { 1 } else { 3 };
        let package = optimised.get(name);
        let package = package.unwrap_or_else(|| panic!("{name} is not optimised"));
        assert!(level(package) >= wanted, "{name}: {package}");
    }
}

/// `dist` and `bench` inherit the packages of `release`, of which some are optimised less since that builds faster.
#[test]
fn distributed_programs_are_fully_optimised() {
    let workspace = manifest("Cargo.toml");
    let profiles = &workspace["profile"];
    for profile in ["bench", "dist"] {
        assert_eq!(level(&profiles[profile]), 3, "{profile}");
        for (name, package) in profiles["release"]["package"].as_table().unwrap() {
            let own = profiles[profile]["package"].get(name);
            assert_eq!(level(own.unwrap_or(package)), 3, "{profile}: {name}");
        }
    }
}

fn manifest(path: &str) -> toml::Table {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap().parse().unwrap()
}

fn level(profile: &toml::Value) -> i64 {
    profile["opt-level"].as_integer().unwrap()
}
