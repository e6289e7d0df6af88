//! The C header of an exported program.
//!
//! It holds, as plain C that the embedding program compiles, all but the kernels: the sizes as a struct, what must
//! hold of them as `NAME_check`, the bytes of workspace as `NAME_workspace`, and `NAME_run`, which calls the kernels
//! in order on memory of the caller. Dense contractions call plain loops with the stated bits; an embedding program
//! may put a faster routine in their place by defining `TJ_GEMM_F32` or `TJ_GEMM_F64`.
//!
//! Every size is computed with checks, by the same expression in all three functions. `Dim::eval` has 127 bits for
//! steps and C has 63: sizes whose steps need more are refused by `NAME_check` though the library takes them. What
//! `NAME_check` takes, `Program::bind` takes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tj_ir::dim::{Factor, Summand};
use tj_ir::expr::Source;
use tj_ir::{Condition, Dim, Symbol};
use tj_tensor::DType;

use super::{names, symbol};
use crate::error::Error;
use crate::program::{ArenaInterval, Program, Slot};

const PRELUDE: &str = include_str!("prelude.h");

/// The C header of a program. `outputs` are names for its outputs.
pub(super) fn header(program: &Program, name: &str, outputs: &[&str]) -> Result<String, Error> {
    let plan = &program.fused.plan;
    let mut header = Header {
        program,
        name,
        sizes: names::size_fields(&plan.symbols),
        inputs: names::input_fields(&plan.inputs),
        outputs: names::output_fields(outputs, plan.produces.0.len())?,
        text: PRELUDE.replace("NAME", name),
    };
    header.types();
    header.check();
    header.workspace();
    header.run();
    header.line("#endif");
    Ok(header.text)
}

/// A header being written, and fields of its structs.
struct Header<'a> {
    program: &'a Program,
    name: &'a str,
    sizes: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    text: String,
}

impl Header<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn types(&mut self) {
        let (plan, name) = (&self.program.fused.plan, self.name);
        for lowered in &self.program.kernels {
            let kernel = symbol(&lowered.kernel.name, name);
            self.line(&format!("int32_t {kernel}(const tj_args *args, int64_t lo, int64_t hi);"));
        }
        self.line("\n/* Values of the program's sizes. */\ntypedef struct {");
        for (at, symbol) in plan.symbols.iter().enumerate() {
            let ((lo, hi), field) = (symbol.bounds(), &self.sizes[at]);
            let _ = writeln!(self.text, "  int64_t {field}; /* {symbol}: {lo}..={hi} */");
        }
        if plan.symbols.is_empty() {
            self.line("  char unused;");
        }
        self.line(&format!("}} {name}_sizes;\n\n/* Arguments and results, row-major. */\ntypedef struct {{"));
        for (input, field) in plan.inputs.iter().zip(&self.inputs) {
            let (of, shape) = (c_type(input.dtype), tj_ir::shape_text(&input.shape));
            let _ = writeln!(self.text, "  const {of} *{field}; /* {}{shape} */", input.dtype);
        }
        for (&source, field) in plan.produces.0.iter().zip(&self.outputs) {
            let (dtype, shape) = (plan.dtype_of(source), tj_ir::shape_text(plan.shape_of(source)));
            let _ = writeln!(self.text, "  {} *{field}; /* {dtype}{shape} */", c_type(dtype));
        }
        self.line(&format!("}} {name}_arrays;\n"));
    }

    /// A size as a `tj_num` over `s`. Opaque operations nest no deeper than `Dim` allows.
    fn size(&self, dim: &Dim) -> String {
        let Ok(summands) = dim.summands() else {
            return "tj_make(0, 2)".to_string();
        };
        let parts: Vec<String> = summands.iter().map(|part| self.summand(part)).collect();
        match parts.as_slice() {
            [] => "tj_of(0)".to_string(),
            [whole] if whole.starts_with("tj_mul") => format!("tj_whole({whole})"),
            [first, rest @ ..] => {
                rest.iter().fold(first.clone(), |sum, part| format!("tj_add({sum}, {part})"))
            }
        }
    }

    fn summand(&self, part: &Summand<'_>) -> String {
        let coeff = (part.coeff != 1 || part.factors.is_empty()).then(|| c_number(part.coeff));
        let factors = part.factors.iter().flat_map(|(factor, power)| {
            let factor = match factor {
                Factor::Symbol(symbol) => format!("tj_of(s->{})", self.size_field(symbol)),
                Factor::FloorDiv(a, b) => format!("tj_floordiv({}, {})", self.size(a), self.size(b)),
                Factor::Modulo(a, b) => format!("tj_modulo({}, {})", self.size(a), self.size(b)),
                Factor::Min(a, b) => format!("tj_min({}, {})", self.size(a), self.size(b)),
                Factor::Max(a, b) => format!("tj_max({}, {})", self.size(a), self.size(b)),
            };
            std::iter::repeat_n(factor, *power as usize)
        });
        let product = coeff.into_iter().chain(factors).reduce(|a, b| format!("tj_mul({a}, {b})"));
        product.unwrap_or_else(|| c_number(1))
    }

    fn size_field(&self, symbol: &Symbol) -> &str {
        let at = self.program.fused.plan.symbols.iter().position(|known| known == symbol);
        &self.sizes[at.expect("a plan lists the symbols of its sizes")]
    }

    /// Bytes of an array, as a `tj_num`.
    fn bytes(&self, shape: &[Dim], width: usize) -> String {
        let extents = shape.iter().map(|dim| format!("tj_max({}, tj_of(0))", self.size(dim)));
        let product = extents.fold(c_number(width as i64), |n, extent| format!("tj_mul({n}, {extent})"));
        format!("tj_whole({product})")
    }

    /// The number of tasks of a kernel, as a `tj_num`.
    fn extent(&self, kernel: usize) -> String {
        let lowered = &self.program.kernels[kernel];
        let extent = self.size(&lowered.kernel.grid.extent);
        match &lowered.when {
            Some(when) => format!("tj_when({}, {extent})", self.size(when)),
            None => extent,
        }
    }

    /// Bytes of the workspace for an interval, as a `tj_num`.
    fn interval(&self, interval: &ArenaInterval) -> String {
        let bytes = format!("tj_padded({}, {})", self.size(&interval.len), interval.width);
        match interval.filled_by {
            Some(kernel) => format!("tj_when({}, {bytes})", self.extent(kernel)),
            None => bytes,
        }
    }

    /// Everything that `Program::bind` asks of sizes, and that arguments of these sizes could exist.
    fn check(&mut self) {
        let (program, plan, name) = (self.program, &self.program.fused.plan, self.name);
        let mut conditions: Vec<(String, String)> = Vec::new();
        let mut require = |condition: String, why: String| conditions.push((condition, why));
        for (symbol, field) in plan.symbols.iter().zip(&self.sizes) {
            let (lo, hi) = symbol.bounds();
            let inside = format!("s->{field} >= {} && s->{field} <= {}", c_literal(lo), c_literal(hi));
            require(inside, format!("bounds of {symbol}"));
        }
        for guard in &plan.guards {
            let (a, b) = guard.condition.sides();
            let holds = match &guard.condition {
                Condition::Equal(..) => "tj_equal",
                Condition::LessEqual(..) => "tj_at_most",
                Condition::Divides(..) => "tj_divides",
            };
            require(format!("{holds}({}, {})", self.size(a), self.size(b)), guard.to_string());
        }
        for guard in &program.bound_guards {
            let [low, high, len] = [&guard.low, &guard.high, &guard.len].map(|dim| self.size(dim));
            let inside = format!("tj_inside({low}, {high}, {len})");
            let around = guard.enclosing.iter().rev();
            let holds = around.fold(inside, |rest, dim| format!("tj_if({}, {rest})", self.size(dim)));
            require(holds, guard.to_string());
        }
        let fits = |number: String| format!("!{number}.bad");
        for (input, field) in plan.inputs.iter().zip(&self.inputs) {
            for dim in input.shape.iter().filter(|dim| dim.known_ge_zero() != Some(true)) {
                require(format!("tj_at_most(tj_of(0), {})", self.size(dim)), format!("an axis of {field}"));
            }
            require(fits(self.bytes(&input.shape, input.dtype.size())), format!("bytes of {field}"));
        }
        for (&source, field) in plan.produces.0.iter().zip(&self.outputs) {
            let bytes = self.bytes(plan.shape_of(source), plan.dtype_of(source).size());
            require(fits(bytes), format!("bytes of {field}"));
        }
        for (k, lowered) in program.kernels.iter().enumerate() {
            let kernel = &lowered.kernel;
            for dim in &kernel.sizes {
                require(fits(self.size(dim)), format!("{dim} in {}", kernel.name));
            }
            require(fits(self.extent(k)), format!("tasks of {}", kernel.name));
        }
        for interval in program.intervals() {
            require(fits(self.interval(interval)), format!("bytes of {}", interval.name));
        }
        self.line("/* 0 if the program may run with these sizes, else the number of what does not hold. */");
        self.line(&format!("static inline int {name}_check(const {name}_sizes *s) {{"));
        self.line("  tj_num bytes = tj_of(0);\n  (void)s;");
        let mut known = BTreeSet::new();
        conditions.retain(|(condition, _)| known.insert(condition.clone()));
        for (at, (condition, why)) in conditions.iter().enumerate() {
            let (number, why) = (at + 1, why.replace("*/", "* /").replace("/*", "/ *"));
            self.line(&format!("  if (!({condition})) return {number}; /* {why} */"));
        }
        self.total();
        let number = conditions.len() + 1;
        self.line(&format!(
            "  if (bytes.bad || (uint64_t)bytes.v > SIZE_MAX) return {number}; /* workspace */"
        ));
        self.line("  return 0;\n}\n");
    }

    /// Adds the bytes of all intervals to `bytes`.
    fn total(&mut self) {
        for interval in self.program.intervals() {
            let bytes = self.interval(interval);
            self.line(&format!("  bytes = tj_add(bytes, {bytes}); /* {} */", interval.name));
        }
    }

    fn workspace(&mut self) {
        let name = self.name;
        self.line("/* Bytes of workspace, aligned to 64, that a run needs; SIZE_MAX if they do not fit. */");
        self.line(&format!("static inline size_t {name}_workspace(const {name}_sizes *s) {{"));
        self.line("  tj_num bytes = tj_of(0);\n  (void)s;");
        self.total();
        self.line("  return bytes.bad || (uint64_t)bytes.v > SIZE_MAX ? SIZE_MAX : (size_t)bytes.v;\n}\n");
    }

    fn run(&mut self) {
        let (program, plan, name) = (self.program, &self.program.fused.plan, self.name);
        self.line("/* Computes the outputs. Sizes were checked, and the workspace is large enough. */");
        self.line(&format!(
            "static inline int {name}_run(const {name}_sizes *s, const {name}_arrays *a, void *workspace) {{"
        ));
        self.line(
            "  static const tj_host host = { TJ_GEMM_F32, TJ_GEMM_F64 };\n  (void)s; (void)a; (void)host;",
        );
        self.line("  char *at = (char *)workspace;\n  (void)at;");
        for (k, interval) in program.intervals().iter().enumerate() {
            let bytes = self.interval(interval);
            self.line(&format!("  void *m{k} = at; /* {} */\n  at += {bytes}.v;", interval.name));
        }
        for (number, lowered) in program.kernels.iter().enumerate() {
            let kernel = &lowered.kernel;
            let buffers = program.slots[number].iter().map(|slot| match *slot {
                Slot::Input(i) => format!("(void *)a->{}", self.inputs[i]),
                Slot::Output(k) => format!("a->{}", self.outputs[k]),
                Slot::Temporary(k) | Slot::Scratch(k) => format!("m{k}"),
            });
            let buffers = join(buffers);
            let sizes = join(kernel.sizes.iter().map(|dim| format!("{}.v", self.size(dim))));
            let bits = lowered.numbers.iter().map(|&n| plan.numbers[n as usize].bits());
            let numbers = join(bits.map(|bits| format!("UINT64_C({bits:#x})")));
            let (extent, called) = (self.extent(number), symbol(&kernel.name, name));
            self.line(&format!("  {{\n    void *buffers[] = {{ {buffers} }};"));
            self.line(&format!("    int64_t sizes[] = {{ {sizes} }};"));
            self.line(&format!("    uint64_t params[] = {{ {numbers} }};"));
            self.line("    tj_args args = { buffers, sizes, params, &host };");
            self.line(&format!("    int64_t extent = {extent}.v;"));
            self.line(&format!("    int32_t status = extent > 0 ? {called}(&args, 0, extent) : 0;"));
            self.line("    if (status != 0) return status;\n  }");
        }
        for (k, &source) in plan.produces.0.iter().enumerate() {
            let first = plan.produces.0.iter().position(|s| *s == source).unwrap_or(k);
            let from = match source {
                Source::Input(i) => &self.inputs[i as usize],
                Source::Def(_) if first < k => &self.outputs[first],
                Source::Def(_) => continue,
            };
            let bytes = self.bytes(plan.shape_of(source), plan.dtype_of(source).size());
            let copy = format!("  memcpy(a->{}, a->{from}, (size_t){bytes}.v);", self.outputs[k]);
            self.line(&copy);
        }
        self.line("  return 0;\n}\n");
    }
}

/// A number of 64 bits; the least has no literal in C.
fn c_literal(value: i64) -> String {
    if value == i64::MIN { "INT64_MIN".to_string() } else { format!("INT64_C({value})") }
}

fn c_number(value: i64) -> String {
    format!("tj_of({})", c_literal(value))
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

/// A list for an initialiser, which C does not allow to be empty.
fn join(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "0".to_string() } else { items.join(", ") }
}
