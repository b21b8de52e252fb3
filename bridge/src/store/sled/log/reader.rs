//! Reading single records by their places.

use std::{
    collections::BTreeMap,
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Place, frame, frame::Frame, segment};
use crate::store::StoreError;

/// At most so many segments are open at a time.
const OPEN: usize = 128;

/// The log as its readers see it.
#[derive(Debug)]
pub(in crate::store::sled) struct Log {
    folder: PathBuf,
    /// All segments by their first positions, those that are open with their files.
    segments: Mutex<BTreeMap<u64, Option<Arc<File>>>>,
}

impl Log {
    /// With the segments that begin at these positions.
    pub(super) fn new(folder: PathBuf, bases: impl IntoIterator<Item = u64>) -> Self {
        let segments = bases.into_iter().map(|base| (base, None)).collect();
        let segments = Mutex::new(segments);
        Self { folder, segments }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells of a segment and its open file.
    pub(super) fn add(&self, base: u64, file: &Arc<File>) {
        self.lock().insert(base, Some(Arc::clone(file)));
    }

    /// The record at a place, if it is still what it was.
    pub(in crate::store::sled) fn read(&self, place: Place) -> Result<Vec<u8>, StoreError> {
        let (base, file) = self.segment(place.at)?;
        let offset = place.at - base;
        let mut bytes = vec![0; frame::HEADER + place.length as usize];
        let failed = |error| StoreError::io(format!("reading {}", self.name(base, offset)), error);
        file.read_exact_at(&mut bytes, offset).map_err(failed)?;
        match Frame::read(&bytes) {
            Some(frame) if frame.len() == bytes.len() => {
                bytes.drain(..frame::HEADER);
                Ok(bytes)
            }
            Some(_) | None => Err(StoreError::corrupt(
                self.name(base, offset),
                "expected a whole record with its checksum",
            )),
        }
    }

    /// A place, for error messages.
    pub(super) fn name(&self, base: u64, offset: u64) -> String {
        let path = segment::path(&self.folder, base);
        format!("{} at byte {offset}", path.display())
    }

    fn segment(&self, at: u64) -> Result<(u64, Arc<File>), StoreError> {
        let mut segments = self.lock();
        let missing = || StoreError::corrupt("the log", &format!("position {at} is in no segment"));
        let (&base, file) = segments.range(..=at).next_back().ok_or_else(missing)?;
        if let Some(file) = file {
            return Ok((base, Arc::clone(file)));
        }
        let opened = segment::open(&self.folder, base)?.ok_or_else(missing)?;
        let opened = Arc::new(opened);
        let mut open = segments.values_mut().filter(|file| file.is_some());
        if open.by_ref().take(OPEN).count() == OPEN
            && let Some(oldest) = segments.values_mut().find(|file| file.is_some())
        {
            *oldest = None;
        }
        segments.insert(base, Some(Arc::clone(&opened)));
        Ok((base, opened))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Option<Arc<File>>>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
