//! Sets of levels, as rows of bits: what a fact of the search rests on.

/// One set of levels a row; all rows have the same room.
#[derive(Debug)]
pub(super) struct Reasons {
    words: usize,
    bits: Vec<u64>,
}

impl Reasons {
    /// Empty sets of levels below `levels`.
    pub(super) fn new(rows: usize, levels: usize) -> Self {
        let words = levels.div_ceil(64);
        Self { words, bits: vec![0; rows * words] }
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }

    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..][..self.words]
    }

    /// Adds the levels of row `from` to row `to`.
    pub(super) fn join(&mut self, to: usize, from: usize) {
        let words = self.words;
        for word in 0..words {
            self.bits[to * words + word] |= self.bits[from * words + word];
        }
    }
}

/// Adds the levels of `from` to `to`.
pub(super) fn join(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to |= from;
    }
}

pub(super) fn insert(set: &mut [u64], level: usize) {
    set[level / 64] |= 1 << (level % 64);
}

/// Whether `level` was in the set.
pub(super) fn remove(set: &mut [u64], level: usize) -> bool {
    let mask = 1 << (level % 64);
    let had = set[level / 64] & mask != 0;
    set[level / 64] &= !mask;
    had
}

pub(super) fn highest(set: &[u64]) -> Option<usize> {
    let word = set.iter().rposition(|&word| word != 0)?;
    Some(word * 64 + set[word].ilog2() as usize)
}
