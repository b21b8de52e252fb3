//! A disk in memory that fails, fills up and loses power, for tests of durability.
//!
//! Each file and folder has two versions: the cached one, which programs see, and the durable one, which is left after a
//! power loss. A sync makes them equal. Before the sync, any part of the written data may become durable, in any order.
//! After a failed sync, the cached data count as written, as in Linux.
//!
//! All faults are determined by a seed and the sequence of operations.
//!
//! - `pages`: the bytes of a file
//! - `state`: names and files, and the faults of operations
//! - `gate`: blocks operations of the disk

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod gate;
mod pages;
mod state;

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use bridge_program::system::{DiskSpace, FileExt};

pub use self::gate::Gate;
use self::state::State;
use super::disk::{Disk, DiskFile, LogFile};

/// A simulated disk. Its clones share one state.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    reads: Gate,
    space: Gate,
}

/// A file on the disk.
#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    number: usize,
}

/// The faults of the next operations.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The number of the change, from 1, during which the machine stops.
    pub stops_at: Option<u64>,
    /// The percentage of changes that fail because the disk is full.
    pub full: usize,
    /// The percentage of syncs that fail.
    pub sync: usize,
    /// The percentage of openings that fail because the process has too many open files.
    pub files: usize,
    /// The number of reads of which the last one fails, as if a cable was loose; 0 if none fails.
    pub read: u64,
    /// The file of which every read fails, as if a part of the disk was gone for a while.
    pub unreadable: Option<PathBuf>,
    /// Whether reads and writes process only some of the bytes.
    pub is_short: bool,
}

/// A mistake of a program. The disk simulates it, to prove that the tests detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The contents of files are not synced.
    NoFileSync,
    /// New names in folders are not synced.
    NoFolderSync,
    /// A failed sync is repeated, and its success is believed.
    SyncRetried,
    /// The torn end of a file is not cut off.
    NoTruncation,
}

impl SimulatedDisk {
    /// Creates an empty disk.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(seed)),
            reads: Gate::default(),
            space: Gate::default(),
        }))
    }

    /// Sets the simulated mistake.
    pub fn with_flaw(self, flaw: Option<Flaw>) -> Self {
        self.lock().flaw = flaw;
        self
    }

    /// Sets the size from which a segment of the log is full.
    pub fn with_segments(self, bytes: u64) -> Self {
        self.lock().segment_limit = bytes;
        self
    }

    /// Sets the free space in bytes.
    pub fn set_room(&self, bytes: usize) {
        self.lock().room = bytes;
    }

    /// Sets the free space that the file system reports.
    pub fn set_free(&self, bytes: u64) {
        self.lock().free = bytes;
    }

    /// Sets the faults of the next operations.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().set_faults(faults);
    }

    /// Simulates that the process is killed and started again: it sees all data that it wrote, durable or not.
    pub fn kill(&self) {
        self.lock().has_stopped = false;
    }

    /// Returns whether the machine has stopped. All operations fail until it is started again.
    pub fn has_stopped(&self) -> bool {
        self.lock().has_stopped
    }

    /// Simulates a power loss and a new start.
    pub fn lose_power(&self) {
        self.lock().lose_power();
    }

    /// Returns the files with their cached bytes, sorted by path.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.lock().files()
    }

    /// Flips one bit of a file durably.
    pub fn flip(&self, path: &Path, at: usize, bit: usize) {
        self.lock().flip(path, at, bit);
    }

    /// Returns the gate that all reads pass.
    pub fn reads(&self) -> &Gate {
        &self.0.reads
    }

    /// Returns the gate that all queries of the free space pass.
    pub fn space_gate(&self) -> &Gate {
        &self.0.space
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }
}

impl Disk for SimulatedDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.lock().make_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.lock().sync_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.lock().names(folder)
    }

    fn create(&self, path: &Path) -> io::Result<LogFile> {
        let number = self.lock().create(path)?;
        let disk = self.clone();
        Ok(Arc::new(SimulatedFile { disk, number }))
    }

    fn open(&self, path: &Path) -> io::Result<LogFile> {
        let number = self.lock().open(path)?;
        let disk = self.clone();
        Ok(Arc::new(SimulatedFile { disk, number }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.lock().remove(path)
    }

    fn space(&self, _folder: &Path) -> Option<DiskSpace> {
        self.0.space.pass();
        Some(DiskSpace { total: 1 << 40, free: self.lock().free })
    }

    fn segment_limit(&self) -> u64 {
        self.lock().segment_limit
    }
}

impl DiskFile for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        self.disk.lock().length(self.number)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.disk.lock().set_length(self.number, length as usize)
    }

    fn sync_bytes(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.lock().sync(self.number)
    }
}

impl FileExt for SimulatedFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.0.reads.pass();
        self.disk.lock().read(self.number, bytes, offset as usize)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.lock().write(self.number, bytes, offset as usize)
    }
}
