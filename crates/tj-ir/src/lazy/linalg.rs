//! Factorisations of matrices, and what is made of them.
//!
//! Matrices lie in the last two axes; all axes before them are batches, which broadcast where there are two arguments.
//! Integers and `bool` go to f64. Transposes of complex matrices are conjugated, and norms are real. What cannot be computed, such as the inverse of a singular
//! matrix, is an error of the call that names the matrix.

mod norms;

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::DType;

use super::call::{Made, Place, as_shape, call, call_one, or_failed, reorder};
use super::complex::conj;
use super::contract::try_matmul;
use super::create::eye;
use super::elementwise::{attach, broadcast, map, require_equal};
use super::gather::spread;
use super::movement::insert_axes;
use super::reduce::reduce;
use super::{Kind, LazyTensor, Shape, axis};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::function::{Field, Function};
use crate::guard::Guard;
use crate::op::{Op, ReduceOp};

pub use norms::{KeptNorm, MatrixNorm, matrix_norm, vector_norm};

/// Which triangle of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On and below the diagonal.
    #[default]
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// How large the factors of a matrix that is not square are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Factors {
    /// No larger than the lesser side of the matrix.
    #[default]
    Reduced,
    /// Square where they are orthogonal.
    Complete,
}

/// The triangular factor of symmetric (Hermitian) positive definite matrices: `l @ l.H`, or `u.H @ u`. The lower triangle of a
/// matrix is read.
///
/// ```
/// use tj_ir::linalg::{Triangle, cholesky};
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let a = input("a", DType::F64, [8.into(), 3.into(), 3.into()])?;
/// assert_eq!(cholesky(&a, Triangle::Lower).shape(), a.shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn cholesky(a: &LazyTensor, triangle: Triangle) -> LazyTensor {
    let function = |field| Function::Cholesky { upper: triangle == Triangle::Upper, field };
    or_failed(of_square("cholesky", function, a, Location::caller()).map(first))
}

/// Determinants.
#[track_caller]
pub fn det(a: &LazyTensor) -> LazyTensor {
    or_failed(of_square("det", |field| Function::Det { field }, a, Location::caller()).map(first))
}

/// Signs of determinants, and logarithms of their absolute values.
///
/// ```
/// use tj_ir::linalg::slogdet;
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let a = input("a", DType::F32, [Dim::new("N", ..)?, 3.into(), 3.into()])?;
/// let (sign, logabsdet) = slogdet(&a);
/// assert_eq!((sign.shape(), logabsdet.shape()), (&a.shape()[..1], &a.shape()[..1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn slogdet(a: &LazyTensor) -> (LazyTensor, LazyTensor) {
    let function = |field| Function::Slogdet { field };
    let [sign, logabsdet] = results(of_square("slogdet", function, a, Location::caller()));
    (sign, logabsdet)
}

/// Inverses.
#[track_caller]
pub fn inv(a: &LazyTensor) -> LazyTensor {
    or_failed(of_square("inv", |field| Function::Inv { field }, a, Location::caller()).map(first))
}

/// What `a @ x = b` is solved by. A `b` of rank 1 is one vector for all matrices; otherwise its last two axes are
/// a matrix of columns.
///
/// ```
/// use tj_ir::linalg::solve;
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", ..)?;
/// let a = input("a", DType::F64, [5.into(), n.clone(), n.clone()])?;
/// let b = input("b", DType::F64, [n.clone()])?;
/// assert_eq!(solve(&a, &b).shape(), [5.into(), n]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn solve(a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    or_failed(try_solve(a, b, Location::caller()))
}

/// `q` with orthonormal columns and upper triangular `r`, of which `q @ r` is the matrix.
#[track_caller]
pub fn qr(a: &LazyTensor, factors: Factors) -> (LazyTensor, LazyTensor) {
    let function = |field| Function::Qr { complete: factors == Factors::Complete, field };
    let [q, r] = results(of_matrix("qr", function, a, Location::caller()));
    (q, r)
}

/// `u`, `s` and `vh`, of which `(u * s) @ vh` is the matrix: orthonormal columns, singular values from the greatest on,
/// orthonormal rows.
///
/// ```
/// use tj_ir::linalg::{Factors, svd};
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let a = input("a", DType::F64, [5.into(), 3.into()])?;
/// let (u, s, vh) = svd(&a, Factors::Reduced);
/// assert_eq!(u.shape(), [5, 3].map(Dim::from));
/// assert_eq!(s.shape(), [3].map(Dim::from));
/// assert_eq!(vh.shape(), [3, 3].map(Dim::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn svd(a: &LazyTensor, factors: Factors) -> (LazyTensor, LazyTensor, LazyTensor) {
    let function = |field| Function::Svd { full: factors == Factors::Complete, field };
    let [u, s, vh] = results(of_matrix("svd", function, a, Location::caller()));
    (u, s, vh)
}

/// Singular values from the greatest on.
#[track_caller]
pub fn svdvals(a: &LazyTensor) -> LazyTensor {
    or_failed(singular_values("svdvals", a, Location::caller()))
}

/// Eigenvalues of symmetric (Hermitian) matrices from the least on, and eigenvectors in columns. The lower triangle of a matrix
/// is read.
#[track_caller]
pub fn eigh(a: &LazyTensor) -> (LazyTensor, LazyTensor) {
    let [w, v] = results(of_square("eigh", |field| Function::Eigh { field }, a, Location::caller()));
    (w, v)
}

/// The eigenvalues of [`eigh`].
#[track_caller]
pub fn eigvalsh(a: &LazyTensor) -> LazyTensor {
    let function = |field| Function::Eigvalsh { field };
    or_failed(of_square("eigvalsh", function, a, Location::caller()).map(first))
}

/// How many singular values are more than `tolerance` times the greatest one; left out, that is the greater side of the
/// matrix times the distance of 1 to the next number.
#[track_caller]
pub fn matrix_rank(a: &LazyTensor, tolerance: impl Into<Option<f64>>) -> LazyTensor {
    let (tolerance, location) = (tolerance.into(), Location::caller());
    or_failed(singular_values("matrix_rank", a, location).map(|s| {
        let large = is_large(a, &s, tolerance, location);
        reduce(ReduceOp::Sum, &large, &axis(-1), location)
    }))
}

/// Pseudo-inverses: singular values up to `tolerance` times the greatest one count as zero; left out, that is the greater
/// side of the matrix times the distance of 1 to the next number.
///
/// ```
/// use tj_ir::linalg::pinv;
/// use tj_ir::{Dim, input};
/// use tj_tensor::DType;
///
/// let a = input("a", DType::F64, [5.into(), 3.into()])?;
/// assert_eq!(pinv(&a, None).shape(), [3, 5].map(Dim::from));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn pinv(a: &LazyTensor, tolerance: impl Into<Option<f64>>) -> LazyTensor {
    let (tolerance, location) = (tolerance.into(), Location::caller());
    let function = |field| Function::Svd { full: false, field };
    or_failed(of_matrix("pinv", function, a, location).and_then(|made| {
        let [u, s, vh] = results(Ok(made));
        let inverse = map(Op::Div, [1.into(), (&s).into()], location);
        let large = is_large(a, &s, tolerance, location);
        let inverse = map(Op::Where, [large.into(), inverse.into(), 0.into()], location);
        let inverse = insert_axes(&inverse, &[inverse.rank() - 1], location);
        let v = map(Op::Mul, [adjoint(&vh, location).into(), inverse.into()], location);
        try_matmul(&v, &adjoint(&u, location), location)
    }))
}

/// The product of as many equal square matrices; of inverses for a negative power; the identity for 0, whatever the
/// matrices hold.
#[track_caller]
pub fn matrix_power(a: &LazyTensor, power: i64) -> LazyTensor {
    or_failed(try_power(a, power, Location::caller()))
}

/// Integers and `bool` as f64.
fn floats(op: &'static str, x: &LazyTensor, location: Place) -> Made {
    x.check()?;
    let dtypes = [x.dtype()];
    let (_, dtype) = Op::Div
        .dtypes(&dtypes)
        .ok_or_else(|| IrError::new(Cause::DTypes { op, dtypes: dtypes.to_vec() }, location))?;
    Ok(map(Op::Cast(dtype), [x.into()], location))
}

/// The same, of rank 2 at least.
fn matrices(op: &'static str, x: &LazyTensor, location: Place) -> Made {
    let x = floats(op, x, location)?;
    if x.rank() < 2 {
        let expected = "needs matrices, which have two axes";
        return Err(IrError::new(Cause::Rank { op, expected, rank: x.rank() }, location));
    }
    Ok(x)
}

/// Requires the last two axes to be equal.
fn require_square(op: &'static str, a: &LazyTensor, guards: &mut Vec<Guard>, location: Place) -> Made<()> {
    let shape = a.shape();
    let sides = (&shape[a.rank() - 2], &shape[a.rank() - 1]);
    require_equal(op, &shape[a.rank() - 2..], &shape[a.rank() - 2..], sides, guards, location)
        .map_err(|cause| IrError::new(cause, location))
}

type Results = SmallVec<[LazyTensor; 3]>;

fn field_of(a: &LazyTensor) -> Field {
    if a.dtype().is_complex() { Field::Complex } else { Field::Real }
}

fn of_matrix(
    op: &'static str,
    function: impl Fn(Field) -> Function,
    a: &LazyTensor,
    location: Place,
) -> Made<Results> {
    let a = matrices(op, a, location)?;
    call(op, function(field_of(&a)), vec![a], &[], location)
}

fn of_square(
    op: &'static str,
    function: impl Fn(Field) -> Function,
    a: &LazyTensor,
    location: Place,
) -> Made<Results> {
    let a = matrices(op, a, location)?;
    let mut guards = Vec::new();
    require_square(op, &a, &mut guards, location)?;
    call(op, function(field_of(&a)), vec![a], &guards, location)
}

fn singular_values(op: &'static str, a: &LazyTensor, location: Place) -> Made {
    of_matrix(op, |field| Function::Svdvals { field }, a, location).map(first)
}

fn first(mut made: Results) -> LazyTensor {
    made.swap_remove(0)
}

/// As many results; each carries the error if there is one.
fn results<const N: usize>(made: Made<Results>) -> [LazyTensor; N] {
    let mut made = match made {
        Ok(made) => made.into_iter(),
        Err(error) => SmallVec::from_elem(LazyTensor::failed(error), N).into_iter(),
    };
    std::array::from_fn(|_| made.next().expect("a function has as many results as its callers take"))
}

/// The last two axes swapped, and conjugated.
fn adjoint(a: &LazyTensor, location: Place) -> LazyTensor {
    let rank = a.rank();
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 2, rank - 1);
    conj(&reorder(a, &order, location), location)
}

/// Which singular values do not count as zero.
fn is_large(a: &LazyTensor, s: &LazyTensor, tolerance: Option<f64>, location: Place) -> LazyTensor {
    let greatest = reduce(ReduceOp::Max, s, &axis(-1).keepdims(), location);
    let limit = match tolerance {
        Some(tolerance) => map(Op::Mul, [greatest.into(), tolerance.into()], location),
        None => {
            let epsilon = if s.dtype() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let side = a.shape()[a.rank() - 2].max(&a.shape()[a.rank() - 1]);
            let side = LazyTensor::node(Kind::Size(side), Shape::new(), DType::I64, location);
            let side = map(Op::Cast(s.dtype()), [side.into()], location);
            let share = map(Op::Mul, [side.into(), epsilon.into()], location);
            map(Op::Mul, [greatest.into(), share.into()], location)
        }
    };
    map(Op::Greater, [s.into(), limit.into()], location)
}

fn try_solve(a: &LazyTensor, b: &LazyTensor, location: Place) -> Made {
    let op = "solve";
    let fail = |cause| IrError::new(cause, location);
    let (a, b) = (matrices(op, a, location)?, floats(op, b, location)?);
    let dtype = a.dtype().promote(b.dtype());
    let a = map(Op::Cast(dtype), [(&a).into()], location);
    let b = map(Op::Cast(dtype), [(&b).into()], location);
    let mut guards = Vec::new();
    require_square(op, &a, &mut guards, location)?;
    let is_vector = b.rank() == 1;
    let columns = if is_vector {
        as_shape(&b, b.shape().iter().cloned().chain([Dim::ONE]).collect(), location)
    } else if b.rank() == 0 {
        return Err(fail(Cause::Rank { op, expected: "needs vectors on the right", rank: 0 }));
    } else {
        b
    };
    let (sa, sb) = (a.shape(), columns.shape());
    let (batch_a, core_a) = sa.split_at(sa.len() - 2);
    let (batch_b, core_b) = sb.split_at(sb.len() - 2);
    require_equal(op, sa, sb, (&core_a[1], &core_b[0]), &mut guards, location).map_err(fail)?;
    let batch = broadcast(op, batch_a, batch_b, &mut guards, location).map_err(fail)?;
    let with = |core: &[Dim]| -> Shape { batch.iter().chain(core).cloned().collect() };
    let (wide_a, wide_b) = (with(core_a), with(core_b));
    let a = spread(op, &a, &wide_a, &mut guards, location)?;
    let columns = spread(op, &columns, &wide_b, &mut guards, location)?;
    let x = call_one(op, Function::Solve { field: field_of(&columns) }, vec![a, columns], &guards, location)?;
    Ok(if is_vector {
        as_shape(&x, x.shape()[..x.rank() - 1].iter().cloned().collect(), location)
    } else {
        x
    })
}

fn try_power(a: &LazyTensor, power: i64, location: Place) -> Made {
    let op = "matrix_power";
    let mut square = matrices(op, a, location)?;
    let mut guards = Vec::new();
    require_square(op, &square, &mut guards, location)?;
    if power < 0 {
        square = first(of_square(op, |field| Function::Inv { field }, &square, location)?);
    }
    let mut left = power.unsigned_abs();
    let mut product: Option<LazyTensor> = None;
    while left > 0 {
        if left % 2 == 1 {
            product = Some(match product {
                Some(product) => try_matmul(&product, &square, location)?,
                None => square.clone(),
            });
        }
        left /= 2;
        if left > 0 {
            square = try_matmul(&square, &square, location)?;
        }
    }
    Ok(product.unwrap_or_else(|| {
        // The sizes are equal by the guards, which the first operator carries.
        let mut zeros = square.zeros_like();
        attach(&mut zeros, guards);
        let identity = eye(
            square.shape()[square.rank() - 2].clone(),
            square.shape()[square.rank() - 1].clone(),
            0,
            square.dtype(),
        );
        map(Op::Add, [zeros.into(), identity.into()], location)
    }))
}
