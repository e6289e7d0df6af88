//! Index expressions as code.
//!
//! What depends on sizes alone becomes a run-time argument, evaluated once at bind; what depends on loops is
//! emitted, outer loops first, so that the builder hoists each partial sum as far out as it can go.

use tj_ir::Dim;
use tj_ir::dim::{Factor, Summand};
use tj_ir::expr::Source;

use super::{Ctx, Local};
use crate::ir::{BinOp, Buf, Value};

/// Row-major strides of a shape.
pub(super) fn strides(shape: &[Dim]) -> Vec<Dim> {
    let mut strides = vec![Dim::from(1); shape.len()];
    for d in (0..shape.len().saturating_sub(1)).rev() {
        strides[d] = &strides[d + 1] * &shape[d + 1];
    }
    strides
}

/// Element index of a position in row-major order.
pub(super) fn linear(at: &[Dim], shape: &[Dim]) -> Dim {
    at.iter().zip(strides(shape)).fold(Dim::from(0), |sum, (i, stride)| sum + i * &stride)
}

/// Whether quotients or remainders of loop indices occur, whose range may be wider in a proof than in truth.
fn has_opaque_index(dim: &Dim) -> bool {
    let opaque = |factor: &Factor<'_>| !matches!(factor, Factor::Symbol(_)) && has_index(&Dim::from(*factor));
    let summands = dim.summands().unwrap_or_default();
    summands.iter().flat_map(|summand| &summand.factors).any(|(factor, _)| opaque(factor))
}

fn has_index(dim: &Dim) -> bool {
    dim.symbols().any(|symbol| symbol.as_index().is_some())
}

impl Ctx<'_> {
    /// A size that depends on no loop.
    pub(super) fn size(&mut self, dim: &Dim) -> Value {
        self.b.size(dim)
    }

    /// Any index expression at the current loops.
    pub(super) fn dim(&mut self, dim: &Dim) -> Value {
        if !has_index(dim) {
            return self.size(dim);
        }
        let mut fixed = Dim::from(0);
        let mut moving: Vec<Value> = Vec::new();
        let summands =
            dim.summands().expect("index expressions that overflow are refused when they are built");
        for Summand { coeff, factors } in summands {
            let mut scale = Dim::from(coeff);
            let mut loops: Vec<Value> = Vec::new();
            for &(factor, power) in &factors {
                let whole = Dim::from(factor);
                if has_index(&whole) {
                    let value = self.factor(factor);
                    loops.extend(std::iter::repeat_n(value, power as usize));
                } else {
                    scale = (0..power).fold(scale, |s, _| s * whole.clone());
                }
            }
            if loops.is_empty() {
                fixed += scale;
                continue;
            }
            let product = loops.into_iter().reduce(|a, b| self.b.binary(BinOp::Mul, a, b));
            let scale = self.size(&scale);
            moving.extend(product.map(|product| self.b.binary(BinOp::Mul, product, scale)));
        }
        // Outer terms first: their sum is invariant in the inner loops.
        moving.sort_by_key(|&value| self.b.depth(value));
        let start = self.size(&fixed);
        moving.into_iter().fold(start, |sum, term| self.b.binary(BinOp::Add, sum, term))
    }

    fn factor(&mut self, factor: Factor<'_>) -> Value {
        let (op, a, b) = match factor {
            Factor::Symbol(symbol) => {
                let number = symbol.as_index().expect("only loop indices are emitted here");
                return *self.index.get(&number).expect("an expression uses indices of open loops only");
            }
            Factor::FloorDiv(a, b) => (BinOp::FloorDiv, a, b),
            Factor::Modulo(a, b) => (BinOp::Mod, a, b),
            Factor::Min(a, b) => (BinOp::Min, a, b),
            Factor::Max(a, b) => (BinOp::Max, a, b),
        };
        // The nesting of opaque operations is bounded by `Dim`.
        let (a, b) = (self.dim(a), self.dim(b));
        self.b.binary(op, a, b)
    }

    /// Where an element of a source of this kernel is.
    pub(super) fn locate(&mut self, source: Source, at: &[Dim]) -> (Buf, Value) {
        let shape = self.plan.shape_of(source).clone();
        let local = match source {
            Source::Def(q) => self.locals.get(&tj_plan::QueryId(q)).copied(),
            Source::Input(_) => None,
        };
        match local {
            Some(Local::Row(buffer)) => (buffer, self.address(&at[self.outer..], &shape[self.outer..])),
            Some(Local::Panel { buffer, first }) => {
                let row = self.dim(&at[at.len() - 2]);
                let row = self.b.binary(BinOp::Sub, row, first);
                let width = self.size(&shape[shape.len() - 1]);
                let start = self.b.binary(BinOp::Mul, row, width);
                let column = self.dim(&at[at.len() - 1]);
                (buffer, self.b.binary(BinOp::Add, start, column))
            }
            Some(Local::Value(_)) | None => {
                let buffer = self.source(source);
                (buffer, self.address(at, &shape))
            }
        }
    }

    /// A position in row-major order. Index maps stay inside their shapes, as plans promise; where no proof of that is
    /// found because quotients and remainders are composed, clamps that change nothing state it.
    fn address(&mut self, at: &[Dim], shape: &[Dim]) -> Value {
        let mut direct = at.to_vec();
        let mut clamped: Vec<(Value, Dim)> = Vec::new();
        let opaque: Vec<usize> = (0..at.len()).filter(|&d| has_opaque_index(&at[d])).collect();
        // The place as a whole may resist where the axes do not: a guard that says of an axis that it has one element is
        // no part of the proof. Then the ends of an index are all that is left, and have to fit by themselves.
        let is_proved = opaque.is_empty() || self.is_inside(&linear(at, shape), &shape.iter().product());
        for (d, stride) in strides(shape).into_iter().enumerate() {
            let stays = |ctx: &Self| match is_proved {
                true => ctx.is_inside(&at[d], &shape[d]),
                false => ctx.ends_are_inside(&at[d], &shape[d]),
            };
            if !opaque.contains(&d) || stays(self) {
                continue;
            }
            direct[d] = Dim::ZERO;
            let value = self.dim(&at[d]);
            let (zero, last) = (self.b.int(0), self.size(&(&shape[d] - 1)));
            let low = self.b.binary(BinOp::Min, value, last);
            clamped.push((self.b.binary(BinOp::Max, low, zero), stride));
        }
        let start = self.dim(&linear(&direct, shape));
        clamped.into_iter().fold(start, |sum, (value, stride)| {
            let stride = self.size(&stride);
            let skipped = self.b.binary(BinOp::Mul, value, stride);
            self.b.binary(BinOp::Add, sum, skipped)
        })
    }

    /// Whether a read may be carried out before loops that its indices do not run over. Such a loop may be empty, and
    /// then nobody has promised that the read is inside of its source: the element of an axis that may have none, which
    /// a concatenation reads at a clamped position, is read only where there is one.
    pub(super) fn may_leave_loops(&self, source: Source, at: &[Dim]) -> bool {
        at.iter().zip(self.plan.shape_of(source)).all(|(at, extent)| self.is_always_inside(at, extent))
    }

    /// Whether an index map is inside of an axis by itself, whatever loops are empty: an index that stands alone has been bound
    /// by its loop.
    pub(super) fn is_always_inside(&self, at: &Dim, extent: &Dim) -> bool {
        let is_plain = at.as_symbol().is_some_and(|symbol| symbol.as_index().is_some());
        is_plain || self.is_inside(at, extent)
    }

    /// Whether the least and the greatest value that an index can be seen to have are inside.
    fn ends_are_inside(&self, at: &Dim, extent: &Dim) -> bool {
        at.bounds_in(&self.ranges).is_some_and(|(low, high)| {
            low.known_ge_zero() == Some(true) && high.known_lt(extent) == Some(true)
        })
    }

    fn is_inside(&self, at: &Dim, extent: &Dim) -> bool {
        at.known_ge_zero_in(&self.ranges) == Some(true)
            && (extent - 1 - at).known_ge_zero_in(&self.ranges) == Some(true)
    }
}
