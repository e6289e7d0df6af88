//! `union`.

use proptest::prelude::*;
use tj_library::sparse::{Combine, union};
use tj_tensor::{Complex, Tensor};

use crate::support::{Case, cases, dense, fills, same, shapes};

/// Tensors of one shape, each with a fill of its own.
fn several() -> impl Strategy<Value = Vec<Case>> {
    (shapes(0..4usize), prop::collection::vec(fills(), 1..5)).prop_flat_map(|(shape, fills)| {
        fills.into_iter().map(|fill| cases(shape.clone(), fill)).collect::<Vec<_>>()
    })
}

fn with_one_fill() -> impl Strategy<Value = Vec<Case>> {
    (shapes(0..4usize), 1..5usize, fills())
        .prop_flat_map(|(shape, n, fill)| (0..n).map(|_| cases(shape.clone(), fill)).collect::<Vec<_>>())
}

/// NaN if either is; -0 before 0.
fn least(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x.total_cmp(&y).is_le() {
        x
    } else {
        y
    }
}

fn check(parts: &[Case], combine: Combine, op: impl Fn(f64, f64) -> f64) {
    let tensors: Vec<&Tensor> = parts.iter().map(|part| &part.x).collect();
    let expected = dense(parts[0].x.shape(), |at| parts.iter().map(|part| part.at(at)).reduce(&op).unwrap());
    let fill = parts.iter().map(Case::fill).reduce(&op).unwrap();
    same(&union(&tensors, combine).unwrap(), &expected, fill);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_fills(parts in several()) {
        check(&parts, Combine::Sum, |x, y| x + y);
        check(&parts, Combine::Min, least);
        check(&parts, Combine::Max, |x, y| -least(-x, -y));
    }

    #[test]
    fn one_fill(parts in with_one_fill()) {
        check(&parts, Combine::Sum, |x, y| x + y);
        check(&parts, Combine::Min, least);
        let fill = parts[0].fill();
        let is_fill = |x: f64| x.to_bits() == fill.to_bits() || (x.is_nan() && fill.is_nan());
        check(&parts, Combine::First, |x, y| if is_fill(x) { y } else { x });
    }
}

#[test]
fn known_unions() {
    let [x, y] = [vec![250_u8, 0, 1], vec![10, 0, 255]].map(Tensor::from);
    assert_eq!(union(&[&x, &y], Combine::Sum).unwrap().to_vec::<u8>().unwrap(), [4, 0, 0]);
    assert_eq!(union(&[&x, &y], Combine::Sum).unwrap().nnz().unwrap(), 1);
    let [p, q] = [vec![true, false], vec![true, true]].map(Tensor::from);
    assert_eq!(union(&[&p, &q], Combine::Sum).unwrap().to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(union(&[&p, &q], Combine::Min).unwrap().to_vec::<bool>().unwrap(), [true, false]);
    let z = Tensor::from(vec![Complex::new(1.0_f32, -1.0)]);
    assert_eq!(
        union(&[&z, &z], Combine::Sum).unwrap().to_vec::<Complex<f32>>().unwrap(),
        [Complex::new(2.0, -2.0)]
    );
    assert_eq!(union(&[&z, &z], Combine::Max).unwrap_err().to_string(), "union: does not take c64");
    assert_eq!(union(&[], Combine::Sum).unwrap_err().to_string(), "union: got no tensor");
    let message = "union: tensor 1 has shape [2], and tensor 0 has [3]";
    assert_eq!(union(&[&x, &p], Combine::Sum).unwrap_err().to_string(), message);
    let ones = x.clone().with_fill(Some(1_u8.into())).unwrap();
    let zeros = y.with_fill(Some(0_u8.into())).unwrap();
    let message = "union: the fill of tensor 1 is 0u8, and that of tensor 0 is 1u8";
    assert_eq!(union(&[&ones, &zeros], Combine::First).unwrap_err().to_string(), message);
}
