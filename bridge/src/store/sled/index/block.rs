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

use std::ops::Range;

use super::Value;
use crate::store::{StoreError, sled::keys::Key};

/// A block that has so many bytes takes no further entry.
const FULL: usize = if cfg!(test) { 2 << 10 } else { 16 << 10 };
const NO_VALUE: u32 = u32::MAX;
const HEADER: usize = 8;
/// The bytes of the sum.
const SUM: usize = 4;

/// A block in the making.
#[derive(Debug, Default)]
pub(super) struct Block {
    last: Key,
    bytes: Vec<u8>,
}

impl Block {
    /// Adds the next entry.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
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

    /// Its bytes; an empty one begins.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(self).bytes;
        let sum = crc32fast::hash(&bytes).to_be_bytes();
        [&sum[..], &bytes].concat()
    }
}

/// What stands behind a sum, if it is what was written.
pub(super) fn summed(bytes: &[u8]) -> Result<&[u8], StoreError> {
    match bytes.split_first_chunk::<SUM>() {
        Some((sum, rest)) if crc32fast::hash(rest).to_be_bytes() == *sum => Ok(rest),
        Some(_) | None => Err(StoreError::corrupt(
            "a block of the index",
            "its sum is wrong",
        )),
    }
}

/// Goes through the entries of a block.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: sled::IVec,
    at: usize,
    key: Key,
    broken: Option<StoreError>,
}

impl Entries {
    ///
    /// Errors: `Corrupt` if it is not what was written.
    pub(super) fn new(bytes: sled::IVec) -> Result<Self, StoreError> {
        summed(&bytes)?;
        Ok(Self {
            bytes,
            at: SUM,
            ..Self::default()
        })
    }

    /// Has nothing but an error.
    pub(super) fn broken(error: StoreError) -> Self {
        Self {
            broken: Some(error),
            ..Self::default()
        }
    }

    /// What the block says of a key.
    pub(super) fn find(mut self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        while let Some(place) = self.advance()? {
            if self.key.as_slice() >= key {
                let is_found = self.key == key;
                return Ok(is_found.then(|| self.value(place)));
            }
        }
        Ok(None)
    }

    fn value(&self, place: Option<Range<usize>>) -> Value {
        place.map(|place| self.bytes[place].to_vec())
    }

    /// Goes to the next entry: its key is in `key`, and where its value is, if it has one, is told.
    fn advance(&mut self) -> Result<Option<Option<Range<usize>>>, StoreError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
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
        Ok(Some(is_there.then_some(start..self.at)))
    }
}

impl Iterator for Entries {
    type Item = Result<(Key, Value), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.broken.take() {
            return Some(Err(error));
        }
        match self.advance() {
            Ok(place) => place.map(|place| Ok((self.key.clone(), self.value(place)))),
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_order_and_by_key() {
        let mut block = Block::default();
        for (key, value) in [
            ("a", Some("1")),
            ("ab", None),
            ("abc", Some("")),
            ("b", Some("2")),
        ] {
            block.push(key.as_bytes(), value.map(str::as_bytes));
        }
        let bytes = sled::IVec::from(block.take());
        let all: Vec<_> = Entries::new(bytes.clone())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let keys: Vec<&[u8]> = all.iter().map(|(key, _)| key.as_slice()).collect();
        assert_eq!(keys, [&b"a"[..], b"ab", b"abc", b"b"]);
        let find = |key: &[u8]| Entries::new(bytes.clone()).unwrap().find(key).unwrap();
        assert_eq!(find(b"a"), Some(Some(b"1".to_vec())));
        assert_eq!(find(b"ab"), Some(None));
        assert_eq!(find(b"aa"), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            assert!(Entries::new(changed.into()).is_err(), "at {at}");
        }
    }
}
