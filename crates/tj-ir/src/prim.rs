//! Primitive operations: what hardware offers, one rounding each, total.
//!
//! Every scalar operator of the language is an expression over these (see `expand`). The kernel language has the
//! same operations, and [`Evaluator`] computes them on scalars: this file is the reference for their bits.

use tj_tensor::{DType, Scalar};

/// Operations of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnOp {
    /// Sign flipped (floats, NaN and zero too); wraps for integers.
    Neg,
    /// Sign bit cleared (floats); wraps for the least integer.
    Abs,
    /// Correctly rounded square root; floats.
    Sqrt,
    /// Greatest integer not above; floats, keeps -0.
    Floor,
    /// Logical not of `bool`, bitwise not of integers.
    Not,
    /// The number of zero bits below the lowest one; all bits if there is none. Integers.
    TrailingZeros,
}

/// Operations of two operands of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BinOp {
    /// Sum; wraps for integers.
    Add,
    /// Difference; wraps for integers.
    Sub,
    /// Product; wraps for integers.
    Mul,
    /// Quotient; floats only.
    Div,
    /// Quotient rounded down; integers only. By zero 0; `MIN / -1` wraps.
    FloorDiv,
    /// Remainder with the sign of the divisor; integers only. By zero 0.
    Mod,
    /// Remainder with the sign of the dividend, exact; floats only. NaN by zero and of infinities.
    Rem,
    /// Greater; NaN if either is NaN, and -0 < +0.
    Max,
    /// Lesser; NaN if either is NaN, and -0 < +0.
    Min,
    /// Bitwise and; `bool` and integers.
    And,
    /// Bitwise or; `bool` and integers.
    Or,
    /// Bitwise exclusive or; `bool` and integers.
    Xor,
    /// Shift left; integers. Counts outside the width give 0.
    Shl,
    /// Arithmetic shift right; integers. Counts outside the width give the sign.
    Sar,
    /// Logical shift right; integers. Counts outside the width give 0.
    Shr,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CmpOp {
    /// Equal; +0 equals -0.
    Eq,
    /// Not equal; true for NaN.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Gives an enum the list of its variants and their words in texts.
macro_rules! words {
    ($type:ident, $n:literal: $($variant:ident $word:literal)*) => {
        impl $type {
            /// All of them, in the order of declaration.
            pub const ALL: [$type; $n] = [$($type::$variant),*];

            /// The word in texts.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }
    };
}

words!(UnOp, 6: Neg "neg" Abs "abs" Sqrt "sqrt" Floor "floor" Not "not" TrailingZeros "ctz");
words!(BinOp, 15: Add "add" Sub "sub" Mul "mul" Div "div" FloorDiv "floordiv" Mod "mod" Rem "rem" Max "max"
    Min "min" And "and" Or "or" Xor "xor" Shl "shl" Sar "sar" Shr "shr");
words!(CmpOp, 6: Eq "eq" Ne "ne" Lt "lt" Le "le" Gt "gt" Ge "ge");

/// Something that can carry out primitive operations: on numbers, or by writing code.
pub trait Machine {
    /// A typed scalar.
    type V: Copy;
    /// Type of a value.
    fn dtype(&self, v: Self::V) -> DType;
    /// A constant.
    fn constant(&mut self, c: Scalar) -> Self::V;
    /// One operand; the type is kept.
    fn unary(&mut self, op: UnOp, a: Self::V) -> Self::V;
    /// Two operands of one type, which is kept.
    fn binary(&mut self, op: BinOp, a: Self::V, b: Self::V) -> Self::V;
    /// Two operands of one type; gives `bool`.
    fn compare(&mut self, op: CmpOp, a: Self::V, b: Self::V) -> Self::V;
    /// `if c { a } else { b }` without a branch.
    fn select(&mut self, c: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// Total conversion.
    fn cast(&mut self, a: Self::V, to: DType) -> Self::V;
    /// The same bits as another type of the same width.
    fn bitcast(&mut self, a: Self::V, to: DType) -> Self::V;
}

/// Computes on scalars; the slow, obvious [`Machine`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Evaluator;

impl Machine for Evaluator {
    type V = Scalar;

    fn dtype(&self, v: Scalar) -> DType {
        v.dtype()
    }

    fn constant(&mut self, c: Scalar) -> Scalar {
        c
    }

    fn unary(&mut self, op: UnOp, a: Scalar) -> Scalar {
        eval_unary(op, a)
    }

    fn binary(&mut self, op: BinOp, a: Scalar, b: Scalar) -> Scalar {
        eval_binary(op, a, b)
    }

    fn compare(&mut self, op: CmpOp, a: Scalar, b: Scalar) -> Scalar {
        Scalar::Bool(eval_compare(op, a, b))
    }

    fn select(&mut self, c: Scalar, a: Scalar, b: Scalar) -> Scalar {
        if c == Scalar::Bool(true) { a } else { b }
    }

    fn cast(&mut self, a: Scalar, to: DType) -> Scalar {
        a.cast(to)
    }

    fn bitcast(&mut self, a: Scalar, to: DType) -> Scalar {
        Scalar::from_bits(to, a.bits())
    }
}

/// `a` and `b` have the wrong types for `what`; only a broken pass asks for that.
fn mistyped(what: &dyn std::fmt::Debug, operands: &[Scalar]) -> ! {
    panic!("primitive {what:?} is not defined on {operands:?}")
}

/// One operand.
///
/// # Panics
/// On a type the operation is not defined for.
pub fn eval_unary(op: UnOp, a: Scalar) -> Scalar {
    macro_rules! int {
        ($v:ident, $x:expr) => {
            match op {
                UnOp::Neg => Scalar::$v($x.wrapping_neg()),
                UnOp::Abs => Scalar::$v(if ($x as i128) < 0 { $x.wrapping_neg() } else { $x }),
                UnOp::Not => Scalar::$v(!$x),
                UnOp::TrailingZeros => Scalar::$v($x.trailing_zeros() as _),
                UnOp::Sqrt | UnOp::Floor => mistyped(&op, &[a]),
            }
        };
    }
    macro_rules! float {
        ($v:ident, $x:expr) => {
            match op {
                UnOp::Neg => Scalar::$v(-$x),
                UnOp::Abs => Scalar::$v($x.abs()),
                UnOp::Sqrt => Scalar::$v($x.sqrt()),
                UnOp::Floor => Scalar::$v($x.floor()),
                UnOp::Not | UnOp::TrailingZeros => mistyped(&op, &[a]),
            }
        };
    }
    match a {
        Scalar::Bool(x) if op == UnOp::Not => Scalar::Bool(!x),
        Scalar::I8(x) => int!(I8, x),
        Scalar::I16(x) => int!(I16, x),
        Scalar::I32(x) => int!(I32, x),
        Scalar::I64(x) => int!(I64, x),
        Scalar::U8(x) => int!(U8, x),
        Scalar::U16(x) => int!(U16, x),
        Scalar::U32(x) => int!(U32, x),
        Scalar::U64(x) => int!(U64, x),
        Scalar::F32(x) => float!(F32, x),
        Scalar::F64(x) => float!(F64, x),
        Scalar::Bool(_) | Scalar::F16(_) | Scalar::BF16(_) | Scalar::C64(_) | Scalar::C128(_) => {
            mistyped(&op, &[a])
        }
    }
}

/// Two operands of one type.
///
/// # Panics
/// On types the operation is not defined for.
pub fn eval_binary(op: BinOp, a: Scalar, b: Scalar) -> Scalar {
    macro_rules! int {
        ($v:ident, $t:ty, $u:ty, $x:expr, $y:expr) => {{
            let (x, y): ($t, $t) = ($x, $y);
            let in_width = (0..<$t>::BITS as i128).contains(&(y as i128));
            let quotient = |x: $t, y: $t| if y == 0 { 0 } else { x.wrapping_div(y) };
            let remainder = |x: $t, y: $t| if y == 0 { 0 } else { x.wrapping_rem(y) };
            let off = |r: $t, y: $t| r != 0 && ((r as i128) < 0) != ((y as i128) < 0);
            Scalar::$v(match op {
                BinOp::Add => x.wrapping_add(y),
                BinOp::Sub => x.wrapping_sub(y),
                BinOp::Mul => x.wrapping_mul(y),
                BinOp::FloorDiv => quotient(x, y).wrapping_sub(off(remainder(x, y), y) as $t),
                BinOp::Mod => {
                    let r = remainder(x, y);
                    if off(r, y) { r.wrapping_add(y) } else { r }
                }
                BinOp::Max => x.max(y),
                BinOp::Min => x.min(y),
                BinOp::And => x & y,
                BinOp::Or => x | y,
                BinOp::Xor => x ^ y,
                BinOp::Shl => {
                    if in_width {
                        x << y
                    } else {
                        0
                    }
                }
                BinOp::Shr => {
                    if in_width {
                        ((x as $u) >> y) as $t
                    } else {
                        0
                    }
                }
                BinOp::Sar => x >> if in_width { y } else { (<$t>::BITS - 1) as $t },
                BinOp::Div | BinOp::Rem => mistyped(&op, &[a, b]),
            })
        }};
    }
    macro_rules! float {
        ($v:ident, $x:expr, $y:expr) => {{
            let (x, y) = ($x, $y);
            Scalar::$v(match op {
                BinOp::Add => x + y,
                BinOp::Sub => x - y,
                BinOp::Mul => x * y,
                BinOp::Div => x / y,
                BinOp::Rem => x % y,
                // Equal operands differ at most in the sign of zero.
                BinOp::Max => {
                    if x.is_nan() || y.is_nan() {
                        x + y
                    } else if x > y || (x == y && y.is_sign_negative()) {
                        x
                    } else {
                        y
                    }
                }
                BinOp::Min => {
                    if x.is_nan() || y.is_nan() {
                        x + y
                    } else if x < y || (x == y && x.is_sign_negative()) {
                        x
                    } else {
                        y
                    }
                }
                BinOp::FloorDiv
                | BinOp::Mod
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::Sar
                | BinOp::Shr => mistyped(&op, &[a, b]),
            })
        }};
    }
    match (a, b) {
        (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(match op {
            BinOp::And | BinOp::Min | BinOp::Mul => x & y,
            BinOp::Or | BinOp::Max | BinOp::Add => x | y,
            BinOp::Xor => x ^ y,
            BinOp::Sub
            | BinOp::Div
            | BinOp::FloorDiv
            | BinOp::Mod
            | BinOp::Rem
            | BinOp::Shl
            | BinOp::Sar
            | BinOp::Shr => mistyped(&op, &[a, b]),
        }),
        (Scalar::I8(x), Scalar::I8(y)) => int!(I8, i8, u8, x, y),
        (Scalar::I16(x), Scalar::I16(y)) => int!(I16, i16, u16, x, y),
        (Scalar::I32(x), Scalar::I32(y)) => int!(I32, i32, u32, x, y),
        (Scalar::I64(x), Scalar::I64(y)) => int!(I64, i64, u64, x, y),
        (Scalar::U8(x), Scalar::U8(y)) => int!(U8, u8, u8, x, y),
        (Scalar::U16(x), Scalar::U16(y)) => int!(U16, u16, u16, x, y),
        (Scalar::U32(x), Scalar::U32(y)) => int!(U32, u32, u32, x, y),
        (Scalar::U64(x), Scalar::U64(y)) => int!(U64, u64, u64, x, y),
        (Scalar::F32(x), Scalar::F32(y)) => float!(F32, x, y),
        (Scalar::F64(x), Scalar::F64(y)) => float!(F64, x, y),
        _ => mistyped(&op, &[a, b]),
    }
}

/// A comparison of two operands of one type.
///
/// # Panics
/// On types that have no order.
pub fn eval_compare(op: CmpOp, a: Scalar, b: Scalar) -> bool {
    macro_rules! compare {
        ($x:expr, $y:expr) => {
            match op {
                CmpOp::Eq => $x == $y,
                CmpOp::Ne => $x != $y,
                CmpOp::Lt => $x < $y,
                CmpOp::Le => $x <= $y,
                CmpOp::Gt => $x > $y,
                CmpOp::Ge => $x >= $y,
            }
        };
    }
    match (a, b) {
        (Scalar::Bool(x), Scalar::Bool(y)) => compare!(x as u8, y as u8),
        (Scalar::I8(x), Scalar::I8(y)) => compare!(x, y),
        (Scalar::I16(x), Scalar::I16(y)) => compare!(x, y),
        (Scalar::I32(x), Scalar::I32(y)) => compare!(x, y),
        (Scalar::I64(x), Scalar::I64(y)) => compare!(x, y),
        (Scalar::U8(x), Scalar::U8(y)) => compare!(x, y),
        (Scalar::U16(x), Scalar::U16(y)) => compare!(x, y),
        (Scalar::U32(x), Scalar::U32(y)) => compare!(x, y),
        (Scalar::U64(x), Scalar::U64(y)) => compare!(x, y),
        (Scalar::F32(x), Scalar::F32(y)) => compare!(x, y),
        (Scalar::F64(x), Scalar::F64(y)) => compare!(x, y),
        _ => mistyped(&op, &[a, b]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_is_total() {
        let cases: &[(BinOp, i64, i64, i64)] = &[
            (BinOp::FloorDiv, 7, 2, 3),
            (BinOp::FloorDiv, -7, 2, -4),
            (BinOp::FloorDiv, 7, -2, -4),
            (BinOp::FloorDiv, 7, 0, 0),
            (BinOp::FloorDiv, i64::MIN, -1, i64::MIN),
            (BinOp::Mod, -7, 2, 1),
            (BinOp::Mod, 7, -2, -1),
            (BinOp::Mod, 7, 0, 0),
            (BinOp::Mod, i64::MIN, -1, 0),
            (BinOp::Shl, 1, 64, 0),
            (BinOp::Shl, 1, -1, 0),
            (BinOp::Sar, -8, 99, -1),
            (BinOp::Shr, -1, 63, 1),
        ];
        for &(op, a, b, want) in cases {
            assert_eq!(eval_binary(op, Scalar::I64(a), Scalar::I64(b)), Scalar::I64(want), "{op:?} {a} {b}");
        }
    }

    #[test]
    fn extremes_order_zeros_and_keep_nan() {
        let max = |a: f32, b: f32| eval_binary(BinOp::Max, Scalar::F32(a), Scalar::F32(b));
        let min = |a: f32, b: f32| eval_binary(BinOp::Min, Scalar::F32(a), Scalar::F32(b));
        assert_eq!(max(-0.0, 0.0), Scalar::F32(0.0));
        assert_eq!(max(0.0, -0.0), Scalar::F32(0.0));
        assert_eq!(min(0.0, -0.0), Scalar::F32(-0.0));
        assert_eq!(min(-0.0, 0.0), Scalar::F32(-0.0));
        assert_eq!(max(-0.0, -0.0), Scalar::F32(-0.0));
        assert!(max(f32::NAN, 1.0).to_f64().is_nan());
        assert!(min(1.0, f32::NAN).to_f64().is_nan());
    }
}
