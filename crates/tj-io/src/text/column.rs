//! Values in text: a column that grows word by word, and back.
//!
//! A file has few kinds of values; a tensor's type is the kind's widest unless the file says otherwise, and then every
//! value must fit. Floats are written with the fewest digits that give back the same bits. A NaN keeps neither sign nor
//! payload.

use std::io::Write;

use tj_tensor::{Complex, DType, Tensor, TensorError};

use super::{Line, unsigned};
use crate::IoError;

/// What the words of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There are none.
    Pattern,
    Signed,
    Unsigned,
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
}

/// Values of one kind.
pub(crate) enum Column {
    /// Their number.
    Pattern(usize),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Single(Vec<f32>),
    Double(Vec<f64>),
    ComplexSingle(Vec<Complex<f32>>),
    ComplexDouble(Vec<Complex<f64>>),
}

/// Runs an expression with the values bound to a name, whatever their kind; `$other` for a pattern.
macro_rules! with_values {
    ($column:expr, $values:ident => $body:expr, $n:ident => $other:expr) => {
        match $column {
            Column::Pattern($n) => $other,
            Column::Signed($values) => $body,
            Column::Unsigned($values) => $body,
            Column::Single($values) => $body,
            Column::Double($values) => $body,
            Column::ComplexSingle($values) => $body,
            Column::ComplexDouble($values) => $body,
        }
    };
}

/// How an entry on the other side of the diagonal follows from one on this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mirror {
    Same,
    Negated,
    Conjugated,
}

impl Kind {
    /// The kind that holds all values of a type, the narrowest that is exact.
    pub fn of(dtype: DType) -> Kind {
        match dtype {
            DType::Bool | DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::F16 | DType::BF16 | DType::F32 => Kind::Single,
            DType::F64 => Kind::Double,
            DType::C64 => Kind::ComplexSingle,
            DType::C128 => Kind::ComplexDouble,
        }
    }

    /// The number of words of a value.
    pub fn words(self) -> usize {
        match self {
            Kind::Pattern => 0,
            Kind::Signed | Kind::Unsigned | Kind::Single | Kind::Double => 1,
            Kind::ComplexSingle | Kind::ComplexDouble => 2,
        }
    }
}

impl Column {
    pub fn new(kind: Kind, room: usize) -> Column {
        match kind {
            Kind::Pattern => Column::Pattern(0),
            Kind::Signed => Column::Signed(Vec::with_capacity(room)),
            Kind::Unsigned => Column::Unsigned(Vec::with_capacity(room)),
            Kind::Single => Column::Single(Vec::with_capacity(room)),
            Kind::Double => Column::Double(Vec::with_capacity(room)),
            Kind::ComplexSingle => Column::ComplexSingle(Vec::with_capacity(room)),
            Kind::ComplexDouble => Column::ComplexDouble(Vec::with_capacity(room)),
        }
    }

    pub fn len(&self) -> usize {
        with_values!(self, values => values.len(), n => *n)
    }

    /// Takes a value off a line of some number of words.
    #[inline]
    pub fn push(&mut self, line: &mut Line<'_>, fields: usize) -> Result<(), IoError> {
        match self {
            Column::Pattern(n) => *n += 1,
            Column::Signed(values) => values.push(signed(line, fields)?),
            Column::Unsigned(values) => {
                let word = line.needed(fields)?;
                let value = unsigned(word).ok_or_else(|| line.wrong("an integer from 0 to 2^64 - 1"))?;
                values.push(value);
            }
            Column::Single(values) => values.push(float(line, fields)?),
            Column::Double(values) => values.push(float(line, fields)?),
            Column::ComplexSingle(values) => {
                let (re, im) = (float(line, fields)?, float(line, fields)?);
                values.push(Complex::new(re, im));
            }
            Column::ComplexDouble(values) => {
                let (re, im) = (float(line, fields)?, float(line, fields)?);
                values.push(Complex::new(re, im));
            }
        }
        Ok(())
    }

    /// Adds what the value at a place is on the other side of the diagonal. The negative of the least integer wraps, as all
    /// integers do.
    pub fn push_mirrored(&mut self, at: usize, mirror: Mirror) {
        match (self, mirror) {
            (Column::Pattern(n), _) => *n += 1,
            (Column::Signed(values), Mirror::Negated) => values.push(values[at].wrapping_neg()),
            (Column::Unsigned(values), Mirror::Negated) => values.push(values[at].wrapping_neg()),
            (Column::Single(values), Mirror::Negated) => values.push(-values[at]),
            (Column::Double(values), Mirror::Negated) => values.push(-values[at]),
            (Column::ComplexSingle(values), Mirror::Negated) => values.push(-values[at]),
            (Column::ComplexDouble(values), Mirror::Negated) => values.push(-values[at]),
            (Column::ComplexSingle(values), Mirror::Conjugated) => values.push(values[at].conj()),
            (Column::ComplexDouble(values), Mirror::Conjugated) => values.push(values[at].conj()),
            (column, Mirror::Same | Mirror::Conjugated) => {
                with_values!(column, values => values.push(values[at]), n => *n += 1);
            }
        }
    }

    /// Adds a zero.
    pub fn push_zero(&mut self) {
        with_values!(self, values => values.push(Default::default()), n => *n += 1);
    }

    /// Whether the value at a place can lie on the diagonal.
    pub fn fits_diagonal(&self, at: usize, mirror: Mirror) -> bool {
        match (self, mirror) {
            (_, Mirror::Same) | (Column::Pattern(_), _) => true,
            (Column::ComplexSingle(values), Mirror::Conjugated) => values[at].im == 0.0,
            (Column::ComplexDouble(values), Mirror::Conjugated) => values[at].im == 0.0,
            (_, Mirror::Conjugated) => true,
            (column, Mirror::Negated) => {
                with_values!(column, values => is_zero(values[at]), n => *n == 0)
            }
        }
    }

    /// The column with the values in another order.
    pub fn gathered(self, places: &[usize]) -> Column {
        macro_rules! gather {
            ($kind:ident, $values:ident) => {
                Column::$kind(places.iter().map(|&at| $values[at]).collect())
            };
        }
        match self {
            Column::Pattern(_) => Column::Pattern(places.len()),
            Column::Signed(values) => gather!(Signed, values),
            Column::Unsigned(values) => gather!(Unsigned, values),
            Column::Single(values) => gather!(Single, values),
            Column::Double(values) => gather!(Double, values),
            Column::ComplexSingle(values) => gather!(ComplexSingle, values),
            Column::ComplexDouble(values) => gather!(ComplexDouble, values),
        }
    }

    /// A vector of a type; the place of the first value that it does not have, if there is one.
    pub fn into_tensor(self, dtype: DType) -> Result<Result<Tensor, usize>, TensorError> {
        let wide = with_values!(self, values => Tensor::from(values), n => Tensor::full([n], true)?);
        let narrow = wide.cast(dtype)?;
        let back = narrow.cast(wide.dtype())?;
        if back.bit_eq(&wide) {
            return Ok(Ok(narrow));
        }
        let n = wide.shape()[0];
        let differs = |at: &usize| match (wide.get(&[*at]), back.get(&[*at])) {
            (Ok(a), Ok(b)) => a != b && !a.to_f64().is_nan(),
            _ => true,
        };
        Ok(Err((0..n).find(differs).unwrap_or(0)))
    }

    /// The values of a vector, for writing.
    pub fn of(values: &Tensor) -> Result<Column, TensorError> {
        Ok(match Kind::of(values.dtype()) {
            Kind::Pattern => Column::Pattern(values.count()?),
            Kind::Signed => Column::Signed(values.cast(DType::I64)?.to_vec()?),
            Kind::Unsigned => Column::Unsigned(values.cast(DType::U64)?.to_vec()?),
            Kind::Single => Column::Single(values.cast(DType::F32)?.to_vec()?),
            Kind::Double => Column::Double(values.to_vec()?),
            Kind::ComplexSingle => Column::ComplexSingle(values.to_vec()?),
            Kind::ComplexDouble => Column::ComplexDouble(values.to_vec()?),
        })
    }

    /// Writes one value.
    pub fn write(&self, to: &mut dyn Write, at: usize) -> std::io::Result<()> {
        match self {
            Column::Pattern(_) => Ok(()),
            Column::Signed(values) => write!(to, "{}", values[at]),
            Column::Unsigned(values) => write!(to, "{}", values[at]),
            Column::Single(values) => write_single(to, values[at]),
            Column::Double(values) => write_double(to, values[at]),
            Column::ComplexSingle(values) => {
                write_single(to, values[at].re)?;
                to.write_all(b" ")?;
                write_single(to, values[at].im)
            }
            Column::ComplexDouble(values) => {
                write_double(to, values[at].re)?;
                to.write_all(b" ")?;
                write_double(to, values[at].im)
            }
        }
    }
}

fn is_zero<T: Default + PartialEq>(x: T) -> bool {
    x == T::default()
}

fn write_single(to: &mut dyn Write, x: f32) -> std::io::Result<()> {
    if x.is_nan() { to.write_all(b"nan") } else { write!(to, "{x:?}") }
}

fn write_double(to: &mut dyn Write, x: f64) -> std::io::Result<()> {
    if x.is_nan() { to.write_all(b"nan") } else { write!(to, "{x:?}") }
}

#[inline]
fn signed(line: &mut Line<'_>, fields: usize) -> Result<i64, IoError> {
    let word = line.needed(fields)?;
    let value = match word.split_first() {
        Some((b'-', digits)) if digits.first() != Some(&b'+') => {
            unsigned(digits).and_then(|magnitude| 0i64.checked_sub_unsigned(magnitude))
        }
        _ => unsigned(word).and_then(|value| i64::try_from(value).ok()),
    };
    value.ok_or_else(|| line.wrong("an integer from -2^63 to 2^63 - 1"))
}

#[inline]
fn float<T: std::str::FromStr>(line: &mut Line<'_>, fields: usize) -> Result<T, IoError> {
    let word = line.needed(fields)?;
    let value = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    value.ok_or_else(|| line.wrong("a number"))
}
