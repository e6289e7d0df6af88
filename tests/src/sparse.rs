//! Programs over tensors that are stored in any way, against the plan's interpreter, which sees dense copies.
//!
//! In reading order: this file (a case as data), `data` (its arguments), `generate` (a case from a seed), `check` (every
//! engine says the same), `shrink` (the smallest case that still fails).

mod check;
mod data;
mod generate;
mod shrink;

use std::fmt;

use tensorjit::{DType, IrError, LazyTensor, Op, ReduceOp, Scalar, Tensor, defer};

use crate::program::{Arg, Program, Step};

pub use check::{Run, check, runs};
pub use generate::generate;
pub use shrink::report;

/// Operators that give whole numbers for whole numbers.
const WHOLE: [Op; 22] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Neg,
    Op::Abs,
    Op::Relu,
    Op::Square,
    Op::Sign,
    Op::Maximum,
    Op::Minimum,
    Op::Equal,
    Op::NotEqual,
    Op::Less,
    Op::LessEqual,
    Op::Greater,
    Op::GreaterEqual,
    Op::LogicalAnd,
    Op::LogicalOr,
    Op::LogicalNot,
    Op::And,
    Op::Or,
    Op::Where,
];

/// A program over stored tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its inputs declare nothing: `arguments` does.
    pub program: Program,
    /// What the inputs are.
    pub arguments: Vec<Argument>,
    /// Makes the data.
    pub seed: u64,
    /// How results are compared.
    pub compare: Compare,
}

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Bit for bit, but for signs of zeros and what NaN carries: all sums are exact in any order.
    Exact,
    /// The one output is a sum in some order. It is off by at most `terms * eps` times the sum of the absolute values.
    Sum {
        /// Terms of the sum.
        terms: usize,
    },
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Type of an element.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How it is stored.
    pub storage: Storage,
    /// Its fill; of a strided one without a fill, what most elements are.
    pub fill: Fill,
    /// How many elements of a hundred are stored.
    pub density: usize,
    /// How many of a hundred of those are the fill.
    pub explicit: usize,
    /// Whether some are NaN, infinite or -0.
    pub special: bool,
}

/// How an argument is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// Strided, without a fill.
    Plain,
    /// Strided, with its fill.
    Filled,
    /// By levels, in this format.
    Levels(String),
}

/// A fill by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// 0, or false.
    Zero,
    /// 1, or true.
    One,
    /// -1; all ones.
    MinusOne,
    /// The least value.
    Least,
    /// The greatest value.
    Greatest,
    /// NaN; of integers 0.
    Nan,
    /// A number without a name.
    Other,
}

impl Fill {
    /// Its value.
    pub fn scalar(self, dtype: DType) -> Scalar {
        let number = |x: f64| Scalar::from(x).cast(dtype);
        match self {
            Fill::Zero => Scalar::zero(dtype),
            Fill::One => Scalar::one(dtype),
            Fill::MinusOne => Scalar::from(-1_i64).cast(dtype),
            Fill::Least => Scalar::lowest(dtype).unwrap_or(Scalar::zero(dtype)),
            Fill::Greatest => Scalar::greatest(dtype).unwrap_or(Scalar::zero(dtype)),
            Fill::Nan => number(f64::NAN),
            Fill::Other if dtype.is_float() => number(2.5),
            Fill::Other => number(5.0),
        }
    }
}

impl Case {
    /// Its arguments; `round` chooses among data, and sizes that are not 0 or 1 differ between rounds.
    ///
    /// # Errors
    /// A tensor that cannot be made.
    pub fn tensors(&self, round: u64) -> Result<Vec<Tensor>, String> {
        let made = self.arguments.iter().enumerate().map(|(at, argument)| {
            let seed = self.seed ^ (at as u64 + 1).wrapping_mul(0x1234_5678_9ABC_DEF1) ^ (round << 60);
            argument.tensor(seed, round)
        });
        made.collect::<Result<_, _>>().map_err(|error| format!("making the arguments: {error}"))
    }

    /// Whether every law of algebra holds of its values, and not only the order of sums is free: whole numbers, and nothing
    /// but what keeps them whole.
    pub fn is_exact_in_any_order(&self) -> bool {
        let is_whole = |argument: &Argument| !argument.special && argument.dtype != DType::F16;
        let keeps_whole = |step: &Step| match step {
            Step::Map(op, args) => {
                let is_finite = |arg: &Arg| !matches!(arg, Arg::Float(x) if !x.is_finite());
                let is_cast = matches!(op, Op::Cast(dtype) if *dtype != DType::F16);
                (WHOLE.contains(op) || is_cast) && args.iter().all(is_finite)
            }
            Step::Mean(..) => false,
            Step::Reduce(op, ..) => !matches!(op, ReduceOp::By(_)),
            Step::Input(_)
            | Step::Number(_)
            | Step::SizeOf(_)
            | Step::Clip(..)
            | Step::Matmul(..)
            | Step::Permute(..)
            | Step::Reshape(..)
            | Step::Index(..)
            | Step::Flip(..)
            | Step::ExpandDims(..)
            | Step::Squeeze(..)
            | Step::BroadcastTo(..)
            | Step::Einsum(..)
            | Step::Concat(..)
            | Step::Stack(..)
            | Step::Arranged(..) => true,
        };
        let is_finite =
            |argument: &Argument| matches!(argument.fill, Fill::Zero | Fill::One | Fill::MinusOne);
        self.compare == Compare::Exact
            && self.arguments.iter().all(|argument| is_whole(argument) && is_finite(argument))
            && self.program.steps.iter().all(keeps_whole)
    }

    /// The same program on whole numbers, and on tensors that are dense if `is_dense`.
    #[must_use]
    pub fn whole(&self, is_dense: bool) -> Case {
        let mut case = self.clone();
        for argument in &mut case.arguments {
            argument.special = false;
            if !matches!(argument.fill, Fill::Zero | Fill::One | Fill::MinusOne) {
                argument.fill = Fill::Zero;
            }
            if is_dense {
                argument.storage = Storage::Plain;
            }
        }
        case
    }

    /// The steps of a round: half of all programs have other numbers in the second one, some of which share code.
    pub fn steps(&self, round: u64) -> Vec<Step> {
        let other = |(at, step): (usize, &Step)| {
            let Step::Map(op, args) = step else { return step.clone() };
            let args = args.iter().map(|&arg| renumbered(arg, self.seed >> (at % 60)));
            Step::Map(*op, args.collect())
        };
        match round > 0 && self.seed % 2 == 1 {
            true => self.program.steps.iter().enumerate().map(other).collect(),
            false => self.program.steps.clone(),
        }
    }

    /// All steps as lazy tensors.
    ///
    /// # Errors
    /// A step that cannot be declared.
    pub fn build(&self, steps: &[Step], tensors: &[Tensor]) -> Result<Vec<LazyTensor>, IrError> {
        let inputs: Vec<LazyTensor> = tensors.iter().map(defer).collect();
        let mut built: Vec<LazyTensor> = Vec::new();
        for step in steps {
            let next = if let Step::Input(at) = step {
                inputs[*at].clone()
            } else {
                step.apply(&[], &[], "", &built)?
            };
            built.push(next);
        }
        Ok(built)
    }
}

/// Another number of at most the same size, if a number is an argument of the program.
fn renumbered(arg: Arg, bits: u64) -> Arg {
    let pick = |others: &[f64]| others[(bits % others.len() as u64) as usize];
    match arg {
        Arg::Int(n) if n.abs() > 2 => Arg::Int(if bits.is_multiple_of(3) { -n } else { n.signum() * 3 }),
        Arg::Float(x) if x.is_infinite() => Arg::Float(pick(&[x, -x])),
        Arg::Float(x) if x.abs() == 0.5 => Arg::Float(pick(&[x, -x])),
        Arg::Float(x) if x.fract() != 0.0 => Arg::Float(pick(&[x, -x, 0.5, -0.5, 1.5, -1.5])),
        arg @ (Arg::Step(_) | Arg::Int(_) | Arg::Float(_)) => arg,
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, argument) in self.arguments.iter().enumerate() {
            if self.program.steps.contains(&Step::Input(at)) {
                writeln!(f, "input {at}: {argument:?}")?;
            }
        }
        for (k, step) in self.program.steps.iter().enumerate() {
            if let Step::Input(at) = step {
                writeln!(f, "let t{k} = input {at};")?;
            } else {
                writeln!(f, "let t{k} = {};", self.program.text_of(step))?;
            }
        }
        for (k, step) in self.steps(1).iter().enumerate() {
            if *step != self.program.steps[k] {
                writeln!(f, "in round 1, t{k} = {}", self.program.text_of(step))?;
            }
        }
        writeln!(f, "{:?} of {:?}", self.compare, self.program.outputs)
    }
}
