//! Where samples read and write, and what a random choice there may be.

use tj_ir::dim::Dim;
use tj_tensor::{DType, Scalar};

use super::expr::{Pool, grow, is_computed_with, operand};
use super::shapes::Ctx;
use crate::build::Builder;
use crate::ir::{Access, BinOp, Buf, LoopKind, Value};

impl Ctx<'_> {
    /// `max(min(index, last), 0)`.
    pub fn clamped(&mut self, b: &mut Builder, index: Value, last: Value) -> Value {
        let zero = b.int(0);
        let below = b.binary(BinOp::Min, index, last);
        b.binary(BinOp::Max, below, zero)
    }

    /// Elements at row `i`, column `j`, and what else expressions may use there.
    pub fn inputs(&mut self, b: &mut Builder, i: Value, j: Value) -> Pool {
        let mut pool = self.params.clone();
        pool.extend([i, j]);
        for _ in 0..=self.random.below(3) {
            let (index, len) = match self.random.below(4) {
                0 => (i, self.rows.clone()),
                1 => (j, self.cols.clone()),
                _ => self.place(b, i, j),
            };
            let dtype = self.dtype();
            let x = self.buffer(b, dtype, len, Access::Read);
            pool.push(b.load(x, index));
        }
        pool
    }

    /// Elements at place `i` of the grid.
    pub fn flat_inputs(&mut self, b: &mut Builder, i: Value) -> Pool {
        let mut pool = self.params.clone();
        pool.push(i);
        for _ in 0..=self.random.below(3) {
            let (index, len) = self.flat_place(b, i);
            let dtype = self.dtype();
            let x = self.buffer(b, dtype, len, Access::Read);
            pool.push(b.load(x, index));
        }
        pool
    }

    /// An index that no other `(i, j)` has, and the length of the buffer it is for.
    pub fn place(&mut self, b: &mut Builder, i: Value, j: Value) -> (Value, Dim) {
        let (rows, cols) = (b.size(&self.rows.clone()), b.size(&self.cols.clone()));
        let one = b.int(1);
        let mut add = |x: Value, stride: Value, y: Value| {
            let scaled = b.binary(BinOp::Mul, x, stride);
            b.binary(BinOp::Add, scaled, y)
        };
        let index = match self.random.below(4) {
            0 => add(j, rows, i),
            1 => {
                let last = b.binary(BinOp::Sub, cols, one);
                let mirrored = b.binary(BinOp::Sub, last, j);
                let start = b.binary(BinOp::Mul, i, cols);
                b.binary(BinOp::Add, start, mirrored)
            }
            _ => add(i, cols, j),
        };
        (index, &self.rows * &self.cols)
    }

    /// An index that no other task has, and the length of the buffer it is for.
    pub fn flat_place(&mut self, b: &mut Builder, i: Value) -> (Value, Dim) {
        let extent = self.extent.clone();
        match self.random.below(6) {
            0 => {
                let last = b.size(&(&extent - 1));
                (b.binary(BinOp::Sub, last, i), extent)
            }
            1 => {
                let two = b.int(2);
                (b.binary(BinOp::Mul, i, two), extent * 2)
            }
            2 => {
                let one = b.int(1);
                (b.binary(BinOp::Add, i, one), extent + 1)
            }
            3 => {
                let (offset, length) = self.offset.clone();
                let offset = b.size(&offset);
                (b.binary(BinOp::Add, i, offset), length)
            }
            _ => (i, extent),
        }
    }

    /// Stores a value of the pool to a buffer of its own.
    pub fn output(&mut self, b: &mut Builder, pool: &Pool, index: Value, len: Dim) {
        let dtype = self.dtype();
        let y = self.buffer(b, dtype, len, Access::Write);
        let value = operand(self.random, b, pool, dtype);
        b.store(y, index, value);
    }

    pub fn buffer(&mut self, b: &mut Builder, dtype: DType, len: Dim, access: Access) -> Buf {
        let name = format!("{}{}", &access.name()[..1], self.n_buffers);
        self.n_buffers += 1;
        b.buffer(name, dtype, len, access)
    }

    pub fn grow(&mut self, b: &mut Builder, pool: &mut Pool) {
        if pool.is_empty() {
            pool.push(b.constant(Scalar::F32(0.5)));
        }
        grow(self.random, self.options, b, pool);
    }

    pub fn dtype(&mut self) -> DType {
        self.random.pick(&self.options.dtypes)
    }

    pub fn computed_dtype(&mut self) -> DType {
        let dtype = self.dtype();
        if is_computed_with(dtype) { dtype } else { DType::F32 }
    }

    pub fn width(&mut self) -> u32 {
        self.random.pick(&[4, 8, 16, 32])
    }

    pub fn lanes_or_serial(&mut self) -> LoopKind {
        if self.random.one_in(4) { LoopKind::Serial } else { LoopKind::Lanes(self.width()) }
    }
}
