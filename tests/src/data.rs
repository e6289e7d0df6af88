//! Tensors from a seed: awkward values in awkward layouts.

use tensorjit::{DType, SliceSpec, Tensor};

use crate::rng::Rng;

/// What kind of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Small whole numbers: sums and products are exact.
    Small,
    /// Spread over some orders of magnitude: the order of additions shows.
    Spread,
    /// NaN, infinities, zeros of both signs, subnormals, extremes.
    Special,
}

/// A tensor of a dtype and shape, in a layout that the seed chooses: row-major, or a strided, reversed, transposed or
/// broadcast view of something larger.
pub fn tensor(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    let mut rng = Rng::new(seed);
    let values = match rng.below(10) {
        0..3 => Values::Small,
        3..7 => Values::Spread,
        _ => Values::Special,
    };
    let view = if rng.chance(60) || shape.is_empty() { 0 } else { 1 + rng.below(4) };
    let made = match view {
        0 => Some(row_major(dtype, shape, values, &mut rng)),
        1 => strided(dtype, shape, values, &mut rng),
        2 => reversed(dtype, shape, values, &mut rng),
        3 => {
            let turned: Vec<usize> = shape.iter().rev().copied().collect();
            Some(row_major(dtype, &turned, values, &mut rng).transpose())
        }
        _ => broadcast(dtype, shape, values, &mut rng),
    };
    made.unwrap_or_else(|| row_major(dtype, shape, values, &mut rng))
}

/// The middle of something twice as large.
fn strided(dtype: DType, shape: &[usize], values: Values, rng: &mut Rng) -> Option<Tensor> {
    let axis = rng.below(shape.len());
    let mut larger = shape.to_vec();
    larger[axis] = 2 * larger[axis] + 1;
    let spec = SliceSpec { start: Some(1), stop: None, step: 2 };
    row_major(dtype, &larger, values, rng).slice(axis, spec).ok()
}

fn reversed(dtype: DType, shape: &[usize], values: Values, rng: &mut Rng) -> Option<Tensor> {
    let axis = rng.below(shape.len());
    row_major(dtype, shape, values, rng).flip(axis).ok()
}

/// The same values along one axis.
fn broadcast(dtype: DType, shape: &[usize], values: Values, rng: &mut Rng) -> Option<Tensor> {
    let axis = rng.below(shape.len());
    let mut smaller = shape.to_vec();
    smaller[axis] = 1;
    row_major(dtype, &smaller, values, rng).broadcast_to(shape).ok()
}

fn row_major(dtype: DType, shape: &[usize], values: Values, rng: &mut Rng) -> Tensor {
    let count: usize = shape.iter().product();
    // Made in the widest type of a kind; the casts are exact, or round once.
    let made = if dtype.is_bool() {
        Tensor::from_shape_vec(shape, (0..count).map(|_| rng.chance(50)).collect::<Vec<bool>>())
    } else if dtype.is_int() {
        Tensor::from_shape_vec(shape, (0..count).map(|_| int(dtype, values, rng)).collect::<Vec<i64>>())
    } else {
        Tensor::from_shape_vec(shape, (0..count).map(|_| float(dtype, values, rng)).collect::<Vec<f64>>())
    };
    made.and_then(|tensor| tensor.cast(dtype)).expect("the vector has as many elements as the shape")
}

fn int(dtype: DType, values: Values, rng: &mut Rng) -> i64 {
    match values {
        Values::Small => rng.range(-3, 3),
        Values::Spread => rng.bits() as i64 >> rng.below(63),
        Values::Special => {
            let narrow = [i64::from(i32::MIN), i64::from(i32::MAX), 0, 1, -1, 2, 31, 32];
            let all = [i64::MIN, i64::MAX, 1 << 53, i64::from(i32::MIN), 0, 1, -1, 63, 64];
            if dtype.size() < 8 { rng.pick(&narrow) } else { rng.pick(&all) }
        }
    }
}

fn float(dtype: DType, values: Values, rng: &mut Rng) -> f64 {
    match values {
        Values::Small => rng.range(-3, 3) as f64,
        Values::Spread => (rng.unit() * 2.0 - 1.0) * 10_f64.powi(rng.range(-4, 4) as i32),
        Values::Special => special(dtype, rng),
    }
}

fn special(dtype: DType, rng: &mut Rng) -> f64 {
    let tiny = 1 + rng.below(5);
    let (least, greatest) = if dtype.size() < 8 {
        (f64::from(f32::from_bits(tiny as u32)), f64::from(f32::MAX))
    } else {
        (f64::from_bits(tiny as u64), f64::MAX)
    };
    let all = [
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        least,
        -least,
        greatest,
        -greatest,
        88.5,
        -104.0,
        1e-30,
    ];
    if rng.chance(30) { rng.unit() * 4.0 - 2.0 } else { rng.pick(&all) }
}
