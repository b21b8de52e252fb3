//! The cached and the durable bytes of a file.

use std::{collections::BTreeSet, ops::Range};

use crate::sled::test_rng::TestRng;

/// The unit in which the system writes, and the unit that a disk writes atomically.
const PAGE: usize = 4096;
const SECTOR: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The bytes that programs see.
    pub(super) cached: Vec<u8>,
    /// The bytes that are left after a power loss.
    durable: Vec<u8>,
    /// The numbers of the pages that are not written yet.
    dirty: BTreeSet<usize>,
    /// The smallest length since the last write of the length; `None` if the length is written.
    shortest: Option<usize>,
}

impl Pages {
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if end > self.cached.len() {
            self.set_length(end);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / PAGE..end.div_ceil(PAGE));
    }

    pub(super) fn set_length(&mut self, length: usize) {
        let shortest = self.shortest.unwrap_or(self.cached.len());
        self.shortest = Some(shortest.min(length));
        resize(&mut self.cached, length);
        self.dirty.retain(|page| page * PAGE < length);
        // The rest of the last page becomes zeros.
        if !length.is_multiple_of(PAGE) {
            self.dirty.insert(length / PAGE);
        }
    }

    pub(super) fn sync(&mut self) {
        let is_resized = self.write_length();
        for page in std::mem::take(&mut self.dirty) {
            self.write_durably(page * PAGE..(page + 1) * PAGE);
        }
        if is_resized {
            resize(&mut self.durable, self.cached.len());
        }
    }

    /// Writes a page without a sync, as the system does at any time.
    pub(super) fn write_back(&mut self, rng: &mut TestRng) {
        let place = rng.below(self.dirty.len().max(1));
        if let Some(page) = self.dirty.iter().nth(place).copied() {
            // A truncation is written before the page.
            if let Some(shortest) = self.shortest.replace(self.cached.len()) {
                self.durable.truncate(shortest);
            } else {
                self.shortest = None;
            }
            self.dirty.remove(&page);
            self.write_durably(page * PAGE..(page + 1) * PAGE);
        }
    }

    /// Writes some of the unwritten data, and marks the rest as written.
    pub(super) fn lose_unsynced(&mut self, rng: &mut TestRng) {
        let is_resized = self.shortest.is_some() && rng.below(2) == 0 && self.write_length();
        let unit = [PAGE, SECTOR][rng.below(2)];
        // On average, this many of four units are written.
        let written = rng.below(5);
        for page in std::mem::take(&mut self.dirty) {
            for start in (page * PAGE..(page + 1) * PAGE).step_by(unit) {
                if rng.below(4) < written {
                    self.write_durably(start..start + unit);
                }
            }
        }
        if is_resized && rng.below(2) == 0 {
            resize(&mut self.durable, self.cached.len());
        }
        self.shortest = None;
    }

    pub(super) fn lose_power(&mut self, rng: &mut TestRng) {
        self.lose_unsynced(rng);
        self.cached.clone_from(&self.durable);
    }

    pub(super) fn flip(&mut self, at: usize, bit: usize) {
        self.cached[at] ^= 1 << bit;
        // The durable file may be shorter.
        if let Some(byte) = self.durable.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn write_length(&mut self) -> bool {
        let shortest = self.shortest.take();
        self.durable.truncate(shortest.unwrap_or(self.durable.len()));
        shortest.is_some()
    }

    fn write_durably(&mut self, Range { start, end }: Range<usize>) {
        let end = end.min(self.cached.len());
        if start >= end {
            return;
        }
        if self.durable.len() < end {
            resize(&mut self.durable, end);
        }
        self.durable[start..end].copy_from_slice(&self.cached[start..end]);
    }
}

/// Truncates bytes or adds zeros. `Vec::resize` would add them one by one in an unoptimised program.
fn resize(bytes: &mut Vec<u8>, length: usize) {
    bytes.truncate(length);
    bytes.extend_from_slice(&vec![0; length - bytes.len()]);
}
