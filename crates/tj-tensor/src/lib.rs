//! Tensors as lists of levels.
//!
//! This layer knows element types and their promotion, typed scalars, how dimensions are stored, and tensors with
//! O(1) views over shared storage. It must never know of expressions: nothing here is lazy or symbolic.
//!
//! In reading order: [`dtype`](DType), [`scalar`](Scalar), [`element`](Element) (what the two have to do with Rust
//! types, and every cast), [`format`](Format), [`buffer`](Buffer), [`tensor`](Tensor) with `view`, `read` and
//! `print`, and [`error`](TensorError).

#![forbid(unsafe_code)]

mod dtype;
mod scalar;

mod element;

mod format;

mod buffer;

mod print;
mod read;
mod tensor;
mod view;

mod error;

pub use buffer::Buffer;
pub use dtype::DType;
pub use element::Element;
pub use error::TensorError;
pub use format::{Format, Level, LevelKind};
pub use scalar::Scalar;
pub use tensor::Tensor;
pub use view::SliceSpec;

pub use half::{bf16, f16};
pub use num_complex::Complex;
