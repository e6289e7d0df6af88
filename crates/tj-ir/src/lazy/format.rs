//! How inputs and results are stored.
//!
//! [`LazyTensor::with_format`] never changes a value. On an input it declares how the argument is stored, so that kernels
//! which walk it are compiled before there is any; on anything else it says how the result is stored where the expression
//! is one. What is stored by levels has a fill, and fills belong to expressions: an expression without one gets 0, as a
//! tensor does. In the middle of a program nothing else follows from a format, which is then not looked at.
//! [`LazyTensor::to_dense`] is the opposite: the values alone, without a fill.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tj_tensor::{Format, Scalar};

use super::create::built;
use super::movement::Attempt;
use super::{Kind, LazyTensor};
use crate::error::Cause;

/// How an input is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// Its format, if it is stored by levels.
    pub format: Option<Arc<Format>>,
    /// Its fill, if it has one.
    pub fill: Option<Scalar>,
}

/// ` csr fill 0`; nothing for a dense tensor without a fill.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format.iter().try_for_each(|format| write!(f, " {format}"))?;
        self.fill.iter().try_for_each(|fill| write!(f, " fill {fill}"))
    }
}

/// Whether a tensor that is to be stored otherwise has the fill of its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFill {
    /// It has, or 0 if it is stored by levels.
    Kept,
    /// It has none.
    Dropped,
}

impl LazyTensor {
    /// The same values, stored in a format.
    ///
    /// An [`input`](super::input) is declared like this: arguments come in this format, or are converted to it, and have
    /// the fill 0 unless [`LazyTensor::with_fill`] says otherwise. Widths that the format leaves open are `u32`.
    /// Where any other expression is a result of a program, the tensor that is returned has this format; its fill is that
    /// of the expression, or 0 if that has none. In the middle of a program only the fill matters.
    ///
    /// ```
    /// use tj_ir::{defer, input, Dim};
    /// use tj_tensor::{DType, Format, Scalar, Tensor};
    ///
    /// let n = Dim::new("N", ..)?;
    /// let a = input("A", DType::F64, [n.clone(), n])?.with_format(&Format::csr());
    /// assert_eq!((a.fill(), a.format()), (Some(Scalar::F64(0.0)), Some(&Format::csr())));
    /// let x = defer(&Tensor::full([2, 3], 1.0)?).with_format(&Format::coo(2));
    /// assert_eq!(x.fill(), Some(Scalar::F64(0.0)));
    /// assert!(a.with_format(&Format::csf(3)).check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn with_format(&self, format: &Format) -> LazyTensor {
        let location = Location::caller();
        built(location, || in_format(self, format, location))
    }

    /// The same values without a fill: a result that is dense although its expression says that most of it is one value. In the
    /// middle of a program it decides nothing, as any dense tensor: `a.to_dense() * inf` is NaN where `a` is 0.
    ///
    /// ```
    /// use tj_ir::defer;
    /// use tj_tensor::{Format, Scalar, Tensor};
    ///
    /// let a = Tensor::from_shape_vec([2, 2], vec![0.0, 2.0, 0.0, 0.0])?.with_format(&Format::csr())?;
    /// let twice = defer(&a) * 2.0;
    /// assert_eq!(twice.fill(), Some(Scalar::F64(0.0)));
    /// assert_eq!((twice.to_dense().fill(), twice.to_dense().format()), (None, Some(&Format::dense(2))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn to_dense(&self) -> LazyTensor {
        if self.check().is_err() || self.rank() == 0 {
            return self.clone();
        }
        let format = Arc::new(Format::dense(self.rank()));
        let kind = Kind::Format { arg: self.clone(), format, fill: OwnFill::Dropped };
        LazyTensor::node(kind, self.0.shape.clone(), self.dtype(), Location::caller())
    }

    /// An input with this fill: the value of what an argument does not store, which has to be that of the argument.
    ///
    /// ```
    /// use tj_ir::input;
    /// use tj_tensor::{DType, Format, Scalar};
    ///
    /// let mask = input("mask", DType::Bool, [10.into()])?.with_format(&"{d0: compressed}".parse()?);
    /// assert_eq!(mask.with_fill(true).fill(), Some(Scalar::Bool(true)));
    /// assert!((!mask).with_fill(true).check().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Anything that is not an input, since its fill follows from those; a value that the dtype does not have.
    #[track_caller]
    pub fn with_fill(&self, fill: impl Into<Scalar>) -> LazyTensor {
        let (fill, location) = (fill.into(), Location::caller());
        built(location, || filled(self, fill, location))
    }

    /// The format that was asked for by [`LazyTensor::with_format`] or [`LazyTensor::to_dense`], if this is what it returned.
    pub fn format(&self) -> Option<&Format> {
        match &self.0.kind {
            Kind::Format { format, .. } => Some(format),
            Kind::Input { storage, .. } => storage.format.as_deref(),
            Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Map { .. }
            | Kind::Move { .. }
            | Kind::Reduce { .. }
            | Kind::Parts { .. }
            | Kind::Matmul { .. }
            | Kind::Call { .. }
            | Kind::Select { .. }
            | Kind::Failed(_) => None,
        }
    }
}

fn in_format(tensor: &LazyTensor, format: &Format, location: &'static Location<'static>) -> Attempt {
    if tensor.check().is_err() {
        return Ok(tensor.clone());
    }
    if format.rank() != tensor.rank() {
        let problem = format!("{format} has {} dimensions, the tensor {}", format.rank(), tensor.rank());
        return Err(Cause::Argument { op: "with_format", problem });
    }
    let (shape, dtype) = (tensor.0.shape.clone(), tensor.dtype());
    let format = Arc::new(format.clone());
    let Kind::Input { name, storage } = &tensor.0.kind else {
        let kind = Kind::Format { arg: tensor.clone(), format, fill: OwnFill::Kept };
        return Ok(LazyTensor::node(kind, shape, dtype, location));
    };
    let storage = match format.is_strided() {
        true => Storage { format: None, ..storage.clone() },
        false => Storage { format: Some(format), fill: storage.fill.or_else(|| Some(Scalar::zero(dtype))) },
    };
    Ok(declared(tensor, name, storage, location))
}

fn filled(tensor: &LazyTensor, fill: Scalar, location: &'static Location<'static>) -> Attempt {
    if tensor.check().is_err() {
        return Ok(tensor.clone());
    }
    let wrong = |problem: String| Err(Cause::Argument { op: "with_fill", problem });
    let Kind::Input { name, storage } = &tensor.0.kind else {
        return wrong(format!("{} is no input, so that its fill follows from those", tensor.0.word()));
    };
    if tensor.rank() == 0 {
        return wrong(format!("input {name} is a number, which has no fill"));
    }
    let dtype = tensor.dtype();
    let cast = fill.cast(dtype);
    // A float of more digits is rounded, as numbers of the host are; everything else has to be the same number.
    let is_rounded = dtype.is_float() && fill.dtype().is_float();
    let back = cast.cast(fill.dtype());
    if !is_rounded && back.bits() != fill.bits() {
        return wrong(format!("{fill} is no value of {dtype}"));
    }
    let storage = Storage { fill: Some(cast), ..storage.clone() };
    Ok(declared(tensor, name, storage, location))
}

/// The input, stored otherwise.
fn declared(
    tensor: &LazyTensor,
    name: &Arc<str>,
    storage: Storage,
    location: &'static Location<'static>,
) -> LazyTensor {
    let kind = Kind::Input { name: name.clone(), storage };
    let mut other = LazyTensor::node(kind, tensor.0.shape.clone(), tensor.dtype(), location);
    super::elementwise::attach(&mut other, tensor.0.guards.to_vec());
    other
}
