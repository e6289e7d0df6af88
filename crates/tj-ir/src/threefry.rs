//! Random bits without a state: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as
//! easy as 1, 2, 3*, 2011).
//!
//! Two words of a key and two words of a counter give two words, by additions, rotations and exclusive or of 32 bits.
//! Every counter gives bits that no statistical test is known to tell from chance, whatever was asked before, so that
//! elements of a random tensor can be computed in any order, on any number of threads, and again.

use tj_tensor::{DType, Scalar};

use crate::prim::{BinOp, Machine};

const ROUNDS: usize = 20;

/// By how much the second word turns, round after round.
const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];

/// What makes three words of a key of two.
const PARITY: u32 = 0x1BD1_1BDA;

/// The bits of `counter` under `key`, both of one integer type, which counts as 64 bits: the lower half is the first
/// word.
pub(crate) fn threefry<M: Machine>(m: &mut M, key: M::V, counter: M::V) -> M::V {
    let dtype = m.dtype(key);
    let (key, counter) = (words(m, key), words(m, counter));
    let parity = m.constant(Scalar::U32(PARITY));
    let mixed = m.binary(BinOp::Xor, key[0], key[1]);
    let keys = [key[0], key[1], m.binary(BinOp::Xor, mixed, parity)];
    let mut x = m.binary(BinOp::Add, counter[0], keys[0]);
    let mut y = m.binary(BinOp::Add, counter[1], keys[1]);
    for round in 0..ROUNDS {
        x = m.binary(BinOp::Add, x, y);
        y = rotate(m, y, ROTATIONS[round % ROTATIONS.len()]);
        y = m.binary(BinOp::Xor, y, x);
        if round % 4 == 3 {
            let injection = round / 4 + 1;
            x = m.binary(BinOp::Add, x, keys[injection % 3]);
            y = m.binary(BinOp::Add, y, keys[(injection + 1) % 3]);
            let number = m.constant(Scalar::U32(injection as u32));
            y = m.binary(BinOp::Add, y, number);
        }
    }
    let (low, high) = (m.cast(x, DType::U64), m.cast(y, DType::U64));
    let half = m.constant(Scalar::U64(32));
    let high = m.binary(BinOp::Shl, high, half);
    let bits = m.binary(BinOp::Or, low, high);
    if dtype == DType::U64 { bits } else { m.cast(bits, dtype) }
}

/// The lower and the upper half.
fn words<M: Machine>(m: &mut M, value: M::V) -> [M::V; 2] {
    let whole = if m.dtype(value) == DType::U64 { value } else { m.cast(value, DType::U64) };
    let half = m.constant(Scalar::U64(32));
    let high = m.binary(BinOp::Shr, whole, half);
    [whole, high].map(|word| m.cast(word, DType::U32))
}

fn rotate<M: Machine>(m: &mut M, word: M::V, by: u32) -> M::V {
    let (left, right) = (m.constant(Scalar::U32(by)), m.constant(Scalar::U32(32 - by)));
    let (high, low) = (m.binary(BinOp::Shl, word, left), m.binary(BinOp::Shr, word, right));
    m.binary(BinOp::Or, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::Evaluator;

    /// Key, counter and result, from the test vectors of the Random123 library.
    #[test]
    fn known_answers() {
        let cases: [([u32; 2], [u32; 2], [u32; 2]); 3] = [
            ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
            ([u32::MAX; 2], [u32::MAX; 2], [0x1cb9_96fc, 0xbb00_2be7]),
            ([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3], [0xc492_3a9c, 0x483d_f7a0]),
        ];
        let word = |[low, high]: [u32; 2]| Scalar::U64(u64::from(high) << 32 | u64::from(low));
        for (key, counter, want) in cases {
            assert_eq!(threefry(&mut Evaluator, word(key), word(counter)), word(want));
        }
        assert_eq!(
            threefry(&mut Evaluator, Scalar::I64(-1), Scalar::I64(-1)),
            Scalar::I64(0xbb00_2be7_1cb9_96fc_u64 as i64)
        );
    }
}
