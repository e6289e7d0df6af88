//! Control flow, lanes, variables and memory, against the interpreter.

mod common;

use common::{Case, buffer, check, elementwise, grid, numbers};
use tj_ir::dim::{Dim, Symbol};
use tj_kernel::lanes::{Reason, Width, loops};
use tj_kernel::{
    Access, BinOp, Buf, BufferContents, Builder, CmpOp, Gemm, Kernel, LoopKind, Matrix, UnOp, Value, Var,
};
use tj_tensor::{DType, Scalar};

const SIZES: [usize; 15] = [0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000];

fn lanes(w: u32) -> LoopKind {
    LoopKind::Lanes(w)
}

fn constant(b: &mut Builder, dtype: DType, x: f64) -> Value {
    b.constant(Scalar::F64(x).cast(dtype))
}

/// A run-time size.
fn size(b: &mut Builder, name: &str) -> Value {
    b.size(&Dim::from(&Symbol::declared(name, ..).expect("a good name")))
}

/// How the only lanes loop of a kernel runs.
fn width(kernel: &Kernel) -> Result<Width, Reason> {
    loops(kernel)[0].width
}

fn zeroed(dtype: DType, n: usize) -> BufferContents {
    BufferContents::zeroed(dtype, n)
}

#[test]
fn elementwise_of_all_lengths_and_parts() {
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64] {
        let kernel = elementwise(1000, lanes(32), &[dtype; 3], dtype, |b, x| {
            let y = b.binary(BinOp::Add, x[0], x[1]);
            let half = constant(b, dtype, 3.5);
            let z = b.binary(BinOp::Mul, x[2], half);
            b.binary(BinOp::Sub, y, z)
        });
        let wide = if dtype.size() == 4 { Width::W32 } else { Width::W64 };
        assert_eq!(width(&kernel), Ok(wide));
        for n in SIZES {
            let n = n as i64;
            for tasks in [0..n, 0..n / 2, n / 3..n, n..n] {
                cases.push(Case::new(kernel.clone(), vec![numbers(dtype, 1000); 4], tasks));
            }
        }
    }
    check(cases);
}

/// `out[0] = fold(op, lanes of x)`.
fn reduction(n: usize, dtype: DType, w: u32, op: BinOp, extra: usize) -> Kernel {
    let mut b = Builder::new("reduction", grid(n));
    let x = b.buffer("x", dtype, Dim::from(n as i64), Access::Read);
    let out = b.buffer("out", dtype, Dim::from(1), Access::Write);
    let (lo, hi) = b.task();
    let zero = b.constant(Scalar::zero(dtype));
    let acc = b.declare_lanes(w, zero);
    b.for_loop(lanes(w), lo, hi, |b, i| {
        let mut v = b.load(x, i);
        for _ in 0..extra {
            v = if dtype.is_bool() { b.unary(UnOp::Not, v) } else { b.binary(BinOp::Add, v, v) };
        }
        let old = b.get(acc);
        let new = b.binary(op, old, v);
        b.set(acc, new);
    });
    let result = b.fold(acc, op);
    let zero = b.int(0);
    b.store(out, zero, result);
    b.finish()
}

#[test]
fn reductions() {
    let mut cases = Vec::new();
    for (dtype, w, op) in [
        (DType::F32, 32, BinOp::Add),
        (DType::F32, 32, BinOp::Max),
        (DType::F32, 8, BinOp::Mul),
        (DType::F32, 2, BinOp::Add),
        (DType::F64, 16, BinOp::Add),
        (DType::F64, 1, BinOp::Min),
        (DType::I32, 32, BinOp::Xor),
        (DType::I64, 16, BinOp::Add),
        (DType::U64, 32, BinOp::Max),
        (DType::I32, 32, BinOp::FloorDiv),
        (DType::U8, 32, BinOp::Add),
        (DType::I16, 16, BinOp::Min),
        (DType::Bool, 32, BinOp::Or),
    ] {
        // Enough work for a turn of all lanes, for one of a few, and for one of a single vector.
        for extra in [0, 20, 100] {
            let kernel = reduction(1000, dtype, w, op, extra);
            let buffers = vec![numbers(dtype, 1000), zeroed(dtype, 1)];
            for n in SIZES {
                let n = n as i64;
                cases.push(Case::new(kernel.clone(), buffers.clone(), 0..n));
                cases.push(Case::new(kernel.clone(), buffers.clone(), n / 3..n));
            }
        }
    }
    check(cases);
}

/// Many rows, blocks of a row, two lane variables of different types, and a lane variable over bools.
#[test]
fn rows_in_blocks() {
    let (rows, cols, block) = (3, 150, 64);
    let mut b = Builder::new("rows", grid(rows));
    let x = b.buffer("x", DType::F32, Dim::from((rows * cols) as i64), Access::Read);
    let sums = b.buffer("sums", DType::F32, Dim::from(rows as i64), Access::Write);
    let counts = b.buffer("counts", DType::I32, Dim::from(rows as i64), Access::Write);
    let any = b.buffer("any", DType::Bool, Dim::from(rows as i64), Access::Write);
    let (lo, hi) = b.task();
    b.for_loop(LoopKind::Serial, lo, hi, |b, row| {
        let start = constant(b, DType::F32, 0.0);
        let total = b.declare(start);
        let zero = constant(b, DType::I32, 0.0);
        let count = b.declare_lanes(32, zero);
        let no = b.constant(Scalar::Bool(false));
        let found = b.declare_lanes(32, no);
        let (first, blocks) = (b.int(0), b.int((cols as i64 + block - 1) / block));
        b.for_loop(LoopKind::Serial, first, blocks, |b, k| {
            let acc = b.declare_lanes(32, start);
            let size = b.int(block);
            let from = b.binary(BinOp::Mul, k, size);
            let to = b.binary(BinOp::Add, from, size);
            let end = b.int(cols as i64);
            let to = b.binary(BinOp::Min, to, end);
            b.for_loop(lanes(32), from, to, |b, j| {
                let width = b.int(cols as i64);
                let at = b.binary(BinOp::Mul, row, width);
                let at = b.binary(BinOp::Add, at, j);
                let v = b.load(x, at);
                let old = b.get(acc);
                let new = b.binary(BinOp::Add, old, v);
                b.set(acc, new);
                let zero = constant(b, DType::F32, 0.0);
                let positive = b.compare(CmpOp::Gt, v, zero);
                let one = b.cast(positive, DType::I32);
                let old = b.get(count);
                let new = b.binary(BinOp::Add, old, one);
                b.set(count, new);
                let limit = constant(b, DType::F32, 13.0);
                let large = b.compare(CmpOp::Gt, v, limit);
                let old = b.get(found);
                let new = b.binary(BinOp::Or, old, large);
                b.set(found, new);
            });
            let sum = b.fold(acc, BinOp::Add);
            let old = b.get(total);
            let new = b.binary(BinOp::Add, old, sum);
            b.set(total, new);
        });
        let sum = b.get(total);
        b.store(sums, row, sum);
        let n = b.fold(count, BinOp::Add);
        b.store(counts, row, n);
        let yes = b.fold(found, BinOp::Or);
        b.store(any, row, yes);
    });
    let kernel = b.finish();
    assert_eq!(width(&kernel), Ok(Width::W32));
    let outputs = [DType::F32, DType::I32, DType::Bool].map(|d| zeroed(d, rows));
    let mut buffers = vec![numbers(DType::F32, rows * cols)];
    buffers.extend(outputs);
    check(vec![Case::new(kernel.clone(), buffers.clone(), 0..3), Case::new(kernel, buffers, 1..2)]);
}

/// A lane variable of one loop that vectorises and one that does not stays in memory.
#[test]
fn lane_variable_shared_by_loops() {
    let n = 77;
    let mut b = Builder::new("shared", grid(n));
    let x = b.buffer("x", DType::F32, Dim::from(n as i64), Access::Read);
    let y = b.buffer("y", DType::I64, Dim::from(n as i64), Access::Read);
    let out = b.buffer("out", DType::F32, Dim::from(1), Access::Write);
    let (lo, hi) = b.task();
    let zero = constant(&mut b, DType::F32, 0.0);
    let acc = b.declare_lanes(32, zero);
    let add = |b: &mut Builder, v: Value| {
        let old = b.get(acc);
        let new = b.binary(BinOp::Add, old, v);
        b.set(acc, new);
    };
    b.for_loop(lanes(32), lo, hi, |b, i| {
        let v = b.load(x, i);
        add(b, v);
    });
    b.for_loop(lanes(32), lo, hi, |b, i| {
        let v = b.load(y, i);
        let w = b.binary(BinOp::FloorDiv, v, i);
        let w = b.cast(w, DType::F32);
        add(b, w);
    });
    let result = b.fold(acc, BinOp::Add);
    let zero = b.int(0);
    b.store(out, zero, result);
    let kernel = b.finish();
    let widths: Vec<_> = loops(&kernel).iter().map(|l| l.width).collect();
    assert_eq!(widths, [Ok(Width::W32), Err(Reason::NoGain)]);
    let buffers = vec![numbers(DType::F32, n), numbers(DType::I64, n), zeroed(DType::F32, 1)];
    check(vec![Case::new(kernel, buffers, 0..n as i64)]);
}

/// `f` makes the index of a load and of a store from the loop variable.
fn moved(
    n: usize,
    dtype: DType,
    at: impl Fn(&mut Builder, Value) -> Value,
    to: impl Fn(&mut Builder, Value) -> Value,
) -> Kernel {
    let mut b = Builder::new("moved", grid(n));
    size(&mut b, "s");
    let len = Dim::from(5 * n as i64 + 1);
    let x = b.buffer("x", dtype, len.clone(), Access::Read);
    let y = b.buffer("y", dtype, Dim::from(n as i64), Access::Read);
    let out = b.buffer("out", dtype, len, Access::Write);
    let (lo, hi) = b.task();
    b.for_loop(lanes(32), lo, hi, |b, i| {
        let at = at(b, i);
        let v = b.load(x, at);
        let w = b.load(y, i);
        let u = (0..6).fold(v, |u, _| b.binary(BinOp::Add, u, w));
        let to = to(b, i);
        b.store(out, to, u);
    });
    b.finish()
}

type Index = fn(&mut Builder, Value, i64) -> Value;

#[test]
fn strides_of_loads_and_stores() {
    let patterns: [(&str, Index); 8] = [
        ("same", |_, i, _| i),
        ("twice", |b, i, _| {
            let two = b.int(2);
            b.binary(BinOp::Mul, i, two)
        }),
        ("reversed", |b, i, n| {
            let last = b.int(n - 1);
            b.binary(BinOp::Sub, last, i)
        }),
        ("run-time stride", |b, i, _| {
            let s = size(b, "s");
            let two = b.int(1);
            let at = b.binary(BinOp::Mul, s, i);
            b.binary(BinOp::Add, two, at)
        }),
        ("sum of strides", |b, i, _| {
            let s = size(b, "s");
            let at = b.binary(BinOp::Mul, i, s);
            b.binary(BinOp::Add, at, i)
        }),
        ("doubled run-time stride", |b, i, _| {
            let s = size(b, "s");
            let one = b.int(2);
            let at = b.binary(BinOp::Mul, i, s);
            let at = b.binary(BinOp::Mul, at, one);
            b.binary(BinOp::Sub, at, i)
        }),
        ("scattered", |b, i, _| {
            // Any one-to-one map that is not affine: swap neighbours.
            let one = b.int(1);
            b.binary(BinOp::Xor, i, one)
        }),
        ("spread", |b, i, _| {
            let (two, three) = (b.int(2), b.int(3));
            let q = b.binary(BinOp::FloorDiv, i, two);
            let r = b.binary(BinOp::Mod, i, two);
            let q = b.binary(BinOp::Mul, q, three);
            b.binary(BinOp::Add, q, r)
        }),
    ];
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I16] {
        for n in [3usize, 100] {
            for (_, at) in patterns {
                for (_, to) in patterns {
                    let kernel = moved(n, dtype, |b, i| at(b, i, n as i64), |b, i| to(b, i, n as i64));
                    let buffers =
                        vec![numbers(dtype, 5 * n + 1), numbers(dtype, n), numbers(dtype, 5 * n + 1)];
                    let mut case = Case::new(kernel, buffers, 0..n as i64);
                    case.sizes = vec![2];
                    cases.push(case);
                }
            }
        }
    }
    check(cases);
}

/// Broadcasts, numbers made from the loop variable, and indices loaded from memory.
#[test]
fn uniform_iota_and_gather() {
    let n = 101;
    let mut cases = Vec::new();
    for (dtype, index) in [
        (DType::F32, DType::I32),
        (DType::F64, DType::I64),
        (DType::F64, DType::I32),
        (DType::F32, DType::U8),
    ] {
        let mut b = Builder::new("gather", grid(n));
        let len = Dim::from(n as i64);
        let x = b.buffer("x", dtype, len.clone(), Access::Read);
        let places = b.buffer("places", index, len.clone(), Access::Read);
        let out = b.buffer("out", dtype, len, Access::Write);
        let (lo, hi) = b.task();
        let scale = b.param(dtype);
        let first = b.int(7);
        let shared = b.load(x, first);
        b.for_loop(lanes(32), lo, hi, |b, i| {
            let place = b.load(places, i);
            let place = b.cast(place, DType::I64);
            let v = b.load(x, place);
            let number = b.cast(i, dtype);
            let v = b.binary(BinOp::Mul, v, scale);
            let v = b.binary(BinOp::Add, v, number);
            let v = (0..8).fold(v, |v, _| b.binary(BinOp::Sub, v, shared));
            b.store(out, i, v);
        });
        let kernel = b.finish();
        assert_eq!(width(&kernel), Ok(if dtype.size() == 4 { Width::W32 } else { Width::W64 }));
        let places = buffer(index, (0..n as i64).map(|i| Scalar::I64(i * 29 % n as i64).cast(index)));
        let mut case = Case::new(kernel, vec![numbers(dtype, n), places, zeroed(dtype, n)], 0..n as i64);
        case.params = vec![Scalar::F64(-0.75).cast(dtype)];
        cases.push(case);
    }
    check(cases);
}

/// Columns are lanes; rows, branches and a search run inside, the same way for all lanes.
#[test]
fn control_flow_inside_lanes() {
    let (rows, cols) = (9usize, 70usize);
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I16] {
        let mut b = Builder::new("columns", grid(cols));
        let x = b.buffer("x", dtype, Dim::from((rows * cols) as i64), Access::Read);
        let stops = b.buffer("stops", DType::I64, Dim::from(1), Access::Read);
        let out = b.buffer("out", dtype, Dim::from(cols as i64), Access::Write);
        let (lo, hi) = b.task();
        let (zero, one, n_cols) = (b.int(0), b.int(1), b.int(cols as i64));
        let n_rows = b.int(rows as i64);
        let start = constant(&mut b, dtype, 1.0);
        b.for_loop(lanes(32), lo, hi, |b, j| {
            let acc = b.declare(start);
            let flag = b.constant(Scalar::Bool(false));
            let seen = b.declare(flag);
            let cursor = b.declare(j);
            b.for_loop(LoopKind::Serial, zero, n_rows, |b, i| {
                // An affine cursor, an accumulator that varies, and a uniform branch.
                let at = b.get(cursor);
                let v = b.load(x, at);
                let next = b.binary(BinOp::Add, at, n_cols);
                b.set(cursor, next);
                let five = b.int(5);
                let early = b.compare(CmpOp::Lt, i, five);
                b.if_else(
                    early,
                    |b| {
                        let old = b.get(acc);
                        let new = b.binary(BinOp::Add, old, v);
                        b.set(acc, new);
                    },
                    |b| {
                        let old = b.get(acc);
                        let limit = constant(b, dtype, 9.0);
                        let large = b.compare(CmpOp::Gt, v, limit);
                        let before = b.get(seen);
                        let either = b.binary(BinOp::Or, before, large);
                        b.set(seen, either);
                        let new = b.select(large, old, v);
                        b.set(acc, new);
                    },
                );
            });
            let stop = b.load(stops, zero);
            let count = b.declare(zero);
            b.while_loop(
                |b| {
                    let n = b.get(count);
                    b.compare(CmpOp::Lt, n, stop)
                },
                |b| {
                    let n = b.get(count);
                    let next = b.binary(BinOp::Add, n, one);
                    b.set(count, next);
                    let old = b.get(acc);
                    let new = b.binary(BinOp::Sub, old, start);
                    b.set(acc, new);
                },
            );
            let result = b.get(acc);
            let seen = b.get(seen);
            let negated = b.unary(UnOp::Neg, result);
            let result = b.select(seen, negated, result);
            b.store(out, j, result);
        });
        let kernel = b.finish();
        for stop in [0i64, 3] {
            let buffers =
                vec![numbers(dtype, rows * cols), buffer(DType::I64, [stop.into()]), zeroed(dtype, cols)];
            cases.push(Case::new(kernel.clone(), buffers, 0..cols as i64));
        }
    }
    check(cases);
}

/// Merges two sorted lists: cursors, a while loop, branches.
#[test]
fn merge_of_sorted_lists() {
    let lists = [vec![0i64, 2, 3, 7, 9], vec![1, 2, 7, 8], vec![], vec![9]];
    let mut cases = Vec::new();
    for left in &lists {
        for right in &lists {
            let mut b = Builder::new("merge", grid(1));
            let x = b.buffer("x", DType::I64, Dim::from(left.len()), Access::Read);
            let y = b.buffer("y", DType::I64, Dim::from(right.len()), Access::Read);
            let out = b.buffer("out", DType::I64, Dim::from(10), Access::Write);
            let (zero, one) = (b.int(0), b.int(1));
            let (m, n) = (b.int(left.len() as i64), b.int(right.len() as i64));
            let [i, j, k] = [0; 3].map(|_| b.declare(zero));
            let step = |b: &mut Builder, var: Var, by: Value| {
                let old = b.get(var);
                let new = b.binary(BinOp::Add, old, by);
                b.set(var, new);
            };
            b.while_loop(
                |b| {
                    let (p, q) = (b.get(i), b.get(j));
                    let (left, right) = (b.compare(CmpOp::Lt, p, m), b.compare(CmpOp::Lt, q, n));
                    b.binary(BinOp::And, left, right)
                },
                |b| {
                    let (p, q) = (b.get(i), b.get(j));
                    let (u, v) = (b.load(x, p), b.load(y, q));
                    let same = b.compare(CmpOp::Eq, u, v);
                    b.if_else(
                        same,
                        |b| {
                            let at = b.get(k);
                            b.store(out, at, u);
                            step(b, k, one);
                        },
                        |_| {},
                    );
                    let (le, ge) = (b.compare(CmpOp::Le, u, v), b.compare(CmpOp::Ge, u, v));
                    let (le, ge) = (b.cast(le, DType::I64), b.cast(ge, DType::I64));
                    step(b, i, le);
                    step(b, j, ge);
                },
            );
            let found = b.get(k);
            let last = b.int(9);
            b.store(out, last, found);
            let list = |l: &[i64]| BufferContents::of(l);
            cases.push(Case::new(b.finish(), vec![list(left), list(right), zeroed(DType::I64, 10)], 0..1));
        }
    }
    check(cases);
}

/// A load whose index needs no loop, in a loop that does not run, of a buffer that has nothing.
#[test]
fn loads_stay_in_loops() {
    let kernel: Kernel = "
        kernel empty(grid 8 cut 1 cost 1) {
          symbol n in 0..=9
          buffer @0 x: f32[n] read
          buffer @1 out: f32[8] write
          size #0 = n
          task %0..%1
          %0: i64 = task lo
          %1: i64 = task hi
          %2: i64 = size #0
          %3: i64 = const 0i64
          %4: i64 = const 1099511627776i64
          %5: i64 = mul %2, %4
          %6: i64 = sub %4, %5
          %7: f32 = const 1.5f32
          for lanes(32) %8 in %0..%1 {
            var $0: f32 = %7
            for %9 in %3..%2 {
              %10: f32 = load @0[%6]
              %11: f32 = get $0
              %12: f32 = add %10, %11
              $0 = %12
            }
            %13: f32 = get $0
            store @1[%8] = %13
          }
        }"
    .parse()
    .unwrap();
    let case = |n: i64| Case {
        sizes: vec![n],
        ..Case::new(kernel.clone(), vec![numbers(DType::F32, n as usize), zeroed(DType::F32, 8)], 0..8)
    };
    // With one element the index is 0.
    check(vec![case(0), case(1)]);
}

/// What a condition guards does not exist without it, so that no load may leave its branch.
#[test]
fn guarded_loads_stay() {
    let n = 40;
    let mut cases = Vec::new();
    for kind in [LoopKind::Serial, lanes(32)] {
        let mut b = Builder::new("guarded", grid(n));
        let place = size(&mut b, "place");
        let x = b.buffer("x", DType::F32, Dim::from(1), Access::Read);
        let y = b.buffer("y", DType::F32, Dim::from(n as i64), Access::Read);
        let out = b.buffer("out", DType::F32, Dim::from(n as i64), Access::Write);
        let (lo, hi) = b.task();
        let zero = b.int(0);
        let is_inside = b.compare(CmpOp::Eq, place, zero);
        b.for_loop(kind, lo, hi, |b, i| {
            let v = b.load(y, i);
            let v = (0..6).fold(v, |v, _| b.binary(BinOp::Mul, v, v));
            b.store(out, i, v);
            b.if_else(
                is_inside,
                |b| {
                    let u = b.load(x, place);
                    let w = b.binary(BinOp::Add, u, v);
                    b.store(out, i, w);
                },
                |_| {},
            );
            let again = b.declare(is_inside);
            b.while_loop(
                |b| b.get(again),
                |b| {
                    let u = b.load(x, place);
                    let w = b.binary(BinOp::Sub, u, v);
                    b.store(out, i, w);
                    let no = b.constant(Scalar::Bool(false));
                    b.set(again, no);
                },
            );
        });
        let kernel = b.finish();
        for place in [0i64, 1 << 40] {
            let buffers = vec![numbers(DType::F32, 1), numbers(DType::F32, n), zeroed(DType::F32, n)];
            let mut case = Case::new(kernel.clone(), buffers, 0..n as i64);
            case.sizes = vec![place];
            cases.push(case);
        }
    }
    check(cases);
}

#[test]
fn scratch_sizes_and_params() {
    let n = 45;
    let mut b = Builder::new("scratch", grid(2));
    let size = Dim::from(&Symbol::declared("n", ..).unwrap());
    let len = b.size(&size);
    let x = b.buffer("x", DType::F64, size.clone(), Access::Read);
    let tmp = b.buffer("tmp", DType::F64, size.clone(), Access::Scratch);
    let out = b.buffer("out", DType::F64, size * Dim::from(2), Access::Write);
    let given = [DType::Bool, DType::I8, DType::U16, DType::I32, DType::F32, DType::F64, DType::U64];
    let params = given.map(|d| b.param(d));
    let (lo, hi) = b.task();
    b.for_loop(LoopKind::Serial, lo, hi, |b, task| {
        let zero = b.int(0);
        b.for_loop(lanes(16), zero, len, |b, i| {
            let v = b.load(x, i);
            let v = params.iter().fold(v, |v, &p| {
                let p = b.cast(p, DType::F64);
                b.binary(BinOp::Add, v, p)
            });
            b.store(tmp, i, v);
        });
        b.for_loop(lanes(16), zero, len, |b, i| {
            let one = b.int(1);
            let last = b.binary(BinOp::Sub, len, one);
            let at = b.binary(BinOp::Sub, last, i);
            let v = b.load(tmp, at);
            let first = b.binary(BinOp::Mul, task, len);
            let to = b.binary(BinOp::Add, first, i);
            let v = (0..4).fold(v, |v, _| b.binary(BinOp::Add, v, v));
            b.store(out, to, v);
        });
    });
    let buffers = vec![numbers(DType::F64, n), zeroed(DType::F64, n), zeroed(DType::F64, 2 * n)];
    let mut case = Case::new(b.finish(), buffers, 0..2);
    case.sizes = vec![n as i64];
    case.params = given.iter().map(|&d| Scalar::F64(100.5).cast(d)).collect();
    check(vec![case]);
}

/// In place, with each iteration reading what it has written.
#[test]
fn stores_are_seen_by_later_loads() {
    let n = 50;
    let mut b = Builder::new("in_place", grid(n));
    let x = b.buffer("x", DType::F32, Dim::from(n as i64), Access::Write);
    let (lo, hi) = b.task();
    b.for_loop(lanes(32), lo, hi, |b, i| {
        for _ in 0..3 {
            let v = b.load(x, i);
            let w = b.binary(BinOp::Mul, v, v);
            b.store(x, i, w);
            let u = b.load(x, i);
            let w = b.binary(BinOp::Sub, u, v);
            b.store(x, i, w);
        }
    });
    check(vec![Case::new(b.finish(), vec![numbers(DType::F32, n)], 0..n as i64)]);
}

#[test]
fn gemm() {
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let (m, n, k) = (3usize, 4usize, 300usize);
        let mut b = Builder::new("gemm", grid(1));
        let matrix = |b: &mut Builder, buffer: Buf, row: i64, col: i64| Matrix {
            buffer,
            offset: b.int(0),
            row_stride: b.int(row),
            col_stride: b.int(col),
        };
        let lens = [m * k, k * n, m * n];
        let [x, y] = [0, 1].map(|i| b.buffer("in", dtype, Dim::from(lens[i]), Access::Read));
        let out = b.buffer("out", dtype, Dim::from(lens[2]), Access::Write);
        let gemm = Gemm {
            dtype,
            m: b.int(m as i64),
            n: b.int(n as i64),
            k: b.int(k as i64),
            a: matrix(&mut b, x, k as i64, 1),
            b: matrix(&mut b, y, 1, k as i64),
            c: matrix(&mut b, out, n as i64, 1),
        };
        b.gemm(gemm);
        let first = b.int(0);
        let v = b.load(out, first);
        let w = b.binary(BinOp::Add, v, v);
        b.store(out, first, w);
        let buffers = vec![numbers(dtype, lens[0]), numbers(dtype, lens[1]), zeroed(dtype, lens[2])];
        cases.push(Case::new(b.finish(), buffers, 0..1));
    }
    check(cases);
}

/// Long straight-line bodies, in vectors and outside.
#[test]
fn thousand_operations() {
    let n = 37;
    for kind in [LoopKind::Serial, lanes(32)] {
        let kernel = elementwise(n, kind, &[DType::F32; 2], DType::F32, |b, x| {
            (0..1000).fold(x[0], |v, i| {
                let op = [BinOp::Add, BinOp::Mul, BinOp::Sub, BinOp::Max][i % 4];
                if i % 4 == 1 {
                    let c = constant(b, DType::F32, 1.0 / (i as f64 + 1.0));
                    b.binary(op, v, c)
                } else {
                    b.binary(op, v, x[1])
                }
            })
        });
        let buffers = vec![numbers(DType::F32, n), numbers(DType::F32, n), zeroed(DType::F32, n)];
        check(vec![Case::new(kernel, buffers, 0..n as i64)]);
    }
}
