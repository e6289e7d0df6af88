//! How a compiled kernel is called: one C signature for every kernel.
//!
//! ```c
//! typedef int32_t (*tj_kernel)(const tj_args *args, int64_t task_lo, int64_t task_hi);
//! ```
//!
//! The argument table is plain C, so that a kernel can be embedded in any program. Pointers in it are aligned
//! for their element type; all kernels of one run share `sizes`-independent host functions.

use std::ffi::c_void;

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
}

/// `m, n, k, a, a_row_stride, a_col_stride, b, .., c, ..`; strides in elements.
pub type GemmFn<T> = extern "C" fn(i64, i64, i64, *const T, i64, i64, *const T, i64, i64, *mut T, i64, i64);

/// A compiled kernel. Returns [`STATUS_OK`] or another status that the host knows.
pub type KernelFn = unsafe extern "C" fn(*const Args, i64, i64) -> i32;

/// The kernel did its work.
pub const STATUS_OK: i32 = 0;
