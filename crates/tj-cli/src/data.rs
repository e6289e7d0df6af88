//! Data of inputs: files, numbers, and data that is made.
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever is not of the wanted kind is treated alike")]

use std::collections::BTreeMap;

use tensorjit::{DType, Dim, LazyTensor, Scalar, Symbol, Tensor, io};

use crate::commands::Failure;
use crate::values::{Extent, InputData, Made, Number};

/// A tensor for an input. `declared` is the input if the program declares it; `sizes` are values of size symbols.
pub fn load(
    name: &str,
    data: &InputData,
    declared: Option<&LazyTensor>,
    sizes: &BTreeMap<String, i64>,
) -> Result<Tensor, Failure> {
    match data {
        InputData::File(path) => Ok(io::read(path)?),
        InputData::Number(number) => {
            let dtype = declared.map(LazyTensor::dtype);
            let value = match number {
                Number::Bool(b) => Scalar::Bool(*b),
                Number::Float(x) => Scalar::F64(*x),
                Number::Int(n) => match (i64::try_from(*n), u64::try_from(*n)) {
                    (Ok(n), _) => Scalar::I64(n),
                    (_, Ok(n)) => Scalar::U64(n),
                    _ => return Err(Failure::wrong(format!("input {name}: {n} does not fit in 64 bits"))),
                },
            };
            Ok(Tensor::scalar(dtype.map_or(value, |dtype| value.cast(dtype))))
        }
        InputData::Random { seed, made } => {
            let (dtype, shape) = made_type(name, made.as_ref(), declared, sizes)?;
            make(dtype, &shape, Some(*seed))
        }
        InputData::Ones { made } => {
            let (dtype, shape) = made_type(name, made.as_ref(), declared, sizes)?;
            make(dtype, &shape, None)
        }
    }
}

fn made_type(
    name: &str,
    made: Option<&Made>,
    declared: Option<&LazyTensor>,
    sizes: &BTreeMap<String, i64>,
) -> Result<(DType, Vec<usize>), Failure> {
    let extent = |value: i64| {
        usize::try_from(value).map_err(|_| Failure::wrong(format!("input {name}: an axis has size {value}")))
    };
    let known = |size: &str| {
        let missing =
            || Failure::wrong(format!("input {name} needs the size {size}; give it by --dim {size}=7"));
        sizes.get(size).copied().ok_or_else(missing)
    };
    if let Some(made) = made {
        let dtype = made.dtype.parse();
        let dtype =
            dtype.map_err(|_| Failure::wrong(format!("input {name}: `{}` is not a dtype", made.dtype)))?;
        let axis = |e: &Extent| match e {
            Extent::Size(n) => {
                usize::try_from(*n).map_err(|_| Failure::wrong(format!("size {n} is too large")))
            }
            Extent::Name(size) => extent(known(size)?),
        };
        return Ok((dtype, made.shape.iter().map(axis).collect::<Result<_, _>>()?));
    }
    let Some(declared) = declared else {
        let message = format!("input {name} is not declared, so say what to make: {name}=ones:f32:3,4");
        return Err(Failure::wrong(message));
    };
    let axis = |dim: &Dim| {
        for symbol in dim.symbols() {
            known(&symbol.to_string())?;
        }
        let value = dim.eval(&|symbol: &Symbol| sizes.get(&symbol.to_string()).copied());
        extent(value.map_err(|e| Failure::wrong(e.to_string()))?)
    };
    Ok((declared.dtype(), declared.shape().iter().map(axis).collect::<Result<_, _>>()?))
}

/// Ones, or values from a seed: floats in -1..1, integers in -10..=10, truth values.
fn make(dtype: DType, shape: &[usize], seed: Option<u64>) -> Result<Tensor, Failure> {
    let Some(seed) = seed else { return Ok(Tensor::full(shape, Scalar::one(dtype))?) };
    let count = Tensor::zeros(DType::Bool, shape)?.count()?;
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1) | 1;
    let mut values: Vec<f64> = Vec::with_capacity(count);
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
        values.push(match dtype {
            _ if dtype.is_bool() => f64::from(u8::from(unit < 0.5)),
            _ if dtype.is_int() && dtype.is_signed() => (unit * 21.0).floor() - 10.0,
            _ if dtype.is_int() => (unit * 11.0).floor(),
            _ => unit * 2.0 - 1.0,
        });
    }
    Ok(Tensor::from_shape_vec(shape, values)?.cast(dtype)?)
}
