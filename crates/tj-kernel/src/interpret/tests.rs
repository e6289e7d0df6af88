use tj_tensor::Scalar;

use super::*;
use crate::ir::Buf;
use crate::memory::BufferContents;
use crate::verify::Rule;

/// A kernel whose body and declarations are `text`; `%0` and `%1` are the task range.
fn kernel(text: &str) -> Kernel {
    let (header, body) = text.split_once("--").unwrap_or(("", text));
    format!(
        "kernel k(grid 4 cut 1 cost 1) {{
         {header}
         task %0..%1
         %0: i64 = task lo
         %1: i64 = task hi
         {body} }}"
    )
    .parse()
    .unwrap()
}

fn run(text: &str, buffers: &mut [BufferContents]) -> Result<Counts, KernelFault> {
    run_with(Options::default(), text, buffers)
}

fn run_with(options: Options, text: &str, buffers: &mut [BufferContents]) -> Result<Counts, KernelFault> {
    let mut memory: Vec<Memory<'_>> = buffers.iter_mut().map(BufferContents::memory).collect();
    interpret_with(options, &kernel(text), &mut memory, &[], &[], 0..4)
}

const SHUFFLED: Options =
    Options { lanes_order: LanesOrder::Shuffled, check_lanes: true, max_iterations: u64::MAX };

#[test]
fn arguments_reach_their_values() {
    let kernel = kernel(
        "buffer @0 y: i64[5] write
         size #0 = N
         size #1 = M
         param #0: i8
         param #1: i64 --
         %2: i64 = size #1
         %3: i8 = param #0
         %4: i64 = cast %3
         %5: i64 = param #1
         %6: i64 = const 0i64
         %7: i64 = const 1i64
         %8: i64 = const 2i64
         %9: i64 = const 3i64
         %10: i64 = const 4i64
         store @0[%6] = %0
         store @0[%7] = %1
         store @0[%8] = %2
         store @0[%9] = %4
         store @0[%10] = %5",
    );
    let mut y = BufferContents::zeroed(DType::I64, 5);
    let params = [Scalar::I8(-7), Scalar::I64(i64::MIN)];
    interpret(&kernel, &mut [y.memory()], &[10, 20], &params, 2..3).unwrap();
    assert_eq!(y, BufferContents::of(&[2i64, 3, 20, -7, i64::MIN]));
}

#[test]
fn lane_variables_take_every_width_th_element() {
    // Four lanes over six elements: lanes 0 and 1 get two each. The fold adds lanes 0+2, 1+3, then both.
    let text = "
        buffer @0 x: f32[6] read
        buffer @1 y: f32[1] write
        buffer @2 t: f32[6] write --
        %2: f32 = const 0.0f32
        %3: i64 = const 0i64
        %4: i64 = const 6i64
        var $0: f32 lanes(4) = %2
        for lanes(4) %5 in %3..%4 {
          %6: f32 = load @0[%5]
          %7: f32 = get $0
          %8: f32 = add %7, %6
          $0 = %8
          store @2[%5] = %8
        }
        %9: f32 = fold add $0
        store @1[%3] = %9";
    for options in [Options::default(), SHUFFLED] {
        let mut buffers = [
            BufferContents::of(&[1e8f32, 1.0, -1e8, 2.0, 3.0, 4.0]),
            BufferContents::of(&[0.0f32]),
            BufferContents::of(&[0.0f32; 6]),
        ];
        let counts = run_with(options, text, &mut buffers).unwrap();
        // 1e8 + 3 rounds to 1e8; (1e8 - 1e8) + (5 + 2).
        assert_eq!(buffers[1], BufferContents::of(&[7.0f32]));
        assert_eq!(buffers[2], BufferContents::of(&[1e8f32, 1.0, -1e8, 2.0, 1e8, 5.0]));
        let expected = Counts { iterations: 6, operations: 6, loads: 6, stores: 7, multiply_adds: 0 };
        assert_eq!(counts, expected);
    }
}

#[test]
fn set_outside_a_lanes_loop_sets_every_lane() {
    let text = "
        buffer @0 y: i32[1] write --
        %2: i32 = const 1i32
        %3: i32 = const 5i32
        var $0: i32 lanes(8) = %2
        $0 = %3
        %4: i32 = fold mul $0
        %5: i64 = const 0i64
        store @0[%5] = %4";
    let mut buffers = [BufferContents::of(&[0i32])];
    run(text, &mut buffers).unwrap();
    assert_eq!(buffers[0], BufferContents::of(&[390625i32]));
}

#[test]
fn serial_loop_inside_lanes_reduces_columns() {
    let text = "
        buffer @0 x: f64[12] read
        buffer @1 y: f64[4] write --
        %2: i64 = const 3i64
        %3: i64 = const 4i64
        %4: i64 = const 0i64
        %5: f64 = const 0.0f64
        for lanes(16) %6 in %0..%1 {
          var $0: f64 = %5
          for %7 in %4..%2 {
            %8: i64 = mul %7, %3
            %9: i64 = add %8, %6
            %10: f64 = load @0[%9]
            %11: f64 = get $0
            %12: f64 = add %11, %10
            $0 = %12
          }
          %13: f64 = get $0
          store @1[%6] = %13
        }";
    for options in [Options::default(), SHUFFLED] {
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let mut buffers = [BufferContents::of(&x), BufferContents::of(&[0.0f64; 4])];
        run_with(options, text, &mut buffers).unwrap();
        assert_eq!(buffers[1], BufferContents::of(&[12.0f64, 15.0, 18.0, 21.0]));
    }
}

#[test]
fn while_and_if_follow_their_conditions() {
    // Steps of the Collatz sequence of each element.
    let text = "
        buffer @0 x: i64[4] read
        buffer @1 y: i64[4] write --
        %2: i64 = const 0i64
        %3: i64 = const 1i64
        %4: i64 = const 2i64
        %5: i64 = const 3i64
        for %6 in %0..%1 {
          %7: i64 = load @0[%6]
          var $0: i64 = %7
          var $1: i64 = %2
          while {
            %8: i64 = get $0
            %9: bool = gt %8, %3
          } holds %9 {
            %10: i64 = get $0
            %11: i64 = mod %10, %4
            %12: bool = eq %11, %2
            if %12 {
              %13: i64 = floordiv %10, %4
              $0 = %13
            } else {
              %14: i64 = mul %10, %5
              %15: i64 = add %14, %3
              $0 = %15
            }
            %16: i64 = get $1
            %17: i64 = add %16, %3
            $1 = %17
          }
          %18: i64 = get $1
          store @1[%6] = %18
        }";
    let mut buffers = [BufferContents::of(&[1i64, 6, 27, -5]), BufferContents::of(&[9i64; 4])];
    let counts = run(text, &mut buffers).unwrap();
    assert_eq!(buffers[1], BufferContents::of(&[0i64, 8, 111, 0]));
    assert_eq!(counts.iterations, 4 + 8 + 111);
    let limited = Options { max_iterations: 10, ..Options::default() };
    let fault = run_with(limited, text, &mut buffers).unwrap_err();
    assert_eq!(fault.to_string(), "kernel k: more than 10 iterations");
}

#[test]
fn select_evaluates_both_and_bits_survive_moves() {
    let text = "
        buffer @0 x: f32[4] read
        buffer @1 y: u32[4] write --
        %2: f32 = const 0.0f32
        for %3 in %0..%1 {
          %4: f32 = load @0[%3]
          %5: bool = lt %4, %2
          %6: f32 = neg %4
          %7: f32 = select %5, %6, %4
          %8: u32 = bitcast %7
          store @1[%3] = %8
        }";
    let nan = f32::from_bits(0xffc0_1234);
    let mut buffers = [BufferContents::of(&[-0.0f32, -1.0, nan, 2.0]), BufferContents::of(&[0u32; 4])];
    run(text, &mut buffers).unwrap();
    assert_eq!(buffers[1], BufferContents::of(&[0x8000_0000u32, 0x3f80_0000, 0xffc0_1234, 0x4000_0000]));
}

#[test]
fn every_element_type_is_loaded_and_stored() {
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex()) {
        let text = format!(
            "buffer @0 x: {dtype}[4] read
             buffer @1 y: {dtype}[4] write --
             for %2 in %0..%1 {{ %3: {dtype} = load @0[%2] store @1[%2] = %3 }}"
        );
        let bits = [0, 1, if dtype.is_bool() { 1 } else { 0x8182_8384_8586_8788 }, 0];
        let x = BufferContents::from_bits(dtype, &bits);
        let mut buffers = [x.clone(), BufferContents::zeroed(dtype, 4)];
        run(&text, &mut buffers).unwrap();
        assert_eq!(buffers[1], x);
    }
}

#[test]
fn loops_without_iterations_and_at_the_end_of_i64() {
    let text = "
        buffer @0 y: i64[1] write --
        %2: i64 = const 9223372036854775806i64
        %3: i64 = const 9223372036854775807i64
        %4: i64 = const -9223372036854775808i64
        %5: i64 = const 0i64
        for %6 in %2..%3 { store @0[%5] = %6 }
        for lanes(4) %7 in %3..%4 { store @0[%5] = %7 }
        for %8 in %3..%3 { store @0[%5] = %8 }";
    for options in [Options::default(), SHUFFLED] {
        let mut buffers = [BufferContents::of(&[0i64])];
        assert_eq!(run_with(options, text, &mut buffers).unwrap().iterations, 1);
        assert_eq!(buffers[0], BufferContents::of(&[i64::MAX - 1]));
    }
}

/// `y = a * b` of `m x k` and `k x n` matrices, by columns in `b`.
fn gemm(m: usize, n: usize, k: usize, a: &[f32], b: &[f32]) -> (Vec<Scalar>, Counts) {
    let text = format!(
        "buffer @0 a: f32[{}] read
         buffer @1 b: f32[{}] read
         buffer @2 c: f32[{}] write --
         %2: i64 = const {m}i64
         %3: i64 = const {n}i64
         %4: i64 = const {k}i64
         %5: i64 = const 0i64
         %6: i64 = const 1i64
         gemm f32 (%2, %3, %4) @2[%5, %3, %6] = @0[%5, %4, %6] * @1[%5, %6, %4]",
        m * k,
        k * n,
        m * n
    );
    let mut buffers =
        [BufferContents::of(a), BufferContents::of(b), BufferContents::of(&vec![f32::NAN; m * n])];
    let counts = run(&text, &mut buffers).unwrap();
    (buffers[2].scalars().collect(), counts)
}

#[test]
fn gemm_has_the_stated_bits() {
    let (m, n, k) = (3, 2, 600);
    let a: Vec<f32> = (0..m * k).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| ((i * 53 % 89) as f32 - 44.0) / 3.0).collect();
    let (c, counts) = gemm(m, n, k, &a, &b);
    assert_eq!((counts.multiply_adds, counts.stores), (3600, 6));
    let mut naive = 0;
    for i in 0..m {
        for j in 0..n {
            let chain =
                |range: Range<usize>| range.fold(0.0f32, |sum, p| a[i * k + p].mul_add(b[j * k + p], sum));
            let expected = chain(0..256) + chain(256..512) + chain(512..600);
            assert_eq!(c[i * n + j], Scalar::F32(expected));
            naive += (expected != chain(0..600)) as u32;
        }
    }
    assert!(naive > 0, "the data do not tell blocks from one chain");
}

#[test]
fn gemm_of_nothing_is_zero_and_no_sum_is_a_negative_zero() {
    assert_eq!(gemm(1, 2, 0, &[], &[]).0, [Scalar::F32(0.0), Scalar::F32(0.0)]);
    assert_eq!(gemm(1, 1, 1, &[-1.0], &[0.0]).0, [Scalar::F32(0.0)]);
    assert_eq!(gemm(1, 1, 1, &[-1e-30], &[1e-30]).0, [Scalar::F32(0.0)]);
    assert_eq!(gemm(0, 1, 1, &[], &[1.0]).0, []);
}

#[test]
fn accesses_are_checked() {
    for (index, buffer) in [(4, "x"), (-1, "x"), (i64::MIN, "x"), (2, "y")] {
        let text = format!(
            "buffer @0 x: f32[N] read
             buffer @1 y: f32[2] write --
             %2: i64 = const {index}i64
             %3: i64 = const 0i64
             %4: f32 = load @0[{}]
             store @1[%2] = %4",
            if buffer == "x" { "%2" } else { "%3" }
        );
        let len = if buffer == "x" { 4 } else { 2 };
        let mut buffers = [BufferContents::of(&[0.0f32; 4]), BufferContents::of(&[0.0f32; 2])];
        let fault = run(&text, &mut buffers).unwrap_err();
        assert_eq!(
            fault.to_string(),
            format!("kernel k: element {index} of buffer {buffer}, which has {len}")
        );
    }
}

#[test]
fn scratch_is_stored_before_it_is_loaded() {
    let text = "
        buffer @0 t: f32[2] scratch
        buffer @1 y: f32[2] write --
        %2: i64 = const 0i64
        %3: i64 = const 1i64
        %4: f32 = const 1.0f32
        store @0[%2] = %4
        %5: f32 = load @0[%2]
        store @1[%2] = %5
        %6: f32 = load @0[%3]
        store @1[%3] = %6";
    let mut buffers = [BufferContents::of(&[0.0f32; 2]), BufferContents::of(&[0.0f32; 2])];
    let fault = run(text, &mut buffers).unwrap_err();
    assert_eq!(fault.to_string(), "kernel k: element 1 of scratch buffer t is loaded before it is stored");
    assert_eq!(buffers[1], BufferContents::of(&[1.0f32, 0.0]));
}

#[test]
fn dependent_lanes_are_found() {
    // A prefix sum claims to be independent.
    let text = "
        buffer @0 x: i64[5] write --
        %2: i64 = const 1i64
        for lanes(4) %3 in %0..%1 {
          %4: i64 = load @0[%3]
          %5: i64 = add %3, %2
          store @0[%5] = %4
        }";
    let fresh = || [BufferContents::of(&[1i64, 2, 3, 4, 5])];
    let (mut forward, mut shuffled) = (fresh(), fresh());
    run(text, &mut forward).unwrap();
    run_with(Options { check_lanes: false, ..SHUFFLED }, text, &mut shuffled).unwrap();
    assert_eq!(forward, [BufferContents::of(&[1i64; 5])]);
    assert_eq!(shuffled, [BufferContents::of(&[1i64, 1, 2, 3, 4])]);
    let checked = Options { check_lanes: true, ..Options::default() };
    let fault = run_with(checked, text, &mut fresh()).unwrap_err();
    assert_eq!(fault.to_string(), "kernel k: lanes iterations 0 and 1 share element 1 of buffer x");
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let kernel = kernel("buffer @0 x: f32[1] write\n size #0 = N\n param #0: f32 --");
    let mut x = BufferContents::of(&[1.0f32]);
    let mut d = BufferContents::of(&[1.0f64]);
    let shared = x.clone();
    let one = [Scalar::F32(1.0)];
    let check = |memory: &mut [Memory<'_>], sizes: &[i64], params: &[Scalar], message: &str| {
        let fault = interpret(&kernel, memory, sizes, params, 0..1).unwrap_err();
        assert_eq!(fault.to_string(), message);
    };
    check(&mut [], &[1], &one, "kernel k: 0 buffers for 1");
    check(&mut [x.memory()], &[], &one, "kernel k: 0 sizes for 1");
    check(&mut [x.memory()], &[1], &[], "kernel k: 0 parameters for 1");
    check(&mut [x.memory()], &[1], &[Scalar::I8(1)], "kernel k: parameters of types [I8] for [F32]");
    check(&mut [d.memory()], &[1], &one, "kernel k: buffer x is f32, given f64");
    let shared = Memory::read(DType::F32, shared.bytes());
    check(&mut [shared], &[1], &one, "kernel k: buffer x is written, given read-only memory");
}

#[test]
fn a_buffer_is_read_in_place_only_as_declared() {
    let run = |access: &str, written: u32| {
        let text = format!(
            "buffer @0 x: i32[3] {access} buffer @1 y: i32[3] write --
             for %2 in %0..%1 {{ %3: i32 = load @0[%2] %4: i32 = add %3, %3 store @1[%2] = %4 }}"
        );
        let mut y = BufferContents::of(&[1i32, 2, 3]);
        let mut memory = [Memory::in_place(DType::I32, Buf(written)), y.memory()];
        interpret(&kernel(&text), &mut memory, &[], &[], 0..3).map(|_| y).map_err(|fault| fault.to_string())
    };
    assert_eq!(run("inplace @1", 1), Ok(BufferContents::of(&[2i32, 4, 6])));
    let refused = Err("kernel k: buffer x is not read in place of @1".to_owned());
    assert_eq!(run("read", 1), refused);
    assert_eq!(run("inplace @1", 0), Err("kernel k: buffer x is not read in place of @0".to_owned()));
}

#[test]
fn malformed_kernels_are_refused() {
    let fault = run("%2: i64 = neg %3 %3: i64 = neg %0", &mut []).unwrap_err();
    assert_eq!(fault.to_string(), "kernel k is malformed: %3 (the operand of %2) is not defined there");
    let KernelFault::Malformed { findings, .. } = fault else { panic!("{fault}") };
    assert_eq!(findings.iter().map(|f| f.rule).collect::<Vec<_>>(), [Rule::Scope]);
}
