//! How a compiled kernel is called: one C signature for every kernel.
//!
//! ```c
//! typedef int32_t (*tj_kernel)(const tj_args *args, int64_t task_lo, int64_t task_hi);
//! ```
//!
//! The argument table is plain C, so that a kernel can be embedded in any program. Pointers in it are aligned
//! for their element type; all kernels of one run share `sizes`-independent host functions.

use std::ffi::c_void;

use tj_tensor::DType;

use crate::ir::{Call, Kernel, Value};

/// What a kernel is given, in memory order.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Args {
    /// One pointer a buffer, in the order of `Kernel::buffers`; never null, even for empty buffers.
    pub buffers: *const *mut c_void,
    /// One number a size argument, in the order of `Kernel::sizes`.
    pub sizes: *const i64,
    /// Bits of each run-time number, zero-extended, in the order of `Kernel::params`.
    pub params: *const u64,
    /// Functions of the host.
    pub host: *const Host,
}

/// Functions that kernels call in the host program.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// `Stmt::Gemm` on f32.
    pub gemm_f32: GemmFn<f32>,
    /// `Stmt::Gemm` on f64.
    pub gemm_f64: GemmFn<f64>,
    /// `Stmt::Call`.
    pub call: CallFn,
}

/// `words, n_words, buffers, lo, hi`: rows `lo..hi` of a function of whole tensors. Words say everything about it (see
/// [`call_words`]); there is one pointer to the first element for each argument, then for each result. A status that is
/// not [`STATUS_OK`] says that there is no result.
pub type CallFn = extern "C" fn(*const i64, i64, *const *mut c_void, i64, i64) -> i32;

/// A word of a call: known, or a number that the kernel has when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A number.
    Known(i64),
    /// A value of the kernel.
    Size(Value),
}

/// The words of a call: those of [`Function::words`](tj_ir::Function::words), the number of arguments, the number of
/// results; then for each argument and each result the [`dtype_code`], the rank, and the extents.
pub fn call_words(kernel: &Kernel, call: &Call) -> Vec<Word> {
    let mut words: Vec<Word> = call.function.words().map(Word::Known).to_vec();
    words.extend([call.args.len(), call.results.len()].map(|n| Word::Known(n as i64)));
    for array in call.args.iter().chain(&call.results) {
        let dtype = kernel.buffers[array.buffer.index()].dtype;
        words.extend([dtype_code(dtype), array.extents.len() as i64].map(Word::Known));
        words.extend(array.extents.iter().map(|&extent| match kernel.constant(extent) {
            Some(scalar) => Word::Known(scalar.to_i64()),
            None => Word::Size(extent),
        }));
    }
    words
}

/// Dtypes in words. Compiled kernels are kept in files: a code never changes its meaning.
const DTYPES: [(DType, i64); 15] = [
    (DType::Bool, 1),
    (DType::I8, 2),
    (DType::I16, 3),
    (DType::I32, 4),
    (DType::I64, 5),
    (DType::U8, 6),
    (DType::U16, 7),
    (DType::U32, 8),
    (DType::U64, 9),
    (DType::F16, 10),
    (DType::BF16, 11),
    (DType::F32, 12),
    (DType::F64, 13),
    (DType::C64, 14),
    (DType::C128, 15),
];

/// The code of a dtype in words.
pub fn dtype_code(dtype: DType) -> i64 {
    DTYPES.iter().find(|(known, _)| *known == dtype).map_or(0, |(_, code)| *code)
}

/// The dtype of a code.
pub fn dtype_of(code: i64) -> Option<DType> {
    DTYPES.iter().find(|(_, known)| *known == code).map(|(dtype, _)| *dtype)
}

/// `m, n, k, a, a_row_stride, a_col_stride, b, .., c, ..`; strides in elements.
pub type GemmFn<T> = extern "C" fn(i64, i64, i64, *const T, i64, i64, *const T, i64, i64, *mut T, i64, i64);

/// A compiled kernel. Returns [`STATUS_OK`] or another status that the host knows.
pub type KernelFn = unsafe extern "C" fn(*const Args, i64, i64) -> i32;

/// The kernel did its work.
pub const STATUS_OK: i32 = 0;

/// A function of whole tensors has no result; the host knows why.
pub const STATUS_NO_RESULT: i32 = 1;
