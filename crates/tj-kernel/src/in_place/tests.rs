use std::collections::BTreeMap;

use proptest::prelude::*;
use tj_tensor::{DType, Scalar};

use super::*;
use crate::interpret::{KernelFault, LanesOrder, Options, interpret_with};
use crate::ir::Access;
use crate::memory::{BufferContents, Memory};
use crate::sample::{Sample, SampleOptions, sample};
use crate::verify::{Rule, verify};

/// A kernel over tasks `0..N` whose declarations and body are `text`; `%0` and `%1` are the task range, `%2` to `%5`
/// are 0, 1, `N` and `M`.
fn kernel(text: &str) -> Kernel {
    let (header, body) = text.split_once("--").unwrap_or(("", text));
    format!(
        "kernel k(grid N cut 1 cost 1) {{
         {header}
         size #0 = N
         size #1 = M
         task %0..%1
         %0: i64 = task lo
         %1: i64 = task hi
         %2: i64 = const 0i64
         %3: i64 = const 1i64
         %4: i64 = size #0
         %5: i64 = size #1
         {body} }}"
    )
    .parse()
    .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A call of a kernel with this many rows and columns.
fn call(kernel: &Kernel, rows: i64, cols: i64) -> Sample {
    let symbols: Vec<(Symbol, i64)> = [("N", rows), ("M", cols)]
        .map(|(name, size)| (Symbol::declared(name, ..).expect("a letter names a symbol"), size))
        .into();
    let eval = |dim: &Dim| {
        let value = |symbol: &Symbol| symbols.iter().find(|(s, _)| s == symbol).map(|&(_, v)| v);
        dim.eval(&value).expect("all symbols have values")
    };
    let buffers = kernel.buffers.iter().enumerate();
    let contents = buffers.map(|(at, buffer)| {
        let bits = |i: i64| Scalar::I64(i * 7 + at as i64 + 1).cast(buffer.dtype).bits() as u64;
        BufferContents::from_bits(buffer.dtype, &(0..eval(&buffer.len)).map(bits).collect::<Vec<_>>())
    });
    Sample {
        kernel: kernel.clone(),
        contents: contents.collect(),
        sizes: kernel.sizes.iter().map(&eval).collect(),
        params: Vec::new(),
        tasks: 0..eval(&kernel.grid.extent),
        symbols,
    }
}

/// Whether one memory for both buffers gives other bits than a copy: whole, in pieces, with lanes in another order.
fn differs(sample: &Sample, (read, written): (Buf, Buf)) -> bool {
    let mut contents = sample.contents.clone();
    let bits: Vec<u64> = (0..contents[read.index()].len()).map(|i| contents[read.index()].get(i)).collect();
    let copy = BufferContents::from_bits(contents[written.index()].dtype(), &bits);
    contents[written.index()] = copy;

    let mut expected = contents.clone();
    let plain = sample.interpret_on(Options::default(), &mut expected, sample.tasks.clone());
    plain.unwrap_or_else(|e| panic!("{e}\n{}", sample.kernel));

    let mut kernel = sample.kernel.clone();
    kernel.buffers[read.index()].access = Access::InPlace(written);
    let (lo, hi) = (sample.tasks.start, sample.tasks.end);
    let middle = (lo + hi) / 2;
    let pieces = [[lo..hi, hi..hi], [middle..hi, lo..middle]];
    pieces.into_iter().zip([LanesOrder::Forward, LanesOrder::Shuffled]).any(|(pieces, lanes_order)| {
        let options = Options { lanes_order, check_lanes: true, ..Options::default() };
        let mut got = contents.clone();
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            let mut memory: Vec<Memory<'_>> = got.iter_mut().map(BufferContents::memory).collect();
            memory[read.index()] = Memory::in_place(kernel.buffers[read.index()].dtype, written);
            let ran =
                interpret_with(options, &kernel, &mut memory, &sample.sizes, &sample.params, piece.clone());
            match ran {
                Ok(_) => {}
                Err(KernelFault::LanesConflict { .. }) => return true,
                Err(fault) => panic!("{fault}\n{kernel}"),
            }
        }
        kernel.buffers.iter().zip(got.iter().zip(&expected)).any(|(buffer, (got, expected))| {
            buffer.access != Access::Scratch && got.bytes() != expected.bytes()
        })
    })
}

/// Checks which buffers may be one memory, against runs with many sizes.
#[track_caller]
fn check(text: &str, expected: &[(u32, u32)]) {
    let kernel = kernel(text);
    verify(&kernel).unwrap_or_else(|f| panic!("{f:?}\n{kernel}"));
    let found = pairs(&kernel);
    assert_eq!(found, expected.iter().map(|&(r, w)| (Buf(r), Buf(w))).collect::<Vec<_>>(), "{kernel}");
    for pair in found {
        let mut marked = kernel.clone();
        marked.buffers[pair.0.index()].access = Access::InPlace(pair.1);
        assert!(verify(&marked).is_ok(), "{marked}");
        for (rows, cols) in [(0, 3), (1, 1), (1, 40), (3, 5), (5, 3), (4, 4), (40, 2), (33, 33)] {
            assert!(!differs(&call(&kernel, rows, cols), pair), "{pair:?} with {rows}, {cols}\n{kernel}");
        }
    }
}

/// Checks that buffers 0 and 1 are refused, and that it would be wrong to share their memory.
#[track_caller]
fn refused(text: &str) {
    check(text, &[]);
    let kernel = kernel(text);
    let wrong = [(5, 3), (3, 5), (4, 4), (40, 40)]
        .iter()
        .any(|&(rows, cols)| differs(&call(&kernel, rows, cols), (Buf(0), Buf(1))));
    assert!(wrong, "nothing is wrong about {kernel}");
    let mut marked = kernel;
    marked.buffers[0].access = Access::InPlace(Buf(1));
    let findings = verify(&marked).expect_err("the pair is not proved");
    assert_eq!(findings.iter().map(|f| f.rule).collect::<Vec<_>>(), [Rule::InPlace]);
}

const FLAT: &str = "buffer @0 x: f32[N] read buffer @1 y: f32[N] write --";
const ROWS: &str = "buffer @0 x: f32[N*M] read buffer @1 y: f32[N*M] write --";

fn flat(body: &str) -> String {
    format!("{FLAT}{body}")
}

fn rows(body: &str) -> String {
    format!("{ROWS}{body}")
}

#[test]
fn elementwise() {
    let body = "for lanes(32) %6 in %0..%1 { %7: f32 = load @0[%6] %8: f32 = mul %7, %7 store @1[%6] = %8 }";
    check(&flat(body), &[(0, 1)]);
    // Twice the same element, and both written.
    check(
        "buffer @0 x: f32[N] read buffer @1 y: f32[N] write buffer @2 z: i32[N] write --
         for %6 in %0..%1 {
           %7: f32 = load @0[%6] %8: f32 = load @0[%6] %9: i32 = bitcast %8
           store @1[%6] = %7 store @2[%6] = %9
         }",
        &[(0, 1), (0, 2)],
    );
}

#[test]
fn another_length_or_width() {
    check(
        "buffer @0 x: f32[N] read buffer @1 y: f64[N] write buffer @2 z: f32[N + 1] write --
         for %6 in %0..%1 { %7: f32 = load @0[%6] %8: f64 = cast %7 store @1[%6] = %8 store @2[%6] = %7 }",
        &[],
    );
}

#[test]
fn neighbours_and_mirrors() {
    refused(&flat(
        "%6: i64 = sub %4, %3
         for lanes(32) %7 in %0..%1 {
           %8: i64 = add %7, %3 %9: i64 = min %8, %6 %10: i64 = max %9, %2
           %11: f32 = load @0[%10] store @1[%7] = %11
         }",
    ));
    refused(
        "buffer @0 x: f32[N + 1] read buffer @1 y: f32[N + 1] write --
         for %6 in %0..%1 { %7: i64 = add %6, %3 %8: f32 = load @0[%6] store @1[%7] = %8 }",
    );
    refused(&flat(
        "%6: i64 = sub %4, %3
         for lanes(32) %7 in %0..%1 { %8: i64 = sub %6, %7 %9: f32 = load @0[%8] store @1[%7] = %9 }",
    ));
    // Both from the end: each element is still its own.
    check(
        &flat(
            "%6: i64 = sub %4, %3
             for lanes(32) %7 in %0..%1 { %8: i64 = sub %6, %7 %9: f32 = load @0[%8] store @1[%8] = %9 }",
        ),
        &[(0, 1)],
    );
}

#[test]
fn one_call_for_all() {
    // Every task reads the first element, which the first task writes.
    refused(&flat("for %6 in %0..%1 { %7: f32 = load @0[%2] %8: f32 = add %7, %7 store @1[%6] = %8 }"));
    // Each call copies everything to scratch before it writes; the calls do not wait for each other.
    refused(
        "buffer @0 x: f32[N] read buffer @1 y: f32[N] write buffer @2 t: f32[N] scratch --
         for %6 in %2..%4 { %7: f32 = load @0[%6] store @2[%6] = %7 }
         %8: i64 = sub %4, %3
         for %9 in %0..%1 { %10: i64 = sub %8, %9 %11: f32 = load @2[%10] store @1[%9] = %11 }",
    );
    // The same with each task reading what is its own.
    check(
        "buffer @0 x: f32[N] read buffer @1 y: f32[N] write buffer @2 t: f32[N] scratch --
         for lanes(8) %6 in %0..%1 { %7: f32 = load @0[%6] store @2[%6] = %7 }
         for lanes(8) %8 in %0..%1 { %9: f32 = load @2[%8] store @1[%8] = %9 }",
        &[(0, 1)],
    );
}

#[test]
fn read_after_it_is_written() {
    refused(&flat(
        "%6: f32 = const 0.5f32
         for %7 in %0..%1 { store @1[%7] = %6 }
         for %8 in %0..%1 { %9: f32 = load @0[%8] store @1[%8] = %9 }",
    ));
    // In one body, the load last.
    refused(
        "buffer @0 x: f32[N] read buffer @1 y: f32[N] write buffer @2 z: f64[N] write --
         %6: f32 = const 0.5f32
         for %7 in %0..%1 { store @1[%7] = %6 %8: f32 = load @0[%7] %9: f64 = cast %8 store @2[%7] = %9 }",
    );
}

#[test]
fn transposed_and_broadcast() {
    refused(
        "buffer @0 x: f32[N*N] read buffer @1 y: f32[N*N] write --
         for %6 in %0..%1 {
           %7: i64 = mul %6, %4
           for lanes(32) %8 in %2..%4 {
             %9: i64 = add %7, %8 %10: i64 = mul %8, %4 %11: i64 = add %10, %6
             %12: f32 = load @0[%11] store @1[%9] = %12
           }
         }",
    );
    // Columns first, but the same element.
    check(
        &rows(
            "for lanes(32) %6 in %0..%1 {
               for %7 in %2..%5 {
                 %8: i64 = mul %7, %4 %9: i64 = add %8, %6 %10: f32 = load @0[%9] store @1[%9] = %10
               }
             }",
        ),
        &[(0, 1)],
    );
    // A row added to each row.
    refused(
        "buffer @0 x: f32[N] read buffer @1 y: f32[N] write --
         for %6 in %0..%1 { %7: f32 = load @0[%6] %8: i64 = floordiv %6, %5 %9: i64 = mul %8, %5
         %10: i64 = min %9, %6 %11: i64 = max %10, %2 %12: f32 = load @0[%11] %13: f32 = add %7, %12
         store @1[%6] = %13 }",
    );
    // The first element of a row for all of it, read before the row is written.
    check(
        &rows(
            "%6: bool = lt %2, %5
             for %7 in %0..%1 {
               %8: i64 = mul %7, %5
               if %6 {
                 %9: f32 = load @0[%8]
                 for lanes(32) %10 in %2..%5 { %11: i64 = add %8, %10 store @1[%11] = %9 }
               }
             }",
        ),
        &[(0, 1)],
    );
}

/// A reduction of each row, then the row again.
fn normalise(load: &str) -> String {
    rows(&format!(
        "%6: f32 = const 0.0f32
         for %7 in %0..%1 {{
           %8: i64 = mul %7, %5
           var $0: f32 lanes(32) = %6
           for lanes(32) %9 in %2..%5 {{
             %10: i64 = add %8, %9 %11: f32 = load @0[%10] %12: f32 = get $0 %13: f32 = add %12, %11 $0 = %13
           }}
           %14: f32 = fold add $0
           for lanes(32) %15 in %2..%5 {{
             %16: i64 = add %8, %15 {load} %18: f32 = sub %17, %14 store @1[%16] = %18
           }}
         }}"
    ))
}

#[test]
fn rows_reduced_and_then_normalised() {
    check(&normalise("%17: f32 = load @0[%16]"), &[(0, 1)]);
    // The first element of the row is gone when the second is made.
    refused(&normalise("%17: f32 = load @0[%8]"));
}

/// Rows `first..end` of panels, as they follow a contraction.
fn panels(size: i64) -> String {
    rows(&format!(
        "%6: i64 = const 2i64 %7: i64 = const {size}i64
         %8: i64 = sub %1, %0 %9: i64 = add %8, %3 %10: i64 = floordiv %9, %6
         for %11 in %2..%10 {{
           %12: i64 = mul %11, %6 %13: i64 = add %0, %12 %14: i64 = add %13, %7 %15: i64 = min %1, %14
           for %16 in %13..%15 {{
             %17: i64 = mul %16, %5
             for lanes(8) %18 in %2..%5 {{
               %19: i64 = add %17, %18 %20: f32 = load @0[%19] %21: f32 = add %20, %20 store @1[%19] = %21
             }}
           }}
         }}"
    ))
}

#[test]
fn panels_of_rows() {
    check(&panels(2), &[(0, 1)]);
    // Panels that overlap write a row twice.
    refused(&panels(3));
}

#[test]
fn loops_without_end_and_contractions() {
    let cursor = "%6: bool = lt %3, %2
        for %7 in %0..%1 { while { } holds %6 { %8: f32 = load @0[%7] } %9: f32 = const 1.0f32 store @1[%7] = %9 }";
    check(&flat(cursor), &[]);
    check(
        "buffer @0 a: f32[N*N] read buffer @1 b: f32[N*N] read buffer @2 c: f32[N*N] write --
         %6: i64 = sub %1, %0 %7: i64 = mul %0, %4
         gemm f32 (%6, %4, %4) @2[%7, %4, %3] = @0[%7, %4, %3] * @1[%2, %4, %3]",
        &[],
    );
}

#[test]
fn marks_are_checked() {
    let check = |text: &str, expected: &str| {
        let findings = verify(&kernel(text)).expect_err("the mark is wrong");
        assert_eq!(findings.iter().map(|f| f.what.as_str()).collect::<Vec<_>>(), [expected], "{text}");
    };
    check("buffer @0 x: f32[N] inplace @3 --", "@3 is no buffer");
    check(
        "buffer @0 x: f32[N] inplace @1 buffer @1 y: f32[N] read --",
        "buffer x is read in place of @1, which is not written",
    );
    check(
        "buffer @0 x: f32[N] inplace @1 buffer @1 y: f32[M] write --",
        "buffer x is read in place of @1, which has another length",
    );
    check(
        "buffer @0 x: f32[N] inplace @1 buffer @1 y: f64[N] write --",
        "buffer x is read in place of @1, which has elements of another width",
    );
    check(
        "buffer @0 x: f32[N] inplace @1 buffer @1 y: f32[N] write -- %6: f32 = const 1.0f32 store @0[%0] = %6",
        "@0 is stored to but only read",
    );
}

/// Types of one width, so that many buffers fit each other.
fn options() -> SampleOptions {
    SampleOptions { dtypes: vec![DType::F32, DType::I32], max_extent: 24, ..SampleOptions::default() }
}

proptest! {
    #[test]
    fn proved_pairs_change_no_bit(seed in any::<u64>()) {
        let sample = sample(seed, &options());
        for pair in pairs(&sample.kernel) {
            prop_assert!(!differs(&sample, pair), "seed {seed}, {pair:?}\n{}", sample.kernel);
        }
    }
}

/// The property above says something: samples have pairs that are proved, and pairs that would be wrong.
#[test]
fn samples_have_pairs_of_both_kinds() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..300 {
        let sample = sample(seed, &options());
        let proved = pairs(&sample.kernel);
        let buffers = &sample.kernel.buffers;
        for (r, read) in buffers.iter().enumerate().filter(|(_, b)| b.access == Access::Read) {
            for (w, written) in buffers.iter().enumerate().filter(|(_, b)| b.access == Access::Write) {
                let pair = (Buf(r as u32), Buf(w as u32));
                if read.len != written.len || read.dtype.size() != written.dtype.size() {
                    continue;
                }
                let kind = match (proved.contains(&pair), differs(&sample, pair)) {
                    (true, true) => "wrong",
                    (true, false) => "proved",
                    (false, true) => "rightly refused",
                    (false, false) => "refused",
                };
                *counts.entry(kind).or_default() += 1;
            }
        }
    }
    let count = |kind| counts.get(kind).copied().unwrap_or(0);
    assert_eq!(count("wrong"), 0);
    assert!(count("proved") > 20 && count("rightly refused") > 20, "{counts:?}");
}
