//! The arrows of ARCHITECTURE.md inside this package: each room knows only those below it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each room with the rooms that it may name.
const ROOMS: &[(&str, &[&str])] = &[
    ("main", &["cli", "participant"]),
    (
        "cli",
        &[
            "exit",
            "install",
            "participant",
            "report",
            "run",
            "scenario",
            "snapshot",
        ],
    ),
    ("report", &["install", "run"]),
    (
        "run",
        &[
            "assessment",
            "evaluator",
            "exit",
            "expect",
            "install",
            "participant",
            "recorder",
            "scenario",
            "snapshot",
            "transcript",
        ],
    ),
    ("evaluator", &["assessment", "expect", "scenario"]),
    ("recorder", &["transcript"]),
    ("install", &["participant", "scenario"]),
    ("participant", &[]),
    ("expect", &["assessment", "scenario", "transcript"]),
    ("snapshot", &[]),
    // Expectations name hops, and the canonical form follows the scenario's settings.
    ("scenario", &["transcript"]),
    ("transcript", &["scenario"]),
    ("assessment", &[]),
    ("exit", &[]),
];

#[test]
fn no_room_knows_one_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in files_below(&source) {
        let room = room_of(file.strip_prefix(&source).unwrap());
        if room == "lib" {
            continue;
        }
        let known = ROOMS.iter().find(|(name, _)| *name == room);
        let (_, known) = known.unwrap_or_else(|| panic!("{room} stands in no table of rooms"));
        for named in rooms_named(&fs::read_to_string(&file).unwrap()) {
            if named != room && !known.contains(&named.as_str()) {
                wrong.push(format!("{}: {room} -> {named}", file.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "arrows that point upwards:\n{}",
        wrong.join("\n")
    );
}

fn room_of(path: &Path) -> String {
    let first = path.iter().next().unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The rooms that a file names: what follows `crate::` or `green_agent::`, in braces too. Tests may
/// reach anywhere.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut rooms = BTreeSet::new();
    for prefix in ["crate::", "green_agent::"] {
        for (at, _) in code.match_indices(prefix) {
            let rest = &code[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(list) => rooms.extend(members(list)),
                None => rooms.extend(word(rest)),
            }
        }
    }
    rooms
}

/// The first words of a brace's members, not of the braces inside it.
fn members(list: &str) -> Vec<String> {
    let (mut depth, mut member, mut all) = (0, String::new(), Vec::new());
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => all.extend(word(&std::mem::take(&mut member))),
            _ if depth == 0 => member.push(c),
            _ => {}
        }
    }
    all.extend(word(&member));
    all
}

fn word(text: &str) -> Option<String> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let word = &text[..end];
    let is_room = word.starts_with(|c: char| c.is_ascii_lowercase());
    is_room.then(|| word.to_owned())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}
