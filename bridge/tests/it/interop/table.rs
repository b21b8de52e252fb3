//! The table of what is tried names the programs and versions that there are.

use std::{fs, path::Path};

use super::interop;
use crate::{node, venv};

/// Every program that the tests name is in the table.
#[test]
fn every_program_is_in_the_table() {
    let table = fs::read_to_string(interop("README.md")).unwrap();
    for folder in ["", "bots", "servers", "servers/saved", "rust"] {
        for name in programs(&interop(folder)) {
            let path = Path::new(folder).join(&name);
            let path = path.to_str().unwrap();
            assert!(table.contains(&format!("`{path}`")), "{path} is missing");
        }
    }
}

/// Returns the programs in a folder: files, and the packages of the workspace.
fn programs(folder: &Path) -> Vec<String> {
    let is_rust = folder.ends_with("rust");
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let wanted = entries.filter(|entry| entry.file_type().unwrap().is_dir() == is_rust);
    let names = wanted.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name != "target" && !name.ends_with(".md")).collect()
}

#[test]
fn every_version_is_the_one_that_is_installed() {
    let table = fs::read_to_string(interop("README.md")).unwrap();
    let python = venv::A2A_SDK_1_0.iter().chain(&venv::A2A_SDK_0_3);
    let python = python.chain(&venv::SHOWING).chain(&venv::STRANDS);
    let python = python.chain(&venv::FASTA2A).chain(&venv::CREWAI);
    let python = python.chain(&venv::AG2).chain(&venv::HYBRO).chain(&venv::MESH);
    let python = python.chain(&venv::BEEAI).chain(&venv::NAT).chain(&venv::LANGGRAPH);
    let python = python.filter_map(|one| {
        let (name, version) = one.split_once("==")?;
        Some((name.split('[').next()?, version))
    });
    let node = node::A2A_JS_SDK.iter().chain(&node::AI_PROVIDER);
    let node = node.chain(&node::GOOGLE_ADK).chain(&node::VOLTAGENT);
    let node = node.chain(&node::STRANDS[..1]).chain(&node::EVENT_SOURCES);
    let node = node.filter_map(|one| one.rsplit_once('@'));
    let manifest = fs::read_to_string(interop("rust/Cargo.toml")).unwrap();
    let rust = manifest.lines().filter_map(exact);
    // A package that an SDK needs has no row.
    let counts = ["a2a", "adk", "ag2", "health", "beeai", "crewai", "langgraph-api", "strands"];
    let beside = |name: &str| !counts.iter().any(|one| name.contains(one));
    let all = python.chain(node).chain(rust);
    let inside = ["a2a-lf", "a2a-pb"];
    for (name, version) in all.filter(|(name, _)| !beside(name) && !inside.contains(name)) {
        let row = format!("{name} {version}");
        assert!(table.contains(&row), "{row} is missing");
    }
}

/// Returns the name and the version of a crate that is required in exactly that version.
fn exact(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(" = ")?;
    let quoted = |after: &str| rest.split_once(after)?.1.split('"').next();
    Some((quoted("package = \"").unwrap_or(key), quoted("\"=")?))
}
