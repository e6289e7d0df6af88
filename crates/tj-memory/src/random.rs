//! Random numbers that are the same everywhere, so that equal inputs give equal plans.

/// Xorshift with a multiplication: short and fast, and good enough to choose between alternatives.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring sequences, and zero would give only zeros.
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    /// A number below `bound`, which must not be zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((u128::from(high) * bound as u128) >> 32) as usize
    }
}
