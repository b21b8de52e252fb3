//! The bytes of a file: those that programs see, and those that are on the disk.

use std::{collections::BTreeSet, ops::Range};

use crate::sled::lots::Lots;

/// What the system writes at once, and what a disk writes wholly or not at all.
const PAGE: usize = 4096;
const SECTOR: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Pages {
    /// What programs see.
    pub(super) seen: Vec<u8>,
    /// What is left when the power fails.
    kept: Vec<u8>,
    /// The pages that are to be written.
    dirty: BTreeSet<usize>,
    /// If the length is to be written: the least that there was meanwhile.
    shortest: Option<usize>,
}

impl Pages {
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if end > self.seen.len() {
            self.set_length(end);
        }
        self.seen[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / PAGE..end.div_ceil(PAGE));
    }

    pub(super) fn set_length(&mut self, length: usize) {
        let shortest = self.shortest.unwrap_or(self.seen.len());
        self.shortest = Some(shortest.min(length));
        resize(&mut self.seen, length);
        self.dirty.retain(|page| page * PAGE < length);
        // The rest of the last page becomes zeros.
        if !length.is_multiple_of(PAGE) {
            self.dirty.insert(length / PAGE);
        }
    }

    pub(super) fn sync(&mut self) {
        let is_resized = self.settle_length();
        for page in std::mem::take(&mut self.dirty) {
            self.keep(page * PAGE..(page + 1) * PAGE);
        }
        if is_resized {
            resize(&mut self.kept, self.seen.len());
        }
    }

    /// The system writes a page that nobody has asked for.
    pub(super) fn write_back(&mut self, lots: &mut Lots) {
        let place = lots.below(self.dirty.len().max(1));
        if let Some(page) = self.dirty.iter().nth(place).copied() {
            // What is cut off goes first, and not what is written now.
            if let Some(shortest) = self.shortest.replace(self.seen.len()) {
                self.kept.truncate(shortest);
            } else {
                self.shortest = None;
            }
            self.dirty.remove(&page);
            self.keep(page * PAGE..(page + 1) * PAGE);
        }
    }

    /// Some of what is to be written reaches the disk, the rest never does.
    pub(super) fn lose(&mut self, lots: &mut Lots) {
        let is_resized = self.shortest.is_some() && lots.below(2) == 0 && self.settle_length();
        let unit = [PAGE, SECTOR][lots.below(2)];
        // Of four units so many are kept.
        let most = lots.below(5);
        for page in std::mem::take(&mut self.dirty) {
            for start in (page * PAGE..(page + 1) * PAGE).step_by(unit) {
                if lots.below(4) < most {
                    self.keep(start..start + unit);
                }
            }
        }
        if is_resized && lots.below(2) == 0 {
            resize(&mut self.kept, self.seen.len());
        }
        self.shortest = None;
    }

    pub(super) fn lose_power(&mut self, lots: &mut Lots) {
        self.lose(lots);
        self.seen.clone_from(&self.kept);
    }

    pub(super) fn flip(&mut self, at: usize, bit: usize) {
        self.seen[at] ^= 1 << bit;
        // A store that does not sync may have nothing there.
        if let Some(byte) = self.kept.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }

    fn settle_length(&mut self) -> bool {
        let shortest = self.shortest.take();
        self.kept.truncate(shortest.unwrap_or(self.kept.len()));
        shortest.is_some()
    }

    fn keep(&mut self, Range { start, end }: Range<usize>) {
        let end = end.min(self.seen.len());
        if start >= end {
            return;
        }
        if self.kept.len() < end {
            resize(&mut self.kept, end);
        }
        self.kept[start..end].copy_from_slice(&self.seen[start..end]);
    }
}

/// Cuts bytes off or adds zeros, many at a time: `Vec::resize` adds one by one in a program that is not optimised.
fn resize(bytes: &mut Vec<u8>, length: usize) {
    bytes.truncate(length);
    bytes.extend_from_slice(&vec![0; length - bytes.len()]);
}
