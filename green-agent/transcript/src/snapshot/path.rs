//! Maps scenario files to their snapshot files and back.

use std::path::{Path, PathBuf};

const SCENARIOS: &str = "scenarios";
const SNAPSHOTS: &str = "snapshots";

/// Returns the path of a scenario's snapshot: for a file below a folder `scenarios`, the same path below the
/// folder `snapshots` beside the nearest such folder; for other files, a folder `snapshots` beside the file.
pub fn path_for(scenario: &Path) -> PathBuf {
    let snapshot = match below(scenario, SCENARIOS) {
        Some((root, inside)) => root.join(SNAPSHOTS).join(inside),
        None => scenario.with_file_name(SNAPSHOTS).join(scenario.file_name().unwrap_or_default()),
    };
    snapshot.with_extension("snap")
}

/// Returns the path of the `.snap.new` file, to which a differing text is written for review.
pub fn new_path(snapshot: &Path) -> PathBuf {
    snapshot.with_extension("snap.new")
}

/// Returns the scenario's path as the snapshot names it, without the folders of this machine.
pub(super) fn source_of(snapshot: &Path) -> String {
    let inside = match below(snapshot, SNAPSHOTS) {
        Some((_, inside)) => Path::new(SCENARIOS).join(inside),
        None => PathBuf::from(snapshot.file_name().unwrap_or_default()),
    };
    let names = inside.with_extension("toml");
    let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
    names.join("/")
}

/// Splits a path at the nearest folder of this name: the path of its parent, and the path inside it.
fn below<'a>(path: &'a Path, folder: &str) -> Option<(&'a Path, &'a Path)> {
    let nearest = path
        .ancestors()
        .skip(1)
        .find(|above| above.file_name().is_some_and(|name| name == folder))?;
    Some((nearest.parent()?, path.strip_prefix(nearest).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_mirror_the_scenarios() {
        let cases = [
            ("scenarios/echo/hello.toml", "snapshots/echo/hello.snap"),
            ("/x/scenarios/a/scenarios/b/c.toml", "/x/scenarios/a/snapshots/b/c.snap"),
            ("/x/scenarios/a.b.toml", "/x/snapshots/a.b.snap"),
            ("/x/y/hello.toml", "/x/y/snapshots/hello.snap"),
            ("hello.toml", "snapshots/hello.snap"),
        ];
        for (scenario, snapshot) in cases {
            assert_eq!(path_for(Path::new(scenario)), Path::new(snapshot));
        }
    }

    #[test]
    fn a_snapshot_names_its_scenario() {
        let cases = [
            ("/x/snapshots/echo/hello.snap", "scenarios/echo/hello.toml"),
            ("/x/hello.snap", "hello.toml"),
        ];
        for (snapshot, source) in cases {
            assert_eq!(source_of(Path::new(snapshot)), source);
        }
        assert_eq!(new_path(Path::new("a/b.snap")), Path::new("a/b.snap.new"));
    }
}
