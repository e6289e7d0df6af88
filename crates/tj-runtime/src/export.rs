//! Writes a program as an object file and a C header, so that other programs can embed it.
//!
//! The object holds the kernels. The header holds the rest as plain C that the embedding program compiles: the
//! sizes as a struct, the guards as `NAME_check`, the bytes of workspace as `NAME_workspace`, and `NAME_run`, which
//! calls the kernels in order on memory of the caller. Dense contractions call plain loops with the stated bits; an
//! embedding program may put a faster routine in their place by defining `TJ_GEMM_F32` or `TJ_GEMM_F64`.

use std::fmt::Write as _;

use tj_ir::dim::{Factor, Summand};
use tj_ir::expr::Source;
use tj_ir::{Condition, Dim};
use tj_tensor::DType;

use crate::bind::input_name;
use crate::program::{Program, Slot};

/// The C header of a program. `outputs` are names for its outputs.
pub(crate) fn header(program: &Program, name: &str, outputs: &[&str]) -> String {
    let mut text = PRELUDE.replace("NAME", &name.to_uppercase());
    let plan = &program.fused.plan;
    for lowered in &program.kernels {
        let _ =
            writeln!(text, "int32_t {}(const tj_args *args, int64_t lo, int64_t hi);", lowered.kernel.name);
    }
    let _ = writeln!(text, "\n/* Values of the program's sizes. */\ntypedef struct {{");
    for symbol in &plan.symbols {
        let (lo, hi) = symbol.bounds();
        let _ = writeln!(text, "  int64_t {symbol}; /* {lo}..={hi} */");
    }
    let _ = writeln!(text, "  char unused;\n}} {name}_sizes;\n");
    text.push_str("/* Arguments and results, row-major. */\ntypedef struct {\n");
    for (position, input) in plan.inputs.iter().enumerate() {
        let shape = tj_ir::shape_text(&input.shape);
        let field = field(&input_name(input, position));
        let _ = writeln!(text, "  const {} *{field}; /* {}{shape} */", c_type(input.dtype), input.dtype);
    }
    for (k, &source) in plan.produces.0.iter().enumerate() {
        let (dtype, shape) = (plan.dtype_of(source), tj_ir::shape_text(plan.shape_of(source)));
        let field = output_field(outputs, k);
        let _ = writeln!(text, "  {} *{field}; /* {dtype}{shape} */", c_type(dtype));
    }
    let _ = writeln!(text, "}} {name}_arrays;\n");
    check(&mut text, program, name);
    workspace(&mut text, program, name);
    run(&mut text, program, name, outputs);
    let _ = writeln!(text, "#endif");
    text
}

/// A size as a C expression over `s`. Opaque operations nest no deeper than `Dim` allows.
fn c_size(dim: &Dim) -> String {
    let summands = dim.summands().unwrap_or_default();
    let parts: Vec<String> = summands.iter().map(c_summand).collect();
    if parts.is_empty() { "0".to_string() } else { format!("({})", parts.join(" + ")) }
}

fn c_summand(part: &Summand<'_>) -> String {
    let mut text = format!("INT64_C({})", part.coeff);
    for (factor, power) in &part.factors {
        let factor = match factor {
            Factor::Symbol(symbol) => format!("s->{symbol}"),
            Factor::FloorDiv(a, b) => format!("tj_floordiv({}, {})", c_size(a), c_size(b)),
            Factor::Modulo(a, b) => format!("tj_modulo({}, {})", c_size(a), c_size(b)),
            Factor::Min(a, b) => format!("tj_min({}, {})", c_size(a), c_size(b)),
            Factor::Max(a, b) => format!("tj_max({}, {})", c_size(a), c_size(b)),
        };
        for _ in 0..*power {
            let _ = write!(text, " * {factor}");
        }
    }
    text
}

fn c_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 => "uint8_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::U16 | DType::F16 | DType::BF16 => "uint16_t",
        DType::I32 => "int32_t",
        DType::U32 => "uint32_t",
        DType::I64 => "int64_t",
        DType::U64 => "uint64_t",
        DType::F32 | DType::C64 => "float",
        DType::F64 | DType::C128 => "double",
    }
}

/// A name that C takes; data has a space in its name.
fn field(name: &str) -> String {
    format!("in_{}", name.replace(' ', "_"))
}

fn output_field(outputs: &[&str], k: usize) -> String {
    outputs.get(k).map_or_else(|| format!("out_{k}"), |name| format!("out_{name}"))
}

fn check(text: &mut String, program: &Program, name: &str) {
    let _ = writeln!(
        text,
        "/* 0 if the program may run with these sizes, else the number of what does not hold. */"
    );
    let _ = writeln!(text, "static inline int {name}_check(const {name}_sizes *s) {{\n  (void)s;");
    let mut number = 0;
    let mut require = |text: &mut String, condition: String, why: &str| {
        number += 1;
        let _ = writeln!(text, "  if (!({condition})) return {number}; /* {} */", why.replace("*/", "* /"));
    };
    for symbol in &program.fused.plan.symbols {
        let (lo, hi) = symbol.bounds();
        let condition = format!("s->{symbol} >= INT64_C({lo}) && s->{symbol} <= INT64_C({hi})");
        require(text, condition, &format!("bounds of {symbol}"));
    }
    for guard in &program.fused.plan.guards {
        let condition = match &guard.condition {
            Condition::Equal(a, b) => format!("{} == {}", c_size(a), c_size(b)),
            Condition::LessEqual(a, b) => format!("{} <= {}", c_size(a), c_size(b)),
            Condition::Divides(d, n) => format!("tj_modulo({}, {}) == 0", c_size(n), c_size(d)),
        };
        require(text, condition, &guard.to_string());
    }
    let _ = writeln!(text, "  return 0;\n}}\n");
}

fn workspace(text: &mut String, program: &Program, name: &str) {
    let _ = writeln!(text, "/* Bytes of workspace, aligned to 64, that a run with these sizes needs. */");
    let _ = writeln!(text, "static inline size_t {name}_workspace(const {name}_sizes *s) {{\n  (void)s;");
    let _ = writeln!(text, "  size_t bytes = 0;");
    for interval in program.intervals() {
        let _ =
            writeln!(text, "  bytes += tj_padded({} * INT64_C({}));", c_size(&interval.len), interval.width);
    }
    let _ = writeln!(text, "  return bytes;\n}}\n");
}

fn run(text: &mut String, program: &Program, name: &str, outputs: &[&str]) {
    let plan = &program.fused.plan;
    let _ =
        writeln!(text, "/* Computes the outputs. Sizes were checked, and the workspace is large enough. */");
    let _ = writeln!(
        text,
        "static inline int {name}_run(const {name}_sizes *s, const {name}_arrays *a, void *workspace) {{"
    );
    let _ =
        writeln!(text, "  static const tj_host host = {{ TJ_GEMM_F32, TJ_GEMM_F64 }};\n  (void)s; (void)a;");
    let _ = writeln!(text, "  char *at = (char *)workspace;\n  (void)at;");
    for (k, interval) in program.intervals().iter().enumerate() {
        let _ = writeln!(text, "  void *m{k} = at; /* {} */", interval.name);
        let _ = writeln!(text, "  at += tj_padded({} * INT64_C({}));", c_size(&interval.len), interval.width);
    }
    for (number, lowered) in program.kernels.iter().enumerate() {
        let kernel = &lowered.kernel;
        let _ = writeln!(text, "  {{");
        let buffers = program.slots[number].iter().map(|slot| match *slot {
            Slot::Input(i) => format!("(void *)a->{}", field(&input_name(&plan.inputs[i], i))),
            Slot::Output(k) => format!("a->{}", output_field(outputs, k)),
            Slot::Temporary(k) | Slot::Scratch(k) => format!("m{k}"),
        });
        let _ = writeln!(text, "    void *buffers[] = {{ {} }};", join(buffers));
        let _ = writeln!(text, "    int64_t sizes[] = {{ {} }};", join(kernel.sizes.iter().map(c_size)));
        let numbers =
            lowered.numbers.iter().map(|&n| format!("UINT64_C({:#x})", plan.numbers[n as usize].bits()));
        let _ = writeln!(text, "    uint64_t params[] = {{ {} }};", join(numbers));
        let _ = writeln!(text, "    tj_args args = {{ buffers, sizes, params, &host }};");
        let extent = c_size(&kernel.grid.extent);
        let _ = match &lowered.when {
            None => writeln!(text, "    int64_t extent = {extent};"),
            Some(when) => writeln!(text, "    int64_t extent = {} > 0 ? {extent} : 0;", c_size(when)),
        };
        let _ = writeln!(text, "    int32_t status = extent > 0 ? {}(&args, 0, extent) : 0;", kernel.name);
        let _ = writeln!(text, "    if (status != 0) return status;\n  }}");
    }
    for (k, &source) in plan.produces.0.iter().enumerate() {
        let first = plan.produces.0.iter().position(|s| *s == source).unwrap_or(k);
        let from = match source {
            Source::Input(i) => field(&input_name(&plan.inputs[i as usize], i as usize)),
            Source::Def(_) if first < k => output_field(outputs, first),
            Source::Def(_) => continue,
        };
        let count = plan.shape_of(source).iter().fold(Dim::from(1), |n, d| n * d.clone());
        let width = plan.dtype_of(source).size();
        let to = output_field(outputs, k);
        let _ = writeln!(text, "  memcpy(a->{to}, a->{from}, (size_t)({} * {width}));", c_size(&count));
    }
    let _ = writeln!(text, "  return 0;\n}}\n");
}

/// A list for an initialiser, which C does not allow to be empty.
fn join(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "0".to_string() } else { items.join(", ") }
}

const PRELUDE: &str = r"/* A program compiled by tensorjit. Link with the object file of the same name, and with -lm. */
#ifndef TJ_NAME_H
#define TJ_NAME_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef TJ_ABI
#define TJ_ABI
typedef struct tj_host {
  void (*gemm_f32)(int64_t m, int64_t n, int64_t k, const float *a, int64_t ar, int64_t ac, const float *b, int64_t br,
                   int64_t bc, float *c, int64_t cr, int64_t cc);
  void (*gemm_f64)(int64_t m, int64_t n, int64_t k, const double *a, int64_t ar, int64_t ac, const double *b,
                   int64_t br, int64_t bc, double *c, int64_t cr, int64_t cc);
} tj_host;
typedef struct tj_args {
  void *const *buffers;
  const int64_t *sizes;
  const uint64_t *params;
  const tj_host *host;
} tj_args;

static inline int64_t tj_floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
static inline int64_t tj_modulo(int64_t a, int64_t b) { return b == 0 ? 0 : a - tj_floordiv(a, b) * b; }
static inline int64_t tj_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tj_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline size_t tj_padded(int64_t bytes) { return bytes <= 0 ? 0 : ((size_t)bytes + 63) / 64 * 64; }

#define TJ_GEMM(NAME_OF, T, FMA)                                                                                  \
  static void NAME_OF(int64_t m, int64_t n, int64_t k, const T *a, int64_t ar, int64_t ac, const T *b, int64_t br, \
                      int64_t bc, T *c, int64_t cr, int64_t cc) {                                                 \
    for (int64_t i = 0; i < m; i++)                                                                               \
      for (int64_t j = 0; j < n; j++) {                                                                           \
        T total = 0;                                                                                              \
        for (int64_t block = 0; block < k; block += 256) {                                                        \
          T sum = 0;                                                                                              \
          for (int64_t p = block; p < tj_min(k, block + 256); p++)                                                \
            sum = FMA(a[i * ar + p * ac], b[p * br + j * bc], sum);                                               \
          total = total + sum;                                                                                    \
        }                                                                                                         \
        c[i * cr + j * cc] = total;                                                                               \
      }                                                                                                           \
  }
#ifndef TJ_GEMM_F32
TJ_GEMM(tj_gemm_f32, float, fmaf)
#define TJ_GEMM_F32 tj_gemm_f32
#endif
#ifndef TJ_GEMM_F64
TJ_GEMM(tj_gemm_f64, double, fma)
#define TJ_GEMM_F64 tj_gemm_f64
#endif
#endif

";
