//! The twins of [`tj_ir::random`].

use tj_ir::NewShape;
use tj_ir::random::Key;
use tj_tensor::{DType, Tensor};

use super::twins;

twins! {
    /// [`tj_ir::random::bits`] on data.
    bits(; key: impl Into<Key>, shape: impl Into<NewShape>) => Tensor = tj_ir::random::bits(key, shape);
    /// [`tj_ir::random::uniform`] on data.
    uniform(; key: impl Into<Key>, shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::random::uniform(key, shape, dtype);
    /// [`tj_ir::random::normal`] on data.
    normal(; key: impl Into<Key>, shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::random::normal(key, shape, dtype);
    /// [`tj_ir::random::integers`] on data.
    integers(; key: impl Into<Key>, low: i64, high: i64, shape: impl Into<NewShape>, dtype: DType) => Tensor = tj_ir::random::integers(key, low, high, shape, dtype);
}
