//! A random number generator whose sequence never changes: a seed creates the same world on every machine and in
//! every version.

use bridge_program::SplitMix64;

/// Generates the random parts of a world. The generator of a crate could change with its version, and then recorded
/// episodes could not be repeated.
#[derive(Clone, Debug)]
pub(super) struct SeededRng(SplitMix64);

impl SeededRng {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Returns a number below `bound`, which must not be 0. The bias is below one in 2^32 for the small bounds
    /// used here.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let high = (self.0.next_u64() >> 32) * u64::from(bound);
        u32::try_from(high >> 32).unwrap_or_default()
    }

    /// Returns a number from `first` to `last`, both included.
    pub(super) fn within(&mut self, first: u32, last: u32) -> u32 {
        first + self.below(last - first + 1)
    }

    /// Returns one element of a list, which must not be empty.
    pub(super) fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let bound = u32::try_from(list.len()).unwrap_or(u32::MAX);
        &list[self.below(bound) as usize]
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
            list.swap(last, self.below(bound) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_kept_and_filled() {
        let mut rng = SeededRng::new(7);
        let drawn: std::collections::BTreeSet<u32> = (0..200).map(|_| rng.within(3, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut list: Vec<u32> = (0..20).collect();
        SeededRng::new(3).shuffle(&mut list);
        assert_ne!(list, (0..20).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..20).collect::<Vec<_>>());
    }
}
