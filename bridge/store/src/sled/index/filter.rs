//! A Bloom filter of the keys of a part. It rules out most parts of a lookup without reading them.
//!
//! The filter consists of blocks of a cache line. It has sixteen bits for each key, and each key sets seven bits in one
//! block. The rate of false positives is one in a thousand. Filters on the disk depend on the hash function.

/// The bytes of the filter for each key, and the bytes of a block.
const BYTES: usize = 2;
const BLOCK: usize = 64;
/// The number of bits that each key sets. Nine bits of the hash select one of them.
const PROBES: u32 = 7;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter(Vec<u8>);

impl Filter {
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

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let is_one = !bytes.is_empty() && bytes.len().is_multiple_of(BLOCK);
        is_one.then_some(Self(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether the filter may contain a key with this hash.
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let block = block(hash, &self.0);
        let block = &self.0[block..block + BLOCK];
        bits(hash).all(|(byte, bit)| block[byte] & bit != 0)
    }
}

/// Returns the start of a key's block. The number of the block is the upper half of the product of the hash and the number
/// of blocks.
fn block(hash: u64, bytes: &[u8]) -> usize {
    let blocks = (bytes.len() / BLOCK) as u128;
    ((u128::from(hash) * blocks) >> 64) as usize * BLOCK
}

/// Returns the bits of a key in its block: the number of the byte, and the bit in it.
fn bits(hash: u64) -> impl Iterator<Item = (usize, u8)> {
    let bits = mix(hash);
    (0..PROBES).map(move |probe| {
        let bit = (bits >> (9 * probe)) as usize % (8 * BLOCK);
        (bit / 8, 1 << (bit % 8))
    })
}

pub(super) fn hash(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(key.len() as u64, |hash, word| mix(hash ^ word))
}

/// Mixes the bits of a number: a multiplication by an odd number spreads bits upwards, the rotation downwards.
fn mix(number: u64) -> u64 {
    let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    product.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ product >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_keys_are_found_and_few_others() {
        let key = |number: u32| format!("key of a task {number}").into_bytes();
        let keys: Vec<_> = (0..1000).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let filter = Filter::of(&keys);
        let may_contain = |number: &u32| filter.may_contain(hash(&key(*number)));
        assert!((0..1000).all(|number| may_contain(&number)));
        let found = (1000..101_000).filter(may_contain).count();
        assert!(found < 300, "{found}");
        let read = Filter::from_bytes(filter.as_bytes().to_vec());
        assert_eq!(read, Some(filter));
    }
}
