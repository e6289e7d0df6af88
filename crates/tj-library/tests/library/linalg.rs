//! What defines each factorisation, on matrices of many kinds.

use proptest::prelude::*;
use tj_ir::{Field, Function};
use tj_tensor::{Complex, DType};

use crate::support::{Owned, try_call, try_call_cut};

type C = Complex<f64>;

/// A small, slow matrix, always complex.
#[derive(Clone, Debug)]
struct Matrix {
    m: usize,
    n: usize,
    entries: Vec<C>,
}

impl Matrix {
    fn of(m: usize, n: usize, f: impl Fn(usize, usize) -> C) -> Matrix {
        Matrix { m, n, entries: (0..m * n).map(|i| f(i / n, i % n)).collect() }
    }

    fn at(&self, i: usize, j: usize) -> C {
        self.entries[i * self.n + j]
    }

    fn identity(n: usize) -> Matrix {
        Matrix::of(n, n, |i, j| C::new(f64::from(u8::from(i == j)), 0.0))
    }

    fn diagonal(m: usize, n: usize, values: &[f64]) -> Matrix {
        Matrix::of(m, n, |i, j| C::new(if i == j { values[i] } else { 0.0 }, 0.0))
    }

    fn adjoint(&self) -> Matrix {
        Matrix::of(self.n, self.m, |i, j| self.at(j, i).conj())
    }

    fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.n, other.m);
        Matrix::of(self.m, other.n, |i, j| (0..self.n).map(|k| self.at(i, k) * other.at(k, j)).sum())
    }

    fn greatest(&self) -> f64 {
        self.entries.iter().map(|x| x.re.abs().max(x.im.abs())).fold(0.0, f64::max)
    }

    /// The greatest difference, as a multiple of epsilon, `scale` and the size.
    fn error(&self, other: &Matrix, scale: f64) -> f64 {
        assert_eq!((self.m, self.n), (other.m, other.n));
        let difference = Matrix::of(self.m, self.n, |i, j| self.at(i, j) - other.at(i, j));
        assert!(difference.entries.iter().all(|x| x.is_finite()), "{self:?} {other:?}");
        let scale = scale.max(f64::MIN_POSITIVE) * f64::EPSILON * (self.m.max(self.n).max(1) as f64);
        difference.greatest() / scale
    }

    fn owned(&self, field: Field) -> Owned {
        match field {
            Field::Real => {
                Owned::new(&[self.m, self.n], &self.entries.iter().map(|x| x.re).collect::<Vec<_>>())
            }
            Field::Complex => {
                let parts: Vec<f64> = self.entries.iter().flat_map(|x| [x.re, x.im]).collect();
                Owned::new(&[self.m, self.n, 2], &parts)
            }
        }
    }

    fn read(owned: &Owned) -> Matrix {
        let (m, n) = (owned.shape[0], owned.shape[1]);
        let x = owned.elements::<f64>();
        let entries = match owned.shape.len() {
            2 => x.iter().map(|x| C::new(*x, 0.0)).collect(),
            _ => x.chunks(2).map(|x| C::new(x[0], x[1])).collect(),
        };
        Matrix { m, n, entries }
    }
}

fn shape(m: usize, n: usize, field: Field) -> Vec<usize> {
    match field {
        Field::Real => vec![m, n],
        Field::Complex => vec![m, n, 2],
    }
}

fn run(function: Function, args: &[&Owned], shapes: &[Vec<usize>]) -> Vec<Owned> {
    let results: Vec<(DType, &[usize])> = shapes.iter().map(|shape| (DType::F64, &**shape)).collect();
    try_call(function, args, &results).unwrap_or_else(|e| panic!("{e}: {args:?}"))
}

/// Random, of less than full rank, graded, with zeros, huge and tiny.
fn matrix(m: usize, n: usize, field: Field) -> impl Strategy<Value = Matrix> {
    let part = || prop_oneof![4 => -1.0..1.0f64, 1 => Just(0.0), 1 => (-3i8..3).prop_map(f64::from)];
    let im = field == Field::Complex;
    let entry = (part(), part()).prop_map(move |(re, i)| C::new(re, if im { i } else { 0.0 }));
    let scale = prop_oneof![4 => Just(0), 1 => Just(900), 1 => Just(-900)];
    (prop::collection::vec(entry, m * n), 0usize..6, scale).prop_map(move |(entries, kind, scale)| {
        let x = Matrix { m, n, entries };
        let power = 2f64.powi(scale);
        Matrix::of(m, n, |i, j| {
            let x = match kind {
                0 => x.at(i, j) * 10f64.powi(-4 * i as i32),
                1 => x.at(i / 2, j),
                2 => x.at(i, 0) * x.at(0, j),
                3 if j > i + 1 || i > j => C::new(0.0, 0.0),
                _ => x.at(i, j),
            };
            x * power
        })
    })
}

fn any_field() -> impl Strategy<Value = Field> {
    prop_oneof![Just(Field::Real), Just(Field::Complex)]
}

fn any_matrix() -> impl Strategy<Value = (Field, Matrix)> {
    (0usize..9, 0usize..9, any_field())
        .prop_flat_map(|(m, n, field)| matrix(m, n, field).prop_map(move |a| (field, a)))
}

fn any_square(n: std::ops::Range<usize>) -> impl Strategy<Value = (Field, Matrix)> {
    (n, any_field()).prop_flat_map(|(n, field)| matrix(n, n, field).prop_map(move |a| (field, a)))
}

/// Errors, as multiples of epsilon and the size, that a backward stable method stays below.
const STABLE: f64 = 24.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn qr_has_orthonormal_columns((field, a) in any_matrix(), complete in any::<bool>()) {
        let (m, n) = (a.m, a.n);
        let k = if complete { m } else { m.min(n) };
        let found = run(Function::Qr { complete, field }, &[&a.owned(field)], &[shape(m, k, field), shape(k, n, field)]);
        let (q, r) = (Matrix::read(&found[0]), Matrix::read(&found[1]));
        prop_assert!(q.adjoint().times(&q).error(&Matrix::identity(k), 1.0) < STABLE);
        prop_assert!(q.times(&r).error(&a, a.greatest()) < STABLE);
        prop_assert!((0..k).all(|i| (0..n.min(i)).all(|j| r.at(i, j) == C::new(0.0, 0.0))));
    }

    #[test]
    fn svd_has_orthonormal_factors((field, a) in any_matrix(), full in any::<bool>()) {
        let (m, n) = (a.m, a.n);
        let k = m.min(n);
        let (ku, kv) = if full { (m, n) } else { (k, k) };
        let shapes = [shape(m, ku, field), vec![k], shape(kv, n, field)];
        let found = run(Function::Svd { full, field }, &[&a.owned(field)], &shapes);
        let (u, vh) = (Matrix::read(&found[0]), Matrix::read(&found[2]));
        let s = found[1].elements::<f64>();
        prop_assert!(u.adjoint().times(&u).error(&Matrix::identity(ku), 1.0) < STABLE);
        prop_assert!(vh.times(&vh.adjoint()).error(&Matrix::identity(kv), 1.0) < STABLE);
        prop_assert!(s.is_sorted_by(|a, b| a >= b) && s.iter().all(|s| *s >= 0.0), "{:?}", s);
        let rebuilt = u.times(&Matrix::diagonal(ku, kv, s)).times(&vh);
        prop_assert!(rebuilt.error(&a, a.greatest()) < STABLE, "{}", rebuilt.error(&a, a.greatest()));
        let values = run(Function::Svdvals { field }, &[&a.owned(field)], &[vec![k]]);
        prop_assert!(Matrix::diagonal(k, k, s).error(&Matrix::diagonal(k, k, values[0].elements()), a.greatest()) < STABLE);
    }

    #[test]
    fn eigenvectors_diagonalise((field, a) in any_square(0..9)) {
        let n = a.n;
        let h = Matrix::of(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => a.at(j, i).conj(),
            std::cmp::Ordering::Equal => C::new(a.at(i, i).re, 0.0),
            std::cmp::Ordering::Greater => a.at(i, j),
        });
        let found = run(Function::Eigh { field }, &[&a.owned(field)], &[vec![n], shape(n, n, field)]);
        let (w, v) = (found[0].elements::<f64>(), Matrix::read(&found[1]));
        prop_assert!(w.is_sorted(), "{:?}", w);
        prop_assert!(v.adjoint().times(&v).error(&Matrix::identity(n), 1.0) < STABLE);
        let scaled = v.times(&Matrix::diagonal(n, n, w));
        prop_assert!(h.times(&v).error(&scaled, h.greatest()) < STABLE, "{}", h.times(&v).error(&scaled, h.greatest()));
        let values = run(Function::Eigvalsh { field }, &[&a.owned(field)], &[vec![n]]);
        prop_assert_eq!(values[0].elements::<f64>(), w);
    }

    #[test]
    fn matrices_do_not_meet(x in prop::collection::vec(-1.0..1.0, 36), cut in 0usize..=4) {
        let a = Owned::new(&[4, 3, 3], &x);
        let field = Field::Real;
        let square: (DType, &[usize]) = (DType::F64, &[4, 3, 3]);
        let values: (DType, &[usize]) = (DType::F64, &[4, 3]);
        for (function, results) in [
            (Function::Inv { field }, vec![square]),
            (Function::Qr { complete: false, field }, vec![square, square]),
            (Function::Svd { full: true, field }, vec![square, values, square]),
            (Function::Eigh { field }, vec![values, square]),
        ] {
            let whole = try_call_cut(function, &[&a], &results, 4, &[]);
            let pieces = try_call_cut(function, &[&a], &results, 4, &[cut]);
            prop_assert_eq!(whole, pieces);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    // Sizes beyond a panel, so that halves meet.
    #[test]
    fn triangular_factors_solve((field, a) in any_square(0..40), k in 0usize..3) {
        let n = a.n;
        // Far from singular: the diagonal dominates. Rows are turned round, so that pivots have to be found.
        let greatest = a.greatest().max(f64::MIN_POSITIVE);
        let unit = Matrix::of(n, n, |i, j| a.at(n - 1 - i, j) / greatest);
        let a = Matrix::of(n, n, |i, j| {
            unit.at(i, j) + C::new(if i + j + 1 == n { n as f64 + 1.0 } else { 0.0 }, 0.0)
        });
        let owned = a.owned(field);
        let inverse = Matrix::read(&run(Function::Inv { field }, &[&owned], &[shape(n, n, field)])[0]);
        prop_assert!(a.times(&inverse).error(&Matrix::identity(n), 1.0) < STABLE);
        let b = Matrix::of(n, k, |i, j| if n > 0 { a.at(i, (i + j) % n) } else { C::new(0.0, 0.0) });
        let x = Matrix::read(&run(Function::Solve { field }, &[&owned, &b.owned(field)], &[shape(n, k, field)])[0]);
        prop_assert!(a.times(&x).error(&b, a.greatest()) < STABLE);

        let positive = unit.times(&unit.adjoint());
        let positive = Matrix::of(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => C::new(f64::NAN, 0.0),
            std::cmp::Ordering::Equal => positive.at(i, j) + C::new(1.0, 0.0),
            std::cmp::Ordering::Greater => positive.at(i, j),
        });
        let full = Matrix::of(n, n, |i, j| if i < j { positive.at(j, i).conj() } else { positive.at(i, j) });
        let l = Matrix::read(&run(Function::Cholesky { upper: false, field }, &[&positive.owned(field)], &[shape(n, n, field)])[0]);
        prop_assert!((0..n).all(|i| (i + 1..n).all(|j| l.at(i, j) == C::new(0.0, 0.0))));
        prop_assert!(l.times(&l.adjoint()).error(&full, full.greatest()) < STABLE);
        let u = Matrix::read(&run(Function::Cholesky { upper: true, field }, &[&positive.owned(field)], &[shape(n, n, field)])[0]);
        prop_assert_eq!(u.entries, l.adjoint().entries);
    }

    #[test]
    fn determinants_multiply((field, a) in any_square(0..20)) {
        let greatest = a.greatest().max(f64::MIN_POSITIVE);
        let n = a.n;
        let a = Matrix::of(n, n, |i, j| a.at(i, j) / greatest);
        let c = if field == Field::Complex { vec![2] } else { vec![] };
        let det = run(Function::Det { field }, &[&a.owned(field)], std::slice::from_ref(&c));
        let both = run(Function::Slogdet { field }, &[&a.owned(field)], &[c, vec![]]);
        let log = both[1].elements::<f64>()[0];
        // Each of the n products rounds to the spacing of subnormal numbers at best, and what follows it may be 16 times as
        // large.
        let least = 16.0 * n as f64 * f64::from_bits(1);
        for (det, sign) in det[0].elements::<f64>().iter().zip(both[0].elements::<f64>()) {
            let error = (det - sign * log.exp()).abs();
            prop_assert!(error <= 1e-12 * log.exp() + least, "{} {} {}", det, sign, log);
        }
        let s = run(Function::Svdvals { field }, &[&a.owned(field)], &[vec![n]]);
        let size: f64 = s[0].elements::<f64>().iter().product();
        let scale = s[0].elements::<f64>().iter().fold(1.0, |scale, s| scale * (s + 0.1));
        prop_assert!((size - log.exp()).abs() <= 1e-12 * scale, "{} {}", size, log.exp());
    }
}

/// Graded so far that squares of entries underflow: factors stay orthonormal all the same.
#[test]
fn graded_matrices_have_orthonormal_factors() {
    for field in [Field::Real, Field::Complex] {
        for step in [-9, -5, -2] {
            let n = 36;
            let a = Matrix::of(n, n, |i, j| {
                let power = 10f64.powi(step * i.max(j) as i32);
                C::new(((i * 7 + j * 3) % 11) as f64 - 5.0, if field == Field::Complex { 1.0 } else { 0.0 })
                    * power
            });
            let owned = a.owned(field);
            let square = || shape(n, n, field);
            let q = run(Function::Qr { complete: false, field }, &[&owned], &[square(), square()]);
            let v = run(Function::Eigh { field }, &[&owned], &[vec![n], square()]);
            let u = run(Function::Svd { full: true, field }, &[&owned], &[square(), vec![n], square()]);
            for factor in [&q[0], &v[1], &u[0], &u[2]] {
                let factor = Matrix::read(factor);
                assert!(factor.adjoint().times(&factor).error(&Matrix::identity(n), 1.0) < STABLE);
            }
        }
    }
}

#[test]
fn matrices_without_an_answer_are_named() {
    let field = Field::Real;
    let complex = Field::Complex;
    let check = |function: Function, shape: &[usize], a: &[f64], result: &[usize], message: &str| {
        let error = try_call(function, &[&Owned::new(shape, a)], &[(DType::F64, result)]).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let inv = Function::Inv { field };
    let two = [1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0];
    check(inv, &[2, 2, 2], &two, &[2, 2, 2], "inv: the matrix of row 1 is singular");
    let cholesky = Function::Cholesky { upper: false, field };
    let message = "cholesky: the matrix of row 0 is not positive definite, as column 1 shows";
    check(cholesky, &[2, 2], &[1.0, 2.0, 2.0, 1.0], &[2, 2], message);
    check(cholesky, &[2, 2], &[1.0, 1.0, 1.0, 1.0], &[2, 2], message);
    check(cholesky, &[2, 2], &[1.0, 0.0, 0.0, f64::NAN], &[2, 2], message);
    let cholesky = Function::Cholesky { upper: false, field: complex };
    let message = "cholesky: the matrix of row 0 is not positive definite, as column 0 shows";
    check(cholesky, &[1, 1, 2], &[-1.0, 0.0], &[1, 1, 2], message);
    let b = Owned::zeros(DType::F64, &[1, 1]);
    let solve = try_call(Function::Solve { field }, &[&b, &b], &[(DType::F64, &[1, 1])]);
    assert_eq!(solve.unwrap_err().to_string(), "solve: the matrix of row 0 is singular");
}

#[test]
fn what_is_not_finite_comes_to_an_end() {
    for field in [Field::Real, Field::Complex] {
        for n in 1..6 {
            for (bad, place) in [(f64::NAN, 0), (f64::INFINITY, n * n - 1), (f64::NEG_INFINITY, n * n / 2)] {
                let mut a = Matrix::of(n, n, |i, j| C::new((i * j) as f64 + 1.0, 0.0));
                a.entries[place] = C::new(bad, 0.0);
                let a = a.owned(field);
                let square = shape(n, n, field);
                let square: (DType, &[usize]) = (DType::F64, &square);
                let values: (DType, &[usize]) = (DType::F64, &[n]);
                let svd = try_call(Function::Svd { full: true, field }, &[&a], &[square, values, square]);
                assert_eq!(svd.unwrap_err().to_string(), "svd: the values of row 0 did not converge");
                assert!(try_call(Function::Svdvals { field }, &[&a], &[values]).is_err());
                // Anything but a panic or an endless loop; the upper triangle is not read.
                let _ = try_call(Function::Eigh { field }, &[&a], &[values, square]);
                let _ = try_call(Function::Qr { complete: true, field }, &[&a], &[square, square]);
                let _ = try_call(Function::Inv { field }, &[&a], &[square]);
                let _ = try_call(Function::Cholesky { upper: false, field }, &[&a], &[square]);
                let scalar: &[usize] = if field == Field::Complex { &[2] } else { &[] };
                let det = try_call(Function::Det { field }, &[&a], &[(DType::F64, scalar)]).unwrap();
                assert!(!det[0].elements::<f64>()[0].is_finite() || n > 1, "{det:?}");
            }
        }
    }
}
