//! Says of most keys that a part does not have them, without a look at it.
//!
//! A Bloom filter: sixteen bits for each key, of which each key sets eight; one of two thousand others finds all of
//! its bits set by accident. Filters on the disk depend on the hash.

/// Bits for each key.
const BITS: usize = 16;
/// How many of them each key sets.
const PROBES: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter(Vec<u8>);

impl Filter {
    /// For so many keys.
    pub(super) fn new(keys: usize) -> Self {
        Self(vec![0; (keys * BITS).div_ceil(8).max(8)])
    }

    /// As it was written.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        (!bytes.is_empty()).then_some(Self(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn add(&mut self, key: &[u8]) {
        for bit in bits(hash(key), self.0.len()) {
            self.0[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether a key of this hash may have been added.
    pub(super) fn may_have(&self, hash: u64) -> bool {
        bits(hash, self.0.len()).all(|bit| self.0[bit / 8] & 1 << (bit % 8) != 0)
    }
}

/// The bits of a key: its hash and that turned round give as many hashes as there have to be, and the upper
/// half of a product makes a bit's number of each.
fn bits(hash: u64, bytes: usize) -> impl Iterator<Item = usize> {
    let step = hash.rotate_left(32) | 1;
    let probe = move |number: u64| hash.wrapping_add(step.wrapping_mul(number));
    (0..PROBES)
        .map(move |number| ((u128::from(probe(number)) * (bytes as u128 * 8)) >> 64) as usize)
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
    // A multiplication by an odd number carries every bit up, the rotation down.
    words.fold(key.len() as u64, |hash, word| {
        let spread = (hash ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32);
        spread.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ spread >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let key = |number: u32| format!("key of a task {number}").into_bytes();
        let mut filter = Filter::new(1000);
        for number in 0..1000 {
            filter.add(&key(number));
        }
        let may_have = |number: &u32| filter.may_have(hash(&key(*number)));
        assert!((0..1000).all(|number| may_have(&number)));
        assert!((1000..11_000).filter(may_have).count() < 300);
        let read = Filter::from_bytes(filter.as_bytes().to_vec());
        assert_eq!(read.as_ref(), Some(&filter));
    }
}
