//! A disk in memory that fails, fills up and loses power, for tests of what must survive that.
//!
//! Of every file and folder there are two: what programs see, and what is left when the power fails now. A sync makes
//! them the same. Until then any part of what was written may reach the disk, in any order, or nothing of it. After a
//! sync that failed the system takes for written what it has not written, as Linux does.
//!
//! What happens follows from a seed, and from what is done in what order.
//!
//! - `pages`: the bytes of a file
//! - `state`: names and files, and what befalls those who change them
//! - `gate`: where a test holds up whoever uses the disk

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod gate;
mod pages;
mod state;

use std::{
    ffi::OsString,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

pub use self::gate::Gate;
use self::state::State;
use super::disk::{Disk, DiskFile, LogFile, Space};

/// The disk; its clones are the same one.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    reads: Gate,
    space: Gate,
}

/// A file on it.
#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    number: usize,
}

/// What befalls those who use it, from now on.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The machine stops in the middle of the change with this number, counted from 1.
    pub stops_at: Option<u64>,
    /// So many of a hundred changes find no room.
    pub full: usize,
    /// So many of a hundred syncs fail.
    pub sync: usize,
    /// Reads and writes come back short.
    pub is_short: bool,
}

/// A mistake that a program could make with its disk. The disk makes the mistake itself, to show that the tests find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The contents of files are not synced.
    NoFileSync,
    /// New names in folders are not synced.
    NoFolderSync,
    /// After a failed sync, a second sync is taken for a success.
    SyncRetried,
    /// The torn end of a file is not cut off.
    NoTruncation,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(seed)),
            reads: Gate::default(),
            space: Gate::default(),
        }))
    }

    /// The same with a mistake.
    pub fn with_flaw(self, flaw: Option<Flaw>) -> Self {
        self.lock().flaw = flaw;
        self
    }

    /// A segment of the log on it has so many bytes.
    pub fn with_segments(self, bytes: u64) -> Self {
        self.lock().segment_limit = bytes;
        self
    }

    /// From now on so many bytes fit.
    pub fn set_room(&self, bytes: usize) {
        self.lock().room = bytes;
    }

    /// Sets the faults that happen from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().set_faults(faults);
    }

    /// The process was killed, and is started again: what it wrote is seen, durable or not.
    pub fn kill(&self) {
        self.lock().has_stopped = false;
    }

    /// Whether the machine has stopped: every operation fails until it is started again.
    pub fn has_stopped(&self) -> bool {
        self.lock().has_stopped
    }

    /// The power fails, and comes back.
    pub fn lose_power(&self) {
        self.lock().lose_power();
    }

    /// The files on it with their bytes, by name.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.lock().files()
    }

    /// Changes one bit of a file, durably.
    pub fn flip(&self, path: &Path, at: usize, bit: usize) {
        self.lock().flip(path, at, bit);
    }

    /// Where reads can be held up.
    pub fn reads(&self) -> &Gate {
        &self.0.reads
    }

    /// Where those can be held up who ask how much room there is.
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

    fn space(&self, _folder: &Path) -> Option<Space> {
        self.0.space.pass();
        let all = 1 << 40;
        Some(Space { all, free: all })
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
