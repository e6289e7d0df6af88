//! A program from a seed.
//!
//! Steps are tried at random on what is there already; a step that carries an error, whose guards do not hold for the
//! sizes of the case, or that would make the interpreters slow, is dropped. So every program is well formed, most run,
//! and all operators, dtypes, ranks and awkward sizes come up.

use tensorjit::{DType, Dim, LazyTensor, Op, ReduceOp, Scalar};
use tj_ir::op::{OpInfo, TABLE};
use tj_ir::trace::trace;

use crate::check::Case;
use crate::eager::shape;
use crate::program::{Arg, End, InputDecl, Over, Part, Program, Size, Step, SymbolDecl};
use crate::rng::Rng;

/// Sizes at which something changes: nothing, one, primes, around the number of lanes.
const SMALL: [i64; 12] = [0, 1, 1, 2, 3, 5, 7, 13, 16, 31, 32, 33];

/// Around the rows of a panel and the terms of a contraction block.
const MEDIUM: [i64; 8] = [64, 127, 128, 129, 255, 256, 257, 300];

/// Around the elements of a reduction block.
const LARGE: [i64; 5] = [4095, 4096, 4097, 5000, 8193];

/// Most elements of one step, and most combinations of one reduction: interpreters are slow.
const MOST: usize = 10_000;

/// Dtypes of inputs.
const DTYPES: [DType; 10] = [
    DType::F32,
    DType::F32,
    DType::F32,
    DType::F64,
    DType::F64,
    DType::I32,
    DType::I32,
    DType::I64,
    DType::Bool,
    DType::Bool,
];

/// The case of a seed.
pub fn generate(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let large = rng.chance(15);
    let n_symbols = 1 + rng.below(3);
    let names = ["N", "M", "K"];
    let wide = [(0, 9000), (0, 1 << 62), (1, 10_000), (0, 100_000)];
    let any = [(0, 1 << 62), (0, 9000), (0, 4096), (1, 4096), (0, 300), (1, 64)];
    let decl = |(s, name): (usize, &&'static str)| {
        let bounds = if large && s == 0 { rng.pick(&wide) } else { rng.pick(&any) };
        SymbolDecl { name, bounds }
    };
    let symbols: Vec<SymbolDecl> = names[..n_symbols].iter().enumerate().map(decl).collect();
    let calls = 1 + rng.below(3);
    let values = (0..calls).map(|_| {
        let value = |s: usize, rng: &mut Rng| match (large, s) {
            (true, 0) => rng.pick(&LARGE),
            (true, _) => rng.range(1, 3),
            (false, _) if rng.chance(20) => rng.pick(&MEDIUM),
            (false, _) => rng.pick(&SMALL),
        };
        let clamped = |s: usize, rng: &mut Rng| {
            let (lo, hi) = symbols[s].bounds;
            value(s, rng).clamp(lo, hi)
        };
        (0..n_symbols).map(|s| clamped(s, &mut rng)).collect()
    });
    let values: Vec<Vec<i64>> = values.collect();
    let program = Program { symbols, ..Program::default() };
    let dims = program.dims("").expect("bounds are in order");
    let mut maker =
        Maker { style: rng.pick(&STYLES), rng, program, dims, values, built: Vec::new(), shapes: Vec::new() };
    for _ in 0..1 + maker.rng.below(3) {
        maker.new_input(None);
    }
    let wanted = maker.built.len() + 1 + maker.rng.below(20);
    for _ in 0..wanted * 6 {
        if maker.built.len() >= wanted {
            break;
        }
        if let Some(step) = maker.propose() {
            maker.accept(step);
        }
    }
    maker.choose_outputs();
    let Maker { program, values, mut rng, .. } = maker;
    Case { program: program.without_dead(), values, seed: rng.bits() }
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Binary,
    Unary,
    Cast,
    Where,
    Clip,
    Reduce,
    Mean,
    Matmul,
    Movement,
    SizeOf,
    Number,
}

use Kind::{Binary, Cast, Clip, Matmul, Mean, Movement, Number, Reduce, SizeOf, Unary, Where};

/// How often each kind comes up.
type Style = &'static [(Kind, usize)];

/// A bit of everything; products with what follows them; reductions of reductions; moves of moves.
const STYLES: [Style; 4] = [
    &[
        (Binary, 26),
        (Unary, 14),
        (Cast, 5),
        (Where, 5),
        (Clip, 3),
        (Reduce, 14),
        (Mean, 3),
        (Matmul, 9),
        (Movement, 19),
        (SizeOf, 1),
        (Number, 1),
    ],
    &[(Matmul, 40), (Binary, 25), (Unary, 10), (Reduce, 10), (Movement, 10), (Cast, 5)],
    &[(Reduce, 40), (Mean, 5), (Binary, 30), (Unary, 10), (Movement, 15)],
    &[(Movement, 60), (Binary, 20), (Reduce, 10), (Matmul, 10)],
];

struct Maker {
    style: Style,
    rng: Rng,
    program: Program,
    dims: Vec<Dim>,
    values: Vec<Vec<i64>>,
    built: Vec<LazyTensor>,
    /// Of each step, for each call.
    shapes: Vec<Vec<Vec<usize>>>,
}

impl Maker {
    /// A declared input, with `first` as its first axis if given.
    fn new_input(&mut self, first: Option<Size>) {
        for attempt in 0..20 {
            let rank = if attempt > 15 { 1 } else { self.rng.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4]) };
            let mut shape: Vec<Size> = first.into_iter().collect();
            while shape.len() < rank {
                shape.push(if self.rng.chance(75) {
                    Size::Symbol(self.rng.below(self.program.symbols.len()))
                } else {
                    Size::Const(self.rng.pick(&[1, 1, 2, 3, 4, 5, 33]))
                });
            }
            let dtype = self.rng.pick(&DTYPES);
            self.program.inputs.push(InputDecl { dtype, shape });
            if self.accept(Step::Input(self.program.inputs.len() - 1)) {
                return;
            }
            self.program.inputs.pop();
        }
    }

    /// Adds a step if it is well formed, runs, and is not too large.
    fn accept(&mut self, step: Step) -> bool {
        let Ok(tensor) = step.apply(&self.program.inputs, &self.dims, "", &self.built) else { return false };
        if tensor.check().is_err() || tensor.rank() > 5 {
            return false;
        }
        let mut shapes = Vec::new();
        for values in &self.values {
            let Ok(shape) = shape(&self.program, values, &tensor) else { return false };
            let count = shape.iter().try_fold(1_usize, |n, &e| n.checked_mul(e));
            if count.is_none_or(|n| n > MOST) {
                return false;
            }
            shapes.push(shape);
        }
        // One program in a hundred or so is left with a guard that does not hold.
        if !self.guards_hold(&tensor) && !self.rng.chance(1) {
            return false;
        }
        if let Step::Matmul(a, b) = step {
            let work = |call: usize| {
                let contracted = self.shapes[a][call].last().copied().unwrap_or(1);
                shapes[call].iter().product::<usize>() * contracted
            };
            if (0..shapes.len()).any(|call| work(call) > 4 * MOST) || self.shapes[b].is_empty() {
                return false;
            }
        }
        self.program.steps.push(step);
        self.built.push(tensor);
        self.shapes.push(shapes);
        true
    }

    fn guards_hold(&self, tensor: &LazyTensor) -> bool {
        let Ok(traced) = trace(&[], std::slice::from_ref(tensor)) else { return false };
        self.values.iter().all(|values| {
            let value = |s: &tensorjit::Symbol| {
                let name = s.to_string();
                self.program.symbols.iter().position(|decl| decl.name == name).map(|at| values[at])
            };
            traced.guards.iter().all(|guard| guard.condition.holds(&value) == Ok(true))
        })
    }

    /// A step, mostly a recent one.
    fn step(&mut self) -> usize {
        let n = self.built.len();
        if self.rng.chance(55) { n - 1 - self.rng.below(n.min(3)) } else { self.rng.below(n) }
    }

    /// A step that has some property, if one is found soon.
    fn step_with(&mut self, fits: impl Fn(&LazyTensor) -> bool) -> Option<usize> {
        for _ in 0..10 {
            let k = self.step();
            if fits(&self.built[k]) {
                return Some(k);
            }
        }
        None
    }

    fn axis(&mut self, rank: usize) -> i64 {
        let axis = self.rng.below(rank) as i64;
        if self.rng.chance(30) { axis - rank as i64 } else { axis }
    }

    fn propose(&mut self) -> Option<Step> {
        // What follows a product at once is what its panels are for.
        let after_product =
            matches!(self.program.steps.last(), Some(Step::Matmul(..))) && self.rng.chance(70);
        let kind = match after_product {
            true if self.rng.chance(60) => Binary,
            true => self.rng.pick(&[Unary, Reduce, Mean]),
            false => self.kind(),
        };
        let step = if after_product { self.built.len() - 1 } else { self.step() };
        Some(match kind {
            Binary => self.binary(step),
            Unary => {
                let ops: Vec<Op> = TABLE.iter().filter(|i| i.arity == 1).map(|i| i.op).collect();
                Step::Map(self.rng.pick(&ops), vec![Arg::Step(step)])
            }
            Cast => {
                let to = self.rng.pick(&[DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64]);
                Step::Map(Op::Cast(to), vec![Arg::Step(step)])
            }
            Where => {
                let condition = self.step_with(|t| t.dtype() == DType::Bool)?;
                Step::Map(Op::Where, vec![Arg::Step(condition), Arg::Step(step), self.second(step)])
            }
            Clip => Step::Clip(step, self.host(), self.host()),
            Reduce => {
                let named = self.rng.chance(70);
                let by = |info: &OpInfo| ReduceOp::of(info.op).filter(|op| matches!(op, ReduceOp::By(_)));
                let by: Vec<ReduceOp> = TABLE.iter().filter_map(by).collect();
                let op = if named { self.rng.pick(&ReduceOp::ALL) } else { self.rng.pick(&by) };
                Step::Reduce(op, step, self.over(step))
            }
            Mean => Step::Mean(step, self.over(step)),
            Matmul => self.matmul()?,
            Movement => self.movement(step)?,
            SizeOf => Step::SizeOf(self.rng.below(self.dims.len())),
            Number => Step::Number(self.number()),
        })
    }

    /// A kind of step, by the weights of this program's style.
    fn kind(&mut self) -> Kind {
        let total: usize = self.style.iter().map(|(_, weight)| weight).sum();
        let mut left = self.rng.below(total);
        for &(kind, weight) in self.style {
            if left < weight {
                return kind;
            }
            left -= weight;
        }
        Binary
    }

    fn binary(&mut self, first: usize) -> Step {
        let ops: Vec<Op> = TABLE.iter().filter(|i| i.arity == 2).map(|i| i.op).collect();
        let op = if self.rng.chance(40) {
            self.rng.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Div])
        } else {
            self.rng.pick(&ops)
        };
        let second = self.second(first);
        let mut args = vec![Arg::Step(first), second];
        if self.rng.chance(20) {
            args.reverse();
        }
        Step::Map(op, args)
    }

    /// What may stand beside a step: another, a new input along its last axis, or a host number.
    fn second(&mut self, first: usize) -> Arg {
        if self.rng.chance(25) {
            return self.host();
        }
        if self.rng.chance(10)
            && let Some(size) = self.plain_axis(first)
        {
            self.new_input(Some(size));
        }
        let first = self.built[first].shape().to_vec();
        let fits = |t: &LazyTensor| {
            let pairs = t.shape().iter().rev().zip(first.iter().rev());
            pairs.into_iter().all(|(a, b)| a == b || *a == Dim::from(1) || *b == Dim::from(1))
        };
        match self.step_with(fits) {
            Some(k) => Arg::Step(k),
            None => Arg::Step(self.step()),
        }
    }

    /// The last axis of a step, if its size is a number or a symbol.
    fn plain_axis(&mut self, k: usize) -> Option<Size> {
        let last = self.built[k].shape().last()?;
        if let Some(n) = last.is_const() {
            return Some(Size::Const(n));
        }
        self.dims.iter().position(|dim| dim == last).map(Size::Symbol)
    }

    fn host(&mut self) -> Arg {
        match self.rng.below(10) {
            0..4 => Arg::Int(self.rng.range(-3, 3)),
            4 => Arg::Int(self.rng.pick(&[100, -1000, i64::from(i32::MAX), i64::MIN])),
            5..9 => Arg::Float(self.rng.pick(&[0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-3, 3.25])),
            _ => Arg::Float(self.rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300])),
        }
    }

    fn number(&mut self) -> Scalar {
        let dtype = self.rng.pick(&DTYPES);
        let x = self.rng.pick(&[0.0, -0.0, 1.0, -1.0, 2.0, 7.5, -1e9, f64::NAN]);
        Scalar::F64(x).cast(dtype)
    }

    fn over(&mut self, k: usize) -> Over {
        let rank = self.built[k].rank();
        let keepdims = self.rng.chance(35);
        if rank == 0 || self.rng.chance(10) {
            return Over { axes: None, keepdims };
        }
        let mut axes = vec![self.axis(rank)];
        if self.rng.chance(25) {
            let other = self.axis(rank);
            axes.push(other);
        }
        Over { axes: Some(axes), keepdims }
    }

    fn matmul(&mut self) -> Option<Step> {
        let least = usize::from(self.rng.chance(80)) + 1;
        let a = self.step_with(|t| t.rank() >= least)?;
        let last = self.built[a].shape().last()?.clone();
        let fits = |t: &LazyTensor| {
            t.rank() > 0 && t.shape()[t.rank().saturating_sub(2)].known_eq(&last) == Some(true)
        };
        let b = match self.step_with(fits) {
            Some(b) if self.rng.chance(60) => b,
            _ => {
                let size = self.plain_axis(a)?;
                let before = self.built.len();
                self.new_input(Some(size));
                (self.built.len() > before).then_some(before)?
            }
        };
        Some(Step::Matmul(a, b))
    }

    fn movement(&mut self, k: usize) -> Option<Step> {
        let rank = self.built[k].rank();
        Some(match self.rng.below(20) {
            0..4 => {
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                for d in (1..rank).rev() {
                    axes.swap(d, self.rng.below(d + 1));
                }
                Step::Permute(k, axes)
            }
            4..8 => Step::Reshape(k, self.new_shape(k)),
            8..13 => Step::Index(k, self.parts(k)),
            13..15 if rank > 0 => Step::Flip(k, self.axis(rank)),
            15 | 16 => Step::ExpandDims(k, self.axis(rank + 1)),
            17 => {
                let one = (0..rank).find(|&d| self.built[k].shape()[d] == Dim::from(1))?;
                Step::Squeeze(k, vec![one as i64])
            }
            _ => {
                let mut shape: Vec<Size> = (0..rank).map(|d| Size::Axis(k, d)).collect();
                for (d, size) in shape.iter_mut().enumerate() {
                    if self.built[k].shape()[d] == Dim::from(1) && self.rng.chance(70) {
                        *size = Size::Symbol(self.rng.below(self.program.symbols.len()));
                    }
                }
                if self.rng.chance(50) {
                    shape.insert(0, Size::Const(self.rng.range(1, 3)));
                }
                Step::BroadcastTo(k, shape)
            }
        })
    }

    fn new_shape(&mut self, k: usize) -> Vec<Option<Size>> {
        let rank = self.built[k].rank();
        let mut shape: Vec<Option<Size>> = (0..rank).map(|d| Some(Size::Axis(k, d))).collect();
        match self.rng.below(5) {
            // Flat.
            0 => vec![None],
            // The sizes in another order.
            1 => {
                for d in (1..rank).rev() {
                    shape.swap(d, self.rng.below(d + 1));
                }
                shape
            }
            // Two neighbours as one.
            2 if rank > 1 => {
                let d = self.rng.below(rank - 1);
                shape.remove(d);
                shape[d] = None;
                shape
            }
            // One axis in two.
            3 if rank > 0 => {
                let d = self.rng.below(rank);
                shape[d] = None;
                shape.insert(d + self.rng.below(2), Some(Size::Const(self.rng.range(1, 4))));
                shape
            }
            _ => {
                let d = self.rng.below(rank + 1);
                shape.insert(d, Some(Size::Const(1)));
                shape
            }
        }
    }

    fn parts(&mut self, k: usize) -> Vec<Part> {
        let rank = self.built[k].rank();
        let mut parts: Vec<Part> = Vec::new();
        let ellipsis = self.rng.chance(25).then(|| self.rng.below(rank + 1));
        for d in 0..rank {
            if ellipsis == Some(d) {
                parts.push(Part::Ellipsis);
                // Axes after it are counted from the end: some are skipped here.
                if self.rng.chance(50) {
                    continue;
                }
            }
            parts.push(match self.rng.below(10) {
                0 | 1 => Part::Index(self.rng.range(-2, 2)),
                2..6 => self.slice(),
                6 => Part::NewAxis,
                _ => Part::Slice(None, None, 1),
            });
        }
        parts
    }

    fn slice(&mut self) -> Part {
        let step = self.rng.pick(&[1, 1, 1, 2, 3, -1, -1, -2, 40]);
        let mut end = || match self.rng.below(8) {
            0..4 => None,
            4..7 => Some(End::Const(self.rng.range(-4, 5))),
            _ => {
                let symbol = self.rng.below(self.program.symbols.len());
                Some(End::Symbol(symbol, self.rng.pick(&[0, 0, 0, -1, -5, 1])))
            }
        };
        Part::Slice(end(), end(), step)
    }

    /// Mostly the last steps; sometimes an input, sometimes one step twice.
    fn choose_outputs(&mut self) {
        let n = self.built.len();
        let mut outputs = vec![n - 1];
        for _ in 0..self.rng.below(3) {
            outputs.push(self.step());
        }
        if self.rng.chance(10) {
            outputs.push(0);
        }
        if self.rng.chance(10) {
            let again = self.rng.pick(&outputs);
            outputs.push(again);
        }
        if self.rng.chance(40) {
            // Everything that nothing else needs.
            let used: Vec<usize> = self.program.steps.iter().flat_map(Step::args).collect();
            outputs.extend((0..n).filter(|k| !used.contains(k) && !outputs.contains(k)).collect::<Vec<_>>());
        }
        if self.rng.chance(50) {
            outputs.reverse();
        }
        self.program.outputs = outputs;
    }
}
