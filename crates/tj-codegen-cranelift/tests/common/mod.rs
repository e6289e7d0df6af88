//! Runs compiled kernels beside the interpreter.

#![allow(dead_code, reason = "each test uses some of it")]

use std::ffi::c_void;
use std::ops::Range;

use tj_codegen_cranelift::{Features, Jit, Options};
use tj_ir::dim::Dim;
use tj_kernel::abi::{Args, Host, KernelFn, STATUS_OK};
use tj_kernel::{Access, Buf, BufferContents, Builder, Grid, Kernel, LoopKind, Memory, Value, interpret};
use tj_tensor::{DType, Scalar};

/// A kernel with arguments.
pub struct Case {
    pub kernel: Kernel,
    pub buffers: Vec<BufferContents>,
    pub sizes: Vec<i64>,
    pub params: Vec<Scalar>,
    pub tasks: Range<i64>,
}

impl Case {
    pub fn new(kernel: Kernel, buffers: Vec<BufferContents>, tasks: Range<i64>) -> Case {
        Case { kernel, buffers, sizes: Vec::new(), params: Vec::new(), tasks }
    }
}

/// Compiles all kernels into one module, with and without the features of this machine, and compares what they
/// write with what the interpreter writes. Names are made unique here.
pub fn check(cases: Vec<Case>) {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut places = Vec::new();
    for case in &cases {
        let place = kernels.iter().position(|k| k.body == case.kernel.body && *k == case.kernel);
        places.push(place.unwrap_or_else(|| {
            kernels.push(case.kernel.clone());
            kernels.len() - 1
        }));
    }
    for (i, kernel) in kernels.iter_mut().enumerate() {
        kernel.name = format!("{}_{i}", kernel.name);
    }
    let kernels: Vec<&Kernel> = kernels.iter().collect();
    let expected: Vec<Vec<BufferContents>> = cases.iter().map(expected).collect();
    for features in [Features::Host, Features::Baseline] {
        let jit = Jit::compile(&kernels, &Options { features }).expect("the kernels are valid");
        let entries: Vec<KernelFn> = jit.kernels().collect();
        for ((case, expected), &place) in cases.iter().zip(&expected).zip(&places) {
            let found = call(entries[place], case);
            for ((declared, expected), found) in case.kernel.buffers.iter().zip(expected).zip(&found) {
                if declared.access == Access::Scratch || expected.same(found) {
                    continue;
                }
                let differs = |&i: &usize| !one(expected, i).same(&one(found, i));
                let place = (0..expected.len()).find(differs).expect("they are not the same");
                panic!(
                    "{features:?}: element {place} of {} is {found:?}, not {expected:?}, in\n{}",
                    declared.name,
                    case.kernel,
                    found = one(found, place),
                    expected = one(expected, place),
                );
            }
        }
    }
}

fn one(contents: &BufferContents, i: usize) -> BufferContents {
    BufferContents::from_bits(contents.dtype(), &[contents.get(i)])
}

/// The buffers after the interpreter.
pub fn expected(case: &Case) -> Vec<BufferContents> {
    let mut buffers = case.buffers.clone();
    let mut memory: Vec<Memory> = buffers.iter_mut().map(BufferContents::memory).collect();
    if let Err(fault) = interpret(&case.kernel, &mut memory, &case.sizes, &case.params, case.tasks.clone()) {
        panic!("{fault} in\n{}", case.kernel);
    }
    buffers
}

/// Words around each buffer that nobody may change.
const GUARD: usize = 8;
const CANARY: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The buffers after a compiled kernel.
pub fn call(entry: KernelFn, case: &Case) -> Vec<BufferContents> {
    call_with(entry, case, |_| None)
}

/// The same, where buffers that are read in place of others are those.
pub fn call_in_place(entry: KernelFn, case: &Case) -> Vec<BufferContents> {
    let shared = |access| if let Access::InPlace(written) = access { Some(written) } else { None };
    call_with(entry, case, shared)
}

fn call_with(entry: KernelFn, case: &Case, shared: impl Fn(Access) -> Option<Buf>) -> Vec<BufferContents> {
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    for contents in &case.buffers {
        let words = contents.bytes().len().div_ceil(8);
        let mut block = vec![CANARY; words + 2 * GUARD];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut block[GUARD..]);
        bytes[..contents.bytes().len()].copy_from_slice(contents.bytes());
        blocks.push(block);
    }
    let own: Vec<*mut c_void> = blocks.iter_mut().map(|b| b[GUARD..].as_mut_ptr().cast()).collect();
    let declared = case.kernel.buffers.iter().enumerate();
    let pointers: Vec<*mut c_void> =
        declared.map(|(i, b)| own[shared(b.access).map_or(i, Buf::index)]).collect();
    let params: Vec<u64> = case.params.iter().map(|p| p.bits() as u64).collect();
    let host = Host { gemm_f32: gemm::<f32>, gemm_f64: gemm::<f64>, call: call_nothing };
    let args =
        Args { buffers: pointers.as_ptr(), sizes: case.sizes.as_ptr(), params: params.as_ptr(), host: &host };
    // SAFETY: the table fits the kernel, and the interpreter has shown that its accesses are in bounds.
    let status = unsafe { entry(&args, case.tasks.start, case.tasks.end) };
    assert_eq!(status, STATUS_OK);
    let mut results = case.buffers.clone();
    for (contents, block) in results.iter_mut().zip(&blocks) {
        let len = contents.bytes().len();
        let bytes: &[u8] = bytemuck::cast_slice(block);
        let (before, rest) = bytes.split_at(8 * GUARD);
        assert!(before.iter().chain(&rest[len..]).all(|&b| b == 0xa5), "{} writes outside", case.kernel.name);
        contents.bytes_mut().copy_from_slice(&rest[..len]);
    }
    results
}

trait Fma: Copy {
    const ZERO: Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn add(self, b: Self) -> Self;
}

macro_rules! float {
    ($t:ty) => {
        impl Fma for $t {
            const ZERO: $t = 0.0;
            fn fma(self, b: $t, c: $t) -> $t {
                self.mul_add(b, c)
            }
            fn add(self, b: $t) -> $t {
                self + b
            }
        }
    };
}

float!(f32);
float!(f64);

extern "C" fn gemm<T: Fma>(
    m: i64,
    n: i64,
    k: i64,
    a: *const T,
    a_row: i64,
    a_col: i64,
    b: *const T,
    b_row: i64,
    b_col: i64,
    c: *mut T,
    c_row: i64,
    c_col: i64,
) {
    for i in 0..m {
        for j in 0..n {
            let mut sum = T::ZERO;
            for block in (0..k.max(0)).step_by(256) {
                let mut chain = T::ZERO;
                for l in block..k.min(block + 256) {
                    // SAFETY: kernels pass matrices that are inside their buffers.
                    let (x, y) = unsafe {
                        let x = *a.offset((i * a_row + l * a_col) as isize);
                        (x, *b.offset((l * b_row + j * b_col) as isize))
                    };
                    chain = x.fma(y, chain);
                }
                sum = sum.add(chain);
            }
            // SAFETY: as above.
            unsafe { *c.offset((i * c_row + j * c_col) as isize) = sum };
        }
    }
}

/// A grid over `extent` tasks.
pub fn grid(extent: usize) -> Grid {
    Grid { extent: Dim::from(extent as i64), multiple: 1, cost: Dim::from(1) }
}

/// `out[i] = f(in0[i], in1[i], ..)` for the whole task range.
pub fn elementwise(
    n: usize,
    kind: LoopKind,
    ins: &[DType],
    out: DType,
    f: impl FnOnce(&mut Builder, &[Value]) -> Value,
) -> Kernel {
    let mut b = Builder::new("elementwise", grid(n));
    let len = Dim::from(n as i64);
    let ins: Vec<_> = ins
        .iter()
        .enumerate()
        .map(|(i, &d)| b.buffer(format!("x{i}"), d, len.clone(), Access::Read))
        .collect();
    let out = b.buffer("out", out, len, Access::Write);
    let (lo, hi) = b.task();
    b.for_loop(kind, lo, hi, |b, i| {
        let loaded: Vec<Value> = ins.iter().map(|&x| b.load(x, i)).collect();
        let result = f(b, &loaded);
        b.store(out, i, result);
    });
    b.finish()
}

/// Values of a type at which operations go wrong first.
pub fn special(dtype: DType) -> Vec<Scalar> {
    if dtype.is_bool() {
        return vec![false.into(), true.into()];
    }
    if dtype.is_float() {
        return [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -1.5,
            2.5,
            3.0,
            1e-3,
            255.4,
            -129.0,
            65519.0,
            65520.0,
            70000.0,
            16777217.0,
            2147483648.0,
            -2147483649.0,
            4294967296.0,
            9.3e18,
            -9.3e18,
            1.9e19,
            6e-8,
            -3e-8,
            1e-40,
            4e-324,
            1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .map(|x| Scalar::F64(x).cast(dtype))
        .to_vec();
    }
    let mut values =
        [0i64, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, -1, -2, -3, -7, -8, -100, i64::MAX, i64::MIN]
            .map(|x| Scalar::I64(x).cast(dtype))
            .to_vec();
    let [least, greatest] =
        [Scalar::lowest(dtype), Scalar::greatest(dtype)].map(|s| s.expect("integers have it"));
    let big = Scalar::from_bits(dtype, 0x40_0000_0100_0001);
    values.extend([least, greatest, Scalar::from_bits(dtype, least.bits().wrapping_add(1)), big]);
    values
}

/// A buffer of scalars.
pub fn buffer(dtype: DType, scalars: impl IntoIterator<Item = Scalar>) -> BufferContents {
    let bits: Vec<u64> = scalars.into_iter().map(|s| s.bits() as u64).collect();
    BufferContents::from_bits(dtype, &bits)
}

/// `n` elements that repeat nothing soon: small numbers of both signs, where the type has them.
pub fn numbers(dtype: DType, n: usize) -> BufferContents {
    let offset = if dtype.is_signed() { 11.0 } else { 0.0 };
    let number = |i: usize| match dtype.is_bool() {
        true => Scalar::Bool(i * i % 7 < 3),
        false => Scalar::F64((i * 37 % 101) as f64 / 4.0 - offset).cast(dtype),
    };
    buffer(dtype, (0..n).map(number))
}

/// Samples call nothing.
extern "C" fn call_nothing(_: *const i64, _: i64, _: *const *mut c_void, _: i64, _: i64) -> i32 {
    tj_kernel::abi::STATUS_NO_RESULT
}
