//! Runs a program on the stretches where none of its arguments changes.

use smallvec::SmallVec;
use tj_tensor::{Stretches, Tensor};

use super::StretchCode;
use super::run::{Runner, missing};
use crate::budget;
use crate::error::Error;

impl Runner<'_> {
    /// The value of each stretch, as a tensor that keeps runs, or folded along them.
    pub fn stretches(&mut self, code: &StretchCode, from: &[Tensor], number: usize) -> Result<Tensor, Error> {
        let cut = from.iter().zip(&code.is_cut).filter(|(_, is_cut)| **is_cut);
        let cut: SmallVec<[&Tensor; 4]> = cut.map(|(tensor, _)| tensor).collect();
        let fibers = cut.first().map_or(0, |tensor| fibers(tensor));
        budget::check(self.terms.max, bytes(&cut, fibers))?;
        let stretches = if code.fold.is_some() { Stretches::with_gaps(&cut)? } else { Stretches::of(&cut)? };
        let mut inputs = Vec::with_capacity(from.len() + 1);
        let mut next = 0;
        for (tensor, is_cut) in from.iter().zip(&code.is_cut) {
            if *is_cut {
                inputs.push(stretches.values(next)?);
                next += 1;
            } else {
                inputs.push(self.dense(tensor)?);
            }
        }
        if code.fold.is_some() {
            inputs.push(stretches.lens());
        }
        let count = [stretches.count() as i64];
        let results = self.call(&code.executable, &inputs, &count, number, &mut |_| Ok(()))?;
        let values = results.into_iter().next().ok_or_else(missing)?;
        match &code.fold {
            None => Ok(stretches.tensor(&values, code.fill)?),
            Some((fold, start)) => {
                let folded = self.nest(fold, &[stretches.lists(&values, *start)?], number + 1)?;
                folded.into_iter().next().ok_or_else(missing)
            }
        }
    }
}

/// How many fibers of runs a tensor has: one for each position above its last level.
fn fibers(tensor: &Tensor) -> usize {
    let Some(stored) = tensor.stored() else { return 0 };
    stored.levels().len().checked_sub(2).map_or(1, |above| stored.positions_below(above))
}

/// What stretches, their values and the result take, at most.
fn bytes(cut: &[&Tensor], fibers: usize) -> u64 {
    // Bounds of stretches and of runs of the result, at eight bytes; places and values; the value of the result.
    let each = 2 * 8 + 3 * 8 + cut.iter().map(|tensor| 8 + tensor.dtype().size()).sum::<usize>() + 16;
    let stretches = Stretches::bound(cut).saturating_add(fibers) as u64;
    stretches.saturating_mul(each as u64).saturating_add((fibers as u64).saturating_mul(16))
}
