//! The header of a unit, for programs that embed its kernels.
//!
//! Unlike the unit it includes `<stdint.h>`, since it is read by the programs of others, in C or C++. Several such
//! headers may meet in one program: what they share is guarded by a name of its own.

use std::fmt::Write;

use tj_kernel::{Access, Kernel};

use crate::CodegenError;
use crate::text::comment;
use crate::types::ctype;
use crate::unit::check_names;

const SHARED: &str = "\
#ifndef TJ_KERNEL_ABI
#define TJ_KERNEL_ABI 1
/* c = a * b for matrices: m, n, k, then a pointer, a row stride and a column stride (in elements) for a, b and c. For
   each element, k is cut into blocks of 256; a chain of fused multiply-adds from +0 in the order of k gives the sum of
   a block, and sums of blocks are added in order. c is overwritten. */
typedef struct tj_host {
  void (*gemm_f32)(int64_t, int64_t, int64_t, const float *, int64_t, int64_t,
                   const float *, int64_t, int64_t, float *, int64_t, int64_t);
  void (*gemm_f64)(int64_t, int64_t, int64_t, const double *, int64_t, int64_t,
                   const double *, int64_t, int64_t, double *, int64_t, int64_t);
  /* Rows lo..hi of a function of whole arrays: words that say which, their number, one pointer an array. Not 0: it has
     no result, and neither has the kernel. */
  int32_t (*call)(const int64_t *words, int64_t n_words, void *const *arrays, int64_t lo, int64_t hi);
} tj_host;

typedef struct tj_args {
  void *const *buffers;   /* one a buffer, never null, aligned for its elements */
  const int64_t *sizes;   /* one a size */
  const uint64_t *params; /* bits of each parameter, zero-extended */
  const tj_host *host;    /* used by kernels that multiply matrices or call functions */
} tj_args;
#endif
";

/// The C header that declares `kernels` and says what each expects. `name` tells headers apart: it becomes part of the
/// include guard.
///
/// ```
/// # use tj_kernel::{Builder, Grid};
/// let kernel = Builder::new("relu", Grid { extent: 8.into(), multiple: 1, cost: 1.into() }).finish();
/// let header = tj_codegen_c::emit_header("my-kernels", &[&kernel])?;
/// assert!(header.starts_with("#ifndef TJ_MY_KERNELS_H\n"));
/// assert!(header.contains("int32_t relu(const tj_args *args, int64_t task_lo, int64_t task_hi);"));
/// # Ok::<(), tj_codegen_c::CodegenError>(())
/// ```
pub fn emit_header(name: &str, kernels: &[&Kernel]) -> Result<String, CodegenError> {
    check_names(kernels)?;
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let guard: String = name.chars().map(word).collect();
    let mut out = format!("#ifndef TJ_{guard}_H\n#define TJ_{guard}_H\n#include <stdint.h>\n\n{SHARED}\n");
    out.push_str("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for kernel in kernels {
        declare(&mut out, kernel)?;
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    Ok(out)
}

fn declare(out: &mut String, kernel: &Kernel) -> Result<(), CodegenError> {
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes any text");
    line(format!(
        "\n/* Tasks: 0 to {}; any sub-range, each task once. Returns 0, or what a function of the host says.",
        comment(&kernel.grid.extent.to_string())
    ));
    for (i, b) in kernel.buffers.iter().enumerate() {
        if ctype(b.dtype).is_none() {
            return Err(CodegenError::UnsupportedDType { kernel: kernel.name.clone(), dtype: b.dtype });
        }
        let access = match b.access {
            Access::Read => "read".to_owned(),
            Access::InPlace(w) => format!("read, may be the memory of buffers[{}]", w.0),
            Access::Write => "written".to_owned(),
            Access::Scratch => "scratch, private to a call".to_owned(),
        };
        let (name, len) = (comment(&b.name), comment(&b.len.to_string()));
        line(format!("   buffers[{i}]: {name}, {len} x {}, {access}", b.dtype));
    }
    for (i, d) in kernel.sizes.iter().enumerate() {
        line(format!("   sizes[{i}]: {}", comment(&d.to_string())));
    }
    for (i, d) in kernel.params.iter().enumerate() {
        line(format!("   params[{i}]: {d}"));
    }
    let shared = kernel.buffers.iter().any(|b| matches!(b.access, Access::InPlace(_)));
    line(format!("   No {}two buffers overlap. */", if shared { "other " } else { "" }));
    line(format!("int32_t {}(const tj_args *args, int64_t task_lo, int64_t task_hi);", kernel.name));
    Ok(())
}
