//! Functions of whole tensors: what a well-kept library computes in time proportional to the work.
//!
//! **Problem.** Sorting, scans, gathering by computed positions, factorisations and Fourier transforms are not
//! expressions in index notation whose cost is that of an element. **Idea.** A [`Function`] names one; its arguments
//! and results are whole row-major tensors, and this file says what the shapes and dtypes are. What computes it stands
//! in `tj-library`, which knows nothing of programs; what calls it stands in the layers between.
//!
//! **Rows.** Leading axes, equal in all arguments and results, are *rows*: independent tasks. Tables below show the
//! axes after them, the *core*. Complex numbers are pairs of floats along a last axis of size 2, `[re, im]`; where a
//! function takes both kinds its [`Field`] says which, and `c` below stands for that axis.
//!
//! **Invariants.** A function is pure and its bits depend on its arguments alone. It never traps: what it cannot
//! compute (a singular matrix, a position outside its axis) it reports.

mod types;

use std::fmt;

use smallvec::SmallVec;

use crate::op::ReduceOp;

/// Whether the numbers of a function are real, or pairs of reals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Elements are numbers.
    Real,
    /// The last axis has size 2: real and imaginary part.
    Complex,
}

/// How a scatter combines what is there with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Combine {
    /// The last one stays.
    Set,
    /// In order of position in the updates.
    Reduce(ReduceOp),
}

/// A function of whole tensors. `..` are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// `x[.., n] -> [.., n]`: ascending or descending, stable, NaN last in both; any dtype that is not complex.
    Sort {
        /// From the greatest on.
        descending: bool,
    },
    /// `x[.., n] -> i64[.., n]`: positions in the order of [`Function::Sort`].
    Argsort {
        /// From the greatest on.
        descending: bool,
    },
    /// `sorted[.., n], values[.., m] -> i64[.., m]`: the first position at which a value may stand, or the last.
    Searchsorted {
        /// The last.
        right: bool,
    },
    /// `x[.., n] -> [.., n]`, or `[.., n + 1]` that begins with the identity: partial reductions in order of position.
    /// A complex product is over pairs: `x[.., n, 2]`.
    Scan {
        /// What combines.
        op: ReduceOp,
        /// Whether the result begins with the identity.
        initial: bool,
        /// Complex for products only.
        field: Field,
    },
    /// `x[.., n, k], at i64[m] -> [.., m, k]`: slices at positions, counted from the end if negative; `at` has no rows.
    Take,
    /// `x[.., n], at i64[.., m] -> [.., m]`: in each row the elements at its own positions.
    TakeAlong,
    /// `at i64[.., m], size i64[1] -> i64[.., m]`: positions along an axis of this size, counted from its start.
    Locate {
        /// Which axis, for messages.
        axis: u8,
    },
    /// `x[.., n, k], at i64[m], updates[.., m, k] -> [.., n, k]`: `x` with updates combined into slices, in order.
    Scatter {
        /// How.
        combine: Combine,
    },
    /// `x[.., n], at i64[.., m], updates[.., m] -> [.., n]`: in each row at its own positions.
    ScatterAlong {
        /// How.
        combine: Combine,
    },
    /// `a[.., n, n, c] -> [.., n, n, c]`: the triangular factor of a positive definite (Hermitian) matrix, of which
    /// the lower triangle is read.
    Cholesky {
        /// The upper factor instead of the lower one.
        upper: bool,
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c] -> [.., c]`.
    Det {
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c] -> sign [.., c], logabsdet [..]`.
    Slogdet {
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c] -> [.., n, n, c]`; a singular matrix is an error.
    Inv {
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c], b[.., n, k, c] -> [.., n, k, c]`; a singular matrix is an error.
    Solve {
        /// Elements.
        field: Field,
    },
    /// `a[.., m, n, c] -> q[.., m, k, c], r[.., k, n, c]`, with `k` the lesser of both, or `m` if complete.
    Qr {
        /// A square `q`.
        complete: bool,
        /// Elements.
        field: Field,
    },
    /// `a[.., m, n, c] -> u[.., m, k, c], s[.., k], vh[.., k, n, c]`, values descending; full: square `u` and `vh`.
    Svd {
        /// Square `u` and `vh`.
        full: bool,
        /// Elements.
        field: Field,
    },
    /// `a[.., m, n, c] -> s[.., k]`, descending.
    Svdvals {
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c] -> w[.., n], v[.., n, n, c]` of a symmetric (Hermitian) matrix, of which the lower triangle is
    /// read; values ascending, vectors in columns.
    Eigh {
        /// Elements.
        field: Field,
    },
    /// `a[.., n, n, c] -> w[.., n]`, as [`Function::Eigh`].
    Eigvalsh {
        /// Elements.
        field: Field,
    },
    /// `x[.., n, 2] -> [.., n, 2]`: the discrete Fourier transform, or its inverse, without any scale.
    Fft {
        /// `exp(+2 pi i ...)` instead of `exp(-2 pi i ...)`.
        inverse: bool,
    },
    /// `x[.., n] -> [.., n / 2 + 1, 2]`: the first half of the transform of real numbers.
    Rfft,
    /// `x[.., m / 2 + 1, 2] -> [.., m]`: the inverse of [`Function::Rfft`] without any scale; the size of the result
    /// is `m`.
    Irfft,
}

impl Function {
    /// Number of tensors it takes and gives.
    pub fn arity(self) -> (usize, usize) {
        match self {
            Function::Sort { .. } | Function::Argsort { .. } | Function::Scan { .. } => (1, 1),
            Function::Searchsorted { .. }
            | Function::Take
            | Function::TakeAlong
            | Function::Locate { .. } => (2, 1),
            Function::Scatter { .. } | Function::ScatterAlong { .. } => (3, 1),
            Function::Cholesky { .. }
            | Function::Det { .. }
            | Function::Inv { .. }
            | Function::Svdvals { .. }
            | Function::Eigvalsh { .. } => (1, 1),
            Function::Solve { .. } => (2, 1),
            Function::Slogdet { .. } | Function::Qr { .. } | Function::Eigh { .. } => (1, 2),
            Function::Svd { .. } => (1, 3),
            Function::Fft { .. } | Function::Rfft | Function::Irfft => (1, 1),
        }
    }

    /// Number of core axes of each argument and each result; those before them are rows. An argument without rows says
    /// so by `None`: it is given whole to every row.
    pub fn core(self) -> (SmallVec<[Option<usize>; 3]>, SmallVec<[usize; 3]>) {
        let pair = |field: Field| usize::from(field == Field::Complex);
        let (args, results): (&[Option<usize>], &[usize]) = match self {
            Function::Sort { .. } | Function::Argsort { .. } => (&[Some(1)], &[1]),
            Function::Scan { field, .. } => (&[Some(1 + pair(field))], &[1 + pair(field)]),
            Function::Searchsorted { .. } | Function::TakeAlong => (&[Some(1), Some(1)], &[1]),
            Function::Take => (&[Some(2), None], &[2]),
            Function::Locate { .. } => (&[Some(1), None], &[1]),
            Function::Scatter { .. } => (&[Some(2), None, Some(2)], &[2]),
            Function::ScatterAlong { .. } => (&[Some(1), Some(1), Some(1)], &[1]),
            Function::Cholesky { field, .. } | Function::Inv { field } => {
                (&[Some(2 + pair(field))], &[2 + pair(field)])
            }
            Function::Det { field } => (&[Some(2 + pair(field))], &[pair(field)]),
            Function::Slogdet { field } => (&[Some(2 + pair(field))], &[pair(field), 0]),
            Function::Solve { field } => {
                (&[Some(2 + pair(field)), Some(2 + pair(field))], &[2 + pair(field)])
            }
            Function::Qr { field, .. } => (&[Some(2 + pair(field))], &[2 + pair(field), 2 + pair(field)]),
            Function::Svd { field, .. } => (&[Some(2 + pair(field))], &[2 + pair(field), 1, 2 + pair(field)]),
            Function::Svdvals { field } | Function::Eigvalsh { field } => (&[Some(2 + pair(field))], &[1]),
            Function::Eigh { field } => (&[Some(2 + pair(field))], &[1, 2 + pair(field)]),
            Function::Fft { .. } => (&[Some(2)], &[2]),
            Function::Rfft => (&[Some(1)], &[2]),
            Function::Irfft => (&[Some(2)], &[1]),
        };
        (SmallVec::from_slice(args), SmallVec::from_slice(results))
    }
}

/// Names in texts and codes in compiled kernels, which other processes read from caches: a code never changes its
/// meaning.
const NAMES: &[(&str, i64)] = &[
    ("sort", 1),
    ("argsort", 2),
    ("searchsorted", 3),
    ("scan", 4),
    ("take", 5),
    ("take_along", 6),
    ("scatter", 7),
    ("scatter_along", 8),
    ("cholesky", 9),
    ("det", 10),
    ("slogdet", 11),
    ("inv", 12),
    ("solve", 13),
    ("qr", 14),
    ("svd", 15),
    ("svdvals", 16),
    ("eigh", 17),
    ("eigvalsh", 18),
    ("fft", 19),
    ("rfft", 20),
    ("irfft", 21),
    ("locate", 31),
];

impl Function {
    /// Its name in every text.
    pub fn name(self) -> &'static str {
        let [code, _, _] = self.words();
        NAMES.iter().find(|(_, known)| *known == code).map_or("function", |(name, _)| name)
    }

    /// The function as numbers: a code and two attributes, 0 where it has none. [`Function::from_words`] reads them.
    pub fn words(self) -> [i64; 3] {
        let field = |field: Field| i64::from(field == Field::Complex);
        let combine = |combine: Combine| match combine {
            Combine::Set => 0,
            Combine::Reduce(op) => 1 + reduce_code(op),
        };
        match self {
            Function::Sort { descending } => [1, i64::from(descending), 0],
            Function::Argsort { descending } => [2, i64::from(descending), 0],
            Function::Searchsorted { right } => [3, i64::from(right), 0],
            Function::Scan { op, initial, field: f } => {
                [4, 2 * reduce_code(op) + i64::from(initial), field(f)]
            }
            Function::Take => [5, 0, 0],
            Function::TakeAlong => [6, 0, 0],
            Function::Scatter { combine: c } => [7, combine(c), 0],
            Function::ScatterAlong { combine: c } => [8, combine(c), 0],
            Function::Cholesky { upper, field: f } => [9, i64::from(upper), field(f)],
            Function::Det { field: f } => [10, 0, field(f)],
            Function::Slogdet { field: f } => [11, 0, field(f)],
            Function::Inv { field: f } => [12, 0, field(f)],
            Function::Solve { field: f } => [13, 0, field(f)],
            Function::Qr { complete, field: f } => [14, i64::from(complete), field(f)],
            Function::Svd { full, field: f } => [15, i64::from(full), field(f)],
            Function::Svdvals { field: f } => [16, 0, field(f)],
            Function::Eigh { field: f } => [17, 0, field(f)],
            Function::Eigvalsh { field: f } => [18, 0, field(f)],
            Function::Fft { inverse } => [19, i64::from(inverse), 0],
            Function::Rfft => [20, 0, 0],
            Function::Irfft => [21, 0, 0],
            Function::Locate { axis } => [31, i64::from(axis), 0],
        }
    }

    /// The function that gives these words.
    pub fn from_words([code, a, b]: [i64; 3]) -> Option<Function> {
        let truth = |x: i64| match x {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let field = truth(b).map(|complex| if complex { Field::Complex } else { Field::Real });
        let combine = || match a {
            0 => Some(Combine::Set),
            _ => Some(Combine::Reduce(reduce_of(a - 1)?)),
        };
        let function = match code {
            1 => Function::Sort { descending: truth(a)? },
            2 => Function::Argsort { descending: truth(a)? },
            3 => Function::Searchsorted { right: truth(a)? },
            4 => Function::Scan {
                op: reduce_of(a.div_euclid(2))?,
                initial: truth(a.rem_euclid(2))?,
                field: field?,
            },
            5 => Function::Take,
            6 => Function::TakeAlong,
            7 => Function::Scatter { combine: combine()? },
            8 => Function::ScatterAlong { combine: combine()? },
            9 => Function::Cholesky { upper: truth(a)?, field: field? },
            10 => Function::Det { field: field? },
            11 => Function::Slogdet { field: field? },
            12 => Function::Inv { field: field? },
            13 => Function::Solve { field: field? },
            14 => Function::Qr { complete: truth(a)?, field: field? },
            15 => Function::Svd { full: truth(a)?, field: field? },
            16 => Function::Svdvals { field: field? },
            17 => Function::Eigh { field: field? },
            18 => Function::Eigvalsh { field: field? },
            19 => Function::Fft { inverse: truth(a)? },
            20 => Function::Rfft,
            21 => Function::Irfft,
            31 => Function::Locate { axis: u8::try_from(a).ok()? },
            _ => return None,
        };
        (function.words() == [code, a, b]).then_some(function)
    }

    /// The function of this name with these attributes.
    pub fn by_name(name: &str, a: i64, b: i64) -> Option<Function> {
        let (_, code) = NAMES.iter().find(|(known, _)| *known == name)?;
        Function::from_words([*code, a, b])
    }
}

fn reduce_code(op: ReduceOp) -> i64 {
    match op {
        ReduceOp::Sum => 0,
        ReduceOp::Prod => 1,
        ReduceOp::Max => 2,
        ReduceOp::Min => 3,
        ReduceOp::And => 4,
        ReduceOp::Or => 5,
        ReduceOp::Xor => 6,
        // No function takes these, as its dtypes say.
        ReduceOp::By(_) => -1,
    }
}

fn reduce_of(code: i64) -> Option<ReduceOp> {
    ReduceOp::ALL.into_iter().find(|op| reduce_code(*op) == code)
}

/// `name(a, b)`, the words in texts.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, a, b] = self.words();
        write!(f, "{}({a}, {b})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_which_function_it_is() {
        let mut found = 0;
        for (name, code) in NAMES {
            for (a, b) in (0..16).flat_map(|a| [(a, 0), (a, 1)]) {
                let Some(function) = Function::from_words([*code, a, b]) else { continue };
                assert_eq!(function.words(), [*code, a, b]);
                assert_eq!(Function::by_name(name, a, b), Some(function));
                let ((args, results), core) = (function.arity(), function.core());
                assert_eq!((args, results), (core.0.len(), core.1.len()), "{function}");
                found += 1;
            }
        }
        assert_eq!(found, 98);
    }
}
