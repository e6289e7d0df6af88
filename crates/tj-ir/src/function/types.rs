//! Types and sizes of what a function gives, from those of what it takes.

use smallvec::SmallVec;
use tj_tensor::DType;

use super::{Combine, Field, Function};
use crate::dim::Dim;
use crate::lazy::Shape;
use crate::op::ReduceOp;

/// Whether functions combine values of a dtype so: by the named reductions alone.
fn scans(op: ReduceOp, dtype: DType) -> bool {
    !matches!(op, ReduceOp::By(_)) && op.op().dtypes(&[dtype, dtype]) == Some((dtype, dtype))
}

impl Function {
    /// Types of the results; `None` if the function is not defined on arguments of these types.
    pub fn dtypes(self, args: &[DType]) -> Option<SmallVec<[DType; 3]>> {
        let &first = args.first().filter(|_| args.len() == self.arity().0)?;
        let real = matches!(first, DType::F32 | DType::F64);
        let plain = !first.is_complex();
        let fits = match self {
            Function::Sort { .. } | Function::Argsort { .. } => plain,
            Function::Searchsorted { .. } => plain && args[1] == first,
            Function::Scan { op, .. } => plain && scans(op, first),
            Function::Take | Function::TakeAlong => plain && args[1] == DType::I64,
            Function::Locate { .. } => args == [DType::I64; 2],
            Function::Scatter { combine } | Function::ScatterAlong { combine } => {
                let combines = match combine {
                    Combine::Set => true,
                    Combine::Reduce(op) => scans(op, first),
                };
                plain && combines && args[1] == DType::I64 && args[2] == first
            }
            Function::Solve { .. } => real && args[1] == first,
            Function::Cholesky { .. }
            | Function::Det { .. }
            | Function::Slogdet { .. }
            | Function::Inv { .. }
            | Function::Qr { .. }
            | Function::Svd { .. }
            | Function::Svdvals { .. }
            | Function::Eigh { .. }
            | Function::Eigvalsh { .. }
            | Function::Fft { .. }
            | Function::Rfft
            | Function::Irfft => real,
        };
        let given = match self {
            Function::Argsort { .. } | Function::Searchsorted { .. } => DType::I64,
            Function::Sort { .. }
            | Function::Scan { .. }
            | Function::Take
            | Function::TakeAlong
            | Function::Locate { .. }
            | Function::Scatter { .. }
            | Function::ScatterAlong { .. }
            | Function::Cholesky { .. }
            | Function::Det { .. }
            | Function::Slogdet { .. }
            | Function::Inv { .. }
            | Function::Solve { .. }
            | Function::Qr { .. }
            | Function::Svd { .. }
            | Function::Svdvals { .. }
            | Function::Eigh { .. }
            | Function::Eigvalsh { .. }
            | Function::Fft { .. }
            | Function::Rfft
            | Function::Irfft => first,
        };
        fits.then(|| SmallVec::from_elem(given, self.arity().1))
    }

    /// Which arguments and which results are pairs: complex numbers to whoever calls it.
    pub fn complex(self) -> (SmallVec<[bool; 3]>, SmallVec<[bool; 3]>) {
        let (args, results): (&[bool], &[bool]) = match self {
            Function::Sort { .. }
            | Function::Argsort { .. }
            | Function::Searchsorted { .. }
            | Function::Take
            | Function::TakeAlong
            | Function::Locate { .. }
            | Function::Scatter { .. }
            | Function::ScatterAlong { .. } => (&[false; 3], &[false]),
            Function::Rfft => (&[false], &[true]),
            Function::Irfft => (&[true], &[false]),
            Function::Fft { .. } => (&[true], &[true]),
            Function::Svdvals { field } | Function::Eigvalsh { field } => {
                (if field == Field::Complex { &[true] } else { &[false] }, &[false])
            }
            Function::Scan { field, .. }
            | Function::Cholesky { field, .. }
            | Function::Det { field }
            | Function::Inv { field }
            | Function::Solve { field }
            | Function::Qr { field, .. }
            | Function::Slogdet { field }
            | Function::Svd { field, .. }
            | Function::Eigh { field } => match (field, self) {
                (Field::Real, _) => (&[false; 3], &[false; 3]),
                (Field::Complex, Function::Slogdet { .. }) => (&[true], &[true, false]),
                (Field::Complex, Function::Svd { .. }) => (&[true], &[true, false, true]),
                (Field::Complex, Function::Eigh { .. }) => (&[true], &[false, true]),
                (Field::Complex, _) => (&[true; 2], &[true; 2]),
            },
        };
        let (n_args, n_results) = self.arity();
        (SmallVec::from_slice(&args[..n_args]), SmallVec::from_slice(&results[..n_results]))
    }

    /// Sizes of a result whose arguments have these sizes, if those say it: the size of [`Function::Irfft`] is a choice.
    /// `None` too for arguments of the wrong number or rank.
    pub fn shape(self, args: &[&[Dim]], output: usize) -> Option<Shape> {
        let first = *args.first().filter(|_| args.len() == self.arity().0)?;
        let rows = self.rows(args)?;
        let core = &first[rows..];
        let pair = |field: Field| (field == Field::Complex).then_some(Dim::from(2));
        let last = |arg: usize, from_end: usize| -> Option<Dim> {
            args[arg].len().checked_sub(from_end).and_then(|at| args[arg].get(at)).cloned()
        };
        let matrix = |rows: Dim, columns: Dim, field: Field| [rows, columns].into_iter().chain(pair(field));
        let mut shape: Shape = first[..rows].iter().cloned().collect();
        match (self, output) {
            (Function::Sort { .. } | Function::Argsort { .. } | Function::Locate { .. }, 0) => {
                shape.extend(core.iter().cloned())
            }
            (Function::Scan { initial, .. }, 0) => {
                shape.push(&core[0] + i64::from(initial));
                shape.extend(core[1..].iter().cloned());
            }
            (Function::Searchsorted { .. } | Function::TakeAlong, 0) => shape.push(last(1, 1)?),
            (Function::Take, 0) => shape.extend([last(1, 1)?, core[1].clone()]),
            (Function::Scatter { .. } | Function::ScatterAlong { .. }, 0) => {
                shape.extend(core.iter().cloned())
            }
            (Function::Cholesky { .. } | Function::Inv { .. }, 0) => shape.extend(core.iter().cloned()),
            (Function::Det { field } | Function::Slogdet { field }, 0) => shape.extend(pair(field)),
            (Function::Slogdet { .. }, 1) => {}
            (Function::Solve { .. }, 0) => shape.extend(args[1][rows..].iter().cloned()),
            (Function::Qr { complete, field }, 0 | 1) => {
                let (m, n) = (core[0].clone(), core[1].clone());
                let k = if complete { m.clone() } else { m.min(&n) };
                shape.extend(if output == 0 { matrix(m, k, field) } else { matrix(k, n, field) });
            }
            (Function::Svd { full, field }, 0 | 2) => {
                let (m, n) = (core[0].clone(), core[1].clone());
                let k = m.min(&n);
                shape.extend(match (output, full) {
                    (0, true) => matrix(m.clone(), m, field),
                    (0, false) => matrix(m, k, field),
                    (_, true) => matrix(n.clone(), n, field),
                    (_, false) => matrix(k, n, field),
                });
            }
            (Function::Svd { .. }, 1) | (Function::Svdvals { .. }, 0) => shape.push(core[0].min(&core[1])),
            (Function::Eigh { .. } | Function::Eigvalsh { .. }, 0) => shape.push(core[0].clone()),
            (Function::Eigh { .. }, 1) => shape.extend(core.iter().cloned()),
            (Function::Fft { .. }, 0) => shape.extend(core.iter().cloned()),
            (Function::Rfft, 0) => shape.extend([core[0].floordiv(&Dim::from(2)) + 1, Dim::from(2)]),
            _ => return None,
        }
        Some(shape)
    }

    /// Axes of the arguments that must be equal: rows, and those of the core that the notation of [`Function`] gives one
    /// letter. None if ranks do not fit.
    pub fn equal_axes<'s>(self, args: &[&'s [Dim]]) -> Vec<(&'s Dim, &'s Dim)> {
        let Some(rows) = self.rows(args) else { return Vec::new() };
        let mut pairs = Vec::new();
        let (core, _) = self.core();
        let with_rows: Vec<&[Dim]> =
            args.iter().zip(&core).filter(|(_, core)| core.is_some()).map(|(arg, _)| *arg).collect();
        if let Some((first, others)) = with_rows.split_first() {
            for other in others {
                pairs.extend(first[..rows].iter().zip(&other[..rows]));
            }
        }
        match self {
            Function::Scatter { .. } => {
                pairs.extend([(&args[1][0], &args[2][rows]), (&args[0][rows + 1], &args[2][rows + 1])]);
            }
            Function::ScatterAlong { .. } => pairs.push((&args[1][rows], &args[2][rows])),
            Function::Solve { .. } => {
                pairs.extend([(&args[0][rows], &args[0][rows + 1]), (&args[0][rows], &args[1][rows])]);
            }
            Function::Cholesky { .. }
            | Function::Det { .. }
            | Function::Slogdet { .. }
            | Function::Inv { .. }
            | Function::Eigh { .. }
            | Function::Eigvalsh { .. } => pairs.push((&args[0][rows], &args[0][rows + 1])),
            Function::Sort { .. }
            | Function::Argsort { .. }
            | Function::Searchsorted { .. }
            | Function::Scan { .. }
            | Function::Take
            | Function::TakeAlong
            | Function::Locate { .. }
            | Function::Qr { .. }
            | Function::Svd { .. }
            | Function::Svdvals { .. }
            | Function::Fft { .. }
            | Function::Rfft
            | Function::Irfft => {}
        }
        pairs
    }

    /// How many leading axes of the arguments are rows; `None` if their number or ranks do not fit.
    pub fn rows(self, args: &[&[Dim]]) -> Option<usize> {
        let (core, _) = self.core();
        if args.len() != core.len() {
            return None;
        }
        let mut rows = None;
        for (arg, core) in args.iter().zip(&core) {
            match core {
                // What is given whole to every row has one axis.
                None if arg.len() != 1 => return None,
                None => {}
                Some(core) => {
                    let own = arg.len().checked_sub(*core)?;
                    if *rows.get_or_insert(own) != own {
                        return None;
                    }
                }
            }
        }
        rows
    }
}
