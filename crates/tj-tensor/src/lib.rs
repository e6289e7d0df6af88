//! Tensors as lists of levels.
//!
//! This layer knows element types and their promotion, typed scalars, how dimensions are stored, and tensors with
//! O(1) views over shared storage. It must never know of expressions: nothing here is lazy or symbolic.
//!
//! In reading order: [`dtype`](DType), [`scalar`](Scalar), [`element`](Element) (what the two have to do with Rust
//! types, and every cast), [`format`](Format), [`buffer`](Buffer), [`tensor`](Tensor) with `shape`, `view`, `pairs`, `read`
//! and `walk`, [`stored`](Stored) (what is not strided), `print`, `interop` with ndarray behind the feature of that name, and [`error`](TensorError).

//! ```
//! use tj_tensor::{DType, SliceSpec, Tensor};
//! let x = Tensor::arange(12)?.reshape([3, 4])?;
//! let odd_columns = x.slice(1, SliceSpec { start: Some(1), stop: None, step: 2 })?.cast(DType::F32)?;
//! assert_eq!(odd_columns.to_string(), "[[ 1.  3.]\n [ 5.  7.]\n [ 9. 11.]]");
//! # Ok::<(), tj_tensor::TensorError>(())
//! ```

#![forbid(unsafe_code)]

mod dtype;
mod scalar;

mod element;

mod format;

mod buffer;

mod pairs;
mod print;
mod read;
mod shape;
mod stored;
mod tensor;
mod view;
mod walk;

#[cfg(feature = "ndarray")]
mod interop;

mod error;

pub use buffer::Buffer;
pub use dtype::{DType, FloatInfo, IntInfo};
pub use element::Element;
pub use error::TensorError;
pub use format::{Coordinate, Edge, Format, LeafKind, LevelFormat, LevelKind, Order, Repeats, Width, Widths};
pub use scalar::Scalar;
pub use stored::{Duplicates, Indices, Leaf, Level, Spread, Stored, Stretches};
pub use tensor::Tensor;
pub use view::SliceSpec;

pub use half::{bf16, f16};
pub use num_complex::Complex;

/// The README's example, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
