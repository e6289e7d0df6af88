//! The loop structures of samples.

use std::cell::RefCell;

use tj_ir::dim::{Dim, Symbol};
use tj_tensor::DType;

use super::expr::{Pool, combine, operand};
use super::{Random, SampleOptions, SampleShape};
use crate::build::Builder;
use crate::ir::{Access, BinOp, CmpOp, Gemm, Grid, Kernel, LoopKind, Matrix, Value, Var};

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
        let symbol = symbol(name);
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
    // Nothing relates these two to the others, so that an access at an offset has a guard.
    let (offset, length) = (symbol("K"), symbol("L"));
    let n_tasks = extent.eval(&|s| symbols.iter().find(|(known, _)| known == s).map(|&(_, size)| size));
    let first = random.below(4) as i64;
    symbols.push((offset.clone(), first));
    symbols.push((length.clone(), first + n_tasks.expect("axes are small and have values")));
    let multiple = random.pick(&[1, 8, 64]);
    let grid = Grid { extent: extent.clone(), multiple, cost: cols.clone() };
    let mut b = Builder::new(format!("sample_{shape:?}").to_lowercase(), grid);
    let offset = (Dim::symbol(&offset), Dim::symbol(&length));
    let mut ctx = Ctx { random, options, rows, cols, extent, offset, params: Pool::new(), n_buffers: 0 };
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

fn symbol(name: &str) -> Symbol {
    Symbol::declared(name, ..).expect("a letter names a symbol")
}

pub(super) struct Ctx<'a> {
    pub random: &'a mut Random,
    pub options: &'a SampleOptions,
    pub rows: Dim,
    pub cols: Dim,
    /// Of the grid.
    pub extent: Dim,
    /// A shift of places of the grid, and the length of a buffer that is long enough for it.
    pub offset: (Dim, Dim),
    pub params: Pool,
    pub n_buffers: usize,
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
        let inner = Dim::from(self.random.pick(&[0, 1, 2, 5, 7, 257]));
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
}
