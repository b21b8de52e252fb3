//! The names and files of a simulated disk, and the faults of operations.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use super::{Faults, Flaw, pages::Pages};
use crate::sled::test_rng::TestRng;

const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EMFILE: i32 = 24;
const ENOSPC: i32 = 28;

/// The file or folder of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Debug)]
pub(super) struct State {
    rng: TestRng,
    faults: Faults,
    pub(super) flaw: Option<Flaw>,
    pub(super) segment_limit: u64,
    /// The free space in bytes, and as the file system reports it.
    pub(super) room: usize,
    pub(super) free: u64,
    /// Whether the machine has stopped, so that all operations fail.
    pub(super) has_stopped: bool,
    /// The numbers of changes and of reads since the faults were set.
    changes: u64,
    reads: u64,
    /// The names that programs see, the names that are left after a power loss, and the names that are not written yet.
    cached: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    dirty: BTreeSet<PathBuf>,
    files: Vec<Pages>,
}

/// The course of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Done,
    /// The machine stops during the change.
    Stops,
    NoRoom,
}

/// The outcome of a sync. Data that a sync failed to write count as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncOutcome {
    Done,
    Failed(i32),
    Stopped,
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: TestRng(seed),
            faults: Faults::default(),
            flaw: None,
            segment_limit: 64 << 20,
            room: usize::MAX,
            free: 1 << 40,
            has_stopped: false,
            changes: 0,
            reads: 0,
            cached: BTreeMap::new(),
            durable: BTreeMap::new(),
            dirty: BTreeSet::new(),
            files: Vec::new(),
        }
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.changes = 0;
        self.reads = 0;
    }

    /// Begins a change, and returns its course. The system may write a page.
    fn change(&mut self) -> io::Result<Course> {
        self.check()?;
        self.changes += 1;
        let file = self.rng.below(4 * self.files.len().max(1));
        if let Some(pages) = self.files.get_mut(file) {
            pages.write_back(&mut self.rng);
        }
        if self.faults.stops_at == Some(self.changes) {
            self.has_stopped = true;
            return Ok(Course::Stops);
        }
        Ok(if self.is_chosen(self.faults.full) { Course::NoRoom } else { Course::Done })
    }

    /// Makes a change that is atomic.
    fn change_atomically(&mut self, change: impl FnOnce(&mut Self)) -> io::Result<()> {
        match self.change()? {
            Course::Done => change(self),
            Course::Stops => {
                if self.rng.below(2) == 0 {
                    change(self);
                }
                return Err(error(EIO));
            }
            Course::NoRoom => return Err(error(ENOSPC)),
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        if self.has_stopped { Err(error(EIO)) } else { Ok(()) }
    }

    /// Checks whether the process may open one more file.
    fn open_one(&mut self) -> io::Result<()> {
        self.check()?;
        if self.is_chosen(self.faults.files) { Err(error(EMFILE)) } else { Ok(()) }
    }

    fn is_chosen(&mut self, percent: usize) -> bool {
        percent > 0 && self.rng.below(100) < percent
    }

    fn set_name(&mut self, path: &Path, node: Option<Node>) {
        match node {
            Some(node) => drop(self.cached.insert(path.into(), node)),
            None => drop(self.cached.remove(path)),
        }
        self.dirty.insert(path.into());
    }

    pub(super) fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        if self.cached.contains_key(path) {
            return self.check();
        }
        self.change_atomically(|state| state.set_name(path, Some(Node::Folder)))
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        self.open_one()?;
        match self.cached.get(path) {
            Some(Node::File(number)) => {
                let number = *number;
                self.change_atomically(|state| state.files[number].set_length(0))?;
                Ok(number)
            }
            Some(Node::Folder) | None => {
                let number = self.files.len();
                self.change_atomically(|state| {
                    state.files.push(Pages::default());
                    state.set_name(path, Some(Node::File(number)));
                })?;
                Ok(number)
            }
        }
    }

    pub(super) fn open(&mut self, path: &Path) -> io::Result<usize> {
        self.open_one()?;
        match self.cached.get(path) {
            Some(Node::File(number)) => Ok(*number),
            Some(Node::Folder) | None => Err(error(ENOENT)),
        }
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.check()?;
        if !matches!(self.cached.get(path), Some(Node::File(_))) {
            return Err(error(ENOENT));
        }
        self.change_atomically(|state| state.set_name(path, None))
    }

    pub(super) fn names(&mut self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.open_one()?;
        if self.cached.get(folder) != Some(&Node::Folder) {
            return Err(error(ENOENT));
        }
        let inside = self.cached.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.into())).collect())
    }

    pub(super) fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.open_one()?;
        if self.flaw == Some(Flaw::NoFolderSync) {
            return self.check();
        }
        // Names that a failed sync did not write are written by the next sync, since they are in the file system's journal.
        let outcome = self.begin_sync()?;
        let inside = |path: &&PathBuf| path.parent() == Some(folder);
        let inside: Vec<PathBuf> = self.dirty.iter().filter(inside).cloned().collect();
        for path in inside {
            if outcome == SyncOutcome::Done || self.rng.below(2) == 0 {
                self.write_name(&path);
                self.dirty.remove(&path);
            }
        }
        self.end_sync(outcome, |state| state.sync_folder(folder))
    }

    fn write_name(&mut self, path: &Path) {
        match self.cached.get(path) {
            Some(node) => drop(self.durable.insert(path.into(), *node)),
            None => drop(self.durable.remove(path)),
        }
    }

    pub(super) fn length(&mut self, number: usize) -> io::Result<u64> {
        self.check()?;
        Ok(self.files[number].cached.len() as u64)
    }

    pub(super) fn set_length(&mut self, number: usize, length: usize) -> io::Result<()> {
        let is_shorter = length < self.files[number].cached.len();
        if is_shorter && self.flaw == Some(Flaw::NoTruncation) {
            return self.check();
        }
        self.change_atomically(|state| state.files[number].set_length(length))
    }

    pub(super) fn sync(&mut self, number: usize) -> io::Result<()> {
        if self.flaw == Some(Flaw::NoFileSync) {
            return self.check();
        }
        let outcome = self.begin_sync()?;
        match outcome {
            SyncOutcome::Done => self.files[number].sync(),
            SyncOutcome::Failed(_) => self.files[number].lose_unsynced(&mut self.rng),
            SyncOutcome::Stopped => {}
        }
        self.end_sync(outcome, |state| state.sync(number))
    }

    fn begin_sync(&mut self) -> io::Result<SyncOutcome> {
        Ok(match self.change()? {
            Course::Stops => SyncOutcome::Stopped,
            Course::NoRoom => SyncOutcome::Failed(ENOSPC),
            Course::Done if self.is_chosen(self.faults.sync) => SyncOutcome::Failed(EIO),
            Course::Done => SyncOutcome::Done,
        })
    }

    /// Returns the result of a sync, or repeats the sync if this is the simulated mistake.
    fn end_sync(
        &mut self,
        outcome: SyncOutcome,
        again: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        match outcome {
            SyncOutcome::Done => Ok(()),
            SyncOutcome::Failed(_) if self.flaw == Some(Flaw::SyncRetried) => again(self),
            SyncOutcome::Failed(code) => Err(error(code)),
            SyncOutcome::Stopped => Err(error(EIO)),
        }
    }

    pub(super) fn read(
        &mut self,
        number: usize,
        to: &mut [u8],
        offset: usize,
    ) -> io::Result<usize> {
        self.check()?;
        self.reads += 1;
        if self.faults.read > 0 && self.reads.is_multiple_of(self.faults.read) {
            return Err(error(EIO));
        }
        let unreadable = self.faults.unreadable.as_deref();
        let is_it = |path| self.cached.get(path) == Some(&Node::File(number));
        if unreadable.is_some_and(is_it) {
            return Err(error(EIO));
        }
        let from = &self.files[number].cached;
        let from = from.get(offset..).unwrap_or_default();
        let length = from.len().min(to.len());
        let length = match self.faults.is_short && length > 1 {
            true => 1 + self.rng.below(length),
            false => length,
        };
        to[..length].copy_from_slice(&from[..length]);
        Ok(length)
    }

    pub(super) fn write(
        &mut self,
        number: usize,
        bytes: &[u8],
        offset: usize,
    ) -> io::Result<usize> {
        let course = match self.change()? {
            Course::Done if bytes.len() > self.room => {
                self.room = 0;
                Course::NoRoom
            }
            course => course,
        };
        let length = match course {
            Course::Done if self.faults.is_short => 1 + self.rng.below(bytes.len()),
            Course::Done => bytes.len(),
            Course::Stops | Course::NoRoom => self.rng.below(bytes.len().min(self.room) + 1),
        };
        self.files[number].write(&bytes[..length], offset);
        self.room -= length;
        match course {
            Course::Done => Ok(length),
            Course::Stops => Err(error(EIO)),
            Course::NoRoom => Err(error(ENOSPC)),
        }
    }

    pub(super) fn lose_power(&mut self) {
        for path in std::mem::take(&mut self.dirty) {
            if self.rng.below(2) == 0 {
                self.write_name(&path);
            }
        }
        // The files in a lost folder are lost too.
        let exists = |path: &Path, node: &Node| {
            let above = path.parent();
            *node == Node::Folder || above.is_some_and(|above| self.durable.contains_key(above))
        };
        self.cached.clone_from(&self.durable);
        self.cached.retain(|path, node| exists(path, node));
        self.durable.clone_from(&self.cached);
        for pages in &mut self.files {
            pages.lose_power(&mut self.rng);
        }
        self.has_stopped = false;
    }

    pub(super) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let file = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(number) => Some((path.clone(), self.files[*number].cached.clone())),
            Node::Folder => None,
        };
        self.cached.iter().filter_map(file).collect()
    }

    pub(super) fn flip(&mut self, path: &Path, at: usize, bit: usize) {
        if let Some(Node::File(number)) = self.cached.get(path) {
            self.files[*number].flip(at, bit);
        }
    }
}

fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}
