//! A generator of pseudorandom numbers for tests.

/// Generates pseudorandom numbers from a seed.
#[derive(Clone, Debug)]
pub(super) struct TestRng(pub(in crate::sled) u64);

impl TestRng {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
}
