//! Shapes at the edges, and the messages of what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tj_tensor::{Buffer, Complex, DType, Duplicates, Format, Scalar, SliceSpec, Tensor, TensorError, f16};

fn small() -> Tensor {
    Tensor::from_shape_vec([2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap()
}

#[test]
fn blocks_that_nothing_holds_are_named() {
    let blocks = "bcsr(1000000, 1000000)".parse::<Format>().unwrap();
    let entry = |extent: usize| {
        let one = || Tensor::from(vec![1_i64]);
        Tensor::coo([extent, extent], &[one(), one()], vec![1.0], Duplicates::Sum).unwrap()
    };
    let message = |x: Tensor| x.with_format(&blocks).unwrap_err().to_string();
    let all = "a block of bcsr(1000000, 1000000) has 1000000000000 elements, and all of shape [3, 3] are 9";
    assert_eq!(message(entry(3)), all);
    assert_eq!(message(Tensor::zeros(DType::F64, [3, 3]).unwrap()), all);
    let large = message(entry(1 << 40));
    assert_eq!(
        large,
        "no memory for bcsr(1000000, 1000000), in which a block has 1000000000000 elements, stored if one of them is"
    );
    // Blocks may be larger than a tensor, if not by much.
    assert_eq!(entry(3).with_format(&"bcsr(100, 200)".parse().unwrap()).unwrap().nnz().unwrap(), 1);
}

#[test]
fn messages_name_the_value_and_the_bound() {
    let x = small();
    let step_0 = SliceSpec { start: None, stop: None, step: 0 };
    let far = Tensor::scalar(0u8).broadcast_to([1 << 40, 1 << 40]).unwrap();
    let wide = [1usize << 32, 1 << 32];
    for (error, message) in [
        (
            Tensor::zeros(DType::F32, wide).unwrap_err(),
            "shape [4294967296, 4294967296] of f32 needs 18446744073709551616 elements, more than \
             9223372036854775807 bytes",
        ),
        (
            Tensor::zeros(DType::U8, [usize::MAX, 0]).unwrap_err(),
            "shape [18446744073709551615, 0] of u8 needs 18446744073709551615 elements, more than \
             9223372036854775807 bytes",
        ),
        (
            far.to_contiguous().unwrap_err(),
            "shape [1099511627776, 1099511627776] of u8 needs 1208925819614629174706176 elements, more than \
             9223372036854775807 bytes",
        ),
        (
            Tensor::zeros(DType::U8, [1 << 62; 3]).unwrap_err(),
            "shape [4611686018427387904, 4611686018427387904, 4611686018427387904] of u8 needs at least \
             340282366920938463463374607431768211455 elements, more than 9223372036854775807 bytes",
        ),
        (Tensor::zeros(DType::I8, [1 << 62]).unwrap_err(), "cannot allocate 4611686018427387904 bytes"),
        (Tensor::from_shape_vec([2, 2], vec![1i8]).unwrap_err(), "shape [2, 2] needs 4 elements, got 1"),
        (
            Tensor::from_buffer(DType::F64, [2], Buffer::zeroed(15).unwrap()).unwrap_err(),
            "shape [2] of f64 needs 16 bytes, got 15",
        ),
        (
            Tensor::from_strided(DType::I32, [2, 2], [3, -1], 0, Buffer::zeroed(40).unwrap()).unwrap_err(),
            "shape [2, 2] with strides [3, -1] at offset 0 leaves a buffer of 10 elements",
        ),
        (
            Tensor::from_buffer(DType::Bool, [3], Buffer::copy_of(&[0, 1, 7]).unwrap()).unwrap_err(),
            "byte 2 of a bool buffer is 7, neither 0 nor 1",
        ),
        (x.item::<f32>().unwrap_err(), "shape [2, 3] does not have exactly one element"),
        (x.to_vec::<f64>().unwrap_err(), "expected elements of type f64, found f32"),
        (x.flip(2).unwrap_err(), "axis 2 is out of range for rank 2"),
        (x.expand_dims(3).unwrap_err(), "axis 3 is out of range for rank 3"),
        (x.permute([0, 0]).unwrap_err(), "axes [0, 0] are not a permutation of the 2 axes"),
        (x.permute([0]).unwrap_err(), "axes [0] are not a permutation of the 2 axes"),
        (x.index(1, 3).unwrap_err(), "index 3 is out of range for axis 1 of size 3"),
        (x.index(1, -4).unwrap_err(), "index -4 is out of range for axis 1 of size 3"),
        (x.get(&[2, 0]).unwrap_err(), "index 2 is out of range for axis 0 of size 2"),
        (x.get(&[0]).unwrap_err(), "1 indices for a tensor of rank 2"),
        (x.slice(0, step_0).unwrap_err(), "the step of a slice along axis 0 is 0"),
        (x.broadcast_to([3, 3]).unwrap_err(), "shape [2, 3] does not broadcast to [3, 3]"),
        (x.broadcast_to([3]).unwrap_err(), "shape [2, 3] does not broadcast to [3]"),
        (x.squeeze([1]).unwrap_err(), "axis 1 has size 3; only an axis of size 1 can be squeezed"),
        (x.reshape([4, 2]).unwrap_err(), "shape [2, 3] cannot be reshaped to [4, 2]: 6 elements are not 8"),
        (
            x.clone().with_fill(Some(Scalar::from(0.0f64))).unwrap_err(),
            "expected elements of type f32, found f64",
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn broadcasts_beyond_memory_are_lazy() {
    let far = Tensor::scalar(7i16).broadcast_to([1 << 40, 1 << 40]).unwrap();
    assert_eq!(far.strides().unwrap(), [0, 0]);
    assert_eq!(far.get(&[1 << 39, 5]), Ok(Scalar::I16(7)));
    assert_eq!(far.byte_range(), 0..2);
    assert!(far.bit_eq(&far.transpose()));
    let part = far.slice(0, SliceSpec::from(5..8)).unwrap().slice(1, SliceSpec::from(-2..1 << 41)).unwrap();
    assert_eq!(part.to_vec::<i16>().unwrap(), [7; 6]);
    assert!(matches!(far.cast(DType::F64), Err(TensorError::TooLarge { .. })));
    assert!(matches!(far.to_vec::<i16>(), Err(TensorError::TooLarge { .. })));
    assert!(far.reshape([1 << 20, 1 << 60]).unwrap().shares_storage_with(&far));
    assert!(far.broadcast_to([usize::MAX, 1 << 40, 1 << 40]).is_err());
}

#[test]
fn zero_sizes() {
    for shape in [vec![0], vec![0, 3], vec![3, 0, 2], vec![0, 1 << 40, 1 << 40]] {
        let x = Tensor::zeros(DType::F64, &shape).unwrap();
        assert!(x.is_empty() && x.is_contiguous() && x.transpose().is_contiguous());
        assert_eq!(x.count(), Ok(0));
        assert_eq!(x.as_slice::<f64>(), Some(&[][..]));
        assert_eq!(x.to_vec::<f64>().unwrap(), []);
        assert_eq!(x.byte_range(), 0..0);
        assert_eq!(x.to_string(), "[]");
        assert!(x.flip(0).unwrap().bit_eq(&x));
        assert_eq!(x.reshape([5, 0]).unwrap().shape(), [5, 0]);
        assert_eq!(x.cast(DType::Bool).unwrap().shape(), shape);
    }
    // Strides that nothing ever takes must not overflow either.
    let (shape, strides) = ([0, 5], [isize::MIN, isize::MAX]);
    let odd = Tensor::from_strided(DType::U8, shape, strides, 0, Buffer::zeroed(0).unwrap()).unwrap();
    let third = SliceSpec { start: None, stop: None, step: 3 };
    let odd = odd.slice(1, third).unwrap().flip(1).unwrap().index(1, -1).unwrap();
    assert_eq!(odd.transpose().to_contiguous().unwrap().to_vec::<u8>().unwrap(), []);
    let none = Tensor::scalar(1u8).broadcast_to([0]).unwrap();
    assert_eq!(none.to_vec::<u8>().unwrap(), []);
    assert!(Tensor::from(Vec::<f32>::new()).bit_eq(&Tensor::zeros(DType::F32, [0]).unwrap()));
}

#[test]
fn rank_sixteen() {
    let x = Tensor::arange(1 << 16).unwrap().reshape([2; 16]).unwrap();
    let y = x.transpose();
    assert_eq!(y.get(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Ok(Scalar::I64(1)));
    let reversed: Vec<i64> =
        (0..1u16 << 15).chain(1 << 15..=u16::MAX).map(|i| i.reverse_bits().into()).collect();
    assert_eq!(y.to_vec::<i64>().unwrap(), reversed);
    let mut z = x.clone();
    for axis in 0..16 {
        z = z.flip(axis).unwrap();
    }
    let backwards: Vec<i64> = (0..1 << 16).rev().collect();
    assert_eq!(z.to_vec::<i64>().unwrap(), backwards);
    assert_eq!(z.reshape([1 << 16]).unwrap().strides().unwrap(), [-1]);
}

#[test]
fn a_stride_that_is_never_taken_does_not_matter() {
    let buffer = Buffer::from_vec(vec![1.5f32]);
    let x = Tensor::from_strided(DType::F32, [1, 1], [isize::MIN, isize::MAX], 0, buffer).unwrap();
    assert!(x.is_contiguous());
    assert_eq!(x.flip(0).unwrap().transpose().item::<f32>(), Ok(1.5));
    assert_eq!(x.byte_range(), 0..4);
    assert_eq!(x.broadcast_to([2, 3]).unwrap().to_vec::<f32>().unwrap(), [1.5; 6]);
    let far = SliceSpec { start: None, stop: None, step: i64::MIN };
    assert_eq!(x.slice(1, far).unwrap().shape(), [1, 1]);
}

#[test]
fn allocations_are_aligned_and_donation_wants_a_sole_owner() {
    let x = small();
    for copy in [x.cast(DType::F16).unwrap(), x.transpose().to_contiguous().unwrap()] {
        assert_eq!(copy.data_ptr() as usize % Buffer::ALIGN, 0);
    }
    assert_eq!(Tensor::full([3], true).unwrap().data_ptr() as usize % Buffer::ALIGN, 0);
    let view = x.transpose();
    let x = x.try_into_buffer().unwrap_err();
    drop(view);
    assert_eq!(x.try_into_buffer().unwrap().len(), 24);
}

#[test]
fn every_dtype_fills_reads_and_casts() {
    for dtype in DType::ALL {
        let x = Tensor::full([2, 2], Scalar::one(dtype)).unwrap();
        assert_eq!(x.get(&[1, 1]), Ok(Scalar::one(dtype)));
        for other in DType::ALL {
            let y = x.transpose().cast(other).unwrap();
            assert!(y.bit_eq(&Tensor::full([2, 2], Scalar::one(other)).unwrap()), "{dtype} {other}");
        }
        let filled = x.clone().with_fill(Some(Scalar::zero(dtype))).unwrap();
        assert_eq!(
            filled.flip(0).unwrap().cast(DType::C128).unwrap().fill(),
            Some(Scalar::zero(DType::C128))
        );
        assert!(filled.bit_eq(&x));
    }
    let x = Tensor::from_iter([1.5f64, f64::NAN, 300.0, -1.0]);
    assert_eq!(x.cast(DType::U8).unwrap().to_vec::<u8>().unwrap(), [1, 0, 255, 0]);
    assert_eq!(x.cast(DType::Bool).unwrap().as_slice::<bool>(), Some(&[true; 4][..]));
}

#[test]
fn equality_is_by_bits_but_for_nan() {
    let tensor = |x: f32| Tensor::from(vec![x]);
    assert!(tensor(f32::NAN).bit_eq(&tensor(f32::from_bits(0xffc0_0001))));
    assert!(!tensor(0.0).bit_eq(&tensor(-0.0)));
    assert!(!tensor(1.0).bit_eq(&Tensor::from(vec![1.0f64])));
    assert!(!tensor(1.0).bit_eq(&Tensor::scalar(1.0f32)));
    let half = |x: f16| Tensor::scalar(x);
    assert!(half(f16::NAN).bit_eq(&half(-f16::NAN)));
    let complex = |re: f64, im: f64| Tensor::scalar(Complex::new(re, im));
    assert!(complex(1.0, f64::NAN).bit_eq(&complex(1.0, -f64::NAN)));
    assert!(!complex(0.0, f64::NAN).bit_eq(&complex(-0.0, f64::NAN)));
}
