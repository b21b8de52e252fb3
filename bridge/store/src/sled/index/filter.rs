//! Finds out for most keys that a part does not have them, without reading the part.
//!
//! It is a Bloom filter in blocks of a cache line: sixteen bits for each key, of which each key sets seven, all in one
//! block. One in a thousand other keys finds all of its bits set by accident. Filters on the disk depend on the hash.

/// The bytes for each key, and those of a block.
const BYTES: usize = 2;
const BLOCK: usize = 64;
/// The number of bits that each key sets; nine bits of a number select one.
const PROBES: u32 = 7;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter(Vec<u8>);

impl Filter {
    /// Creates the filter of these keys.
    pub(super) fn of(keys: &[&[u8]]) -> Self {
        let blocks = (keys.len() * BYTES).div_ceil(BLOCK).max(1);
        let mut bytes = vec![0; blocks * BLOCK];
        for key in keys {
            let hash = hash(key);
            let block = block(hash, &bytes);
            let block = &mut bytes[block..block + BLOCK];
            bits(hash).for_each(|(byte, bit)| block[byte] |= bit);
        }
        Self(bytes)
    }

    /// Creates the filter from its written form.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let is_one = !bytes.is_empty() && bytes.len().is_multiple_of(BLOCK);
        is_one.then_some(Self(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether a key of this hash may be one of them.
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let block = block(hash, &self.0);
        let block = &self.0[block..block + BLOCK];
        bits(hash).all(|(byte, bit)| block[byte] & bit != 0)
    }
}

/// Where the block of a key begins: the upper half of a product makes its number of the hash.
fn block(hash: u64, bytes: &[u8]) -> usize {
    let blocks = (bytes.len() / BLOCK) as u128;
    ((u128::from(hash) * blocks) >> 64) as usize * BLOCK
}

/// The bits of a key in its block: the number of the byte, and the bit in it.
fn bits(hash: u64) -> impl Iterator<Item = (usize, u8)> {
    let bits = spread(hash);
    (0..PROBES).map(move |probe| {
        let bit = (bits >> (9 * probe)) as usize % (8 * BLOCK);
        (bit / 8, 1 << (bit % 8))
    })
}

/// The hash of a key.
pub(super) fn hash(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words
        .iter()
        .chain([&last])
        .map(|word| u64::from_le_bytes(*word));
    words.fold(key.len() as u64, |hash, word| spread(hash ^ word))
}

/// A multiplication by an odd number carries every bit up, the rotation down.
fn spread(number: u64) -> u64 {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    spread.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ spread >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let key = |number: u32| format!("key of a task {number}").into_bytes();
        let keys: Vec<_> = (0..1000).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let filter = Filter::of(&keys);
        let may_have = |number: &u32| filter.may_have(hash(&key(*number)));
        assert!((0..1000).all(|number| may_have(&number)));
        let found = (1000..101_000).filter(may_have).count();
        assert!(found < 300, "{found}");
        let read = Filter::from_bytes(filter.as_bytes().to_vec());
        assert_eq!(read, Some(filter));
    }
}
