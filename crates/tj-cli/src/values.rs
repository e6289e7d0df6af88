//! The values of arguments: which program, where an input comes from, where an output goes.
//!
//! Each type reads itself from one argument, so that a malformed one is a usage error with the argument named.

use crate::ast::{Expr, StmtKind, UnaryOp};
use crate::bytes::parse_bytes;
use crate::parse::{RESERVED, parse_expression};
use crate::syntax::SyntaxErrorKind;
use std::path::PathBuf;
use std::str::FromStr;

/// What is wrong with an argument's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a byte count.
    #[error("`{0}` is not a number of bytes; write `1048576`, `512MB` or `2GiB`")]
    Bytes(String),
    /// A byte count above 2^64 - 1.
    #[error("`{0}` is more bytes than 64 bits count")]
    BytesTooLarge(String),
    /// No `=` where a name and a value are needed.
    #[error("`{0}` is not of the form NAME=VALUE")]
    NoName(String),
    /// Not a name a program can use.
    #[error("`{0}` cannot name anything in a program")]
    Name(String),
    /// Nothing after the `=`.
    #[error("`{0}` has no value")]
    Empty(String),
    /// A number outside 64 bits.
    #[error("the integer {0} does not fit in 64 bits")]
    IntegerTooLarge(String),
    /// Not a size.
    #[error("`{0}` is not a size; a size is an integer from 0")]
    Size(String),
    /// Not a recipe for data.
    #[error("`{0}` makes no data; write `rand:SEED`, `rand:SEED:DTYPE:SHAPE`, `ones` or `ones:DTYPE:SHAPE`")]
    Recipe(String),
}

/// The program to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An argument that ends in `.tj`.
    File(PathBuf),
    /// Any other.
    Expression(String),
}

impl FromStr for Source {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Source, ValueError> {
        Ok(if text.ends_with(".tj") {
            Source::File(text.into())
        } else {
            Source::Expression(text.to_owned())
        })
    }
}

/// `name=VALUE`: an input of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The input.
    pub name: String,
    /// Where its data comes from.
    pub data: InputData,
}

/// Where the data of an input comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum InputData {
    /// A file, or `FILE:NAME` for an array of an archive; `./7` where the name would read as something else.
    File(PathBuf),
    /// A scalar.
    Number(Number),
    /// `rand:SEED[:DTYPE:SHAPE]`
    Random {
        /// The seed.
        seed: u64,
        /// The type, where the program does not declare it.
        made: Option<Made>,
    },
    /// `ones[:DTYPE:SHAPE]`
    Ones {
        /// The type, where the program does not declare it.
        made: Option<Made>,
    },
}

/// A scalar of the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// `True`
    Bool(bool),
    /// From -2^63 to 2^64 - 1.
    Int(i128),
    /// `-0.5`, `inf`
    Float(f64),
}

/// The type of data that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The element type, not checked.
    pub dtype: String,
    /// Sizes between commas; nothing for a scalar.
    pub shape: Vec<Extent>,
}

/// The size of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// `7`
    Size(u64),
    /// `N`, given elsewhere.
    Name(String),
}

impl FromStr for Input {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Input, ValueError> {
        let (name, value) = named(text)?;
        let data = match value.split_once(':') {
            _ if value == "ones" => InputData::Ones { made: None },
            Some(("ones", made)) => {
                InputData::Ones { made: Some(parse_made(made).ok_or(ValueError::Recipe(value.to_owned()))?) }
            }
            Some(("rand", recipe)) => {
                parse_random(recipe).ok_or_else(|| ValueError::Recipe(value.to_owned()))?
            }
            _ => match parse_number(value)? {
                Some(number) => InputData::Number(number),
                None => InputData::File(value.into()),
            },
        };
        Ok(Input { name, data })
    }
}

fn parse_random(recipe: &str) -> Option<InputData> {
    let (seed, made) = match recipe.split_once(':') {
        Some((seed, made)) => (seed, Some(parse_made(made)?)),
        None => (recipe, None),
    };
    Some(InputData::Random { seed: parse_u64(seed)?, made })
}

/// `DTYPE:SHAPE`, where SHAPE is empty or sizes and names with commas between.
fn parse_made(text: &str) -> Option<Made> {
    let (dtype, shape) = text.split_once(':')?;
    let extent = |text: &str| {
        parse_u64(text)
            .map(Extent::Size)
            .or_else(|| parse_name(text).ok().map(|name| Extent::Name(name.to_owned())))
    };
    let shape = if shape.is_empty() { Some(vec![]) } else { shape.split(',').map(extent).collect() };
    Some(Made { dtype: parse_name(dtype).ok()?.to_owned(), shape: shape? })
}

/// A literal of the language with any signs before it, or nothing if the text is something else.
fn parse_number(text: &str) -> Result<Option<Number>, ValueError> {
    let program = match parse_expression(text) {
        Ok(program) => program,
        Err(errors) => {
            return if let SyntaxErrorKind::IntegerTooLarge(digits) = &errors[0].kind {
                Err(ValueError::IntegerTooLarge(digits.clone()))
            } else {
                Ok(None)
            };
        }
    };
    let [crate::Stmt { kind: StmtKind::Result { .. }, .. }] = program.stmts[..] else { return Ok(None) };
    let mut number = None;
    for (_, expr) in program.exprs() {
        // Children come first, so a sign finds its number, and anything else that follows one is no literal.
        number = match (number, expr) {
            (None, Expr::Int(value)) => Some(Number::Int(i128::from(*value))),
            (None, Expr::Float(value)) => Some(Number::Float(*value)),
            (None, Expr::Bool(value)) => Some(Number::Bool(*value)),
            (Some(Number::Int(value)), Expr::Unary { op: UnaryOp::Neg, .. }) => Some(Number::Int(-value)),
            (Some(Number::Float(value)), Expr::Unary { op: UnaryOp::Neg, .. }) => Some(Number::Float(-value)),
            (Some(number @ (Number::Int(_) | Number::Float(_))), Expr::Unary { op: UnaryOp::Pos, .. }) => {
                Some(number)
            }
            _ => return Ok(None),
        };
    }
    match number {
        Some(Number::Int(value)) if value < i128::from(i64::MIN) => {
            Err(ValueError::IntegerTooLarge(value.to_string()))
        }
        number => Ok(number),
    }
}

/// `FILE` or `NAME=FILE`: where an output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// The output; may be left out when there is one.
    pub name: Option<String>,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for OutputFile {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<OutputFile, ValueError> {
        // A directory may hold a `=`, a name cannot.
        match named(text) {
            Ok((name, path)) => Ok(OutputFile { name: Some(name), path: path.into() }),
            Err(ValueError::NoName(_) | ValueError::Name(_)) if !text.is_empty() => {
                Ok(OutputFile { name: None, path: text.into() })
            }
            Err(ValueError::NoName(_)) => Err(ValueError::Empty(text.to_owned())),
            Err(error) => Err(error),
        }
    }
}

/// `N=7`: the value of a size no input determines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimValue {
    /// The size.
    pub name: String,
    /// Its value.
    pub value: u64,
}

impl FromStr for DimValue {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<DimValue, ValueError> {
        let (name, value) = named(text)?;
        Ok(DimValue { name, value: parse_size(value)? })
    }
}

/// `N=0,1,2,7`: the values a size takes, one run each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The size.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<u64>,
}

impl FromStr for Sweep {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Sweep, ValueError> {
        let (name, values) = named(text)?;
        Ok(Sweep { name, values: values.split(',').map(parse_size).collect::<Result<_, _>>()? })
    }
}

/// How many bytes a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxBytes {
    /// `auto`: a part of what the machine has free.
    Auto,
    /// A count.
    Bytes(u64),
    /// `unlimited`
    Unlimited,
}

impl FromStr for MaxBytes {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<MaxBytes, ValueError> {
        match text {
            "auto" => Ok(MaxBytes::Auto),
            "unlimited" => Ok(MaxBytes::Unlimited),
            _ => parse_bytes(text).map(MaxBytes::Bytes),
        }
    }
}

fn named(text: &str) -> Result<(String, &str), ValueError> {
    let (name, value) = text.split_once('=').ok_or_else(|| ValueError::NoName(text.to_owned()))?;
    let name = parse_name(name)?.to_owned();
    if value.is_empty() { Err(ValueError::Empty(name)) } else { Ok((name, value)) }
}

fn parse_name(text: &str) -> Result<&str, ValueError> {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let continues = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if starts && continues && !RESERVED.contains(&text) {
        Ok(text)
    } else {
        Err(ValueError::Name(text.to_owned()))
    }
}

fn parse_size(text: &str) -> Result<u64, ValueError> {
    parse_u64(text).ok_or_else(|| ValueError::Size(text.to_owned()))
}

/// Digits only; `u64::from_str` takes a `+` as well.
fn parse_u64(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
