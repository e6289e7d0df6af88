//! What kernels call in this process: dense contractions by `matrixmultiply`.
#![allow(unsafe_code)]

use tj_kernel::abi::Host;

/// The table that every kernel of this process gets.
pub(crate) static HOST: Host = Host { gemm_f32, gemm_f64 };

/// Whether `matrixmultiply` uses fused multiply-adds here; without, its bits would not be the stated ones. It asks for
/// the same features.
fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2");
    #[cfg(target_arch = "aarch64")]
    return true;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

macro_rules! gemm {
    ($name:ident, $t:ty, $library:path) => {
        extern "C" fn $name(
            m: i64,
            n: i64,
            k: i64,
            a: *const $t,
            a_row: i64,
            a_col: i64,
            b: *const $t,
            b_row: i64,
            b_col: i64,
            c: *mut $t,
            c_row: i64,
            c_col: i64,
        ) {
            if m <= 0 || n <= 0 {
                return;
            }
            if k <= 0 || !has_fma() {
                for i in 0..m {
                    for j in 0..n {
                        let mut total: $t = 0.0;
                        for block in (0..k.max(0)).step_by(256) {
                            let mut sum: $t = 0.0;
                            for p in block..k.min(block + 256) {
                                // SAFETY: The kernel was proven to pass matrices that lie inside its buffers.
                                let (x, y) = unsafe {
                                    (
                                        *a.offset((i * a_row + p * a_col) as isize),
                                        *b.offset((p * b_row + j * b_col) as isize),
                                    )
                                };
                                sum = x.mul_add(y, sum);
                            }
                            total += sum;
                        }
                        // SAFETY: As above; `c` overlaps neither factor.
                        unsafe { *c.offset((i * c_row + j * c_col) as isize) = total };
                    }
                }
                return;
            }
            // The sums of blocks are added to +0, so that no result is -0. The kernels for x86 do that by themselves;
            // elsewhere the result is made +0 first and added to.
            let adds_to_zero = cfg!(target_arch = "x86_64");
            if !adds_to_zero {
                for i in 0..m {
                    for j in 0..n {
                        // SAFETY: The kernel was proven to pass matrices that lie inside its buffers.
                        unsafe { *c.offset((i * c_row + j * c_col) as isize) = 0.0 };
                    }
                }
            }
            // SAFETY: The kernel was proven to pass matrices that lie inside its buffers, with `c` apart from both
            // factors and its elements distinct.
            unsafe {
                $library(
                    m as usize,
                    k as usize,
                    n as usize,
                    1.0,
                    a,
                    a_row as isize,
                    a_col as isize,
                    b,
                    b_row as isize,
                    b_col as isize,
                    if adds_to_zero { 0.0 } else { 1.0 },
                    c,
                    c_row as isize,
                    c_col as isize,
                )
            }
        }
    };
}

gemm!(gemm_f32, f32, matrixmultiply::sgemm);
gemm!(gemm_f64, f64, matrixmultiply::dgemm);
