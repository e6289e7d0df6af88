//! A translation unit: what every kernel needs, the helpers these kernels need, the kernels.

use rustc_hash::FxHashSet;
use tj_kernel::Kernel;

use crate::CodegenError;
use crate::helpers::Helpers;
use crate::kernel::emit_kernel;

/// No header is included, so that the unit compiles with `-nostdlib -ffreestanding` and its text is all there is.
const PREAMBLE: &str = "\
/* Compile with -O3 -ffp-contract=off -fwrapv -fno-strict-aliasing -fno-math-errno -fno-trapping-math,
   and never with -ffast-math: the meaning of a kernel includes its bits. */
typedef __INT8_TYPE__ i8;
typedef __INT16_TYPE__ i16;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef u16 f16; /* bits */
typedef u16 bf16; /* bits */
typedef float f32;
typedef double f64;

typedef struct {
  void (*gemm_f32)(i64, i64, i64, const f32 *, i64, i64, const f32 *, i64, i64, f32 *, i64, i64);
  void (*gemm_f64)(i64, i64, i64, const f64 *, i64, i64, const f64 *, i64, i64, f64 *, i64, i64);
  i32 (*call)(const i64 *, i64, void *const *, i64, i64);
} tj_host;

typedef struct {
  void *const *buffers;
  const i64 *sizes;
  const u64 *params;
  const tj_host *host;
} tj_args;

#define TJ_EXPORT __attribute__((visibility(\"default\")))
#if defined(__clang__)
#define TJ_LANES _Pragma(\"clang loop vectorize(assume_safety)\")
#define TJ_ROLLED
#else
#define TJ_LANES _Pragma(\"GCC ivdep\")
#define TJ_ROLLED _Pragma(\"GCC unroll 1\") /* unrolled early, it would not be vectorised */
#endif
";

/// Names that a kernel cannot have because the unit uses them, or C does.
const TAKEN: &[&str] = &[
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "auto", "break",
    "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for",
    "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
    "typeof", "main",
];

/// The C text of `kernels` as one translation unit of C11 with GNU extensions. The same kernels give the same text.
///
/// ```
/// use tj_ir::dim::Dim;
/// use tj_kernel::{Access, BinOp, Builder, Grid, LoopKind};
/// use tj_tensor::DType;
///
/// let n = Dim::from(1000);
/// let mut b = Builder::new("twice", Grid { extent: n.clone(), multiple: 1, cost: Dim::from(1) });
/// let x = b.buffer("x", DType::F32, n.clone(), Access::Read);
/// let y = b.buffer("y", DType::F32, n, Access::Write);
/// let (lo, hi) = b.task();
/// b.for_loop(LoopKind::Lanes(32), lo, hi, |b, i| {
///     let x = b.load(x, i);
///     let sum = b.binary(BinOp::Add, x, x);
///     b.store(y, i, sum);
/// });
/// let text = tj_codegen_c::emit(&[&b.finish()])?;
/// assert!(text.contains("const f32 v4 = v3 + v3;"), "{text}");
/// # Ok::<(), tj_codegen_c::CodegenError>(())
/// ```
pub fn emit(kernels: &[&Kernel]) -> Result<String, CodegenError> {
    check_names(kernels)?;
    let mut helpers = Helpers::default();
    let mut bodies = String::new();
    for kernel in kernels {
        bodies.push('\n');
        bodies.push_str(&emit_kernel(kernel, &mut helpers)?);
    }
    Ok(format!("{PREAMBLE}\n{}{bodies}", helpers.text()))
}

pub(crate) fn check_names(kernels: &[&Kernel]) -> Result<(), CodegenError> {
    let mut seen = FxHashSet::default();
    for kernel in kernels {
        let name = kernel.name.as_str();
        let bad = |reason| Err(CodegenError::BadName { name: name.to_owned(), reason });
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || !name.chars().all(word)
            || name.starts_with(|c: char| c.is_ascii_digit() || c == '_')
        {
            return bad("not an identifier that C leaves to users");
        }
        if TAKEN.contains(&name) || name.starts_with("tj_") || name.starts_with("TJ_") {
            return bad("taken by C or by the unit");
        }
        if !seen.insert(name) {
            return bad("used twice in one unit");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
