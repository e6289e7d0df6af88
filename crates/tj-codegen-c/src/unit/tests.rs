use expect_test::{Expect, expect};
use tj_ir::Function;
use tj_ir::dim::Dim;
use tj_kernel::{
    Access, Array, BinOp, Buf, Buffer, Builder, Call, Gemm, Grid, Kernel, LoopKind, Matrix, UnOp,
};
use tj_tensor::{DType, Scalar};

use crate::{CodegenError, emit, emit_header};

fn grid(extent: i64) -> Grid {
    Grid { extent: Dim::from(extent), multiple: 1, cost: Dim::from(1) }
}

/// The text after the preamble.
fn check(kernels: &[&Kernel], expected: Expect) {
    let text = emit(kernels).unwrap();
    let (_, ours) = text.split_once("#endif\n\n").unwrap();
    expected.assert_eq(ours);
    assert_eq!(emit(kernels).unwrap(), text);
}

/// `y = floor(max(x * 0.5, -1))` in a lanes loop, then a cast.
fn elementwise() -> Kernel {
    let mut b = Builder::new("elementwise", grid(1000));
    let x = b.buffer("x */ evil\n", DType::F32, Dim::from(1000), Access::Read);
    let y = b.buffer("y", DType::I32, Dim::from(1000), Access::Write);
    let (lo, hi) = b.task();
    let (half, low) = (b.constant(Scalar::F32(0.5)), b.constant(Scalar::F32(-1.0)));
    b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| {
        let x = b.load(x, i);
        let scaled = b.binary(BinOp::Mul, x, half);
        let clamped = b.binary(BinOp::Max, scaled, low);
        let floor = b.unary(UnOp::Floor, clamped);
        let int = b.cast(floor, DType::I32);
        b.store(y, i, int);
    });
    b.finish()
}

/// Sum of each row.
fn row_sum() -> Kernel {
    let mut b = Builder::new("row_sum", grid(10));
    let x = b.buffer("x", DType::F32, Dim::from(1000), Access::Read);
    let y = b.buffer("y", DType::F32, Dim::from(10), Access::Write);
    let n = b.int(100);
    let (lo, hi) = b.task();
    let zero = b.constant(Scalar::F32(0.0));
    b.for_loop(LoopKind::Serial, lo, hi, |b, row| {
        let acc = b.declare_lanes(32, zero);
        let start = b.binary(BinOp::Mul, row, n);
        let end = b.binary(BinOp::Add, start, n);
        b.for_loop(LoopKind::Lanes(32), start, end, |b, i| {
            let x = b.load(x, i);
            let old = b.get(acc);
            let new = b.binary(BinOp::Add, old, x);
            b.set(acc, new);
        });
        let sum = b.fold(acc, BinOp::Add);
        b.store(y, row, sum);
    });
    b.finish()
}

/// A loop that halves a number until it is odd, and a branch.
fn control() -> Kernel {
    let mut b = Builder::new("control", grid(1));
    let y = b.buffer("y", DType::I64, Dim::from(2), Access::Write);
    let (start, flag) = (b.param(DType::I64), b.param(DType::Bool));
    let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
    let x = b.declare(start);
    b.while_loop(
        |b| {
            let x = b.get(x);
            let rest = b.binary(BinOp::Mod, x, two);
            b.compare(tj_kernel::CmpOp::Eq, rest, zero)
        },
        |b| {
            let old = b.get(x);
            let new = b.binary(BinOp::FloorDiv, old, two);
            b.set(x, new);
        },
    );
    let end = b.get(x);
    b.if_else(flag, |b| b.store(y, zero, end), |b| b.store(y, one, end));
    b.finish()
}

fn gemm() -> Kernel {
    let mut b = Builder::new("contract", grid(1));
    let names = ["a", "b", "c"];
    let [a, x, c] = names
        .map(|n| b.buffer(n, DType::F64, Dim::from(16), if n == "c" { Access::Write } else { Access::Read }));
    let (n, zero, one) = (b.int(4), b.int(0), b.int(1));
    let matrix = |buffer| Matrix { buffer, offset: zero, row_stride: n, col_stride: one };
    b.gemm(Gemm { dtype: DType::F64, m: n, n, k: n, a: matrix(a), b: matrix(x), c: matrix(c) });
    b.finish()
}

fn call() -> Kernel {
    let mut b = Builder::new("sorted", grid(5));
    let n = Dim::new("N", ..).unwrap();
    let x = b.buffer("x", DType::F32, &n * 5, Access::Read);
    let y = b.buffer("y", DType::F32, &n * 5, Access::Write);
    let extents = vec![b.int(5), b.size(&n)];
    let array = |buffer| Array { buffer, extents: extents.clone() };
    let function = Function::Sort { descending: true };
    b.call(Call { function, args: vec![array(x)], results: vec![array(y)] });
    b.finish()
}

#[test]
fn texts_of_calls() {
    check(
        &[&call()],
        expect![[r#"

        /* sorted; tasks: 5
           b0: x, 5*N x f32, read
           b1: y, 5*N x f32, written
           size 0: N
        */
        TJ_EXPORT i32 sorted(const tj_args *args, i64 task_lo, i64 task_hi) {
          const f32 *restrict b0 = args->buffers[0];
          f32 *restrict b1 = args->buffers[1];
          const i64 v0 = task_lo;
          const i64 v1 = task_hi;
          const i64 v3 = args->sizes[0];
          /* sort(1, 0) */
          const i64 words[] = {1, 1, 0, 1, 1, 12, 2, 5, v3, 12, 2, 5, v3};
          void *const arrays[] = {(void *)b0, (void *)b1};
          const i32 status = args->host->call(words, 13, arrays, task_lo, task_hi);
          if (status) return status;
          return 0;
        }
    "#]],
    );
}

#[test]
fn texts() {
    check(
        &[&elementwise()],
        expect![[r#"
            static inline f32 tj_floor_f32(f32 x) {
            #if defined(__SSE4_1__) || defined(__aarch64__)
              return __builtin_floorf(x);
            #else
              if (!(__builtin_fabsf(x) < 8388608.0f)) return x;
              const f32 whole = (f32)(i32)x;
              const f32 below = whole > x ? whole - 1 : whole;
              return __builtin_copysignf(below, x);
            #endif
            }
            static inline i32 tj_i32_f32(f32 x) {
              return x != x ? 0 : x <= -2147483648.0f ? (i32)((u32)1 << 31) : x >= 2147483648.0f ? (i32)((u32)-1 >> 1) : (i32)x;
            }

            /* elementwise; tasks: 1000
               b0: x * / evil , 1000 x f32, read
               b1: y, 1000 x i32, written
            */
            TJ_EXPORT i32 elementwise(const tj_args *args, i64 task_lo, i64 task_hi) {
              const f32 *restrict b0 = args->buffers[0];
              i32 *restrict b1 = args->buffers[1];
              const i64 v0 = task_lo;
              const i64 v1 = task_hi;
              TJ_LANES
              for (i64 v4 = v0; v4 < v1; ++v4) {
                const f32 v5 = b0[v4];
                const f32 v6 = v5 * 0.5f;
                const f32 v7 = (-1.0f) > v6 ? (-1.0f) : v6;
                const f32 v8 = tj_floor_f32(v7);
                const i32 v9 = tj_i32_f32(v8);
                b1[v4] = v9;
              }
              return 0;
            }
        "#]],
    );
    check(
        &[&row_sum()],
        expect![[r#"

            /* row_sum; tasks: 10
               b0: x, 1000 x f32, read
               b1: y, 10 x f32, written
            */
            TJ_EXPORT i32 row_sum(const tj_args *args, i64 task_lo, i64 task_hi) {
              const f32 *restrict b0 = args->buffers[0];
              f32 *restrict b1 = args->buffers[1];
              const i64 v0 = task_lo;
              const i64 v1 = task_hi;
              for (i64 v4 = v0; v4 < v1; ++v4) {
                _Alignas(64) f32 x0[32];
                for (i64 lane = 0; lane < 32; ++lane) x0[lane] = 0.0f;
                const i64 v5 = v4 * 100;
                const i64 v6 = v5 + 100;
                i64 v7 = v5;
                for (; v7 < v6 && v6 - v7 >= 32; v7 += 32) {
                  TJ_LANES
                  for (i64 lane = 0; lane < 32; ++lane) {
                    const f32 v8 = b0[v7 + lane];
                    const f32 v9 = x0[lane];
                    const f32 v10 = v9 + v8;
                    x0[lane] = v10;
                  }
                }
                if (v7 < v6) {
                  const i64 rest = v6 - v7;
                  TJ_LANES
                  for (i64 lane = 0; lane < rest; ++lane) {
                    const f32 v8 = b0[v7 + lane];
                    const f32 v9 = x0[lane];
                    const f32 v10 = v9 + v8;
                    x0[lane] = v10;
                  }
                }
                _Alignas(64) f32 fold11[32];
                TJ_ROLLED
                for (i64 lane = 0; lane < 16; ++lane) fold11[lane] = x0[lane] + x0[lane + 16];
                TJ_ROLLED
                for (i64 lane = 0; lane < 8; ++lane) fold11[lane] = fold11[lane] + fold11[lane + 8];
                TJ_ROLLED
                for (i64 lane = 0; lane < 4; ++lane) fold11[lane] = fold11[lane] + fold11[lane + 4];
                TJ_ROLLED
                for (i64 lane = 0; lane < 2; ++lane) fold11[lane] = fold11[lane] + fold11[lane + 2];
                TJ_ROLLED
                for (i64 lane = 0; lane < 1; ++lane) fold11[lane] = fold11[lane] + fold11[lane + 1];
                const f32 v11 = fold11[0];
                b1[v4] = v11;
              }
              return 0;
            }
        "#]],
    );
    check(
        &[&column_sum()],
        expect![[r#"

        /* column_sum; tasks: 100
           b0: x, 1000 x f32, read
           b1: y, 100 x f32, written
        */
        TJ_EXPORT i32 column_sum(const tj_args *args, i64 task_lo, i64 task_hi) {
          const f32 *restrict b0 = args->buffers[0];
          f32 *restrict b1 = args->buffers[1];
          const i64 v0 = task_lo;
          const i64 v1 = task_hi;
          i64 v6 = v0;
          for (; v6 < v1 && v1 - v6 >= 32; v6 += 32) {
            _Alignas(64) f32 x0[32];
            TJ_LANES
            for (i64 lane = 0; lane < 32; ++lane) {
              x0[lane] = 0.0f;
            }
            for (i64 v7 = 0; v7 < 10; ++v7) {
              const i64 v8 = v7 * 100;
              const i64 v9 = v8 + v6;
              TJ_LANES
              for (i64 lane = 0; lane < 32; ++lane) {
                const f32 v10 = b0[v9 + lane];
                const f32 v11 = x0[lane];
                const f32 v12 = v11 + v10;
                x0[lane] = v12;
              }
            }
            TJ_LANES
            for (i64 lane = 0; lane < 32; ++lane) {
              const f32 v13 = x0[lane];
              b1[v6 + lane] = v13;
            }
          }
          if (v6 < v1) {
            const i64 rest = v1 - v6;
            _Alignas(64) f32 x0[32];
            TJ_LANES
            for (i64 lane = 0; lane < rest; ++lane) {
              x0[lane] = 0.0f;
            }
            for (i64 v7 = 0; v7 < 10; ++v7) {
              const i64 v8 = v7 * 100;
              const i64 v9 = v8 + v6;
              TJ_LANES
              for (i64 lane = 0; lane < rest; ++lane) {
                const f32 v10 = b0[v9 + lane];
                const f32 v11 = x0[lane];
                const f32 v12 = v11 + v10;
                x0[lane] = v12;
              }
            }
            TJ_LANES
            for (i64 lane = 0; lane < rest; ++lane) {
              const f32 v13 = x0[lane];
              b1[v6 + lane] = v13;
            }
          }
          return 0;
        }
    "#]],
    );
    check(
        &[&control()],
        expect![[r#"
            static inline i64 tj_mod_i64(i64 a, i64 b) {
              if (b == 0 || b == -1) return 0;
              const i64 r = (i64)(a % b);
              return r != 0 && (r ^ b) < 0 ? (i64)(r + b) : r;
            }
            static inline i64 tj_floordiv_i64(i64 a, i64 b) {
              if (b == 0) return 0;
              if (b == -1) return (i64)-a;
              const i64 q = (i64)(a / b);
              return a % b != 0 && (a ^ b) < 0 ? (i64)(q - 1) : q;
            }

            /* control; tasks: 1
               b0: y, 2 x i64, written
            */
            TJ_EXPORT i32 control(const tj_args *args, i64 task_lo, i64 task_hi) {
              i64 *restrict b0 = args->buffers[0];
              const i64 v0 = task_lo;
              const i64 v1 = task_hi;
              const i64 v2 = (i64)args->params[0];
              const u8 v3 = (u8)args->params[1];
              i64 x0 = v2;
              for (;;) {
                const i64 v7 = x0;
                const i64 v8 = tj_mod_i64(v7, 2);
                const u8 v9 = v8 == 0;
                if (!v9) break;
                const i64 v10 = x0;
                const i64 v11 = tj_floordiv_i64(v10, 2);
                x0 = v11;
              }
              const i64 v12 = x0;
              if (v3) {
                b0[0] = v12;
              } else {
                b0[1] = v12;
              }
              return 0;
            }
        "#]],
    );
    check(
        &[&gemm()],
        expect![[r#"

            /* contract; tasks: 1
               b0: a, 16 x f64, read
               b1: b, 16 x f64, read
               b2: c, 16 x f64, written
            */
            TJ_EXPORT i32 contract(const tj_args *args, i64 task_lo, i64 task_hi) {
              const f64 *restrict b0 = args->buffers[0];
              const f64 *restrict b1 = args->buffers[1];
              f64 *restrict b2 = args->buffers[2];
              const i64 v0 = task_lo;
              const i64 v1 = task_hi;
              args->host->gemm_f64(4, 4, 4, b0 + 0, 4, 1, b1 + 0, 4, 1, b2 + 0, 4, 1);
              return 0;
            }
        "#]],
    );
}

/// Column sums: control flow inside lanes.
fn column_sum() -> Kernel {
    let mut b = Builder::new("column_sum", grid(100));
    let x = b.buffer("x", DType::F32, Dim::from(1000), Access::Read);
    let y = b.buffer("y", DType::F32, Dim::from(100), Access::Write);
    let (lo, hi) = b.task();
    let (zero, m, n, first) = (b.int(0), b.int(10), b.int(100), b.constant(Scalar::F32(0.0)));
    b.for_loop(LoopKind::Lanes(32), lo, hi, |b, j| {
        let acc = b.declare(first);
        b.for_loop(LoopKind::Serial, zero, m, |b, i| {
            let row = b.binary(BinOp::Mul, i, n);
            let at = b.binary(BinOp::Add, row, j);
            let x = b.load(x, at);
            let old = b.get(acc);
            let new = b.binary(BinOp::Add, old, x);
            b.set(acc, new);
        });
        let sum = b.get(acc);
        b.store(y, j, sum);
    });
    b.finish()
}

#[test]
fn a_header() {
    let header = emit_header("rows", &[&row_sum(), &gemm()]).unwrap();
    let (_, ours) = header.split_once("#endif\n\n").unwrap();
    expect![[r##"
        #ifdef __cplusplus
        extern "C" {
        #endif

        /* Tasks: 0 to 10; any sub-range, each task once. Returns 0, or what a function of the host says.
           buffers[0]: x, 1000 x f32, read
           buffers[1]: y, 10 x f32, written
           No two buffers overlap. */
        int32_t row_sum(const tj_args *args, int64_t task_lo, int64_t task_hi);

        /* Tasks: 0 to 1; any sub-range, each task once. Returns 0, or what a function of the host says.
           buffers[0]: a, 16 x f64, read
           buffers[1]: b, 16 x f64, read
           buffers[2]: c, 16 x f64, written
           No two buffers overlap. */
        int32_t contract(const tj_args *args, int64_t task_lo, int64_t task_hi);

        #ifdef __cplusplus
        }
        #endif
        #endif
    "##]]
    .assert_eq(ours);
}

/// Nothing is promised of two buffers that may be one memory; of the others it is.
#[test]
fn buffers_that_may_overlap() {
    let mut kernel = elementwise();
    kernel.buffers.insert(1, kernel.buffers[0].clone());
    kernel.buffers[0].access = Access::InPlace(Buf(2));
    kernel.buffers.push(kernel.buffers[1].clone());
    kernel.buffers[2] = Buffer { access: Access::Write, name: "y".to_owned(), ..kernel.buffers[1].clone() };
    let text = emit(&[&kernel]).unwrap();
    for line in ["const f32 *b0 =", "const f32 *restrict b1 =", "f32 *b2 =", "const f32 *restrict b3 ="] {
        assert!(text.contains(line), "{text}");
    }
    let header = emit_header("shared", &[&kernel]).unwrap();
    assert!(header.contains("1000 x f32, read, may be the memory of buffers[2]\n"), "{header}");
    assert!(header.contains("No other two buffers overlap."), "{header}");
}

#[test]
fn bad_kernels_are_errors() {
    let check = |kernels: &[Kernel], message: &str| {
        let error = emit(&kernels.iter().collect::<Vec<_>>()).unwrap_err();
        assert_eq!(error.to_string(), message);
    };
    let named = |name: &str| Builder::new(name, grid(1)).finish();
    check(&[named("a b")], "kernel name \"a b\" is not an identifier that C leaves to users");
    check(&[named("")], "kernel name \"\" is not an identifier that C leaves to users");
    check(&[named("while")], "kernel name \"while\" is taken by C or by the unit");
    check(&[named("tj_args")], "kernel name \"tj_args\" is taken by C or by the unit");
    check(&[named("k"), named("k")], "kernel name \"k\" is used twice in one unit");

    let mut b = Builder::new("k", grid(1));
    b.buffer("z", DType::C64, Dim::from(1), Access::Read);
    check(&[b.finish()], "kernel k: elements of type c64 are not supported in C");

    let mut b = Builder::new("k", grid(1));
    let one = b.int(1);
    b.unary(UnOp::Sqrt, one);
    check(&[b.finish()], "kernel k: Unary(Sqrt, %2) is not defined on i64");

    let mut b = Builder::new("k", grid(1));
    let one = b.int(1);
    let acc = b.declare_lanes(16, one);
    let (lo, hi) = b.task();
    b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| b.set(acc, i));
    check(&[b.finish()], "kernel k: $0 has 16 lanes and is used in a loop of 32");
}

#[test]
fn nesting_is_bounded() {
    let nest = |depth: usize| {
        let mut b = Builder::new("k", grid(1));
        fn inner(b: &mut Builder, depth: usize) {
            let (lo, hi) = b.task();
            if depth > 0 {
                b.for_loop(LoopKind::Serial, lo, hi, |b, _| inner(b, depth - 1));
            }
        }
        inner(&mut b, depth);
        emit(&[&b.finish()])
    };
    assert!(nest(199).is_ok());
    assert_eq!(nest(200), Err(CodegenError::TooDeep { kernel: "k".to_owned(), bound: 200 }));
}
