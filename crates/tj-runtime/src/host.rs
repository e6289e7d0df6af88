//! What kernels call in this process: dense contractions, by `matrixmultiply` unless they are small, and functions of
//! whole tensors, by the library.
#![allow(unsafe_code)]

mod call;
#[cfg(target_arch = "x86_64")]
mod small;

pub(crate) use call::{Fault, take_fault};
use tj_kernel::abi::Host;

/// The table that every kernel of this process gets.
pub(crate) static HOST: Host = Host { gemm_f32, gemm_f64, call: call::call };

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
    ($name:ident, $t:ty, $library:path, $small:ident) => {
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
            #[cfg(target_arch = "x86_64")]
            {
                let all = small::Matrices {
                    m: m as isize,
                    n: n as isize,
                    k: k as isize,
                    a,
                    a_row: a_row as isize,
                    a_col: a_col as isize,
                    b,
                    b_row: b_row as isize,
                    b_col: b_col as isize,
                    c,
                    c_row: c_row as isize,
                    c_col: c_col as isize,
                };
                if all.is_small() {
                    // SAFETY: `has_fma` asked for both features. The kernel was proven to pass matrices that lie inside
                    // its buffers, with `c` apart from both factors.
                    unsafe { small::$small(&all) };
                    return;
                }
            }
            // The sums of blocks are added to +0, so that no result is -0. Some kernels of the library do that by themselves;
            // for others the result is made +0 first and added to.
            let adds_to_zero = adds_to_zero();
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

/// Whether the library's kernels for this machine add the sum of the first block to +0: those for AVX2 do, those for AVX-512
/// write it as it is.
fn adds_to_zero() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        !std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

gemm!(gemm_f32, f32, matrixmultiply::sgemm, contract_f32);
gemm!(gemm_f64, f64, matrixmultiply::dgemm, contract_f64);

#[cfg(test)]
mod tests {
    use super::*;

    /// The stated bits, element by element.
    fn stated(k: i64, a: impl Fn(i64) -> f32, b: impl Fn(i64) -> f32) -> f32 {
        let blocks = (0..k).step_by(256);
        blocks
            .map(|start| (start..k.min(start + 256)).fold(0.0, |sum, p| a(p).mul_add(b(p), sum)))
            .fold(0.0, |total, sum: f32| total + sum)
    }

    #[test]
    fn small_and_large_contractions_have_the_stated_bits() {
        // Negative products that round to -0 among them: an element is +0 then.
        let value = |i: i64| {
            [0.5, -1.25, 1e-30, -1e-30, 3.0, -0.0, 0.1][(i * i + i / 7) as usize % 7] * (1 + i % 11) as f32
        };
        for m in [1, 2, 3, 4, 5, 6, 7, 17] {
            for n in [1, 7, 8, 31, 32, 33, 64, 130] {
                for k in [0, 1, 5, 256, 257, 600] {
                    // The left factor is transposed for odd `m`, the right one for some `n`; rows of `c` have gaps.
                    let (a_row, a_col) = if m % 2 == 1 { (1, m) } else { (k, 1) };
                    let (b_row, b_col) = if n == 31 { (1, k) } else { (n, 1) };
                    let a: Vec<f32> = (0..m * k).map(value).collect();
                    let b: Vec<f32> = (0..k * n).map(|i| value(i + 3)).collect();
                    let mut c = vec![f32::NAN; (m * (n + 1)) as usize];
                    gemm_f32(
                        m,
                        n,
                        k,
                        a.as_ptr(),
                        a_row,
                        a_col,
                        b.as_ptr(),
                        b_row,
                        b_col,
                        c.as_mut_ptr(),
                        n + 1,
                        1,
                    );
                    for i in 0..m {
                        for j in 0..n {
                            let expected = stated(
                                k,
                                |p| a[(i * a_row + p * a_col) as usize],
                                |p| b[(p * b_row + j * b_col) as usize],
                            );
                            let found = c[(i * (n + 1) + j) as usize];
                            assert_eq!(
                                found.to_bits(),
                                expected.to_bits(),
                                "{m}x{n}x{k} at {i}, {j}: {found} is not {expected}"
                            );
                        }
                        assert!(c[(i * (n + 1) + n) as usize].is_nan(), "{m}x{n}x{k} writes beyond row {i}");
                    }
                }
            }
        }
    }
}
