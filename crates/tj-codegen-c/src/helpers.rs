//! Small C functions for operations that C lacks or leaves undefined.
//!
//! A unit defines exactly the helpers that its kernels call, each before its first use by another. All are total, and
//! written without branches where a compiler can then run neighbours together; what a compiler may not evaluate out of
//! range (a conversion, a division) stands behind the test that makes it defined.

use rustc_hash::FxHashSet;
use tj_kernel::BinOp;
use tj_tensor::DType;

use crate::types::{ctype, unsigned};

/// The helpers that a unit needs so far.
#[derive(Debug, Default)]
pub(crate) struct Helpers {
    known: FxHashSet<String>,
    text: String,
    /// Whether the kernel being written converts floats to integers, so that gcc may see such a value come back.
    pub(crate) round_trips: bool,
}

impl Helpers {
    /// The definitions, in an order in which each is defined before it is used.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn define(&mut self, name: String, body: impl FnOnce(&str) -> String) -> String {
        if self.known.insert(name.clone()) {
            let body = body(&name);
            self.text.push_str("static inline ");
            self.text.push_str(&body);
            self.text.push('\n');
        }
        name
    }

    /// Same bits, other type.
    pub(crate) fn bits(&mut self, from: DType, to: DType) -> String {
        let (f, t) = (c(from), c(to));
        self.define(format!("tj_bits_{f}_{t}"), |name| {
            format!("{t} {name}({f} x) {{\n  union {{ {f} from; {t} to; }} u = {{ x }};\n  return u.to;\n}}")
        })
    }

    /// `Max` and `Min` of floats: a NaN wins, and -0 is less than +0.
    ///
    /// `m` and `n` are one machine instruction each and differ only for zeros of both signs, where joining their bits
    /// gives the right one, and for NaN, which is in one of them and survives the joining: a disjunction keeps all
    /// bits of an exponent. For `Max` the disjunction gives the wrong zero, -0, and subtracting their difference, -0 too,
    /// turns it into +0 and leaves everything else alone.
    pub(crate) fn extremum(&mut self, op: BinOp, dtype: DType) -> String {
        let t = c(dtype);
        let uint = bits_type(dtype);
        let (u, to, from) = (c(uint), self.bits(dtype, uint), self.bits(uint, dtype));
        let (word, sign, result) = match op == BinOp::Max {
            true => ("max", ">", format!("{from}({to}(m) | d) - {from}(d)")),
            false => ("min", "<", format!("{from}({to}(m) | {to}(n))")),
        };
        let difference =
            if op == BinOp::Max { format!("  const {u} d = {to}(m) ^ {to}(n);\n") } else { String::new() };
        self.define(format!("tj_{word}_{t}"), |name| {
            format!(
                "{t} {name}({t} a, {t} b) {{\n  \
                   const {t} m = a {sign} b ? a : b;\n  \
                   const {t} n = b {sign} a ? b : a;\n\
                   {difference}  \
                   return {result};\n}}"
            )
        })
    }

    /// `FloorDiv` and `Mod`.
    pub(crate) fn division(&mut self, op: BinOp, dtype: DType) -> String {
        let t = c(dtype);
        let word = if op == BinOp::Mod { "mod" } else { "floordiv" };
        self.define(format!("tj_{word}_{t}"), |name| {
            let body = match (dtype.is_signed(), op == BinOp::Mod) {
                (false, true) => format!("return b == 0 ? 0 : ({t})(a % b);"),
                (false, false) => format!("return b == 0 ? 0 : ({t})(a / b);"),
                (true, true) => format!(
                    "if (b == 0 || b == -1) return 0;\n  \
                     const {t} r = ({t})(a % b);\n  \
                     return r != 0 && (r ^ b) < 0 ? ({t})(r + b) : r;"
                ),
                (true, false) => format!(
                    "if (b == 0) return 0;\n  \
                     if (b == -1) return ({t})-a;\n  \
                     const {t} q = ({t})(a / b);\n  \
                     return a % b != 0 && (a ^ b) < 0 ? ({t})(q - 1) : q;"
                ),
            };
            format!("{t} {name}({t} a, {t} b) {{\n  {body}\n}}")
        })
    }

    /// `Rem`: long division of significands, eleven bits at a time, without a math library. An f32 and its remainder
    /// are f64s.
    pub(crate) fn remainder(&mut self, dtype: DType) -> String {
        if dtype == DType::F32 {
            let wide = self.remainder(DType::F64);
            return self.define("tj_rem_f32".to_owned(), |name| {
                format!("f32 {name}(f32 x, f32 y) {{\n  return (f32){wide}(x, y);\n}}")
            });
        }
        let (to, from) = (self.bits(DType::F64, DType::U64), self.bits(DType::U64, DType::F64));
        self.define("tj_rem_f64".to_owned(), |name| {
            format!(
                "f64 {name}(f64 x, f64 y) {{\n  \
                   const u64 infinity = (u64)0x7ff << 52, one = (u64)1 << 52;\n  \
                   const u64 p = {to}(x) & ~((u64)1 << 63), q = {to}(y) & ~((u64)1 << 63);\n  \
                   if (q == 0 || p >= infinity || q > infinity) return __builtin_nan(\"\");\n  \
                   if (p < q) return x;\n  \
                   const u64 e = p >= one ? p >> 52 : 1, f = q >= one ? q >> 52 : 1;\n  \
                   const u64 n = (q & (one - 1)) | (q >= one ? one : 0);\n  \
                   u64 m = ((p & (one - 1)) | (p >= one ? one : 0)) % n;\n  \
                   for (u64 left = e - f; left != 0;) {{\n    \
                     const u64 step = left < 11 ? left : 11;\n    \
                     m = (m << step) % n;\n    \
                     left -= step;\n  \
                   }}\n  \
                   return __builtin_copysign((f64)m * {from}((u64)971 << 52) * {from}(f << 52), x);\n}}"
            )
        })
    }

    /// Shifts by any count.
    pub(crate) fn shift(&mut self, op: BinOp, dtype: DType) -> String {
        let (t, u, width) = (c(dtype), unsigned(dtype), 8 * dtype.size());
        let mask = width - 1;
        let shift = |operand: &str, sign: &str, count: &str| format!("({t})(({operand})a {sign} {count})");
        let count = format!("(b & {mask})");
        let (word, inside, outside) = if op == BinOp::Shl {
            ("shl", shift(u, "<<", &count), "0".to_owned())
        } else if op == BinOp::Shr {
            ("shr", shift(u, ">>", &count), "0".to_owned())
        } else {
            ("sar", shift(t, ">>", &count), shift(t, ">>", &mask.to_string()))
        };
        self.define(format!("tj_{word}_{t}"), |name| {
            format!("{t} {name}({t} a, {t} b) {{\n  return ({u})b < {width} ? {inside} : {outside};\n}}")
        })
    }

    /// `Floor`: one instruction where there is one, else through an integer below 2^mantissa.
    pub(crate) fn floor(&mut self, dtype: DType) -> String {
        let (t, int, limit, suffix) = match dtype == DType::F64 {
            true => ("f64", "i64", "4503599627370496.0", ""),
            false => ("f32", "i32", "8388608.0f", "f"),
        };
        self.define(format!("tj_floor_{t}"), |name| {
            format!(
                "{t} {name}({t} x) {{\n\
                 #if defined(__SSE4_1__) || defined(__aarch64__)\n  \
                   return __builtin_floor{suffix}(x);\n\
                 #else\n  \
                   if (!(__builtin_fabs{suffix}(x) < {limit})) return x;\n  \
                   const {t} whole = ({t})({int})x;\n  \
                   const {t} below = whole > x ? whole - 1 : whole;\n  \
                   return __builtin_copysign{suffix}(below, x);\n\
                 #endif\n}}"
            )
        })
    }

    /// `a * b + c` rounded once: one instruction where there is one, else libm.
    pub(crate) fn fma(&mut self, dtype: DType) -> String {
        let (t, suffix) = if dtype == DType::F64 { ("f64", "") } else { ("f32", "f") };
        self.define(format!("tj_fma_{t}"), |name| {
            format!("{t} {name}({t} a, {t} b, {t} c) {{\n  return __builtin_fma{suffix}(a, b, c);\n}}")
        })
    }

    /// Float to integer: saturates, NaN gives 0. `from` is f32 or f64.
    pub(crate) fn saturate(&mut self, from: DType, to: DType) -> String {
        let (f, t) = (c(from), c(to));
        let suffix = if from == DType::F32 { "f" } else { "" };
        let bits = 8 * to.size() as u32;
        // The first float above the range is a power of two, exact in either type.
        let (low, high) = if to.is_signed() { (bits - 1, bits - 1) } else { (0, bits) };
        let above = format!("{}.0{suffix}", 1u128 << high);
        let (below, least) = if to.is_signed() {
            (format!("-{}.0{suffix}", 1u128 << low), format!("({t})(({u})1 << {low})", u = unsigned(to)))
        } else {
            (format!("0.0{suffix}"), "0".to_owned())
        };
        let most = format!(
            "({t})(({u})-1{half})",
            u = unsigned(to),
            half = if to.is_signed() { " >> 1" } else { "" }
        );
        self.define(format!("tj_{t}_{f}"), |name| {
            format!(
                "{t} {name}({f} x) {{\n  \
                   return x != x ? 0 : x <= {below} ? {least} : x >= {above} ? {most} : ({t})x;\n}}"
            )
        })
    }

    /// Integer to float, f32 or f64.
    ///
    /// With `-fno-trapping-math` gcc 12 takes `(float)(int)x` for `trunc(x)`, although that is -0 for -0.5; so where a
    /// kernel converts both ways, -0 is taken out of what can only have been +0.
    pub(crate) fn float(&mut self, to: DType, a: &str) -> String {
        let t = c(to);
        if !self.round_trips {
            return format!("({t}){a}");
        }
        let uint = bits_type(to);
        let (u, sign) = (c(uint), 8 * to.size() - 1);
        let (out, back) = (self.bits(to, uint), self.bits(uint, to));
        let name = self.define(format!("tj_integral_{t}"), |name| {
            format!(
                "{t} {name}({t} x) {{\n  \
                   const {u} u = {out}(x);\n  \
                   return {back}(u == ({u})1 << {sign} ? 0 : u);\n}}"
            )
        });
        format!("{name}(({t}){a})")
    }

    /// A half format to f32; exact.
    pub(crate) fn widen_half(&mut self, from: DType) -> String {
        let bits = self.bits(DType::U32, DType::F32);
        if from == DType::BF16 {
            return self.define("tj_f32_bf16".to_owned(), |name| {
                format!("f32 {name}(bf16 x) {{\n  return {bits}((u32)x << 16);\n}}")
            });
        }
        // The exponent moves by 112; a multiplication does that for subnormal numbers too.
        self.define("tj_f32_f16".to_owned(), |name| {
            format!(
                "f32 {name}(f16 x) {{\n  \
                   const u32 m = (u32)(x & 0x7fff) << 13;\n  \
                   const f32 number = {bits}(m) * 5192296858534827628530496329220096.0f;\n  \
                   const f32 special = {bits}(m | 0x7f800000u);\n  \
                   const f32 r = m >= 0x0f800000u ? special : number;\n  \
                   return (x & 0x8000) != 0 ? -r : r;\n}}"
            )
        })
    }

    /// f32 to a half format, to nearest, ties to even.
    pub(crate) fn narrow_half(&mut self, to: DType) -> String {
        let (bits, back) = (self.bits(DType::F32, DType::U32), self.bits(DType::U32, DType::F32));
        if to == DType::BF16 {
            return self.define("tj_bf16_f32".to_owned(), |name| {
                format!(
                    "bf16 {name}(f32 x) {{\n  \
                       const u32 u = {bits}(x);\n  \
                       const u32 r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;\n  \
                       return (bf16)(x != x ? 0x7fc0u : r);\n}}"
                )
            });
        }
        // Above 2^-14 rounding is an addition to the bits; below it, an addition of floats rounds at bit 2^-24.
        self.define("tj_f16_f32".to_owned(), |name| {
            format!(
                "f16 {name}(f32 x) {{\n  \
                   const u32 u = {bits}(x);\n  \
                   const u32 m = u & 0x7fffffffu;\n  \
                   const u32 normal = (m - 0x38000000u + 0xfff + ((m >> 13) & 1)) >> 13;\n  \
                   const u32 subnormal = {bits}({back}(m) + 0.5f) - 0x3f000000u;\n  \
                   const u32 finite = m < 0x38800000u ? subnormal : normal;\n  \
                   const u32 r = m >= 0x47800000u ? (m > 0x7f800000u ? 0x7e00u : 0x7c00u) : finite;\n  \
                   return (f16)(r | ((u >> 16) & 0x8000));\n}}"
            )
        })
    }

    /// f64 to f32 rounded to odd, so that a second rounding to a half format is the only one that shows.
    pub(crate) fn odd(&mut self) -> String {
        let (bits, back) = (self.bits(DType::F32, DType::U32), self.bits(DType::U32, DType::F32));
        self.define("tj_odd_f64".to_owned(), |name| {
            format!(
                "f32 {name}(f64 x) {{\n  \
                   const f32 near = (f32)x;\n  \
                   const f64 exact = near;\n  \
                   const u32 u = {bits}(near) - (__builtin_fabs(exact) > __builtin_fabs(x));\n  \
                   return exact != exact || exact == x ? near : {back}(u | 1);\n}}"
            )
        })
    }

    /// A 64-bit integer to f64 rounded to odd, for the same reason.
    pub(crate) fn odd_int(&mut self, from: DType) -> String {
        let t = c(from);
        self.define(format!("tj_odd_{t}"), |name| {
            let small = match from.is_signed() {
                false => "x < 9007199254740992u",
                true => "x > -9007199254740992 && x < 9007199254740992",
            };
            format!(
                "f64 {name}({t} x) {{\n  \
                   const {t} sticky = (x & ~({t})2047) | (({t})((x & 2047) != 0) << 11);\n  \
                   return {small} ? (f64)x : (f64)sticky;\n}}"
            )
        })
    }
}

/// The unsigned type that holds the bits of a float.
pub(crate) fn bits_type(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::U64 } else { DType::U32 }
}

fn c(dtype: DType) -> &'static str {
    ctype(dtype).expect("helpers are made for types that passed the check of the unit")
}
