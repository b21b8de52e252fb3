//! Entries as bytes: sorted, each key without what it has in common with the one before it.
//!
//! A block begins with the CRC-32 of all that follows, four bytes.
//!
//! | bytes | of each entry |
//! |-|-|
//! | 2 | how many bytes its key has in common with the last one |
//! | 2 | how many bytes of the key follow |
//! | 4 | how many bytes of the value follow; all bits are set if there is none |
//! | | the rest of the key, the value |

use std::{cmp::Ordering, ops::Range};

use super::{Value, merge::Source};
use crate::store::{StoreError, sled::keys::Key};

/// A block that has so many bytes takes no further entry.
const FULL: usize = 4 << 10;
const NO_VALUE: u32 = u32::MAX;
const HEADER: usize = 8;
/// The bytes of the sum.
const SUM: usize = 4;

/// A block in the making.
#[derive(Debug, Default)]
pub(super) struct Block {
    first: Key,
    last: Key,
    bytes: Vec<u8>,
}

impl Block {
    /// Adds the next entry.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.bytes.is_empty() {
            self.first = key.to_vec();
        }
        let pairs = self.last.iter().zip(key);
        let common = pairs.take_while(|(one, other)| one == other).count();
        let common = common.min(u16::MAX.into());
        let length = value.map_or(NO_VALUE, |value| value.len() as u32);
        self.bytes.extend((common as u16).to_be_bytes());
        self.bytes
            .extend(((key.len() - common) as u16).to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(&key[common..]);
        self.bytes.extend(value.unwrap_or_default());
        self.last.truncate(common);
        self.last.extend(&key[common..]);
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Its first key and its bytes; an empty one begins.
    pub(super) fn take(&mut self) -> (Key, Vec<u8>) {
        let Self { first, bytes, .. } = std::mem::take(self);
        let sum = crc32fast::hash(&bytes).to_be_bytes();
        (first, [&sum[..], &bytes].concat())
    }
}

/// Goes through the entries of a block.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: sled::IVec,
    at: usize,
    key: Key,
    /// Where the entry's value is, if it has one.
    value: Option<Range<usize>>,
}

impl Entries {
    ///
    /// Errors: `Corrupt` if it is not what was written.
    pub(super) fn new(bytes: sled::IVec) -> Result<Self, StoreError> {
        let mut entries = Self::default();
        entries.begin(bytes)?;
        Ok(entries)
    }

    /// Goes on with another block.
    ///
    /// Errors: those of [`Entries::new`].
    pub(super) fn begin(&mut self, bytes: sled::IVec) -> Result<(), StoreError> {
        let sum = bytes.split_first_chunk::<SUM>();
        if sum.is_none_or(|(sum, rest)| crc32fast::hash(rest).to_be_bytes() != *sum) {
            return Err(StoreError::corrupt(
                "a block of the index",
                "its sum is wrong",
            ));
        }
        self.bytes = bytes;
        self.at = SUM;
        self.key.clear();
        Ok(())
    }

    /// What the block says of a key.
    pub(super) fn find(mut self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        while self.advance()? {
            match self.key.as_slice().cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(self.value().map(<[u8]>::to_vec))),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }
}

impl Source for Entries {
    fn advance(&mut self) -> Result<bool, StoreError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(false);
        }
        let torn = || StoreError::corrupt("a block of the index", "it ends within an entry");
        let (header, rest) = rest.split_first_chunk::<HEADER>().ok_or_else(torn)?;
        let [a, b, c, d, length @ ..] = *header;
        let common = usize::from(u16::from_be_bytes([a, b]));
        let more = usize::from(u16::from_be_bytes([c, d]));
        let (length, is_there) = match u32::from_be_bytes(length) {
            NO_VALUE => (0, false),
            length => (length as usize, true),
        };
        if rest.len() < more + length {
            return Err(torn());
        }
        self.key.truncate(common);
        self.key.extend_from_slice(&rest[..more]);
        let start = self.at + HEADER + more;
        self.at = start + length;
        self.value = is_there.then_some(start..self.at);
        Ok(true)
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn value(&self) -> Option<&[u8]> {
        let place = self.value.clone();
        place.map(|place| &self.bytes[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<(Key, Value)> {
        let entries = [
            ("", Some("x")),
            ("ab", None),
            ("abc", Some("")),
            ("b", Some("y")),
        ];
        let entry = |(key, value): (&str, Option<&str>)| (key.into(), value.map(Into::into));
        entries.map(entry).to_vec()
    }

    #[test]
    fn entries_come_back_and_are_found() {
        let mut block = Block::default();
        for (key, value) in entries() {
            block.push(&key, value.as_deref());
        }
        let (first, bytes) = block.take();
        assert!(first.is_empty() && block.is_empty());
        let read = || Entries::new(bytes.as_slice().into()).unwrap();
        let mut all = read();
        for (key, value) in entries() {
            assert!(all.advance().unwrap());
            assert_eq!((all.key(), all.value()), (&*key, value.as_deref()));
        }
        assert!(!all.advance().unwrap());
        for (key, value) in entries() {
            assert_eq!(read().find(&key).unwrap(), Some(value));
        }
        assert_eq!(read().find(b"aa").unwrap(), None);
        assert_eq!(read().find(b"z").unwrap(), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Entries::new(changed.into()).is_err(), "changed at {at}");
        }
    }
}
