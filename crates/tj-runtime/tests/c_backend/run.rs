//! Calls of compiled kernels beside calls of the interpreter.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::OnceLock;

use tj_kernel::abi::{Args, Host, KernelFn, STATUS_OK};
use tj_kernel::sample::Sample;
use tj_kernel::{Access, Buf, BufferContents, Kernel, Options};
use tj_runtime::toolchain::{CacheDir, CpuFeatures, Toolchain, ToolchainError, ToolchainOptions};

/// The machine's compiler for each set of instructions; none, and a word on why, if there is no compiler. Results are
/// kept with the build, so that only the first run pays for them.
fn c_compilers_or_skip() -> &'static [(CpuFeatures, Toolchain)] {
    static FOUND: OnceLock<Vec<(CpuFeatures, Toolchain)>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let find = |features| {
            let cache_dir = CacheDir::At(Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-backend"));
            let options = ToolchainOptions { features, cache_dir, ..ToolchainOptions::default() };
            Ok((features, Toolchain::new(options)?))
        };
        let found: Result<_, ToolchainError> =
            [CpuFeatures::Host, CpuFeatures::Baseline].into_iter().map(find).collect();
        found.unwrap_or_else(|e| {
            eprintln!("skipped: {e}");
            Vec::new()
        })
    })
}

/// Compiles the kernels of all calls in one unit, and compares every call with the interpreter. Calls of kernels with
/// one name are calls of one kernel.
pub fn check(calls: &[Sample]) {
    let compilers = c_compilers_or_skip();
    if compilers.is_empty() {
        return;
    }
    let kernels: BTreeMap<&str, &Kernel> =
        calls.iter().map(|c| (c.kernel.name.as_str(), &c.kernel)).collect();
    let names: Vec<&str> = kernels.keys().copied().collect();
    let kernels: Vec<&Kernel> = kernels.into_values().collect();
    let text = tj_codegen_c::emit(&kernels).unwrap();
    let expected: Vec<_> = calls
        .iter()
        .map(|call| call.interpret(Options::default()).unwrap_or_else(|e| panic!("{e}\n{}", call.kernel)).0)
        .collect();
    for (features, toolchain) in compilers {
        let library = toolchain.compile(&text, &names).unwrap_or_else(|e| panic!("{e}"));
        for (call, expected) in calls.iter().zip(&expected) {
            let kernel = library.kernel(&call.kernel.name).unwrap();
            let apart = run(kernel, call, |_| None);
            let shared = |access| if let Access::InPlace(written) = access { Some(written) } else { None };
            let together = run(kernel, call, shared);
            let differs = |found: &Vec<BufferContents>| call.difference(expected, found);
            if let Some(difference) = [apart, together].iter().find_map(differs) {
                let text = tj_codegen_c::emit(&[&call.kernel]).unwrap();
                panic!(
                    "{features:?}: {difference}\nsizes {:?}, parameters {:?}, tasks {:?}\n{}{text}",
                    call.sizes, call.params, call.tasks, call.kernel
                );
            }
        }
    }
}

/// Memory on both sides of a buffer that no kernel may touch.
const GUARD: usize = 128;

/// Runs a kernel on copies of the memory of a call. `shared` says of which other buffer a buffer is the memory.
fn run(kernel: KernelFn, call: &Sample, shared: impl Fn(Access) -> Option<Buf>) -> Vec<BufferContents> {
    let mut contents = call.contents.clone();
    // Aligned for the elements and for nothing larger, as user data may be.
    let mut memory: Vec<(Vec<u64>, usize)> = contents
        .iter()
        .map(|c| {
            let start = GUARD + c.dtype().size();
            let mut words = vec![u64::MAX / 3; (start + c.bytes().len() + GUARD).div_ceil(8)];
            bytes_of(&mut words)[start..][..c.bytes().len()].copy_from_slice(c.bytes());
            (words, start)
        })
        .collect();
    let own: Vec<*mut c_void> =
        memory.iter_mut().map(|(words, start)| bytes_of(words)[*start..].as_mut_ptr().cast()).collect();
    let declared = call.kernel.buffers.iter().enumerate();
    let buffers: Vec<*mut c_void> =
        declared.map(|(i, b)| own[shared(b.access).map_or(i, Buf::index)]).collect();
    let params: Vec<u64> = call.params.iter().map(|p| p.bits() as u64).collect();
    let host = Host { gemm_f32, gemm_f64, call: call_nothing };
    let args =
        Args { buffers: buffers.as_ptr(), sizes: call.sizes.as_ptr(), params: params.as_ptr(), host: &host };
    // SAFETY: The table has what the kernel declares, and the interpreter found every access in bounds.
    let status = unsafe { kernel(&args, call.tasks.start, call.tasks.end) };
    assert_eq!(status, STATUS_OK);
    for (contents, (words, start)) in contents.iter_mut().zip(&mut memory) {
        let bytes = bytes_of(words);
        let end = *start + contents.bytes().len();
        let outside = bytes[..*start].iter().chain(&bytes[end..]);
        assert!(outside.copied().all(|b| b == 0x55), "{} writes outside a buffer", call.kernel.name);
        contents.bytes_mut().copy_from_slice(&bytes[*start..end]);
    }
    contents
}

fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    let (pointer, len) = (words.as_mut_ptr(), size_of_val(words));
    // SAFETY: Integers are bytes, and these are borrowed for as long as the words are.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), len) }
}

macro_rules! gemm {
    ($name:ident, $t:ty) => {
        /// What the language says of `Gemm`, element by element.
        #[rustfmt::skip]
        extern "C" fn $name(
            m: i64, n: i64, k: i64, a: *const $t, ar: i64, ac: i64, b: *const $t, br: i64, bc: i64, c: *mut $t, cr: i64, cc: i64,
        ) {
            let at = |r: i64, rs: i64, c: i64, cs: i64| (r * rs + c * cs) as isize;
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let mut sum = 0.0;
                for block in (0..k).step_by(256) {
                    let mut chain: $t = 0.0;
                    for l in block..k.min(block + 256) {
                        // SAFETY: The interpreter found these elements in bounds.
                        let (x, y) = unsafe { (*a.offset(at(i, ar, l, ac)), *b.offset(at(l, br, j, bc))) };
                        chain = x.mul_add(y, chain);
                    }
                    sum += chain;
                }
                // SAFETY: As above.
                unsafe { *c.offset(at(i, cr, j, cc)) = sum };
            }
        }
    };
}
gemm!(gemm_f32, f32);
gemm!(gemm_f64, f64);

/// Samples call nothing.
extern "C" fn call_nothing(_: *const i64, _: i64, _: *const *mut c_void, _: i64, _: i64) -> i32 {
    tj_kernel::abi::STATUS_NO_RESULT
}
