//! Compares the transcripts of runs with snapshots. Snapshots are files of the crate insta, so that `cargo
//! insta review` shows and accepts them. Only files are read and written here.

mod excerpts;
mod file;
mod path;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use similar::TextDiff;

use crate::replaced::replace_file;

pub use file::SnapshotFile;
pub use path::{new_path, path_for};

/// The mode of snapshots: `--snapshots`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SnapshotMode {
    /// Compare; a missing or different snapshot is a failure.
    #[default]
    Check,
    /// Write missing or different snapshots, and pass.
    Accept,
    /// Neither read nor write.
    Off,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// Nothing was compared, because of [`SnapshotMode::Off`].
    NotCompared,
    /// The text equals the snapshot.
    Same,
    /// The snapshot was written: there was none, or a different one.
    Accepted,
    /// There is no snapshot.
    Missing {
        /// The `.snap.new` file to which the text was written.
        new: PathBuf,
    },
    /// The text differs from the snapshot.
    Different {
        /// A unified diff from the snapshot to the text, with three lines of context.
        diff: String,
        /// The `.snap.new` file to which the text was written.
        new: PathBuf,
    },
}

/// The reason why a snapshot could not be compared.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SnapshotError {
    /// The file exists, but reading it failed.
    #[error("failed to read the snapshot {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file could not be written or removed.
    #[error("failed to write {}", path.display())]
    Write {
        /// The snapshot or the `.snap.new` beside it.
        path: PathBuf,
        source: io::Error,
    },
    /// The file is not a snapshot of text.
    #[error("{} is no text snapshot: {why}; accept it again with --snapshots accept", path.display())]
    Format { path: PathBuf, why: &'static str },
}

/// Compares a text with the snapshot at a path, or writes it there.
///
/// As in insta, trailing whitespace and the kind of line breaks are ignored. If the comparison fails, a
/// `.snap.new` file is written beside the snapshot; if it passes, that file is removed.
///
/// # Errors
/// If the snapshot or the file beside it cannot be read, written or removed, or is no snapshot of text.
pub fn compare(
    mode: SnapshotMode,
    path: &Path,
    actual: &str,
) -> Result<SnapshotOutcome, SnapshotError> {
    if mode == SnapshotMode::Off {
        return Ok(SnapshotOutcome::NotCompared);
    }
    let actual = SnapshotFile::new(path::source_of(path), actual);
    let new = path::new_path(path);
    match read(mode, path)? {
        Some(old) if old.content() == actual.content() => {
            remove(&new)?;
            Ok(SnapshotOutcome::Same)
        }
        _ if mode == SnapshotMode::Accept => {
            write(path, &actual)?;
            remove(&new)?;
            Ok(SnapshotOutcome::Accepted)
        }
        Some(old) => {
            write(&new, &actual)?;
            let diff = diff(old.content(), actual.content(), ("snapshot", "this run"));
            Ok(SnapshotOutcome::Different { diff, new })
        }
        None => {
            write(&new, &actual)?;
            Ok(SnapshotOutcome::Missing { new })
        }
    }
}

/// Returns the snapshot; `None` if there is no file. In mode `Accept`, a file in another format also counts as absent, because the
/// caller replaces it.
fn read(mode: SnapshotMode, path: &Path) -> Result<Option<SnapshotFile>, SnapshotError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(SnapshotError::Read { path: path.to_owned(), source }),
    };
    match SnapshotFile::parse(&text) {
        Ok(file) => Ok(Some(file)),
        Err(_) if mode == SnapshotMode::Accept => Ok(None),
        Err(why) => Err(SnapshotError::Format { path: path.to_owned(), why }),
    }
}

fn write(path: &Path, file: &SnapshotFile) -> Result<(), SnapshotError> {
    replace_file(path, file.to_string().as_bytes())
        .map_err(|source| SnapshotError::Write { path: path.to_owned(), source })
}

fn remove(path: &Path) -> Result<(), SnapshotError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SnapshotError::Write { path: path.to_owned(), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns a unified diff with three lines of context and these names in its head. Of long lines it has the place where they
/// differ.
pub fn diff(old: &str, new: &str, (old_name, new_name): (&str, &str)) -> String {
    // Add the final newline that contents lack, so that the diff does not mention it.
    let diff = TextDiff::from_lines(format!("{old}\n"), format!("{new}\n"))
        .unified_diff()
        .context_radius(3)
        .header(old_name, new_name)
        .to_string();
    excerpts::shortened(&diff)
}

#[cfg(test)]
mod tests;
