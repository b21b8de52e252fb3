//! Searches a folder for scenario files.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, Error, WalkDir};

use crate::model::AGENT_UNDER_TEST;

/// Folders that are not searched: they contain files of other projects, some of them called `scenario.toml`
/// too.
const SKIPPED: [&str; 3] = ["node_modules", "__pycache__", "target"];

/// The name under which many projects of AgentBeats keep what `scenario.json5` describes, mostly beside a `scenario.toml` for the
/// same evaluation without containers.
const MANIFEST: &str = "amber-scenario.json5";

/// Returns the scenario files below a folder, by name; those called [`MANIFEST`] only if there is no other. Links are followed
/// unless their target is found without them.
pub(super) fn scenarios(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut search = Search {
        root: fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()),
        followed: BTreeSet::new(),
    };
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    let (mut found, mut manifests) = (Vec::new(), Vec::new());
    for entry in walk.into_iter().filter_entry(|entry| search.enters(entry)) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && is_scenario(entry.path()) => {
                found.push(entry.into_path());
            }
            Ok(entry) if entry.file_type().is_file() && entry.file_name() == MANIFEST => {
                manifests.push(entry.into_path());
            }
            Ok(_) => {}
            Err(error) if is_of_link(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(if found.is_empty() { manifests } else { found })
}

/// The state of a search, which enters no folder twice.
struct Search {
    /// The folder that was given, without links.
    root: PathBuf,
    /// The targets of the links that were followed.
    followed: BTreeSet<PathBuf>,
}

impl Search {
    /// Returns whether the search takes this file or enters this folder. A folder that was given is always searched.
    fn enters(&mut self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        !is_skipped(entry.file_name()) && (!entry.path_is_symlink() || self.follows(entry.path()))
    }

    /// Returns whether a link leads to a new target that is neither below the folder nor around it.
    fn follows(&mut self, link: &Path) -> bool {
        let Ok(target) = fs::canonicalize(link) else {
            return false;
        };
        let inside = target.strip_prefix(&self.root);
        let is_found_anyway = inside.is_ok_and(|inside| !inside.iter().any(is_skipped));
        let is_around = self.root.starts_with(&target);
        !is_found_anyway && !is_around && self.followed.insert(target)
    }
}

fn is_skipped(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') || SKIPPED.contains(&&*name)
}

/// Returns whether an error is about a link without a target, or about a link to a folder around it.
fn is_of_link(error: &Error) -> bool {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    error.loop_ancestor().is_some() || error.path().is_some_and(is_link)
}

fn is_scenario(path: &Path) -> bool {
    if path.file_name() == Some(OsStr::new("scenario.json5")) {
        return true;
    }
    // A file that cannot be read counts as a scenario, so that the run reports it.
    path.extension() == Some(OsStr::new("toml"))
        && fs::read(path)
            .map_or(true, |bytes| looks_like_scenario(&String::from_utf8_lossy(&bytes)))
}

/// Returns whether a line begins the table or key `green_agent` or `agent_under_test`, or the file is of the first generation. The text is
/// not parsed: a scenario with a mistake in its TOML must be reported, while the `Cargo.toml` beside an agent must not.
fn looks_like_scenario(text: &str) -> bool {
    let has_green = text.lines().any(|line| {
        let key = line.trim_start_matches(['[', ' ', '\t', '"', '\'', '\u{feff}']);
        ["green_agent", AGENT_UNDER_TEST]
            .iter()
            .any(|name| key.strip_prefix(name).is_some_and(ends_table_name))
    });
    has_green || looks_like_first(text)
}

/// Returns whether a text has the list `agents` with one that evaluates the others, as AgentBeats' first generation writes it.
/// Other programs have lists of that name too.
fn looks_like_first(text: &str) -> bool {
    let lines = || text.lines().map(str::trim_start);
    let evaluates = |line: &str| {
        let is_key = |key: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        line.starts_with("[[agents.participant_requirements]]")
            || is_key("participant_requirements")
            || is_key("is_green")
            || is_key("card") && line.contains("green")
    };
    lines().any(|line| line.starts_with("[[agents]]")) && lines().any(evaluates)
}

/// Returns whether this text follows a table's name, and does not continue a longer word.
fn ends_table_name(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'', ' ', '\t']);
    match rest.strip_prefix('=') {
        Some(value) => value.trim_start().starts_with('{'),
        None => !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_recognised_in_every_spelling() {
        for (text, expected) in [
            ("# x\n  [green_agent]\n", true),
            ("[[green_agent]]", true),
            ("green_agent.cmd = ''", true),
            ("\"green_agent\" = {}", true),
            ("[green_agent", true),
            ("green_agent = \"package:main\"", false),
            ("[green_agents]", false),
            ("[evaluator]\n[agent_under_test]\n", true),
            ("[evaluator]\n", false),
            ("name = \"green_agent\"", false),
            ("[tool.green_agent]", false),
        ] {
            assert_eq!(looks_like_scenario(text), expected, "{text}");
        }
    }

    #[test]
    fn files_of_the_first_generation_are_recognised_by_their_evaluator() {
        for (text, expected) in [
            ("[[agents]]\nname = 'a'\nis_green = true\n", true),
            ("[[agents]]\ncard = 'green_agent/card.toml'\n", true),
            ("[[agents]]\n[[agents.participant_requirements]]\n", true),
            ("[[agents]]\nname = 'a'\nbuiltin = 'echo'\n", false),
            ("[[agents]]\ncard = 'echo.json'\n", false),
            ("is_green = true\n", false),
        ] {
            assert_eq!(looks_like_scenario(text), expected, "{text}");
        }
    }

    #[test]
    fn a_manifest_of_amber_is_found_where_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let (manifest, scenario) = (folder.path().join(MANIFEST), folder.path().join("a.toml"));
        fs::write(&manifest, "{}").unwrap();
        assert_eq!(scenarios(folder.path()).unwrap(), [manifest]);
        fs::write(&scenario, "[green_agent]").unwrap();
        assert_eq!(scenarios(folder.path()).unwrap(), [scenario]);
    }
}
