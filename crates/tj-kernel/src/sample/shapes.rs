//! The loop structures of samples.

use std::cell::RefCell;

use tj_ir::dim::{Dim, Symbol};
use tj_tensor::{DType, Scalar};

use super::expr::{Pool, combine, grow, is_computed_with, operand};
use super::{Random, SampleOptions, SampleShape};
use crate::build::Builder;
use crate::ir::{Access, BinOp, Buf, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, Value, Var};

/// A kernel and the values of its symbols.
pub(super) fn kernel(random: &mut Random, options: &SampleOptions) -> (Kernel, Vec<(Symbol, i64)>) {
    let shape = random.pick(&options.shapes);
    let mut symbols = Vec::new();
    let mut axis = |name: &str, random: &mut Random| {
        let edges = [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 65];
        let size = match random.below(3) {
            0 => random.pick(&edges).min(options.max_extent),
            _ => random.below(options.max_extent as u64 + 1) as i64,
        };
        if random.one_in(6) {
            return Dim::from(size);
        }
        let symbol = Symbol::declared(name, ..).expect("the name of an axis is an identifier");
        symbols.push((symbol.clone(), size));
        Dim::symbol(&symbol)
    };
    let (rows, cols) = (axis("N", random), axis("M", random));
    let extent = match shape {
        SampleShape::Elementwise | SampleShape::Gather => &rows * &cols,
        SampleShape::ColumnReduction => cols.clone(),
        SampleShape::RowReduction
        | SampleShape::Scratch
        | SampleShape::Triangle
        | SampleShape::Cursor
        | SampleShape::Gemm => rows.clone(),
    };
    let multiple = random.pick(&[1, 8, 64]);
    let grid = Grid { extent: extent.clone(), multiple, cost: cols.clone() };
    let mut b = Builder::new(format!("sample_{shape:?}").to_lowercase(), grid);
    let mut ctx = Ctx { random, options, rows, cols, extent, params: Pool::new(), n_buffers: 0 };
    for _ in 0..ctx.random.below(3) {
        let dtype = ctx.dtype();
        ctx.params.push(b.param(dtype));
    }
    match shape {
        SampleShape::Elementwise => ctx.elementwise(&mut b),
        SampleShape::RowReduction => ctx.row_reduction(&mut b),
        SampleShape::ColumnReduction => ctx.column_reduction(&mut b),
        SampleShape::Scratch => ctx.scratch(&mut b),
        SampleShape::Triangle => ctx.triangle(&mut b),
        SampleShape::Cursor => ctx.cursor(&mut b),
        SampleShape::Gather => ctx.gather(&mut b),
        SampleShape::Gemm => ctx.gemm(&mut b),
    }
    (b.finish(), symbols)
}

struct Ctx<'a> {
    random: &'a mut Random,
    options: &'a SampleOptions,
    rows: Dim,
    cols: Dim,
    /// Of the grid.
    extent: Dim,
    params: Pool,
    n_buffers: usize,
}

impl Ctx<'_> {
    fn elementwise(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let kind = self.lanes_or_serial();
        b.for_loop(kind, lo, hi, |b, i| {
            let mut pool = self.flat_inputs(b, i);
            self.grow(b, &mut pool);
            if self.random.one_in(2) {
                let value = self.uniform_branch(b, &pool);
                pool.push(value);
            }
            if self.random.one_in(3) {
                let value = self.uniform_loop(b, &pool);
                pool.push(value);
            }
            self.grow(b, &mut pool);
            for _ in 0..=self.random.below(2) {
                let (index, len) = self.flat_place(b, i);
                self.output(b, &pool, index, len);
            }
        });
    }

    fn row_reduction(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let zero = b.int(0);
        let cols = b.size(&self.cols.clone());
        b.for_loop(LoopKind::Serial, lo, hi, |b, i| {
            let width = self.width();
            let accumulators: Vec<Var> = (0..=self.random.below(2))
                .map(|_| {
                    let dtype = self.computed_dtype();
                    let init = operand(self.random, b, &self.params, dtype);
                    b.declare_lanes(width, init)
                })
                .collect();
            let first = if self.random.one_in(4) { b.int(3) } else { zero };
            b.for_loop(LoopKind::Lanes(width), first, cols, |b, j| {
                let mut pool = self.inputs(b, i, j);
                self.grow(b, &mut pool);
                for &var in &accumulators {
                    self.accumulate(b, var, &pool);
                }
            });
            let mut row = self.params.clone();
            for &var in &accumulators {
                let folded = self.fold(b, var);
                row.push(folded);
            }
            row.push(i);
            self.grow(b, &mut row);
            let rows = self.rows.clone();
            self.output(b, &row, i, rows);
            if self.random.one_in(2) {
                let kind = self.lanes_or_serial();
                b.for_loop(kind, zero, cols, |b, j| {
                    let mut pool = self.inputs(b, i, j);
                    pool.extend(&row);
                    self.grow(b, &mut pool);
                    let (index, len) = self.place(b, i, j);
                    self.output(b, &pool, index, len);
                });
            }
        });
    }

    fn column_reduction(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let zero = b.int(0);
        let rows = b.size(&self.rows.clone());
        let kind = self.lanes_or_serial();
        b.for_loop(kind, lo, hi, |b, j| {
            let dtype = self.computed_dtype();
            let init = operand(self.random, b, &self.params, dtype);
            let var = b.declare(init);
            b.for_loop(LoopKind::Serial, zero, rows, |b, i| {
                let mut pool = self.inputs(b, i, j);
                self.grow(b, &mut pool);
                self.accumulate(b, var, &pool);
            });
            let mut pool = vec![b.get(var), j];
            self.grow(b, &mut pool);
            let cols = self.cols.clone();
            self.output(b, &pool, j, cols);
        });
    }

    fn scratch(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let (zero, cols) = (b.int(0), b.size(&self.cols.clone()));
        let dtype = self.dtype();
        let row = self.buffer(b, dtype, self.cols.clone(), Access::Scratch);
        b.for_loop(LoopKind::Serial, lo, hi, |b, i| {
            let kind = self.lanes_or_serial();
            b.for_loop(kind, zero, cols, |b, j| {
                let mut pool = self.inputs(b, i, j);
                self.grow(b, &mut pool);
                let value = operand(self.random, b, &pool, dtype);
                b.store(row, j, value);
            });
            let kind = self.lanes_or_serial();
            b.for_loop(kind, zero, cols, |b, j| {
                let one = b.int(1);
                let last = b.binary(BinOp::Sub, cols, one);
                let mirrored = b.binary(BinOp::Sub, last, j);
                let mut pool = vec![b.load(row, j), b.load(row, mirrored)];
                pool.extend(&self.params);
                self.grow(b, &mut pool);
                let (index, len) = self.place(b, i, j);
                self.output(b, &pool, index, len);
            });
        });
    }

    fn triangle(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let (zero, cols) = (b.int(0), b.size(&self.cols.clone()));
        b.for_loop(LoopKind::Serial, lo, hi, |b, i| {
            let init = operand(self.random, b, &self.params, DType::I64);
            let total = b.declare(init);
            let end = b.binary(BinOp::Min, i, cols);
            let (first, last) = if self.random.one_in(2) { (i, cols) } else { (zero, end) };
            b.for_loop(LoopKind::Serial, first, last, |b, j| {
                let mut pool = self.inputs(b, i, j);
                self.grow(b, &mut pool);
                let cond = operand(self.random, b, &pool, DType::Bool);
                let (index, len) = self.place(b, i, j);
                let dtype = self.dtype();
                let out = self.buffer(b, dtype, len, Access::Write);
                let this = RefCell::new(&mut *self);
                b.if_else(
                    cond,
                    |b| {
                        let mut this = this.borrow_mut();
                        this.accumulate(b, total, &pool);
                        let value = operand(this.random, b, &pool, dtype);
                        b.store(out, index, value);
                    },
                    |b| {
                        let mut this = this.borrow_mut();
                        let mut pool = pool.clone();
                        pool.push(b.load(out, index));
                        this.grow(b, &mut pool);
                        let value = operand(this.random, b, &pool, dtype);
                        b.store(out, index, value);
                    },
                );
            });
            let rows = self.rows.clone();
            let pool = vec![b.get(total)];
            self.output(b, &pool, i, rows);
        });
    }

    fn cursor(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let (zero, one, cols) = (b.int(0), b.int(1), b.size(&self.cols.clone()));
        let step = b.int(1 + self.random.below(3) as i64);
        b.for_loop(LoopKind::Serial, lo, hi, |b, i| {
            let at = b.declare(zero);
            let dtype = self.computed_dtype();
            let init = operand(self.random, b, &self.params, dtype);
            let var = b.declare(init);
            let stops_early = self.random.one_in(2);
            let limit = operand(self.random, b, &self.params, dtype);
            b.while_loop(
                |b| {
                    let place = b.get(at);
                    let inside = b.compare(CmpOp::Lt, place, cols);
                    if !stops_early {
                        return inside;
                    }
                    let value = b.get(var);
                    let going = b.compare(CmpOp::Ne, value, limit);
                    b.binary(BinOp::And, inside, going)
                },
                |b| {
                    let place = b.get(at);
                    let index = self.clamped(b, place, cols);
                    let dtype = self.dtype();
                    let x = self.buffer(b, dtype, &self.cols + 1, Access::Read);
                    let mut pool = vec![b.load(x, index), place, i];
                    pool.extend(&self.params);
                    self.grow(b, &mut pool);
                    self.accumulate(b, var, &pool);
                    let next = b.binary(BinOp::Add, place, step);
                    b.set(at, next);
                },
            );
            let mut pool = vec![b.get(var), b.get(at), one];
            self.grow(b, &mut pool);
            let rows = self.rows.clone();
            self.output(b, &pool, i, rows);
        });
    }

    fn gather(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let cols = b.size(&self.cols.clone());
        let kind = self.lanes_or_serial();
        b.for_loop(kind, lo, hi, |b, i| {
            let index_type = self.random.pick(&[DType::I64, DType::I32, DType::U8]);
            let indices = self.buffer(b, index_type, self.extent.clone(), Access::Read);
            let loaded = b.load(indices, i);
            let loaded = b.cast(loaded, DType::I64);
            let index = if self.random.one_in(2) {
                self.clamped(b, loaded, cols)
            } else {
                let n = b.size(&(&self.cols + 1));
                b.binary(BinOp::Mod, loaded, n)
            };
            let dtype = self.dtype();
            let table = self.buffer(b, dtype, &self.cols + 1, Access::Read);
            let mut pool = self.flat_inputs(b, i);
            pool.extend([b.load(table, index), index]);
            self.grow(b, &mut pool);
            let (index, len) = self.flat_place(b, i);
            self.output(b, &pool, index, len);
        });
    }

    fn gemm(&mut self, b: &mut Builder) {
        let (lo, hi) = b.task();
        let dtype = self.random.pick(&[DType::F32, DType::F64]);
        let inner = Dim::from(self.random.pick(&[0, 1, 5, 256, 300]));
        let (rows, cols) = (self.rows.clone(), self.cols.clone());
        let a = self.buffer(b, dtype, &rows * &inner, Access::Read);
        let x = self.buffer(b, dtype, &inner * &cols, Access::Read);
        let c = self.buffer(b, dtype, &rows * &cols, Access::Write);
        let (zero, one) = (b.int(0), b.int(1));
        let [n, m, k] = [&rows, &cols, &inner].map(|d| b.size(d));
        let block = b.binary(BinOp::Sub, hi, lo);
        let (first_a, first_c) = (b.binary(BinOp::Mul, lo, k), b.binary(BinOp::Mul, lo, m));
        let by_rows = |buffer, offset, stride| Matrix { buffer, offset, row_stride: stride, col_stride: one };
        let by_cols = |buffer, offset, stride| Matrix { buffer, offset, row_stride: one, col_stride: stride };
        let a = if self.random.one_in(2) { by_rows(a, first_a, k) } else { by_cols(a, lo, n) };
        let x = if self.random.one_in(2) { by_rows(x, zero, m) } else { by_cols(x, zero, k) };
        let c = by_rows(c, first_c, m);
        b.gemm(Gemm { dtype, m: block, n: m, k, a, b: x, c });
        b.for_loop(LoopKind::Serial, lo, hi, |b, i| {
            let kind = self.lanes_or_serial();
            b.for_loop(kind, zero, m, |b, j| {
                let start = b.binary(BinOp::Mul, i, m);
                let index = b.binary(BinOp::Add, start, j);
                let mut pool = self.inputs(b, i, j);
                pool.push(b.load(c.buffer, index));
                self.grow(b, &mut pool);
                let value = operand(self.random, b, &pool, dtype);
                b.store(c.buffer, index, value);
            });
        });
    }

    /// A value from one of two blocks, by a condition that every lane shares.
    fn uniform_branch(&mut self, b: &mut Builder, pool: &Pool) -> Value {
        let dtype = self.dtype();
        let init = operand(self.random, b, pool, dtype);
        let var = b.declare(init);
        let size = b.size(&self.cols.clone());
        let limit = b.int(self.random.below(self.options.max_extent as u64 + 1) as i64);
        let cond = b.compare(CmpOp::Lt, size, limit);
        let this = RefCell::new(&mut *self);
        b.if_else(
            cond,
            |b| {
                let mut this = this.borrow_mut();
                let mut pool = pool.clone();
                pool.push(b.get(var));
                this.grow(b, &mut pool);
                let value = operand(this.random, b, &pool, dtype);
                b.set(var, value);
            },
            |b| {
                let value = operand(this.borrow_mut().random, b, pool, dtype);
                b.set(var, value);
            },
        );
        b.get(var)
    }

    /// A value after a number of rounds that every lane shares.
    fn uniform_loop(&mut self, b: &mut Builder, pool: &Pool) -> Value {
        let dtype = self.computed_dtype();
        let init = operand(self.random, b, pool, dtype);
        let (zero, one) = (b.int(0), b.int(1));
        let rounds = b.int(self.random.below(5) as i64);
        let (var, count) = (b.declare(init), b.declare(zero));
        b.while_loop(
            |b| {
                let count = b.get(count);
                b.compare(CmpOp::Lt, count, rounds)
            },
            |b| {
                let round = b.get(count);
                let mut pool = pool.clone();
                pool.push(round);
                self.accumulate(b, var, &pool);
                let next = b.binary(BinOp::Add, round, one);
                b.set(count, next);
            },
        );
        b.get(var)
    }

    /// Combines a value of the pool into a variable.
    fn accumulate(&mut self, b: &mut Builder, var: Var, pool: &Pool) {
        let old = b.get(var);
        let dtype = b.dtype(old);
        let value = operand(self.random, b, pool, dtype);
        let op = combine(self.random, dtype);
        let new = b.binary(op, old, value);
        b.set(var, new);
    }

    fn fold(&mut self, b: &mut Builder, var: Var) -> Value {
        let dtype = b.kernel().var(var).dtype;
        let op = combine(self.random, dtype);
        b.fold(var, op)
    }

    /// `max(min(index, last), 0)`.
    fn clamped(&mut self, b: &mut Builder, index: Value, last: Value) -> Value {
        let zero = b.int(0);
        let below = b.binary(BinOp::Min, index, last);
        b.binary(BinOp::Max, below, zero)
    }

    /// Elements at row `i`, column `j`, and what else expressions may use there.
    fn inputs(&mut self, b: &mut Builder, i: Value, j: Value) -> Pool {
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
    fn flat_inputs(&mut self, b: &mut Builder, i: Value) -> Pool {
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
    fn place(&mut self, b: &mut Builder, i: Value, j: Value) -> (Value, Dim) {
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
    fn flat_place(&mut self, b: &mut Builder, i: Value) -> (Value, Dim) {
        let extent = self.extent.clone();
        match self.random.below(5) {
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
            _ => (i, extent),
        }
    }

    /// Stores a value of the pool to a buffer of its own.
    fn output(&mut self, b: &mut Builder, pool: &Pool, index: Value, len: Dim) {
        let dtype = self.dtype();
        let y = self.buffer(b, dtype, len, Access::Write);
        let value = operand(self.random, b, pool, dtype);
        b.store(y, index, value);
    }

    fn buffer(&mut self, b: &mut Builder, dtype: DType, len: Dim, access: Access) -> Buf {
        let name = format!("{}{}", ["x", "y", "t"][access as usize], self.n_buffers);
        self.n_buffers += 1;
        b.buffer(name, dtype, len, access)
    }

    fn grow(&mut self, b: &mut Builder, pool: &mut Pool) {
        if pool.is_empty() {
            pool.push(b.constant(Scalar::F32(0.5)));
        }
        grow(self.random, self.options, b, pool);
    }

    fn dtype(&mut self) -> DType {
        self.random.pick(&self.options.dtypes)
    }

    fn computed_dtype(&mut self) -> DType {
        let dtype = self.dtype();
        if is_computed_with(dtype) { dtype } else { DType::F32 }
    }

    fn width(&mut self) -> u32 {
        self.random.pick(&[4, 8, 16, 32])
    }

    fn lanes_or_serial(&mut self) -> LoopKind {
        if self.random.one_in(4) { LoopKind::Serial } else { LoopKind::Lanes(self.width()) }
    }
}
