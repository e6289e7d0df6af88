//! What can go wrong with a size.

use super::Symbol;

/// Why a size could not be made, read, evaluated or solved for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DimError {
    /// The name is not an identifier, or the text format already uses it.
    #[error("{name:?} cannot name a size: {reason}")]
    InvalidName {
        /// The rejected name.
        name: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// The bounds are negative or empty.
    #[error("bounds {lo}..={hi} of {name} must satisfy 0 <= lo <= hi")]
    InvalidBounds {
        /// The symbol being made.
        name: String,
        /// The lower bound asked for.
        lo: i128,
        /// The upper bound asked for.
        hi: i128,
    },
    /// A symbol has no value.
    #[error("symbol {symbol} in {expr} has no value")]
    Unbound {
        /// The symbol without a value.
        symbol: Symbol,
        /// The expression being evaluated.
        expr: String,
    },
    /// A value, or a coefficient, does not fit.
    #[error("{expr} does not fit in 64 bits")]
    Overflow {
        /// The expression that does not fit.
        expr: String,
    },
    /// An expression nests opaque operations too deeply or has too many parts.
    #[error("size expression {expr} is too big: more than {limit} {what}")]
    TooBig {
        /// The operation that passed the limit, shortened.
        expr: String,
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
    /// Solving for a symbol in which the expression is not linear.
    #[error("{expr} is not linear in {symbol}")]
    NotLinear {
        /// The symbol asked for.
        symbol: Symbol,
        /// The expression.
        expr: String,
    },
    /// Solving for a symbol whose coefficient is zero at the known values.
    #[error("{expr} = {value} does not determine {symbol}, whose coefficient is 0")]
    Undetermined {
        /// The symbol asked for.
        symbol: Symbol,
        /// The expression.
        expr: String,
        /// The value it should have.
        value: i64,
    },
    /// Solving for a symbol that would have to be a fraction.
    #[error("{expr} = {value} has no whole solution for {symbol}: {dividend} / {divisor} leaves {remainder}")]
    NotDivisible {
        /// The symbol asked for.
        symbol: Box<Symbol>,
        /// The expression.
        expr: String,
        /// The value it should have.
        value: i64,
        /// The value less the terms without the symbol.
        dividend: i128,
        /// The coefficient of the symbol.
        divisor: i128,
        /// What the division leaves.
        remainder: i128,
    },
    /// A symbol's value lies outside its bounds.
    #[error("{symbol} = {value} is outside its bounds {lo}..={hi}")]
    OutOfBounds {
        /// The symbol.
        symbol: Symbol,
        /// Its value.
        value: i128,
        /// Its lower bound.
        lo: i64,
        /// Its upper bound.
        hi: i64,
    },
    /// Text that is not a size.
    #[error("cannot read size {text:?} at byte {at}: {message}")]
    Parse {
        /// The text.
        text: String,
        /// Where reading stopped.
        at: usize,
        /// What was expected there.
        message: String,
    },
}
