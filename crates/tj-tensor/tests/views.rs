//! Views against the obvious model: an eager array that is rebuilt, coordinate by coordinate, for every operation.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;
use tj_tensor::{DType, Scalar, SliceSpec, Tensor, TensorError};

/// A row-major array.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    values: Vec<i32>,
}

impl Model {
    fn build(shape: Vec<usize>, mut f: impl FnMut(&[usize]) -> i32) -> Model {
        let mut values = Vec::new();
        let mut at = vec![0; shape.len()];
        let count: usize = shape.iter().product();
        for _ in 0..count {
            values.push(f(&at));
            for d in (0..shape.len()).rev() {
                at[d] += 1;
                if at[d] < shape[d] {
                    break;
                }
                at[d] = 0;
            }
        }
        Model { shape, values }
    }

    fn at(&self, at: &[usize]) -> i32 {
        let position = at.iter().zip(&self.shape).fold(0, |p, (i, n)| p * n + i);
        self.values[position]
    }
}

/// One step; the numbers are reduced to what is legal when the step is taken.
#[derive(Clone, Debug)]
enum Step {
    Permute(Vec<u8>),
    Transpose,
    Slice(u8, Option<i8>, Option<i8>, i8),
    Index(u8, u8),
    Flip(u8),
    Broadcast(Vec<u8>),
    Expand(u8),
    Squeeze(u8),
    Reshape(u8),
    Contiguous,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 8).prop_map(Step::Permute),
        Just(Step::Transpose),
        (any::<u8>(), prop::option::of(-7..7i8), prop::option::of(-7..7i8), -3..=3i8)
            .prop_map(|(axis, start, stop, step)| Step::Slice(axis, start, stop, step)),
        (any::<u8>(), any::<u8>()).prop_map(|(axis, index)| Step::Index(axis, index)),
        any::<u8>().prop_map(Step::Flip),
        prop::collection::vec(0..3u8, 1..6).prop_map(Step::Broadcast),
        any::<u8>().prop_map(Step::Expand),
        any::<u8>().prop_map(Step::Squeeze),
        any::<u8>().prop_map(Step::Reshape),
        Just(Step::Contiguous),
    ]
}

/// Python's rule, by counting.
fn python_slice(n: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<usize> {
    let bound = |b: i64, low, high| (if b < 0 { b + n } else { b }).clamp(low, high);
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let mut i = start.map_or(if step > 0 { 0 } else { n - 1 }, |b| bound(b, low, high));
    let stop = stop.map_or(if step > 0 { n } else { -1 }, |b| bound(b, low, high));
    let mut kept = vec![];
    while (step > 0 && i < stop) || (step < 0 && i > stop) {
        kept.push(i as usize);
        i += step;
    }
    kept
}

fn apply(tensor: &Tensor, model: &Model, step: &Step) -> (Tensor, Model) {
    let rank = model.shape.len();
    let old = model.clone();
    match step {
        Step::Permute(keys) => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.sort_by_key(|&d| keys[d % keys.len()]);
            let shape = axes.iter().map(|&d| old.shape[d]).collect();
            let model = Model::build(shape, |at| {
                let mut from = vec![0; rank];
                axes.iter().zip(at).for_each(|(&d, &i)| from[d] = i);
                old.at(&from)
            });
            (tensor.permute(&axes).unwrap(), model)
        }
        Step::Transpose => {
            let shape = old.shape.iter().rev().copied().collect();
            let reversed = |at: &[usize]| at.iter().rev().copied().collect::<Vec<_>>();
            (tensor.transpose(), Model::build(shape, |at| old.at(&reversed(at))))
        }
        Step::Slice(axis, start, stop, step) if rank > 0 && *step != 0 => {
            let axis = *axis as usize % rank;
            let (start, stop, step) = (start.map(i64::from), stop.map(i64::from), i64::from(*step));
            let kept = python_slice(old.shape[axis] as i64, start, stop, step);
            let mut shape = old.shape.clone();
            shape[axis] = kept.len();
            let model = Model::build(shape, |at| {
                let mut from = at.to_vec();
                from[axis] = kept[at[axis]];
                old.at(&from)
            });
            (tensor.slice(axis, SliceSpec { start, stop, step }).unwrap(), model)
        }
        Step::Index(axis, index) if rank > 0 && old.shape[*axis as usize % rank] > 0 => {
            let axis = *axis as usize % rank;
            let n = old.shape[axis];
            let index = *index as usize % n;
            let mut shape = old.shape.clone();
            shape.remove(axis);
            let model = Model::build(shape, |at| {
                let mut from = at.to_vec();
                from.insert(axis, index);
                old.at(&from)
            });
            let negative = index as i64 - n as i64;
            let view = tensor.index(axis, index as i64).unwrap();
            assert!(view.bit_eq(&tensor.index(axis, negative).unwrap()));
            (view, model)
        }
        Step::Flip(axis) if rank > 0 => {
            let axis = *axis as usize % rank;
            let model = Model::build(old.shape.clone(), |at| {
                let mut from = at.to_vec();
                from[axis] = old.shape[axis] - 1 - at[axis];
                old.at(&from)
            });
            (tensor.flip(axis).unwrap(), model)
        }
        Step::Broadcast(to) if rank < 6 => {
            let n_new = to.len().saturating_sub(rank).min(6 - rank);
            let mut shape: Vec<usize> = to[..n_new].iter().map(|&n| n as usize).collect();
            for (d, &n) in old.shape.iter().enumerate() {
                shape.push(if n == 1 { to[d % to.len()] as usize } else { n });
            }
            let model = Model::build(shape.clone(), |at| {
                let at: Vec<usize> =
                    at[n_new..].iter().zip(&old.shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                old.at(&at)
            });
            (tensor.broadcast_to(shape).unwrap(), model)
        }
        Step::Expand(axis) if rank < 6 => {
            let axis = *axis as usize % (rank + 1);
            let mut shape = old.shape.clone();
            shape.insert(axis, 1);
            (tensor.expand_dims(axis).unwrap(), Model { shape, values: old.values })
        }
        Step::Squeeze(seed) => {
            let ones: Vec<usize> =
                (0..rank).filter(|&d| old.shape[d] == 1 && (seed >> (d % 8)) & 1 == 1).collect();
            let shape = (0..rank).filter(|d| !ones.contains(d)).map(|d| old.shape[d]).collect();
            (tensor.squeeze(&ones).unwrap(), Model { shape, values: old.values })
        }
        Step::Reshape(seed) => {
            let count: usize = old.shape.iter().product();
            let first = (1..=count).filter(|n| count.is_multiple_of(*n)).nth(*seed as usize % 4).unwrap_or(1);
            let shape = vec![first, count / first];
            (tensor.reshape(&shape).unwrap(), Model { shape, values: old.values })
        }
        Step::Contiguous => (tensor.to_contiguous().unwrap(), old),
        Step::Slice(..) | Step::Index(..) | Step::Flip(_) | Step::Broadcast(_) | Step::Expand(_) => {
            (tensor.clone(), old)
        }
    }
}

fn check(tensor: &Tensor, model: &Model) {
    assert_eq!(tensor.shape(), model.shape);
    assert_eq!(tensor.to_vec::<i32>().unwrap(), model.values);
    assert_eq!(tensor.count().unwrap(), model.values.len());

    // The strides, the first address and the span describe the same elements.
    let span = tensor.byte_range();
    let strides = tensor.strides().unwrap();
    Model::build(model.shape.clone(), |at| {
        let value = tensor.get(at).unwrap();
        assert_eq!(value, Scalar::from(model.at(at)));
        let steps: isize = at.iter().zip(strides).map(|(&i, &s)| i as isize * s).sum();
        let byte = (tensor.offset().unwrap() as isize + steps) as usize * 4;
        assert!(span.contains(&byte), "{byte} {span:?}");
        0
    });
    assert_eq!(span.is_empty(), model.values.is_empty());

    assert_eq!(tensor.as_slice::<i32>().is_some(), tensor.is_contiguous());
    if let Some(slice) = tensor.as_slice::<i32>() {
        assert_eq!(slice, model.values);
        assert!(model.values.is_empty() || slice.as_ptr().cast() == tensor.data_ptr());
    }
    let copy = tensor.to_contiguous().unwrap();
    assert!(copy.is_contiguous() && copy.bit_eq(tensor));
    let expected: Vec<f64> = model.values.iter().map(|&x| x.into()).collect();
    assert_eq!(tensor.cast(DType::F64).unwrap().as_slice::<f64>().unwrap(), expected);
    assert!(!tensor.to_string().is_empty());
    #[cfg(feature = "ndarray")]
    {
        let view = tensor.as_ndarray::<i32>().unwrap();
        assert_eq!(view.shape(), model.shape);
        assert!(view.iter().eq(&model.values));
        let owned = tensor.to_ndarray::<i32>().unwrap();
        assert!(Tensor::from(owned).bit_eq(tensor));
        assert!(Tensor::from(view.to_owned()).bit_eq(tensor));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn compositions_match_the_model(
        shape in prop::collection::vec(0..5usize, 0..4),
        steps in prop::collection::vec(step(), 0..8),
    ) {
        let mut n = 0;
        let mut model = Model::build(shape, |_| { n += 1; n });
        let mut tensor = Tensor::from_shape_vec(&model.shape, model.values.clone()).unwrap();
        check(&tensor, &model);
        for step in steps {
            (tensor, model) = apply(&tensor, &model, &step);
            check(&tensor, &model);
        }
    }

    #[test]
    fn slices_resolve_for_any_numbers(start: Option<i64>, stop: Option<i64>, step: i64, extent in 0..=isize::MAX as usize) {
        match (SliceSpec { start, stop, step }).resolve(extent) {
            None => prop_assert_eq!(step, 0),
            Some((first, 0)) => prop_assert_eq!(first, 0),
            Some((first, len)) => {
                let last = first as i128 + (len as i128 - 1) * step as i128;
                prop_assert!(first < extent && (0..extent as i128).contains(&last));
            }
        }
    }

    #[test]
    fn strided_layouts_stay_in_their_buffer(
        shape in prop::collection::vec(0..4usize, 0..4),
        strides in prop::collection::vec(-5..5isize, 4),
        offset in 0..30usize,
    ) {
        let buffer = tj_tensor::Buffer::from_vec((0..24i32).collect::<Vec<_>>());
        let strides = &strides[..shape.len()];
        match Tensor::from_strided(DType::I32, &shape, strides, offset, buffer) {
            Ok(tensor) => {
                let model = Model::build(shape, |at| {
                    let steps: isize = at.iter().zip(strides).map(|(&i, s)| i as isize * s).sum();
                    (offset as isize + steps) as i32
                });
                check(&tensor, &model);
            }
            Err(error) => {
                prop_assert!(matches!(error, TensorError::OutOfBuffer { len: 24, .. }), "{}", error);
            }
        }
    }
}

#[test]
fn views_share_and_reshape_copies_only_when_it_must() {
    let x = Tensor::arange(24).unwrap().reshape([2, 3, 4]).unwrap();
    let merged = x.reshape([6, 4]).unwrap();
    assert!(merged.shares_storage_with(&x));
    let split = x.slice(2, SliceSpec::from(0..2)).unwrap().reshape([6, 2]).unwrap();
    assert!(split.shares_storage_with(&x));
    assert!(!x.transpose().reshape([24]).unwrap().shares_storage_with(&x));
    assert!(!x.cast(DType::F32).unwrap().shares_storage_with(&x));
    assert!(x.cast(DType::I64).unwrap().shares_storage_with(&x));
    // Dimensions of size 1 may go anywhere.
    assert!(x.transpose().reshape([4, 1, 3, 2, 1]).unwrap().shares_storage_with(&x));
}

#[test]
fn the_format_lists_dimensions_by_their_strides() {
    let x = Tensor::arange(6).unwrap().reshape([2, 3]).unwrap();
    assert_eq!(x.format().to_string(), "dense(2)");
    assert_eq!(x.transpose().format().to_string(), "{d1: dense, d0: dense}");
    let columns = x.with_format(&"{d1: dense, d0: dense}".parse().unwrap()).unwrap();
    assert_eq!((columns.strides().unwrap(), columns.bit_eq(&x)), (&[1, 2][..], true));
}

#[test]
fn large_transposes_copy_every_element() {
    // Beyond the strips and tiles in which such copies go, and not a multiple of either.
    let x = Tensor::arange(70 * 9 * 131).unwrap().reshape([70, 9, 131]).unwrap();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let y = x.permute(order).unwrap().flip(1).unwrap();
        let copy = y.to_contiguous().unwrap();
        assert!(!copy.shares_storage_with(&x) && copy.bit_eq(&y));
        assert_eq!(copy.as_slice::<i64>().unwrap(), y.to_vec::<i64>().unwrap());
        assert!(
            copy.flip(1)
                .unwrap()
                .cast(DType::F64)
                .unwrap()
                .cast(DType::I64)
                .unwrap()
                .bit_eq(&x.permute(order).unwrap())
        );
    }
}
