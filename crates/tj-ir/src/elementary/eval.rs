//! Scalar evaluation: the slow, obvious meaning of every primitive operation.

use super::{Arith, Elementary, Elementary2, Width};

/// Evaluates in `f32`, one rounded operation at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eval32;

/// Evaluates in `f64`, one rounded operation at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eval64;

/// `function(x)`, with the bits that every back end gives.
///
/// ```
/// use tj_ir::elementary::{Elementary, eval_f32};
///
/// assert_eq!(eval_f32(Elementary::Exp, f32::NEG_INFINITY), 0.0);
/// assert!(eval_f32(Elementary::Log, -1.0).is_nan());
/// ```
pub fn eval_f32(function: Elementary, x: f32) -> f32 {
    function.emit(&mut Eval32, x)
}

/// `function(x)`, with the bits that every back end gives.
///
/// ```
/// use tj_ir::elementary::{Elementary, eval_f64};
///
/// assert_eq!(eval_f64(Elementary::Tanh, 40.0), 1.0);
/// ```
pub fn eval_f64(function: Elementary, x: f64) -> f64 {
    function.emit(&mut Eval64, x)
}

/// `function(x, y)`, with the bits that every back end gives.
pub fn eval2_f32(function: Elementary2, x: f32, y: f32) -> f32 {
    function.emit(&mut Eval32, x, y)
}

/// `function(x, y)`, with the bits that every back end gives.
pub fn eval2_f64(function: Elementary2, x: f64, y: f64) -> f64 {
    function.emit(&mut Eval64, x, y)
}

// The two differ in their types; rustc never contracts or reorders float operations.
macro_rules! evaluate {
    ($eval:ty, $width:expr, $float:ty, $uint:ty) => {
        impl Arith for $eval {
            type Float = $float;
            type Int = $uint;
            type Truth = bool;

            fn width(&self) -> Width {
                $width
            }
            fn float(&mut self, x: f64) -> $float {
                let rounded = x as $float;
                debug_assert!(x.is_nan() || f64::from(rounded) == x, "inexact constant {x}");
                rounded
            }
            fn int(&mut self, x: i64) -> $uint {
                x as $uint
            }
            fn add(&mut self, x: $float, y: $float) -> $float {
                x + y
            }
            fn sub(&mut self, x: $float, y: $float) -> $float {
                x - y
            }
            fn mul(&mut self, x: $float, y: $float) -> $float {
                x * y
            }
            fn div(&mut self, x: $float, y: $float) -> $float {
                x / y
            }
            fn neg(&mut self, x: $float) -> $float {
                -x
            }
            fn abs(&mut self, x: $float) -> $float {
                x.abs()
            }
            fn sqrt(&mut self, x: $float) -> $float {
                x.sqrt()
            }
            fn iadd(&mut self, x: $uint, y: $uint) -> $uint {
                x.wrapping_add(y)
            }
            fn isub(&mut self, x: $uint, y: $uint) -> $uint {
                x.wrapping_sub(y)
            }
            fn iand(&mut self, x: $uint, y: $uint) -> $uint {
                x & y
            }
            fn ior(&mut self, x: $uint, y: $uint) -> $uint {
                x | y
            }
            fn ishl(&mut self, x: $uint, n: u32) -> $uint {
                x << n
            }
            fn ushr(&mut self, x: $uint, n: u32) -> $uint {
                x >> n
            }
            fn float_to_bits(&mut self, x: $float) -> $uint {
                x.to_bits()
            }
            fn bits_to_float(&mut self, x: $uint) -> $float {
                <$float>::from_bits(x)
            }
            fn lt(&mut self, x: $float, y: $float) -> bool {
                x < y
            }
            fn eq(&mut self, x: $float, y: $float) -> bool {
                x == y
            }
            fn select(&mut self, c: bool, x: $float, y: $float) -> $float {
                if c { x } else { y }
            }
        }
    };
}

evaluate!(Eval32, Width::F32, f32, u32);
evaluate!(Eval64, Width::F64, f64, u64);
