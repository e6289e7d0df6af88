//! Contractions whose right factor is not worth packing.
//!
//! **Problem.** A library packs the right factor before it computes, which takes longer than computing does when the left
//! factor has few rows.
//!
//! **Idea.** Tiles of up to six rows, wider the fewer, are kept in registers while the right factor is read where it lies,
//! row by row. Each element is the chain that contractions state: fused multiply-adds from +0 in blocks of 256, the sums
//! of blocks added to +0. Tiles are independent, so that their shape is no matter of bits.
//!
//! **Cost.** Every six rows read the right factor once. While that comes from the second-level cache this is some 10 to 30
//! percent faster than packing at any number of rows (16 to 256 square, AVX2), and at one row ten times.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Terms of one chain of fused multiply-adds.
const BLOCK: isize = 256;

/// Bytes of a right factor that stays in the second-level cache while many rows read it.
const CACHED: usize = 256 << 10;

/// Matrices of one contraction, as a kernel passes them.
#[derive(Clone, Copy)]
pub(super) struct Matrices<T> {
    pub m: isize,
    pub n: isize,
    pub k: isize,
    pub a: *const T,
    pub a_row: isize,
    pub a_col: isize,
    pub b: *const T,
    pub b_row: isize,
    pub b_col: isize,
    pub c: *mut T,
    pub c_row: isize,
    pub c_col: isize,
}

impl<T> Matrices<T> {
    /// Whether this is faster here than in the library: columns lie side by side, and either few rows read the right
    /// factor or it stays in the cache.
    pub fn is_small(&self) -> bool {
        let bytes = (self.n as usize).saturating_mul(self.k as usize).saturating_mul(size_of::<T>());
        self.b_col == 1 && self.c_col == 1 && (self.m <= 6 || bytes <= CACHED)
    }
}

macro_rules! small {
    ($name:ident, $strip:ident, $tile:ident, $t:ty, $vector:ty, $lanes:literal, $zero:ident, $load:ident, $store:ident, $set:ident, $fma:ident, $add:ident) => {
        /// Computes a contraction.
        ///
        /// # Safety
        /// The processor has AVX2 and FMA; the matrices lie in memory that may be read, and for `c` written, and `c`
        /// overlaps neither factor; columns of `b` and `c` lie side by side.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $name(all: &Matrices<$t>) {
            let mut i = 0;
            while i < all.m {
                let rows = (all.m - i).min(6);
                // SAFETY: These rows are inside, and all of the caller's promises. As many vectors as registers allow.
                unsafe {
                    match rows {
                        1 => $strip::<1, 8>(all, i),
                        2 => $strip::<2, 4>(all, i),
                        3 => $strip::<3, 3>(all, i),
                        4 => $strip::<4, 2>(all, i),
                        5 => $strip::<5, 2>(all, i),
                        _ => $strip::<6, 2>(all, i),
                    }
                }
                i += rows;
            }
        }

        /// Rows `i..i + R`.
        ///
        /// # Safety
        /// As above, and these rows are inside.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $strip<const R: usize, const V: usize>(all: &Matrices<$t>, i: isize) {
            let (mut j, wide) = (0, V as isize * $lanes);
            // SAFETY: Columns are inside, and all of the caller's promises.
            unsafe {
                while j + wide <= all.n {
                    $tile::<R, V>(all, i, j);
                    j += wide;
                }
                while j + $lanes <= all.n {
                    $tile::<R, 1>(all, i, j);
                    j += $lanes;
                }
                for i in i..i + R as isize {
                    for j in j..all.n {
                        let mut total: $t = 0.0;
                        for start in (0..all.k).step_by(BLOCK as usize) {
                            let mut sum: $t = 0.0;
                            for p in start..all.k.min(start + BLOCK) {
                                let x = *all.a.offset(i * all.a_row + p * all.a_col);
                                sum = x.mul_add(*all.b.offset(p * all.b_row + j), sum);
                            }
                            total += sum;
                        }
                        *all.c.offset(i * all.c_row + j) = total;
                    }
                }
            }
        }

        /// Rows `i..i + R` and `V` vectors of columns from `j` on.
        ///
        /// # Safety
        /// As above, and these rows and columns are inside.
        #[target_feature(enable = "avx2,fma")]
        unsafe fn $tile<const R: usize, const V: usize>(all: &Matrices<$t>, i: isize, j: isize) {
            // SAFETY: The caller's promises.
            unsafe {
                let mut total = [[$zero(); V]; R];
                for start in (0..all.k).step_by(BLOCK as usize) {
                    let mut sum = [[$zero(); V]; R];
                    for p in start..all.k.min(start + BLOCK) {
                        let b = all.b.offset(p * all.b_row + j);
                        let y: [$vector; V] = std::array::from_fn(|v| $load(b.add(v * $lanes)));
                        for r in 0..R {
                            let x = $set(*all.a.offset((i + r as isize) * all.a_row + p * all.a_col));
                            for v in 0..V {
                                sum[r][v] = $fma(x, y[v], sum[r][v]);
                            }
                        }
                    }
                    for r in 0..R {
                        for v in 0..V {
                            total[r][v] = $add(total[r][v], sum[r][v]);
                        }
                    }
                }
                for r in 0..R {
                    let c = all.c.offset((i + r as isize) * all.c_row + j);
                    for v in 0..V {
                        $store(c.add(v * $lanes), total[r][v]);
                    }
                }
            }
        }
    };
}

small!(
    contract_f32,
    strip_f32,
    tile_f32,
    f32,
    __m256,
    8,
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps
);
small!(
    contract_f64,
    strip_f64,
    tile_f64,
    f64,
    __m256d,
    4,
    _mm256_setzero_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_set1_pd,
    _mm256_fmadd_pd,
    _mm256_add_pd
);
