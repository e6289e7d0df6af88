//! Scalar operators over whole tensors: promotion, broadcasting, weak host numbers.

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::{Complex, DType, Scalar};

use super::{Kind, LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::{Cause, IrError};
use crate::expr::Indices;
use crate::guard::{Condition, Guard};
use crate::op::Op;

/// An argument of an operator: a tensor, or a host number whose dtype gives way to the tensor's.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A tensor.
    Tensor(LazyTensor),
    /// A host integer.
    Int(i64),
    /// A host float.
    Float(f64),
    /// A host truth value.
    Bool(bool),
    /// A host complex number.
    Complex(Complex<f64>),
}

macro_rules! operand {
    ($($from:ty => |$x:ident| $to:expr),* $(,)?) => {
        $(impl From<$from> for Operand {
            fn from($x: $from) -> Operand {
                $to
            }
        })*
    };
}

operand! {
    LazyTensor => |x| Operand::Tensor(x),
    &LazyTensor => |x| Operand::Tensor(x.clone()),
    &&LazyTensor => |x| Operand::Tensor((*x).clone()),
    &Operand => |x| x.clone(),
    i32 => |x| Operand::Int(x.into()),
    i64 => |x| Operand::Int(x),
    f32 => |x| Operand::Float(x.into()),
    f64 => |x| Operand::Float(x),
    bool => |x| Operand::Bool(x),
    Complex<f64> => |x| Operand::Complex(x),
}

/// An operator on arguments of any dtype and shape.
pub(crate) fn map(
    op: Op,
    args: impl IntoIterator<Item = Operand>,
    location: &'static Location<'static>,
) -> LazyTensor {
    let args: SmallVec<[Operand; 3]> = args.into_iter().collect();
    match try_map(op, &args, location) {
        Ok(tensor) => tensor,
        Err(error) => LazyTensor::failed(error),
    }
}

fn try_map(op: Op, args: &[Operand], location: &'static Location<'static>) -> Result<LazyTensor, IrError> {
    let fail = |cause| IrError::new(cause, location);
    let info = op.info();
    let name = info.name;
    for arg in args {
        if let Operand::Tensor(t) = arg {
            t.check()?;
        }
    }
    if op == Op::Filled {
        let problem = "is what programs say of themselves".to_string();
        return Err(fail(Cause::Argument { op: name, problem }));
    }
    if args.len() != info.arity {
        let problem = format!("takes {} arguments, got {}", info.arity, args.len());
        return Err(fail(Cause::Argument { op: name, problem }));
    }
    // Host numbers take part with the dtype they have after meeting the tensors.
    let combined = if op == Op::Where { &args[1..] } else { args };
    let tensors = combined.iter().filter_map(|arg| match arg {
        Operand::Tensor(t) => Some(t.dtype()),
        Operand::Int(_) | Operand::Float(_) | Operand::Bool(_) | Operand::Complex(_) => None,
    });
    let strong = tensors.reduce(DType::promote);
    let dtypes: SmallVec<[DType; 3]> = args.iter().map(|arg| operand_dtype(arg, strong)).collect();
    let (work, result) = op
        .dtypes_by(info.dtypes, &dtypes)
        .ok_or_else(|| fail(Cause::DTypes { op: name, dtypes: dtypes.to_vec() }))?;

    let mut ready: SmallVec<[LazyTensor; 3]> = SmallVec::new();
    for (position, arg) in args.iter().enumerate() {
        ready.push(as_tensor(arg, op.arg_dtype(position, work), name, location)?);
    }
    let mut guards = Vec::new();
    let mut shape = ready.iter().map(LazyTensor::shape).max_by_key(|shape| shape.len()).unwrap_or(&[]);
    let broadcasted: Shape;
    if ready.iter().any(|arg| arg.rank() > 0 && arg.shape() != shape) {
        let mut joined = Shape::new();
        for arg in &ready {
            joined = broadcast(name, &joined, arg.shape(), &mut guards, location).map_err(fail)?;
        }
        broadcasted = joined;
        shape = &broadcasted;
    }
    let shape: Shape = shape.iter().cloned().collect();
    if let (Op::Cast(to), [arg]) = (op, ready.as_slice())
        && arg.dtype() == to
    {
        return Ok(arg.clone());
    }
    let mut tensor = LazyTensor::node(Kind::Map { op, args: ready }, shape, result, location);
    attach(&mut tensor, guards);
    Ok(tensor)
}

/// Puts guards into a node that nobody else holds yet. A guard whose sizes are there already is looked at now: if it
/// does not hold, the node carries that; if it does, nothing is left to check, since whoever builds the same program
/// on other data comes by here again.
pub(super) fn attach(tensor: &mut LazyTensor, mut guards: Vec<Guard>) {
    if guards.is_empty() || tensor.check().is_err() {
        return;
    }
    if let Some(broken) = guards.iter().find(|guard| guard.condition.holds_now() == Some(false)) {
        let cause = Cause::Unmet { condition: broken.condition.to_string(), reason: broken.reason.clone() };
        *tensor = LazyTensor::failed(IrError::new(cause, broken.location));
        return;
    }
    guards.retain(|guard| guard.condition.holds_now().is_none());
    std::sync::Arc::get_mut(&mut tensor.0).expect("a node that was just made is not shared").guards =
        guards.into();
}

/// The dtype of a host number next to tensors of dtype `strong`.
pub(super) fn operand_dtype(arg: &Operand, strong: Option<DType>) -> DType {
    match (arg, strong) {
        (Operand::Tensor(t), _) => t.dtype(),
        (Operand::Bool(_), Some(s)) => s,
        (Operand::Bool(_), None) => DType::Bool,
        (Operand::Int(_), Some(s)) if !s.is_bool() => s,
        (Operand::Int(_), _) => DType::I64,
        (Operand::Float(_), Some(s)) if s.is_float() || s.is_complex() => s,
        (Operand::Float(_), _) => DType::F64,
        (Operand::Complex(_), Some(s)) => s.complex(),
        (Operand::Complex(_), None) => DType::C128,
    }
}

pub(super) fn as_tensor(
    arg: &Operand,
    to: DType,
    op: &'static str,
    location: &'static Location<'static>,
) -> Result<LazyTensor, IrError> {
    let constant = |c: Scalar| LazyTensor::node(Kind::Const(c), Shape::new(), c.dtype(), location);
    Ok(match *arg {
        Operand::Tensor(ref t) if t.dtype() == to => t.clone(),
        Operand::Tensor(ref t) => {
            let args = SmallVec::from_iter([t.clone()]);
            LazyTensor::node(Kind::Map { op: Op::Cast(to), args }, t.0.shape.clone(), to, location)
        }
        Operand::Bool(b) => constant(Scalar::Bool(b).cast(to)),
        Operand::Int(i) => {
            let c = Scalar::I64(i).cast(to);
            // A float may round; an integer dtype must hold the number.
            if to.is_int() && c.to_i64() != i || (to == DType::U64 && i < 0) {
                let cause = Cause::Number { op, number: i.to_string(), dtype: to };
                return Err(IrError::new(cause, location));
            }
            constant(c)
        }
        Operand::Float(x) => constant(Scalar::F64(x).cast(to)),
        Operand::Complex(z) => constant(Scalar::C128(z).cast(to)),
    })
}

/// The shape that two shapes broadcast to: a literal 1 gives way, and so does a deferred size that is 1 now; everything
/// else must be equal. Of what holds now [`Fit`] says how it holds, and `trace` makes the program rely on that.
pub(super) fn broadcast(
    op: &'static str,
    left: &[Dim],
    right: &[Dim],
    guards: &mut Vec<Guard>,
    location: &'static Location<'static>,
) -> Result<Shape, Cause> {
    let rank = left.len().max(right.len());
    let one = Dim::from(1);
    let mut shape = Shape::with_capacity(rank);
    for d in 0..rank {
        let of = |s: &[Dim]| (d + s.len()).checked_sub(rank).map(|k| s[k].clone());
        shape.push(match (of(left), of(right)) {
            (Some(a), Some(b)) if a == b || b == one => a,
            (Some(a), Some(b)) if a == one => b,
            (Some(a), Some(b)) => match (a.actual(), b.actual()) {
                (x, Some(1)) if x != Some(1) => a,
                (Some(1), y) if y != Some(1) => b,
                (Some(x), Some(y)) if x == y => {
                    if b.is_const().is_some() {
                        b
                    } else {
                        a
                    }
                }
                _ => {
                    require_equal(op, left, right, (&a, &b), guards, location)?;
                    if a.is_const().is_some() { a } else { b }
                }
            },
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => unreachable!("an axis below the greater rank belongs to one of the shapes"),
        });
    }
    Ok(shape)
}

/// How an axis of an argument meets the axis of a result over which it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The sizes are the same expression.
    Same,
    /// It is a literal 1, read at 0.
    One,
    /// It is 1 now, and is read at 0 in every call.
    OneNow,
    /// The sizes are equal now, and are in every call; or a guard says so.
    EqualNow,
}

impl Fit {
    /// Where an argument is read at a position of a result that it is repeated to: at 0 along axes that give way.
    pub(crate) fn read_at(arg: &[Dim], result: &[Dim]) -> Indices {
        let lead = result.len() - arg.len();
        let at = arg.iter().enumerate().map(|(d, size)| match Fit::of(size, &result[lead + d]) {
            Fit::One | Fit::OneNow => Dim::ZERO,
            Fit::Same | Fit::EqualNow => Dim::index((lead + d) as u32),
        });
        at.collect()
    }

    pub(crate) fn of(arg: &Dim, result: &Dim) -> Fit {
        if arg == result {
            Fit::Same
        } else if *arg == 1 {
            Fit::One
        } else if arg.actual() == Some(1) && result.actual() != Some(1) {
            Fit::OneNow
        } else {
            Fit::EqualNow
        }
    }
}

/// Proves that two sizes are equal, or records a guard, or fails.
pub(super) fn require_equal(
    op: &'static str,
    left: &[Dim],
    right: &[Dim],
    (a, b): (&Dim, &Dim),
    guards: &mut Vec<Guard>,
    location: &'static Location<'static>,
) -> Result<(), Cause> {
    let known = match (a.actual(), b.actual()) {
        (Some(x), Some(y)) => Some(x == y),
        (_, None) | (None, _) => a.known_eq(b),
    };
    match known {
        Some(true) => Ok(()),
        Some(false) => Err(Cause::Shapes {
            op,
            left: left.to_vec(),
            right: right.to_vec(),
            dims: Box::new((a.clone(), b.clone())),
        }),
        None => {
            let shapes = [crate::error::shape_text(left), crate::error::shape_text(right)];
            guards.push(Guard {
                condition: Condition::Equal(a.clone(), b.clone()),
                reason: format!("{op} of {} and {}", shapes[0], shapes[1]),
                location,
            });
            Ok(())
        }
    }
}
