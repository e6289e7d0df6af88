//! Data of inputs: files, numbers, and data that is made.
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever is not of the wanted kind is treated alike")]

use std::collections::BTreeMap;
use std::path::Path;

use tensorjit::{DType, Dim, Error, LazyTensor, Scalar, Symbol, Tensor, io};

use crate::commands::Failure;
use crate::progress::Progress;
use crate::values::{Extent, InputData, Made, MaxBytes, Number};

/// Reads and makes the inputs of one run, within its budget.
pub struct Data<'s> {
    /// Values of size symbols.
    sizes: &'s BTreeMap<String, i64>,
    /// How many bytes may be made; `None` without a limit that is known before the run.
    allowed: Option<u64>,
    /// How many bytes were made.
    made: u64,
}

impl<'s> Data<'s> {
    /// Nothing made yet.
    pub fn new(sizes: &'s BTreeMap<String, i64>, max: MaxBytes) -> Data<'s> {
        let allowed = match max {
            MaxBytes::Bytes(bytes) => Some(bytes),
            MaxBytes::Auto | MaxBytes::Unlimited => None,
        };
        Data { sizes, allowed, made: 0 }
    }

    /// A tensor for an input. `declared` is the input if the program declares it.
    pub fn load(
        &mut self,
        name: &str,
        data: &InputData,
        declared: Option<&LazyTensor>,
    ) -> Result<Tensor, Failure> {
        match data {
            InputData::File(path) => read(name, path),
            InputData::Number(number) => {
                let value = scalar(name, *number, declared.map(LazyTensor::dtype))?;
                Ok(Tensor::scalar(value))
            }
            InputData::Random { made, .. } | InputData::Ones { made } => {
                let (dtype, shape) = made_type(name, made.as_ref(), declared, self.sizes)?;
                self.take(dtype, &shape)?;
                let seed = match data {
                    InputData::Random { seed, .. } => Some(*seed),
                    _ => None,
                };
                make(dtype, &shape, seed)
            }
        }
    }

    /// Counts the bytes of data before they are made.
    fn take(&mut self, dtype: DType, shape: &[usize]) -> Result<(), Failure> {
        let count = shape.iter().fold(1_u64, |count, &extent| count.saturating_mul(extent as u64));
        let count = if shape.contains(&0) { 0 } else { count };
        self.made = self.made.saturating_add(count.saturating_mul(dtype.size() as u64));
        match self.allowed {
            Some(allowed) if self.made > allowed => Err(Error::Budget { needed: self.made, allowed }.into()),
            Some(_) | None => Ok(()),
        }
    }
}

/// Reads the data of an input: a file with one array, or `FILE:NAME` for one of several.
fn read(name: &str, path: &Path) -> Result<Tensor, Failure> {
    if let Some((archive, array)) = part_of_archive(path) {
        return read_array(archive, array);
    }
    let progress = Progress::new(None);
    io::read_any_observed(path, &mut reading(&progress, path)).map_err(|error| match &error {
        io::IoError::NotOne { names, .. } if !names.is_empty() => {
            let (path, first) = (path.display(), &names[0]);
            Failure::wrong(format!("{error}; choose one, as in {name}={path}:{first}"))
        }
        _ => error.into(),
    })
}

/// The archive and the name in `FILE:NAME`, unless there is a file that is called so.
fn part_of_archive(path: &Path) -> Option<(&Path, &str)> {
    let (archive, array) = path.to_str()?.rsplit_once(':')?;
    let archive = Path::new(archive);
    (!path.exists() && io::is_archive(archive).is_ok_and(|is| is)).then_some((archive, array))
}

/// One array of an archive.
fn read_array(archive: &Path, array: &str) -> Result<Tensor, Failure> {
    let progress = Progress::new(None);
    let mut arrays = match io::read_all_observed(archive, &mut reading(&progress, archive))? {
        io::Contents::Named(arrays) => arrays,
        io::Contents::One(_) => {
            let archive = archive.display();
            return Err(Failure::wrong(format!(
                "{archive} holds one array, without a name: leave out :{array}"
            )));
        }
    };
    arrays.swap_remove(array).ok_or_else(|| {
        let names: Vec<&str> = arrays.keys().map(String::as_str).collect();
        let (archive, names) = (archive.display(), names.join(", "));
        Failure::wrong(format!("{archive} has no array {array}; its arrays are {names}"))
    })
}

/// Shows how much of a file has been read.
pub fn reading<'a>(progress: &'a Progress, path: &'a Path) -> impl FnMut(u64, u64) + 'a {
    let mut shown = None;
    move |done, len| {
        let percent = done.saturating_mul(100) / len.max(1);
        if shown != Some(percent) {
            shown = Some(percent);
            progress.say(format!("reading {}: {percent}%", path.display()));
        }
    }
}

/// A number as a dtype; integers and truth values must have it exactly.
fn scalar(name: &str, number: Number, dtype: Option<DType>) -> Result<Scalar, Failure> {
    let integer = match number {
        Number::Bool(b) => Some(i128::from(b)),
        Number::Int(n) => Some(n),
        Number::Float(x) if x.is_finite() && x.fract() == 0.0 => Some(x as i128),
        Number::Float(_) => None,
    };
    if let Some(dtype) = dtype.filter(|dtype| dtype.is_bool() || dtype.is_int()) {
        let (low, high) = range(dtype);
        if !integer.is_some_and(|n| (low..=high).contains(&n)) {
            let shown = match number {
                Number::Bool(b) => b.to_string(),
                Number::Int(n) => n.to_string(),
                Number::Float(x) => x.to_string(),
            };
            let allowed = if dtype.is_bool() {
                "True, False, 0 or 1".to_string()
            } else {
                format!("an integer from {low} to {high}")
            };
            return Err(Failure::wrong(format!("input {name}: {shown} is not {dtype}, which is {allowed}")));
        }
    }
    let value = match (number, integer) {
        (Number::Bool(b), _) => Scalar::Bool(b),
        (Number::Float(x), _) if !dtype.is_some_and(DType::is_int) => Scalar::F64(x),
        (Number::Float(x), None) => Scalar::F64(x),
        (Number::Int(n), _) | (Number::Float(_), Some(n)) => match (i64::try_from(n), u64::try_from(n)) {
            (Ok(n), _) => Scalar::I64(n),
            (_, Ok(n)) => Scalar::U64(n),
            _ => return Err(Failure::wrong(format!("input {name}: {n} does not fit in 64 bits"))),
        },
    };
    Ok(dtype.map_or(value, |dtype| value.cast(dtype)))
}

/// Least and greatest value of an integer type or truth value.
fn range(dtype: DType) -> (i128, i128) {
    let bits = 8 * dtype.size() as u32;
    match dtype {
        _ if dtype.is_bool() => (0, 1),
        _ if dtype.is_signed() => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
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
    let mut values: Vec<f64> = Vec::new();
    let refused = |e| Failure::wrong(format!("{count} random numbers do not fit in memory: {e}"));
    values.try_reserve_exact(count).map_err(refused)?;
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
