//! Replaces files as a whole.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The number of attempts to get the turn at a file that another program is replacing.
const TRIES: u32 = 1_000;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The turn to replace a file: until this is written or dropped, no other program replaces the file, so that what is read from it
/// meanwhile is still true when it is written.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    /// The file that takes the place, locked, at its path; `None` for a device, pipe or link, which is written in place.
    partial: Option<(File, PathBuf)>,
}

impl Replacement {
    /// Waits for the turn to replace a file, and creates its folder.
    ///
    /// # Errors
    /// If its folder cannot be written to, or another program keeps the turn for ten seconds.
    pub fn begin(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let path = path.to_owned();
        if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file()) {
            return Ok(Self { path, partial: None });
        }
        let partial = partial(&path);
        let file = claimed(&partial)?;
        Ok(Self { path, partial: Some((file, partial)) })
    }

    /// Replaces the file atomically: if the disk is full, the old file stays.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(mut self, content: &[u8]) -> io::Result<()> {
        let Some((file, partial)) = &mut self.partial else {
            return fs::write(&self.path, content);
        };
        file.set_len(0)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(partial, &self.path)?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((_, partial)) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

/// Replaces a file atomically, and creates its folder: if the disk is full, the old file stays. A device, pipe or link
/// is written in place.
///
/// # Errors
/// If the file cannot be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    Replacement::begin(path)?.write(content)
}

/// Checks that [`replace_file`] could write a file now, and creates its folder. The file stays as it is.
///
/// # Errors
/// If the file is a folder, or its folder cannot be written to.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // A device or pipe: opening it might wait for its reader.
        Ok(there) if !there.is_file() => Ok(()),
        _ => Replacement::begin(path).map(drop),
    }
}

/// Returns the path of a file that is not written to its end. A file named `.new` beside a snapshot would be one that waits for its review.
fn partial(path: &Path) -> PathBuf {
    let mut partial = path.to_owned().into_os_string();
    partial.push(".partial");
    partial.into()
}

/// Opens a file that no other program has open in this way. One that a killed program left is used again.
fn claimed(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        let file = File::options().create(true).write(true).truncate(false).open(path)?;
        match file.try_lock() {
            // Its former owner may have moved or removed it meanwhile.
            Ok(()) if is_at(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            // Some file systems of a network have no locks: there the last program replaces what others wrote.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program is replacing it"))
}

/// Returns whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |one: fs::Metadata| (one.dev(), one.ino());
    matches!((file.metadata().map(id), fs::metadata(path).map(id)), (Ok(open), Ok(there)) if open == there)
}

/// Returns whether an open file is the one at a path: Windows gives its name to no other file while it is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_change_a_file_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept/lines");
        // A killed program left this.
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(partial(&path), "left behind").unwrap();
        let add = |number: usize| {
            let turn = Replacement::begin(&path).unwrap();
            let before = fs::read_to_string(&path).unwrap_or_default();
            turn.write(format!("{before}{number}\n").as_bytes()).unwrap();
            check_replaceable(&path).unwrap();
        };
        thread::scope(|scope| {
            for worker in 0..4 {
                scope.spawn(move || (0..25).for_each(|number| add(worker * 25 + number)));
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let mut numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, Vec::from_iter(0..100));
        assert!(!partial(&path).exists());
    }
}
