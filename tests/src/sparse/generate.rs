//! A case from a seed. Steps are tried at random on what is there already, and those that carry an error are dropped.
//!
//! What is known of each step: a bound of its finite values and how fine they are, so that it is known which sums are exact
//! in any order. A sum that is not may be the last step only. Signs of zeros are nobody's business, so that nothing divides
//! by what might be a zero with a sign.

use tensorjit::{DType, LazyTensor, Op, ReduceOp, Scalar, Tensor};
use tj_ir::op::TABLE;

use super::{Argument, Case, Compare, Fill, Storage};
use crate::program::{Arg, Arrange, End, Over, Part, Program, Size, Step};
use crate::rng::Rng;

const INF: f64 = f64::INFINITY;

/// Sizes at which something changes.
const SIZES: [usize; 12] = [0, 1, 1, 2, 2, 3, 3, 3, 7, 7, 7, 33];

/// Beyond the words of one layer of a row that is collected, and around its words.
const LARGE: [usize; 5] = [2, 3, 40, 1025, 1500];

/// Most elements of one step, and most terms of all its sums; of large programs.
const MOST: [usize; 2] = [1500, 6000];

/// As there, for terms of all sums of one step.
const MOST_TERMS: [usize; 2] = [12_000, 30_000];

/// How often of a hundred: operators of two arguments, of one, casts, choices, reductions, products of matrices, products by
/// subscripts, moves; the rest joins. A bit of everything; trees of operators; sums; moves.
const STYLES: [[usize; 8]; 5] = [
    [30, 12, 4, 4, 14, 8, 8, 16],
    [30, 12, 4, 4, 14, 8, 8, 16],
    [70, 8, 2, 8, 6, 2, 2, 2],
    [20, 5, 2, 2, 25, 20, 20, 6],
    [20, 6, 2, 4, 8, 2, 8, 40],
];

const DTYPES: [DType; 14] = [
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F32,
    DType::F32,
    DType::I64,
    DType::I64,
    DType::I32,
    DType::U8,
    DType::Bool,
    DType::Bool,
    DType::F16,
];

/// Operators whose first or second argument should not be a zero of unknown sign.
const BY_SIGN: [(Op, usize); 5] =
    [(Op::Div, 1), (Op::FloorDiv, 1), (Op::Remainder, 1), (Op::Reciprocal, 0), (Op::Pow, 0)];

/// Operators that look at signs of zeros of any argument, or need keys.
const NEVER: [Op; 7] =
    [Op::Signbit, Op::Copysign, Op::Nextafter, Op::Atan2, Op::RandomBits, Op::Where, Op::Positive];

/// What is known of the finite values of a step.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// No finite value is greater in size.
    most: f64,
    /// They are multiples of 2 to the power of minus this.
    fine: i32,
    /// Whether arithmetic so far was exact.
    is_exact: bool,
}

const INEXACT: Known = Known { most: f64::INFINITY, fine: 0, is_exact: false };

struct Maker {
    rng: Rng,
    style: [usize; 8],
    /// How often of a hundred operators of two arguments are thresholds and limits.
    limits: usize,
    is_large: bool,
    sizes: Vec<usize>,
    arguments: Vec<Argument>,
    tensors: Vec<Tensor>,
    program: Program,
    built: Vec<LazyTensor>,
    shapes: Vec<Vec<usize>>,
    known: Vec<Known>,
    /// Terms of the sum that ends the program.
    last: Option<usize>,
}

/// The case of a seed.
pub fn generate(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let (style, is_large) = (rng.pick(&STYLES), rng.chance(6));
    let size = |rng: &mut Rng| if is_large { rng.pick(&LARGE) } else { rng.pick(&SIZES) };
    let sizes = (0..1 + rng.below(3)).map(|_| size(&mut rng)).collect();
    let data = rng.bits();
    let limits = rng.pick(&[5, 15, 60]);
    let mut maker = Maker {
        rng,
        style,
        limits,
        is_large,
        sizes,
        arguments: Vec::new(),
        tensors: Vec::new(),
        program: Program::default(),
        built: Vec::new(),
        shapes: Vec::new(),
        known: Vec::new(),
        last: None,
    };
    let few = [1, 2, 2, 2, 3, 3, 4];
    for _ in 0..maker.rng.pick(&few) {
        maker.argument(data);
    }
    let longer = if style[0] > 50 { 5 } else { 0 };
    let wanted = maker.built.len() + 1 + longer + maker.rng.below(7);
    for _ in 0..wanted * 10 {
        if maker.built.len() >= wanted || maker.last.is_some() {
            break;
        }
        maker.propose();
    }
    let end = maker.built.len() - 1;
    let mut outputs = vec![end];
    if maker.last.is_none() && maker.rng.chance(20) {
        outputs.push(maker.rng.below(end + 1));
        outputs.dedup();
    }
    let compare = maker.last.map_or(Compare::Exact, |terms| Compare::Sum { terms });
    let program = Program { outputs, ..maker.program }.without_dead();
    Case { program, arguments: maker.arguments, seed: data, compare }
}

impl Maker {
    fn argument(&mut self, data: u64) {
        let rng = &mut self.rng;
        let dtype = match self.arguments.first() {
            Some(first) if rng.chance(70) => first.dtype,
            _ => rng.pick(&DTYPES),
        };
        let rank = rng.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4]);
        let of_first = self.arguments.first().map(|first| first.shape.clone());
        let alike = of_first.filter(|_| self.style[0] > 50 && rng.chance(75));
        let rank = alike.as_ref().map_or(rank, Vec::len);
        let mut shape: Vec<usize> = (0..rank)
            .map(|_| if rng.chance(8) { 1 } else { self.sizes[rng.below(self.sizes.len())] })
            .collect();
        if let Some(alike) = alike {
            shape = alike;
        }
        while shape.iter().product::<usize>() > MOST[usize::from(self.is_large)] {
            let at = shape.iter().position(|&size| Some(&size) == shape.iter().max()).unwrap_or(0);
            shape[at] = 2;
        }
        let fills =
            [Fill::One, Fill::MinusOne, Fill::Least, Fill::Greatest, Fill::Nan, Fill::Other, Fill::Other];
        let fill = if rng.chance(55) { Fill::Zero } else { rng.pick(&fills) };
        let storage = match rng.below(10) {
            0 => Storage::Plain,
            1 => Storage::Filled,
            _ if rank == 0 => Storage::Plain,
            _ => Storage::Levels(format(rng, rank, dtype, fill)),
        };
        let argument = Argument {
            dtype,
            shape,
            storage,
            fill,
            density: rng.pick(&[0, 5, 20, 20, 40, 60, 100]),
            explicit: rng.pick(&[0, 0, 20, 50]),
            special: rng.chance(15),
        };
        let case = Case {
            program: Program::default(),
            arguments: vec![argument.clone()],
            seed: data,
            compare: Compare::Exact,
        };
        let Ok(mut tensors) = case.tensors(0) else { return };
        let tensor = tensors.remove(0);
        let of_fill = argument.fill.scalar(dtype).to_f64();
        let known = Known {
            most: if of_fill.is_finite() { of_fill.abs().max(5.0) } else { 5.0 },
            fine: i32::from(fill == Fill::Other && dtype.is_float()),
            is_exact: true,
        };
        self.program.steps.push(Step::Input(self.arguments.len()));
        self.shapes.push(tensor.shape().to_vec());
        self.built.push(tensorjit::defer(&tensor));
        self.tensors.push(tensor);
        self.arguments.push(argument);
        self.known.push(known);
    }

    /// A step so far, later ones more often.
    fn some(&mut self) -> usize {
        let n = self.built.len();
        if self.rng.chance(50) { n - 1 - self.rng.below(n.min(3)) } else { self.rng.below(n) }
    }

    fn accept(&mut self, step: Step, known: Known, terms: usize) -> bool {
        let args = step.args();
        let Ok(made) = step.apply(&[], &[], "", &self.built) else { return false };
        if made.check().is_err() {
            return false;
        }
        let shape: Option<Vec<usize>> =
            made.shape().iter().map(|dim| dim.hint().and_then(|n| usize::try_from(n).ok())).collect();
        let Some(shape) = shape else { return false };
        let count: usize = shape.iter().product();
        let (most, most_terms) = (MOST[usize::from(self.is_large)], MOST_TERMS[usize::from(self.is_large)]);
        if count > most || count * terms.max(1) > most_terms || shape.len() > 5 {
            return false;
        }
        let dtype = made.dtype();
        let mut known = self.fits(known, dtype);
        known.is_exact &= args.iter().all(|&arg| self.known[arg].is_exact || !dtype.is_float());
        if terms > 0 && !known.is_exact && dtype.is_float() {
            if !matches!(step, Step::Reduce(ReduceOp::Sum, ..) | Step::Matmul(..) | Step::Einsum(..)) {
                return false;
            }
            self.last = Some(terms);
        }
        self.program.steps.push(step);
        self.built.push(made);
        self.shapes.push(shape);
        self.known.push(known);
        true
    }

    /// What is known, given the type that holds it.
    fn fits(&self, known: Known, dtype: DType) -> Known {
        if dtype.is_bool() {
            return Known { most: 1.0, fine: 0, is_exact: true };
        }
        if !dtype.is_float() {
            let most = 2_f64.powi(8 * dtype.size() as i32);
            let wraps = !known.most.is_finite() || known.most >= most / 2.0;
            return Known { most: if wraps { most } else { known.most }, fine: 0, is_exact: true };
        }
        let bits = dtype.finfo().map_or(0, |info| 1 - info.eps.log2() as i32);
        let fits = known.most * 2_f64.powi(known.fine) <= 2_f64.powi(bits);
        if known.is_exact && fits { known } else { INEXACT }
    }

    fn propose(&mut self) {
        let mut left = self.rng.below(100);
        let kind = self.style.iter().position(|&often| {
            let is_it = left < often;
            left = left.saturating_sub(often);
            is_it
        });
        match kind {
            Some(0) => self.binary(),
            Some(1) => self.unary(),
            Some(2) => self.cast(),
            Some(3) => self.choice(),
            Some(4) => self.reduce(),
            Some(5) => self.matmul(),
            Some(6) => self.einsum(),
            Some(7) => self.movement(),
            Some(_) | None => self.joined(),
        }
    }

    fn number(&mut self, dtype: DType) -> (Arg, f64) {
        if dtype.is_float() && self.rng.chance(60) {
            let x = self.rng.pick(&[0.0, 1.0, -1.0, 2.0, 0.5, 2.5, -0.5, -2.5, 1.5, INF, -INF, f64::NAN]);
            return (Arg::Float(x), if x.is_finite() { x.abs() } else { 0.0 });
        }
        let n: i64 = self.rng.pick(&[0, 1, 2, 3, 3, 4, -3]);
        (Arg::Int(n), n.abs() as f64)
    }

    /// A number beside a step, and an operator for them that a threshold or a limit is written with.
    fn limit(&mut self) {
        let ops = [
            Op::Maximum,
            Op::Maximum,
            Op::Minimum,
            Op::Minimum,
            Op::Greater,
            Op::Less,
            Op::GreaterEqual,
            Op::LessEqual,
            Op::Equal,
            Op::Add,
            Op::Sub,
        ];
        let (op, a) = (self.rng.pick(&ops), self.some());
        let (number, size) = self.number(self.built[a].dtype());
        let known = self.known[a];
        let known = Known { most: known.most + size, fine: known.fine.max(1), is_exact: true };
        let mut args = vec![Arg::Step(a), number];
        if self.rng.chance(30) {
            args.swap(0, 1);
        }
        self.accept(Step::Map(op, args), known, 0);
    }

    fn binary(&mut self) {
        if self.rng.chance(self.limits) {
            return self.limit();
        }
        let ops = [
            Op::Add,
            Op::Add,
            Op::Sub,
            Op::Mul,
            Op::Mul,
            Op::Mul,
            Op::Mul,
            Op::Div,
            Op::Maximum,
            Op::Minimum,
            Op::And,
            Op::Or,
            Op::LogicalAnd,
            Op::LogicalOr,
            Op::Equal,
            Op::Less,
            Op::NotEqual,
        ];
        let op = if self.rng.chance(70) {
            self.rng.pick(&ops)
        } else {
            let all: Vec<Op> =
                TABLE.iter().filter(|i| i.arity == 2 && !NEVER.contains(&i.op)).map(|i| i.op).collect();
            self.rng.pick(&all)
        };
        let a = self.some();
        let (mut other, known) = if self.rng.chance(20) {
            let (number, most) = self.number(self.built[a].dtype());
            (number, Known { most, fine: 1, is_exact: true })
        } else {
            // Try to find one that fits.
            let mut b = self.some();
            for _ in 0..4 {
                let meets = self.shapes[a].iter().rev().zip(self.shapes[b].iter().rev());
                if meets.into_iter().all(|(x, y)| x == y || *x == 1 || *y == 1) {
                    break;
                }
                b = self.some();
            }
            (Arg::Step(b), self.known[b])
        };
        let mut first = Arg::Step(a);
        let mut ka = self.known[a];
        let mut kb = known;
        if self.rng.chance(30) {
            std::mem::swap(&mut first, &mut other);
            std::mem::swap(&mut ka, &mut kb);
        }
        for (by_sign, at) in BY_SIGN {
            if by_sign == op {
                let arg = if at == 0 { &mut first } else { &mut other };
                if let Arg::Step(k) = *arg
                    && self.built[k].dtype().is_float()
                {
                    let (of, known) = (Arg::Step(k), self.known[k]);
                    if !self.accept(Step::Map(Op::Abs, vec![of]), known, 0) {
                        return;
                    }
                    *arg = Arg::Step(self.built.len() - 1);
                }
            }
        }
        let most = ka.most + kb.most;
        let fine = ka.fine.max(kb.fine);
        let known = if op == Op::Mul {
            Known { most: ka.most * kb.most, fine: ka.fine + kb.fine, is_exact: true }
        } else if [Op::Add, Op::Sub, Op::Maximum, Op::Minimum, Op::Fmax, Op::Fmin].contains(&op) {
            Known { most, fine, is_exact: true }
        } else {
            INEXACT
        };
        self.accept(Step::Map(op, vec![first, other]), known, 0);
    }

    fn unary(&mut self) {
        let ops = [Op::Neg, Op::Abs, Op::Relu, Op::Square, Op::Sign, Op::LogicalNot, Op::IsNan, Op::Exp];
        let op = if self.rng.chance(60) {
            self.rng.pick(&ops)
        } else {
            let all: Vec<Op> =
                TABLE.iter().filter(|i| i.arity == 1 && !NEVER.contains(&i.op)).map(|i| i.op).collect();
            self.rng.pick(&all)
        };
        let mut a = self.some();
        if BY_SIGN.contains(&(op, 0)) && self.built[a].dtype().is_float() {
            let known = self.known[a];
            if !self.accept(Step::Map(Op::Abs, vec![Arg::Step(a)]), known, 0) {
                return;
            }
            a = self.built.len() - 1;
        }
        let k = self.known[a];
        let known = if [Op::Neg, Op::Abs, Op::Relu].contains(&op) {
            Known { is_exact: true, ..k }
        } else if op == Op::Square {
            Known { most: k.most * k.most, fine: 2 * k.fine, is_exact: true }
        } else if [Op::Sign, Op::Floor, Op::Ceil, Op::Round, Op::Trunc].contains(&op) {
            Known { most: k.most + 1.0, fine: 0, is_exact: true }
        } else {
            INEXACT
        };
        self.accept(Step::Map(op, vec![Arg::Step(a)]), known, 0);
    }

    fn cast(&mut self) {
        let (a, to) = (self.some(), self.rng.pick(&DTYPES));
        let known = Known { is_exact: true, ..self.known[a] };
        self.accept(Step::Map(Op::Cast(to), vec![Arg::Step(a)]), known, 0);
    }

    fn choice(&mut self) {
        let (a, b) = (self.some(), self.some());
        let masks: Vec<usize> = (0..self.built.len()).filter(|&k| self.built[k].dtype().is_bool()).collect();
        let mask = if masks.is_empty() || self.rng.chance(30) {
            let of = self.some();
            let (op, number) = match self.rng.chance(50) {
                true => (Op::NotEqual, Arg::Int(0)),
                false => {
                    let op = self.rng.pick(&[Op::Greater, Op::Less, Op::GreaterEqual, Op::Equal]);
                    (op, self.number(self.built[of].dtype()).0)
                }
            };
            if !self.accept(Step::Map(op, vec![Arg::Step(of), number]), INEXACT, 0) {
                return;
            }
            self.built.len() - 1
        } else {
            self.rng.pick(&masks)
        };
        let (ka, kb) = (self.known[a], self.known[b]);
        let mut known = Known { most: ka.most + kb.most, fine: ka.fine.max(kb.fine), is_exact: true };
        let b = match self.rng.below(10) {
            0..2 => Arg::Int(0),
            2..4 => {
                let (number, size) = self.number(self.built[a].dtype());
                known = Known { most: known.most + size, fine: known.fine.max(1), ..known };
                number
            }
            _ => Arg::Step(b),
        };
        self.accept(Step::Map(Op::Where, vec![Arg::Step(mask), Arg::Step(a), b]), known, 0);
    }

    fn reduce(&mut self) {
        let ops = [
            ReduceOp::Sum,
            ReduceOp::Sum,
            ReduceOp::Sum,
            ReduceOp::Prod,
            ReduceOp::Max,
            ReduceOp::Min,
            ReduceOp::And,
            ReduceOp::Or,
            ReduceOp::Xor,
        ];
        let (op, mut a) = (self.rng.pick(&ops), self.some());
        if matches!(op, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor) && self.built[a].dtype().is_float() {
            if !self.accept(Step::Map(Op::NotEqual, vec![Arg::Step(a), Arg::Int(0)]), INEXACT, 0) {
                return;
            }
            a = self.built.len() - 1;
        }
        let rank = self.shapes[a].len();
        let axes: Vec<i64> = (0..rank as i64).filter(|_| self.rng.chance(50)).collect();
        let axes = if self.rng.chance(20) { None } else { Some(axes) };
        let n: usize = match &axes {
            None => self.shapes[a].iter().product(),
            Some(axes) => axes.iter().map(|&axis| self.shapes[a][axis as usize]).product(),
        };
        let k = self.known[a];
        let known = match op {
            ReduceOp::Sum => Known { most: k.most * n as f64, fine: k.fine, is_exact: true },
            ReduceOp::Prod => {
                Known { most: k.most.max(1.0).powi(n as i32), fine: k.fine * n as i32, is_exact: true }
            }
            ReduceOp::Max
            | ReduceOp::Min
            | ReduceOp::And
            | ReduceOp::Or
            | ReduceOp::Xor
            | ReduceOp::By(_) => k,
        };
        let terms = if matches!(op, ReduceOp::Sum | ReduceOp::Prod) { n } else { 0 };
        let over = Over { axes, keepdims: self.rng.chance(25) };
        self.accept(Step::Reduce(op, a, over), known, terms);
    }

    fn matmul(&mut self) {
        for _ in 0..6 {
            let (a, b) = (self.some(), self.some());
            let (x, y) = (&self.shapes[a], &self.shapes[b]);
            let (Some(&n), Some(&m)) = (x.last(), y.get(y.len().saturating_sub(2))) else { continue };
            if n != m {
                continue;
            }
            let (ka, kb) = (self.known[a], self.known[b]);
            let known = Known { most: ka.most * kb.most * n as f64, fine: ka.fine + kb.fine, is_exact: true };
            if self.accept(Step::Matmul(a, b), known, n) {
                return;
            }
        }
    }

    fn einsum(&mut self) {
        let mut letters: Vec<usize> = Vec::new();
        let (mut subscripts, mut parts) = (Vec::new(), Vec::new());
        let mut known = Known { most: 1.0, fine: 0, is_exact: true };
        for _ in 0..self.rng.pick(&[1, 2, 2, 3]) {
            let k = self.some();
            let mut text = String::new();
            for size in self.shapes[k].clone() {
                let same: Vec<usize> = (0..letters.len()).filter(|&at| letters[at] == size).collect();
                let letter = if !same.is_empty() && self.rng.chance(65) {
                    self.rng.pick(&same)
                } else {
                    letters.push(size);
                    letters.len() - 1
                };
                text.push((b'a' + letter as u8) as char);
            }
            known.most *= self.known[k].most;
            known.fine += self.known[k].fine;
            subscripts.push(text);
            parts.push(k);
        }
        let mut output: Vec<usize> = (0..letters.len()).filter(|_| self.rng.chance(50)).collect();
        for at in (1..output.len()).rev() {
            output.swap(at, self.rng.below(at + 1));
        }
        let result: String = output.iter().map(|&letter| (b'a' + letter as u8) as char).collect();
        let summed = (0..letters.len()).filter(|letter| !output.contains(letter));
        let terms: usize = summed.map(|letter| letters[letter]).product();
        known.most *= terms as f64;
        let text = format!("{}->{result}", subscripts.join(","));
        self.accept(Step::Einsum(text, parts), known, terms);
    }

    fn movement(&mut self) {
        let a = self.some();
        let rank = self.shapes[a].len();
        let known = self.known[a];
        let axis = if rank == 0 { 0 } else { self.rng.below(rank) };
        let step = match self.rng.below(14) {
            9.. => {
                let (k, axis) = (self.rng.range(-2, 2), axis as i64);
                let all = [
                    Arrange::Lower(k),
                    Arrange::Upper(k),
                    Arrange::Diag(k),
                    Arrange::Roll(k, axis),
                    Arrange::Turn(k),
                    Arrange::Repeat(2, axis),
                    Arrange::Tile(3),
                    Arrange::Pad(self.rng.pick(&[0, 0, 1])),
                    Arrange::FillDiagonal(self.rng.pick(&[0, 1, 5])),
                    Arrange::Identity(k),
                    Arrange::Full(self.rng.pick(&[0, 1, 3, 5])),
                    Arrange::Stored,
                    Arrange::Dense,
                ];
                let how = self.rng.pick(&all);
                let known = Known { most: known.most.max(5.0), ..known };
                let is_of_places = matches!(how, Arrange::Identity(_) | Arrange::Full(_) | Arrange::Stored);
                if self.accept(Step::Arranged(how, a), known, 0) && is_of_places {
                    self.beside(a);
                }
                return;
            }
            0 | 1 => {
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                for at in (1..rank).rev() {
                    axes.swap(at, self.rng.below(at + 1));
                }
                Step::Permute(a, axes)
            }
            2 => Step::Flip(a, axis as i64),
            3 | 4 if rank > 0 => {
                let mut parts = vec![Part::Slice(None, None, 1); rank];
                let end = |rng: &mut Rng| rng.chance(60).then(|| End::Const(rng.range(-4, 4)));
                let step = self.rng.pick(&[1, 1, 2, 3, -1, -2]);
                parts[axis] = Part::Slice(end(&mut self.rng), end(&mut self.rng), step);
                Step::Index(a, parts)
            }
            5 if rank > 0 && self.shapes[a][axis] > 0 => {
                let mut parts = vec![Part::Slice(None, None, 1); axis];
                parts.push(Part::Index(self.rng.range(-1, 1)));
                Step::Index(a, parts)
            }
            6 => Step::ExpandDims(a, self.rng.below(rank + 1) as i64),
            7 => {
                let of = self.some();
                let shape = (0..self.shapes[of].len()).map(|d| Size::Axis(of, d)).collect();
                Step::BroadcastTo(a, shape)
            }
            8 if rank > 0 => {
                // Two axes become one, or all do, or one becomes two.
                let mut shape: Vec<Option<Size>> = (0..rank).map(|d| Some(Size::Axis(a, d))).collect();
                match self.rng.below(3) {
                    0 => shape = vec![None],
                    1 if axis + 1 < rank => {
                        shape.remove(axis);
                        shape[axis] = None;
                    }
                    _ => shape.insert(axis, Some(Size::Const(1))),
                }
                Step::Reshape(a, shape)
            }
            _ => return,
        };
        self.accept(step, known, 0);
    }

    /// What a number makes of the identity, or what else was the last step, beside the tensor whose shape it has.
    fn beside(&mut self, of: usize) {
        let mut step = self.built.len() - 1;
        let ops = [Op::Mul, Op::Mul, Op::Minimum, Op::Maximum, Op::Add, Op::Sub, Op::Less];
        // Before they meet, after that, or both.
        for at in 0..3 {
            let other = if at == 1 {
                (Arg::Step(of), self.known[of])
            } else if self.rng.chance(60) {
                let (number, most) = self.number(self.built[step].dtype());
                (number, Known { most, fine: 1, is_exact: true })
            } else {
                continue;
            };
            let (op, known) = (self.rng.pick(&ops), self.known[step]);
            let most = if op == Op::Mul { known.most * other.1.most } else { known.most + other.1.most };
            let known = Known { most, fine: known.fine + other.1.fine, is_exact: true };
            if !self.accept(Step::Map(op, vec![Arg::Step(step), other.0]), known, 0) {
                return;
            }
            step = self.built.len() - 1;
        }
    }

    fn joined(&mut self) {
        let parts: Vec<usize> = (0..1 + self.rng.below(3)).map(|_| self.some()).collect();
        let rank = self.shapes[parts[0]].len();
        let most = parts.iter().map(|&k| self.known[k].most).fold(0.0, f64::max);
        let fine = parts.iter().map(|&k| self.known[k].fine).max().unwrap_or(0);
        let known = Known { most, fine, is_exact: true };
        let step = match self.rng.chance(50) {
            true if rank > 0 => Step::Concat(parts, self.rng.below(rank) as i64),
            _ => Step::Stack(parts, self.rng.below(rank + 1) as i64),
        };
        self.accept(step, known, 0);
    }
}

/// A format of some rank.
fn format(rng: &mut Rng, rank: usize, dtype: DType, fill: Fill) -> String {
    let leaf = match rng.below(12) {
        0 => " iso",
        1 if dtype.is_bool() && fill.scalar(dtype) == Scalar::Bool(false) => " pattern",
        _ => "",
    };
    let named: &[&str] = match rank {
        1 => &["coo(1)", "csf(1)"],
        2 => &["csr", "csr", "csc", "coo(2)", "csf(2)", "bcsr(2, 2)", "dia"],
        3 => &["coo(3)", "csf(3)"],
        _ => &["coo(4)", "csf(4)"],
    };
    if rng.chance(50) {
        return format!("{}{leaf}", rng.pick(named));
    }
    let kinds = [
        "dense",
        "dense",
        "dense",
        "compressed",
        "compressed",
        "compressed",
        "compressed(unordered)",
        "compressed(u8)",
        "compressed(u16, u8)",
        "compressed(u64)",
        "hash",
        "bytemap",
        "bitmap",
        "runs",
        "steps",
        "band",
        "blocks",
    ];
    let mut dims: Vec<usize> = (0..rank).collect();
    for at in (1..rank).rev() {
        dims.swap(at, rng.below(at + 1));
    }
    let levels: Vec<String> = dims.iter().map(|dim| format!("d{dim}: {}", rng.pick(&kinds))).collect();
    format!("{{{}}}{leaf}", levels.join(", "))
}
