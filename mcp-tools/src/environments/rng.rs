//! A random number generator whose sequence never changes: a seed creates the same world on every machine and in
//! every version.

/// A SplitMix64 generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). The
/// generator of a crate could change with its version, and then recorded episodes could not be repeated.
#[derive(Clone, Debug)]
pub(super) struct SeededRng(u64);

impl SeededRng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must not be 0. The bias is below one in 2^32 for the small bounds
    /// used here.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let high = (self.next() >> 32) * u64::from(bound);
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

    /// Shuffles a list.
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
    fn the_numbers_are_those_of_the_paper() {
        let mut rng = SeededRng::new(1_234_567);
        let first = [rng.next(), rng.next(), rng.next()];
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
            ]
        );
    }

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
