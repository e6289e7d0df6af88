//! Chains of moves: reshapes of transposes of flips, whose index maps are quotients and remainders of each other.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use proptest::prelude::*;
use tensorjit::{DType, Dim, LazyTensor, Tensor, input};
use tj_tests::everywhere;
use tj_tests::rng::Rng;

/// A shape of `count` elements, of one to four axes.
fn shape(rng: &mut Rng, mut count: usize) -> Vec<usize> {
    let mut shape = Vec::new();
    for _ in 0..rng.below(4) {
        let divisors: Vec<usize> = (1..=count).filter(|d| count.is_multiple_of(*d)).collect();
        let extent = rng.pick(&divisors);
        shape.push(extent);
        count /= extent;
    }
    shape.push(count);
    shape
}

/// A random move of both: of the program and, one after the other, of the values.
fn step(rng: &mut Rng, lazy: &LazyTensor, eager: &Tensor) -> (LazyTensor, Tensor) {
    let rank = eager.rank();
    match rng.below(3) {
        0 => {
            let shape = shape(rng, eager.shape().iter().product());
            let sizes: Vec<Option<Dim>> = shape.iter().map(|&d| Some(Dim::from(d as i64))).collect();
            (lazy.reshape(&sizes), eager.to_contiguous().unwrap().reshape(shape).unwrap())
        }
        1 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.rotate_left(rng.below(rank));
            let signed: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
            (lazy.permute(&signed), eager.permute(axes).unwrap())
        }
        _ => {
            let axis = rng.below(rank);
            (lazy.flip(axis as i64), eager.flip(axis).unwrap())
        }
    }
}

fn moves(seed: u64) {
    let mut rng = Rng::new(seed);
    let start = shape(&mut rng, [24, 30, 36][seed as usize % 3]);
    let values: Vec<f32> = (0..start.iter().product()).map(|i: usize| i as f32).collect();
    let x = Tensor::from_shape_vec(&start, values).unwrap();
    // The first extent may be a symbol: then what is proved of it holds for all values.
    let mut dims: Vec<Dim> = start.iter().map(|&d| Dim::from(d as i64)).collect();
    if rng.chance(50) {
        dims[0] = Dim::new("n", ..).unwrap();
    }
    let declared = input("x", DType::F32, dims).unwrap();
    let (mut lazy, mut eager) = (declared, x.clone());
    for _ in 0..2 + rng.below(6) {
        (lazy, eager) = step(&mut rng, &lazy, &eager);
    }
    let found = everywhere(&[lazy], &[("x", &x)]);
    assert_eq!(found[0].shape(), eager.shape());
    assert_eq!(found[0].to_vec::<f32>().unwrap(), eager.to_vec::<f32>().unwrap());
}

/// Proofs found indices outside of their buffers where no index is.
#[test]
fn reshaped_transposes_of_reshaped_transposes() {
    let x = input("x", DType::F32, [6.into(), 4.into()]).unwrap();
    let sizes = |lazy: LazyTensor, a: i64, b: i64| lazy.reshape(&[Some(a.into()), Some(b.into())]);
    let y = sizes(sizes(x.transpose(), 3, 8).transpose(), 6, 4);
    let values = Tensor::from_shape_vec([6, 4], (0..24).map(|i| i as f32).collect()).unwrap();
    // `x.T.reshape(3, 8).T.reshape(6, 4)` in NumPy.
    let expected = [
        0., 9., 18., 4., 13., 22., 8., 17., 3., 12., 21., 7., 16., 2., 11., 20., 6., 15., 1., 10., 19., 5.,
        14., 23.,
    ];
    assert_eq!(everywhere(&[y], &[("x", &values)])[0].to_vec::<f32>().unwrap(), expected);
}

/// A flip of a reshape, where only a guard says that another axis has one element.
#[test]
fn seeds_that_failed() {
    moves(7295316752271535125);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn moves_have_the_right_values(seed: u64) {
        moves(seed);
    }
}
