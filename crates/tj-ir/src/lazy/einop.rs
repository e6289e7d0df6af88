//! Assignments over indices: `C[i,j] min= A[i,k] + B[k,j]`.
//!
//! **Meaning.** For all values of all indices the right side is computed; the values of one element of the output are
//! combined by the assignment's operator over the indices that only the right side has. Each index has one size; an
//! axis whose size is a concrete 1 gives way.
//!
//! **How.** Every operand is moved to one order of all indices: those of the output, then the others in order of
//! appearance; so operators are elementwise, and the reduction is over the last axes. A sum of products of operands
//! alone goes the way of `einsum`, to matrix products. Sums stay in the dtype of the expression and wrap.

mod lex;
mod parse;

use std::panic::Location;

use super::create::built;
use super::einsum::{Label, Labelled, Labels, Naming, contract_all, guarded, label, spread};
use super::elementwise::{Operand, map};
use super::movement::Attempt;
use super::reduce::{Axes, reduce_in};
use super::{At, LazyTensor};
use crate::error::Cause;
use crate::op::{Op, ReduceOp};
use lex::wrong;
use parse::{Access, Assign, Index, Statement, Step, parse};
use tj_tensor::DType;

type Loc = &'static Location<'static>;

/// Computes the right side of an assignment for all values of its indices, and combines what belongs to one element of
/// the left side. `=` combines nothing; `+=`, `*=`, `min=`, `max=`, `|=`, `&=` and `^=` (of `bool` and the bits of integers), `or=` and `and=` (of
/// truth values), and any operator of two arguments by name, as `logaddexp=`, reduce over the indices that the left side lacks.
///
/// The right side is made of operands at indices, `A[i,k]` (a repeated index is a diagonal, a number is a position),
/// numbers, calls of the operators of the table by name (`exp(A[i])`, `max(A[i], B[i])`), and the operators
/// `+ - * / // % ** < <= > >= == != & | ^ ~ and or not` with Python's precedence. Numbers take the dtype of what they
/// meet. An operand without brackets is a number of rank 0.
///
/// ```
/// use tj_ir::{einop, input, Dim};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", ..)?;
/// let a = input("a", DType::F32, [n.clone(), 3.into()])?;
/// let b = input("b", DType::F32, [3.into(), 4.into()])?;
/// let shortest = einop("C[i,j] min= A[i,k] + B[k,j]", &[("A", &a), ("B", &b)]);
/// assert_eq!(shortest.shape(), [n, 4.into()]);
/// let wrong = einop("C[i] += A[i,k] * D[k]", &[("A", &a)]).check().unwrap_err();
/// let text = "einop: there is no operand D; there is A\n  C[i] += A[i,k] * D[k]\n                   ^";
/// assert_eq!(wrong.cause.to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A text that is no such assignment, with the place; an operand that is missing or not used; indices that do not fit
/// the rank of an operand; sizes of one index that differ; an index of the output that no operand has; indices left
/// over by `=`.
#[track_caller]
pub fn einop(text: &str, operands: &[(&str, &LazyTensor)]) -> LazyTensor {
    let location = Location::caller();
    if let Some((_, failed)) = operands.iter().find(|(_, operand)| operand.check().is_err()) {
        return (*failed).clone();
    }
    // On one line, so that the caret under it stands right.
    let text = &text.replace(['\n', '\r', '\t'], " ");
    built(location, || {
        let statement = parse(text)?;
        evaluate(text, &statement, operands, location)
    })
}

/// Indices by the order in which they are counted: those of the output, then the others.
struct Indices<'s>(Vec<&'s str>);

impl<'s> Indices<'s> {
    fn label(&mut self, name: &'s str) -> Label {
        let known = self.0.iter().position(|other| *other == name);
        Label::Index(known.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        }))
    }
}

fn evaluate(text: &str, statement: &Statement, operands: &[(&str, &LazyTensor)], location: Loc) -> Attempt {
    let mut indices = Indices(Vec::new());
    let mut output = Labels::new();
    for (name, at) in &statement.target {
        let label = indices.label(name);
        if output.contains(&label) {
            return Err(wrong(text, *at, format!("the output has the index {name} twice")));
        }
        output.push(label);
    }
    let mut tensors = Vec::new();
    let mut names = Vec::new();
    let mut axes = Vec::new();
    for step in &statement.steps {
        if let Step::Access(access) = step {
            let tensor = find(text, access, operands)?;
            let (tensor, labels) = indexed(text, access, tensor, &mut indices, location)?;
            tensors.push(tensor);
            axes.push(labels);
            names.push(access.name.as_str());
        }
    }
    if let Some((name, _)) = operands.iter().find(|(name, _)| !names.contains(name)) {
        return Err(wrong(text, 0, format!("the operand {name} is not used")));
    }
    if tensors.is_empty() {
        return Err(wrong(text, statement.at, "the right side has no operand"));
    }
    for ((name, at), label) in statement.target.iter().zip(&output) {
        if !axes.iter().flatten().any(|(known, _)| known == label) {
            return Err(wrong(text, *at, format!("no operand has the index {name} of the output")));
        }
    }
    if statement.assign == Assign::Plain
        && let Some(name) = indices.0.get(output.len())
    {
        let problem = format!("= combines nothing, but the output lacks the index {name}");
        return Err(wrong(text, statement.at, problem));
    }
    let label_name = |label: Label| match label {
        Label::Index(k) => indices.0.get(k).map_or_else(String::new, ToString::to_string),
        Label::Letter(letter) => letter.to_string(),
        Label::Dots(_) => "...".to_string(),
    };
    let naming = Naming { op: "einop", text, label: &label_name, operands: &names };
    let (labelled, guards) = label(&naming, &axes, &tensors, location)?;

    let is_product = statement
        .steps
        .iter()
        .all(|step| matches!(step, Step::Access(_)) || *step == Step::Apply(Op::Mul, 2));
    if statement.assign == Assign::Reduce(ReduceOp::Sum) && is_product {
        return sum_of_products(labelled, &output, guards, location);
    }
    let all: Labels = (0..indices.0.len()).map(Label::Index).collect();
    let value = run(&statement.steps, &labelled, &all, location);
    let value = if value.check().is_ok() { guarded(&value, guards, location) } else { value };
    let gone: Vec<i64> = (output.len()..all.len()).map(|d| d as i64).collect();
    let gone = Axes::from(gone.as_slice());
    match statement.assign {
        Assign::Plain => Ok(value),
        Assign::Reduce(op) => {
            let (given, bits) = (value.dtype(), matches!(op, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor));
            if bits && value.check().is_ok() && op.op().dtypes(&[given]).is_none() {
                let sign = op.op().info().symbol.unwrap_or_default();
                let problem = format!("{sign}= combines bool and integers, not {given}: compare first");
                return Err(wrong(text, statement.at, problem));
            }
            // Sums do not widen; a function of floats takes integers as such.
            let dtype = if let ReduceOp::By(_) = op { op.dtype(value.dtype()) } else { value.dtype() };
            Ok(reduce_in("einop", op, &value, &gone, dtype, location))
        }
        Assign::Truth(op) => Ok(reduce_in("einop", op, &value, &gone, DType::Bool, location)),
    }
}

/// Operands promoted to one dtype, then contracted.
fn sum_of_products(
    mut operands: Vec<Labelled>,
    output: &Labels,
    guards: Vec<crate::guard::Guard>,
    location: Loc,
) -> Attempt {
    let Some(dtype) = operands.iter().map(|operand| operand.tensor.dtype()).reduce(DType::promote) else {
        return contract_all("einop", operands, output, guards, location);
    };
    if Op::Mul.dtypes(&[dtype]).is_none() {
        return Err(Cause::DTypes { op: "einop", dtypes: vec![dtype] });
    }
    for operand in &mut operands {
        operand.tensor = map(Op::Cast(dtype), [(&operand.tensor).into()], location);
    }
    contract_all("einop", operands, output, guards, location)
}

fn find<'o>(
    text: &str,
    access: &Access,
    operands: &[(&str, &'o LazyTensor)],
) -> Result<&'o LazyTensor, Cause> {
    let found = operands.iter().find(|(name, _)| *name == access.name);
    found.map(|(_, tensor)| *tensor).ok_or_else(|| {
        let names: Vec<&str> = operands.iter().map(|(name, _)| *name).collect();
        let there = match names.as_slice() {
            [] => "there is none at all".to_string(),
            [one] => format!("there is {one}"),
            several => format!("there are {}", several.join(", ")),
        };
        wrong(text, access.at, format!("there is no operand {}; {there}", access.name))
    })
}

/// An operand without the axes at which it is read at a fixed position, and the labels of the others.
fn indexed<'s>(
    text: &str,
    access: &'s Access,
    tensor: &LazyTensor,
    indices: &mut Indices<'s>,
    location: Loc,
) -> Result<(LazyTensor, Vec<(Label, usize)>), Cause> {
    let (count, rank) = (access.indices.len(), tensor.rank());
    if count != rank {
        let count = crate::text::counted(count, "index", "indices");
        let problem = format!("{} is read at {count}, but the array has rank {rank}", access.name);
        return Err(wrong(text, access.at, problem));
    }
    let mut labels = Vec::new();
    let mut parts = Vec::new();
    for index in &access.indices {
        match index {
            Index::Name(name, at) => {
                labels.push((indices.label(name), *at));
                parts.push(super::at(None, None, 1));
            }
            Index::Fixed(position) => parts.push(At::Index(*position)),
        }
    }
    if labels.len() == rank {
        return Ok((tensor.clone(), labels));
    }
    let fixed = tensor.try_index(&parts, location);
    let fixed = fixed.map_err(|cause| wrong(text, access.at, format!("{}: {cause}", access.name)))?;
    Ok((fixed, labels))
}

/// Runs the steps on a stack; every tensor on it has one axis for each of `all`.
fn run(steps: &[Step], accesses: &[Labelled], all: &Labels, location: Loc) -> LazyTensor {
    let mut accesses = accesses.iter();
    let mut stack: Vec<Operand> = Vec::new();
    for step in steps {
        let value = match step {
            Step::Int(value) => Operand::Int(*value),
            Step::Float(value) => Operand::Float(*value),
            Step::Access(_) => {
                let access = accesses.next().expect("each access of the steps was labelled");
                Operand::Tensor(spread("einop", access, all, location))
            }
            Step::Truth => {
                let value = stack.pop().expect("the parser leaves an argument for each operator");
                Operand::Tensor(map(Op::Cast(DType::Bool), [value], location))
            }
            Step::Apply(op, arity) => {
                let args = stack.split_off(stack.len().saturating_sub(*arity));
                fold(*op, &args).unwrap_or_else(|| Operand::Tensor(map(*op, args, location)))
            }
        };
        stack.push(value);
    }
    match stack.pop() {
        Some(Operand::Tensor(tensor)) => tensor,
        number => map(Op::Add, number.into_iter().chain([Operand::Int(0)]), location),
    }
}

/// Arithmetic on host numbers gives a host number, which still takes the dtype of what it meets.
fn fold(op: Op, args: &[Operand]) -> Option<Operand> {
    let float = |arg: &Operand| match arg {
        Operand::Int(x) => Some(*x as f64),
        Operand::Float(x) => Some(*x),
        Operand::Bool(_) | Operand::Tensor(_) | Operand::Complex(_) => None,
    };
    match (op, args) {
        (Op::Neg, [Operand::Int(x)]) => x.checked_neg().map(Operand::Int),
        (Op::Neg, [x]) => float(x).map(|x| Operand::Float(-x)),
        (Op::Add, [Operand::Int(x), Operand::Int(y)]) => x.checked_add(*y).map(Operand::Int),
        (Op::Sub, [Operand::Int(x), Operand::Int(y)]) => x.checked_sub(*y).map(Operand::Int),
        (Op::Mul, [Operand::Int(x), Operand::Int(y)]) => x.checked_mul(*y).map(Operand::Int),
        (Op::Add, [x, y]) => Some(Operand::Float(float(x)? + float(y)?)),
        (Op::Sub, [x, y]) => Some(Operand::Float(float(x)? - float(y)?)),
        (Op::Mul, [x, y]) => Some(Operand::Float(float(x)? * float(y)?)),
        (Op::Div, [x, y]) => Some(Operand::Float(float(x)? / float(y)?)),
        _ => None,
    }
}
