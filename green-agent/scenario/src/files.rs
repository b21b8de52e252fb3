//! Finds scenario files from the paths of a command line.

mod names;
mod search;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::{Path, PathBuf},
};

use super::{
    error::ScenarioErrors, expected::ExpectedFailure, parse::name, source::ScenarioSource,
};

/// One scenario file to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFile {
    /// The path, as it was given or found.
    pub path: PathBuf,
    /// The scenario's name, unique in its run: the name that [`read`](super::read) gives it, or a longer end of its
    /// path.
    pub name: String,
    /// Whether the file itself was given, rather than a folder above it.
    pub as_named: bool,
    /// The expected failure. It is read only for files that were found in a folder: a file that is named on the command
    /// line runs without its sidecar.
    pub sidecar: Option<ExpectedFailure>,
}

/// The reason why there are no files to run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CollectError {
    /// A path that does not exist.
    #[error("{}: no such file or folder; expected a scenario file or a folder with some", .0.display())]
    Absent(PathBuf),
    /// A path that is neither a file nor a folder, such as a pipe. A scenario is read several times.
    #[error("{}: neither a file nor a folder; expected a scenario file, which is read several times", .0.display())]
    Special(PathBuf),
    /// A folder that could not be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Walk { path: PathBuf, error: walkdir::Error },
    /// No file was found. This is an error because a run of nothing would look like success.
    #[error("no scenario file in {}{}", joined_paths(paths), filter.as_deref().map(named).unwrap_or_default())]
    Nothing {
        paths: Vec<PathBuf>,
        /// The filter, if there is one.
        filter: Option<String>,
    },
    /// Files whose paths are printed alike.
    #[error(
        "{}: all of these scenarios would be called {name:?}; rename them",
        joined_paths(paths)
    )]
    SameName { name: String, paths: Vec<PathBuf> },
    /// A sidecar that cannot be read.
    #[error(transparent)]
    Sidecar(#[from] ScenarioErrors),
}

impl ScenarioFile {
    /// Reads the file and its dataset. Its scenarios get the name that the file has in this run.
    ///
    /// # Errors
    /// Like [`ScenarioSource::read`].
    pub fn source(&self) -> Result<ScenarioSource, ScenarioErrors> {
        Ok(ScenarioSource::read(&self.path)?.named(&self.name))
    }
}

/// Returns the files to run, in the order of `paths` and by name within a folder, each of them once, however its
/// path is written. `filter` is a text that the scenario's name must contain.
///
/// # Errors
/// If a path does not exist, a folder or a sidecar cannot be read, no file was found, or two files would get the same
/// name.
pub fn collect(paths: &[PathBuf], filter: Option<&str>) -> Result<Vec<ScenarioFile>, CollectError> {
    let mut found: Vec<ScenarioFile> = Vec::new();
    // The index of each file, by its path without links and `..`.
    let mut places = BTreeMap::new();
    for path in paths {
        for next in below(path)? {
            let place = fs::canonicalize(&next.path).unwrap_or_else(|_| next.path.clone());
            match places.entry(place) {
                // A file that was both given and found counts as given.
                Entry::Occupied(known) if next.as_named => found[*known.get()] = next,
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    free.insert(found.len());
                    found.push(next);
                }
            }
        }
    }
    // Names are chosen before the filter is applied, so that they do not depend on it.
    names::rename_duplicates(&mut found)?;
    found.retain(|file| filter.is_none_or(|text| file.name.contains(text)));
    if found.is_empty() {
        return Err(CollectError::Nothing {
            paths: paths.to_vec(),
            filter: filter.map(str::to_owned),
        });
    }
    Ok(found)
}

fn below(path: &Path) -> Result<Vec<ScenarioFile>, CollectError> {
    if !path.exists() {
        return Err(CollectError::Absent(path.to_owned()));
    }
    if !path.is_dir() {
        if !path.is_file() {
            return Err(CollectError::Special(path.to_owned()));
        }
        return Ok(vec![file(path.to_owned(), true)?]);
    }
    let found = search::scenarios(path)
        .map_err(|error| CollectError::Walk { path: path.to_owned(), error })?;
    let files = found.into_iter().map(|path| file(path, false));
    Ok(files.collect::<Result<_, _>>()?)
}

fn file(path: PathBuf, as_named: bool) -> Result<ScenarioFile, ScenarioErrors> {
    let sidecar = if as_named { None } else { ExpectedFailure::beside(&path)? };
    Ok(ScenarioFile {
        name: name(&std::path::absolute(&path).unwrap_or_else(|_| path.clone())),
        path,
        as_named,
        sidecar,
    })
}

fn joined_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

fn named(filter: &str) -> String {
    format!(" whose name contains {filter:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "[green_agent]\n";

    /// Creates a folder with these files.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn names(found: &[ScenarioFile]) -> Vec<&str> {
        found.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn folders_are_walked_in_order_without_what_is_not_ours() {
        let root = tree(&[
            ("scenarios/b.toml", SCENARIO),
            ("scenarios/a/z.toml", "[green_agent\nbroken"),
            ("scenarios/a/Cargo.toml", "[package]\nname = 'green_agent'\n"),
            ("scenarios/a/notes.md", SCENARIO),
            ("scenarios/.hidden/c.toml", SCENARIO),
            ("scenarios/node_modules/c.toml", SCENARIO),
            ("scenarios/target/c.toml", SCENARIO),
        ]);
        let found = collect(&[root.path().join("scenarios")], None).unwrap();
        assert_eq!(names(&found), ["a/z", "b"]);
        assert!(found.iter().all(|file| !file.as_named));
    }

    #[test]
    fn sidecars_hold_only_for_files_that_were_found() {
        let root = tree(&[
            ("scenarios/a.toml", SCENARIO),
            ("scenarios/a.expect", "exit = 3\nmessage = 'x'"),
        ]);
        let folder = root.path().join("scenarios");
        let file = folder.join("a.toml");
        let found = collect(std::slice::from_ref(&folder), None).unwrap();
        assert_eq!(found[0].sidecar.as_ref().map(|expected| expected.exit), Some(3));
        let found = collect(&[folder, file], None).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].as_named && found[0].sidecar.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once_and_never_in_circles() {
        use std::os::unix::fs::symlink;

        let root = tree(&[
            ("real/ok.toml", SCENARIO),
            ("shared/more/far.toml", SCENARIO),
            ("mix/b.toml", SCENARIO),
            ("mix/.store/hidden.toml", SCENARIO),
            ("mix/sub/c.toml", SCENARIO),
        ]);
        let at = |path: &str| root.path().join(path);
        for (target, link) in [
            ("../real/ok.toml", "mix/l.toml"),
            ("../real/ok.toml", "mix/m.toml"),
            ("b.toml", "mix/a.toml"),
            ("../shared", "mix/shared"),
            ("../shared/more", "mix/twice"),
            ("..", "mix/up"),
            ("sub", "mix/again"),
            (".store/hidden.toml", "mix/h.toml"),
            ("../mix", "shared/back"),
            ("nowhere.toml", "mix/broken.toml"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let found = collect(&[at("mix")], None).unwrap();
        assert_eq!(names(&found), ["b", "h", "l", "far", "c"]);
        let paths: Vec<_> = found.iter().map(|file| file.path.clone()).collect();
        assert_eq!(paths[3], at("mix/shared/more/far.toml"));
    }

    #[test]
    fn a_file_is_found_once_however_it_is_written() {
        let root = tree(&[("a/login.toml", SCENARIO)]);
        let written =
            ["a/login.toml", "a/../a/login.toml", "./a"].map(|path| root.path().join(path));
        assert_eq!(names(&collect(&written, None).unwrap()), ["login"]);
    }

    #[test]
    fn files_of_one_name_get_names_that_differ_and_do_not_depend_on_the_filter() {
        let root = tree(&[("a/login.toml", SCENARIO), ("b/login.toml", SCENARIO)]);
        let folder = [root.path().to_owned()];
        let found = collect(&folder, None).unwrap();
        assert_eq!(names(&found), ["a/login", "b/login"]);
        assert_eq!(names(&collect(&folder, Some("b/")).unwrap()), ["b/login"]);
    }

    #[test]
    fn a_filter_is_a_part_of_the_name() {
        let root = tree(&[("scenarios/x/a.toml", SCENARIO), ("scenarios/y/a.toml", SCENARIO)]);
        let folder = [root.path().join("scenarios")];
        assert_eq!(names(&collect(&folder, Some("y/")).unwrap()), ["y/a"]);
        let error = collect(&folder, Some("z")).unwrap_err().to_string();
        assert!(error.ends_with("whose name contains \"z\""), "{error}");
    }

    #[test]
    fn nothing_to_run_is_an_error() {
        let root = tree(&[("scenarios/Cargo.toml", "[package]")]);
        let error = collect(&[root.path().to_owned()], None).unwrap_err();
        assert!(matches!(error, CollectError::Nothing { filter: None, .. }));
        let error = collect(&[root.path().join("nowhere")], None).unwrap_err();
        assert!(matches!(error, CollectError::Absent(_)));
    }

    #[test]
    fn a_broken_sidecar_is_not_passed_over() {
        let root = tree(&[("a.toml", SCENARIO), ("a.expect", "exit = 9")]);
        let error = collect(&[root.path().to_owned()], None).unwrap_err();
        assert!(matches!(error, CollectError::Sidecar(_)));
    }
}
