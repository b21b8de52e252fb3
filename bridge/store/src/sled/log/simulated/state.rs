//! Names and files, and what befalls those who change them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use super::{Faults, Flaw, pages::Pages};
use crate::sled::lots::Lots;

const NO_ENTRY: i32 = 2;
const FAILED: i32 = 5;
const NO_ROOM: i32 = 28;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Debug)]
pub(super) struct State {
    lots: Lots,
    faults: Faults,
    pub(super) flaw: Option<Flaw>,
    pub(super) segment_limit: u64,
    /// So many bytes fit.
    pub(super) room: usize,
    /// Nothing can be done until it is started again.
    pub(super) has_stopped: bool,
    /// How many there were since the faults were set.
    changes: u64,
    /// The names that programs see, those that are left when the power fails, and those that are to be written.
    seen: BTreeMap<PathBuf, Node>,
    kept: BTreeMap<PathBuf, Node>,
    dirty: BTreeSet<PathBuf>,
    files: Vec<Pages>,
}

/// How a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Whole,
    /// The machine stops meanwhile.
    Stops,
    NoRoom,
}

/// How a sync goes. What one has failed to write counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Done,
    Failed(i32),
    Stopped,
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            lots: Lots(seed),
            faults: Faults::default(),
            flaw: None,
            segment_limit: 64 << 20,
            room: usize::MAX,
            has_stopped: false,
            changes: 0,
            seen: BTreeMap::new(),
            kept: BTreeMap::new(),
            dirty: BTreeSet::new(),
            files: Vec::new(),
        }
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.changes = 0;
    }

    /// Begins a change; the system writes something now and then.
    fn change(&mut self) -> io::Result<Course> {
        self.check()?;
        self.changes += 1;
        let file = self.lots.below(4 * self.files.len().max(1));
        if let Some(pages) = self.files.get_mut(file) {
            pages.write_back(&mut self.lots);
        }
        if self.faults.stops_at == Some(self.changes) {
            self.has_stopped = true;
            return Ok(Course::Stops);
        }
        Ok(match self.is_hit(self.faults.full) {
            true => Course::NoRoom,
            false => Course::Whole,
        })
    }

    /// Makes a change that happens wholly or not at all.
    fn change_whole(&mut self, change: impl FnOnce(&mut Self)) -> io::Result<()> {
        match self.change()? {
            Course::Whole => change(self),
            Course::Stops => {
                if self.lots.below(2) == 0 {
                    change(self);
                }
                return Err(error(FAILED));
            }
            Course::NoRoom => return Err(error(NO_ROOM)),
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        match self.has_stopped {
            true => Err(error(FAILED)),
            false => Ok(()),
        }
    }

    fn is_hit(&mut self, percent: usize) -> bool {
        percent > 0 && self.lots.below(100) < percent
    }

    fn set_name(&mut self, path: &Path, node: Option<Node>) {
        match node {
            Some(node) => drop(self.seen.insert(path.into(), node)),
            None => drop(self.seen.remove(path)),
        }
        self.dirty.insert(path.into());
    }

    pub(super) fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        if self.seen.contains_key(path) {
            return self.check();
        }
        self.change_whole(|state| state.set_name(path, Some(Node::Folder)))
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        match self.seen.get(path) {
            Some(Node::File(number)) => {
                let number = *number;
                self.change_whole(|state| state.files[number].set_length(0))?;
                Ok(number)
            }
            Some(Node::Folder) | None => {
                let number = self.files.len();
                self.change_whole(|state| {
                    state.files.push(Pages::default());
                    state.set_name(path, Some(Node::File(number)));
                })?;
                Ok(number)
            }
        }
    }

    pub(super) fn open(&mut self, path: &Path) -> io::Result<usize> {
        self.check()?;
        match self.seen.get(path) {
            Some(Node::File(number)) => Ok(*number),
            Some(Node::Folder) | None => Err(error(NO_ENTRY)),
        }
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.open(path)?;
        self.change_whole(|state| state.set_name(path, None))
    }

    pub(super) fn names(&mut self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.check()?;
        if self.seen.get(folder) != Some(&Node::Folder) {
            return Err(error(NO_ENTRY));
        }
        let inside = self
            .seen
            .keys()
            .filter(|path| path.parent() == Some(folder));
        Ok(inside
            .filter_map(|path| Some(path.file_name()?.into()))
            .collect())
    }

    pub(super) fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        if self.flaw == Some(Flaw::NoFolderSync) {
            return self.check();
        }
        // What a folder's sync has not written is written by the next: it is in the file system's journal.
        let outcome = self.begin_sync()?;
        let inside = |path: &&PathBuf| path.parent() == Some(folder);
        let inside: Vec<PathBuf> = self.dirty.iter().filter(inside).cloned().collect();
        for path in inside {
            if outcome == Sync::Done || self.lots.below(2) == 0 {
                self.keep_name(&path);
                self.dirty.remove(&path);
            }
        }
        self.end_sync(outcome, |state| state.sync_folder(folder))
    }

    fn keep_name(&mut self, path: &Path) {
        match self.seen.get(path) {
            Some(node) => drop(self.kept.insert(path.into(), *node)),
            None => drop(self.kept.remove(path)),
        }
    }

    pub(super) fn length(&mut self, number: usize) -> io::Result<u64> {
        self.check()?;
        Ok(self.files[number].seen.len() as u64)
    }

    pub(super) fn set_length(&mut self, number: usize, length: usize) -> io::Result<()> {
        let is_shorter = length < self.files[number].seen.len();
        if is_shorter && self.flaw == Some(Flaw::NoTruncation) {
            return self.check();
        }
        self.change_whole(|state| state.files[number].set_length(length))
    }

    pub(super) fn sync(&mut self, number: usize) -> io::Result<()> {
        if self.flaw == Some(Flaw::NoFileSync) {
            return self.check();
        }
        let outcome = self.begin_sync()?;
        match outcome {
            Sync::Done => self.files[number].sync(),
            Sync::Failed(_) => self.files[number].lose(&mut self.lots),
            Sync::Stopped => {}
        }
        self.end_sync(outcome, |state| state.sync(number))
    }

    fn begin_sync(&mut self) -> io::Result<Sync> {
        Ok(match self.change()? {
            Course::Stops => Sync::Stopped,
            Course::NoRoom => Sync::Failed(NO_ROOM),
            Course::Whole if self.is_hit(self.faults.sync) => Sync::Failed(FAILED),
            Course::Whole => Sync::Done,
        })
    }

    /// What a program is told of a sync, or asks for once more.
    fn end_sync(
        &mut self,
        outcome: Sync,
        again: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        match outcome {
            Sync::Done => Ok(()),
            Sync::Failed(_) if self.flaw == Some(Flaw::SyncRetried) => again(self),
            Sync::Failed(code) => Err(error(code)),
            Sync::Stopped => Err(error(FAILED)),
        }
    }

    pub(super) fn read(
        &mut self,
        number: usize,
        to: &mut [u8],
        offset: usize,
    ) -> io::Result<usize> {
        self.check()?;
        let from = &self.files[number].seen;
        let from = from.get(offset..).unwrap_or_default();
        let length = from.len().min(to.len());
        let length = match self.faults.is_short && length > 1 {
            true => 1 + self.lots.below(length),
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
            Course::Whole if bytes.len() > self.room => {
                self.room = 0;
                Course::NoRoom
            }
            course => course,
        };
        let length = match course {
            Course::Whole if self.faults.is_short => 1 + self.lots.below(bytes.len()),
            Course::Whole => bytes.len(),
            Course::Stops | Course::NoRoom => self.lots.below(bytes.len().min(self.room) + 1),
        };
        self.files[number].write(&bytes[..length], offset);
        self.room -= length;
        match course {
            Course::Whole => Ok(length),
            Course::Stops => Err(error(FAILED)),
            Course::NoRoom => Err(error(NO_ROOM)),
        }
    }

    pub(super) fn lose_power(&mut self) {
        for path in std::mem::take(&mut self.dirty) {
            if self.lots.below(2) == 0 {
                self.keep_name(&path);
            }
        }
        // What is in a folder goes with it.
        let is_there = |path: &Path, node: &Node| {
            let above = path.parent();
            *node == Node::Folder || above.is_some_and(|above| self.kept.contains_key(above))
        };
        self.seen.clone_from(&self.kept);
        self.seen.retain(|path, node| is_there(path, node));
        self.kept.clone_from(&self.seen);
        for pages in &mut self.files {
            pages.lose_power(&mut self.lots);
        }
        self.has_stopped = false;
    }

    pub(super) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let file = |(path, node): (&PathBuf, &Node)| match node {
            Node::File(number) => Some((path.clone(), self.files[*number].seen.clone())),
            Node::Folder => None,
        };
        self.seen.iter().filter_map(file).collect()
    }

    pub(super) fn flip(&mut self, path: &Path, at: usize, bit: usize) {
        if let Some(Node::File(number)) = self.seen.get(path) {
            self.files[*number].flip(at, bit);
        }
    }
}

fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}
