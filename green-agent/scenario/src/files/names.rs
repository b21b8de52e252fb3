//! Gives the scenarios of one run different names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{CollectError, ScenarioFile};

/// Renames the files that share a name: each gets the shortest end of its path that distinguishes it from all others,
/// with at least one more folder than before. A unique name stays.
///
/// # Errors
/// If whole paths are printed alike, which happens only for names that are not UTF-8.
pub(super) fn rename_duplicates(found: &mut [ScenarioFile]) -> Result<(), CollectError> {
    let mut sharing: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, file) in found.iter().enumerate() {
        sharing.entry(file.name.clone()).or_default().push(at);
    }
    let mut taken: BTreeSet<String> = sharing.keys().cloned().collect();
    for (name, files) in sharing.into_iter().filter(|(_, files)| files.len() > 1) {
        let paths: Vec<&Path> = files.iter().map(|at| &*found[*at].path).collect();
        let Some(names) = longer(&name, &paths, &taken) else {
            let paths = paths.into_iter().map(Path::to_owned).collect();
            return Err(CollectError::SameName { name, paths });
        };
        taken.extend(names.iter().cloned());
        for (at, name) in files.into_iter().zip(names) {
            found[at].name = name;
        }
    }
    Ok(())
}

/// Returns longer names for files that share one, none of them taken.
fn longer(name: &str, paths: &[&Path], taken: &BTreeSet<String>) -> Option<Vec<String>> {
    let plain: Vec<_> = paths.iter().map(|path| path_words(path, name)).collect();
    let whole: Vec<_> = paths.iter().map(|path| whole_words(path)).collect();
    [plain, whole].iter().find_map(|paths| {
        let longest = paths.iter().map(Vec::len).max()?;
        let names = (2..=longest).map(|count| ends(paths, count));
        names
            .filter(|names| names.iter().all(|name| !taken.contains(name)))
            .find(|names| names.iter().collect::<BTreeSet<_>>().len() == names.len())
    })
}

/// Returns the last words of each path.
fn ends(paths: &[Vec<String>], count: usize) -> Vec<String> {
    let end = |words: &Vec<String>| words[words.len().saturating_sub(count)..].join("/");
    paths.iter().map(end).collect()
}

/// Returns the words of a path without the file's extension, and without a file name that the scenario's name omits.
fn path_words(path: &Path, name: &str) -> Vec<String> {
    let mut words = whole_words(&path.with_extension(""));
    if words.last().map(String::as_str) != name.split('/').next_back() {
        words.pop();
    }
    words
}

fn whole_words(path: &Path) -> Vec<String> {
    let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let names = path.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::name;

    fn names(paths: &[&str]) -> Vec<String> {
        let file = |path: &&str| ScenarioFile {
            path: PathBuf::from(path),
            name: name(Path::new(path)),
            as_named: true,
            sidecar: None,
        };
        let mut found: Vec<_> = paths.iter().map(file).collect();
        rename_duplicates(&mut found).unwrap();
        found.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn files_of_one_name_are_named_by_the_ends_of_their_paths() {
        for (paths, expected) in [
            (
                &["/w/a/login.toml", "/w/b/login.toml", "/w/b/other.toml"][..],
                &["a/login", "b/login", "other"][..],
            ),
            (&["/w/a/x/login.toml", "/w/b/x/login.toml"], &["a/x/login", "b/x/login"]),
            (
                &["/w/a/debate/scenario.toml", "/w/b/debate/scenario.toml"],
                &["a/debate", "b/debate"],
            ),
            (
                &["/a/scenarios/debate/scenario.toml", "/b/scenarios/debate/scenario.toml"],
                &["a/scenarios/debate/scenario", "b/scenarios/debate/scenario"],
            ),
            (
                &["/w/debate/scenario.toml", "/w/debate/scenario.json5"],
                &["debate/scenario.toml", "debate/scenario.json5"],
            ),
            (
                &["/p/a/login.toml", "/p/b/login.toml", "/w/scenarios/a/login.toml"],
                &["p/a/login", "p/b/login", "a/login"],
            ),
            (&["/login.toml", "/a/login.toml"], &["login.toml", "a/login.toml"]),
        ] {
            assert_eq!(names(paths), expected, "{paths:?}");
        }
    }
}
