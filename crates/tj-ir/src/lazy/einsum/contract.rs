//! Products of labelled tensors, summed over the labels that nobody needs any more.

use std::panic::Location;

use super::{Label, Labelled, Labels, guarded};
use crate::dim::Dim;
use crate::error::Cause;
use crate::guard::Guard;
use crate::lazy::arrange::permuted;
use crate::lazy::elementwise::map;
use crate::lazy::movement::{moved, position};
use crate::lazy::reduce::{Axes, accumulated, reduce_in};
use crate::lazy::{Kind, LazyTensor, Shape};
use crate::op::{Op, ReduceOp};

type Loc = &'static Location<'static>;

/// The product of all, from left to right, with the axes `output`; all have one dtype and `output` is among their
/// labels.
pub(in crate::lazy) fn contract_all(
    op: &'static str,
    operands: Vec<Labelled>,
    output: &Labels,
    guards: Vec<Guard>,
    location: Loc,
) -> Result<LazyTensor, Cause> {
    let mut rest = operands.into_iter().collect::<std::collections::VecDeque<_>>();
    let Some(mut total) = rest.pop_front() else {
        return Err(Cause::Argument { op, problem: "needs an operand at least".to_string() });
    };
    total.tensor = guarded(&total.tensor, guards, location);
    while let Some(next) = rest.pop_front() {
        let later = |label: &Label| output.contains(label) || rest.iter().any(|t| t.labels.contains(label));
        total = contract(op, total, next, later, location)?;
    }
    let total = sum_out(op, total, |label| output.contains(label), location);
    Ok(arranged(op, &total, output, location))
}

/// The product of two, with a sum over every label that is not `needed`.
fn contract(
    op: &'static str,
    a: Labelled,
    b: Labelled,
    needed: impl Fn(&Label) -> bool,
    location: Loc,
) -> Result<Labelled, Cause> {
    let a = sum_out(op, a, |label| needed(label) || b.labels.contains(label), location);
    let b = sum_out(op, b, |label| needed(label) || a.labels.contains(label), location);
    let (mut batch, mut summed) = (Labels::new(), Labels::new());
    for &label in a.labels.iter().filter(|label| b.labels.contains(label)) {
        if needed(&label) { batch.push(label) } else { summed.push(label) }
    }
    let alone = |own: &Labelled, other: &Labelled| -> Labels {
        own.labels.iter().copied().filter(|label| !other.labels.contains(label)).collect()
    };
    let (rows, columns) = (alone(&a, &b), alone(&b, &a));
    let inner = rows.is_empty() && columns.is_empty();
    let is_matrix = rows.len() <= 1 && columns.len() <= 1 && summed.len() == 1;
    // Lists of entries are walked axis by axis: what makes one axis of several would be read by search.
    let is_listed = || [&a, &b].into_iter().any(|factor| factor.tensor.fill().is_some());
    if summed.is_empty() || (inner && !batch.is_empty()) || (!is_matrix && is_listed()) {
        // Where there is a sum, it runs over the last axes.
        let whole: Labels = if inner {
            batch.iter().chain(&summed).copied().collect()
        } else {
            a.labels.iter().chain(&columns).copied().collect()
        };
        let factors = [spread(op, &a, &whole, location), spread(op, &b, &whole, location)];
        let product = map(Op::Mul, factors.map(Into::into), location);
        return Ok(sum_out(op, Labelled { tensor: product, labels: whole }, needed, location));
    }
    let labels: Labels = [&batch, &rows, &columns].into_iter().flatten().copied().collect();
    let shape: Shape = batch
        .iter()
        .chain(&rows)
        .map(|label| size(&a, *label))
        .chain(columns.iter().map(|label| size(&b, *label)))
        .collect();
    let factors = [
        matrix(op, &a, &batch, &rows, &summed, location)?,
        matrix(op, &b, &batch, &summed, &columns, location)?,
    ];
    let product = multiply(factors, batch.len(), location);
    let wanted: Vec<Option<Dim>> = shape.into_iter().map(Some).collect();
    let one_to_one = rows.len() <= 1 && columns.len() <= 1 && product.rank() == wanted.len();
    let tensor = if one_to_one { product } else { product.try_reshape(&wanted, location)? };
    Ok(Labelled { tensor, labels })
}

fn size(tensor: &Labelled, label: Label) -> Dim {
    let axis = tensor.labels.iter().position(|known| *known == label);
    // A tensor that carries an error has no axes.
    axis.and_then(|axis| tensor.tensor.shape().get(axis).cloned()).unwrap_or(Dim::ONE)
}

/// Axes in the order `first`, `second`, then `third`, where each of the last two is one axis, or none if it is empty
/// and there is no batch.
fn matrix(
    op: &'static str,
    tensor: &Labelled,
    batch: &Labels,
    second: &Labels,
    third: &Labels,
    location: Loc,
) -> Result<LazyTensor, Cause> {
    let order: Labels = [batch, second, third].into_iter().flatten().copied().collect();
    let arranged = arranged(op, tensor, &order, location);
    let mut wanted: Vec<Option<Dim>> = batch.iter().map(|label| Some(size(tensor, *label))).collect();
    for group in [second, third] {
        if group.is_empty() && batch.is_empty() {
            continue;
        }
        wanted.push(Some(group.iter().map(|label| size(tensor, *label)).product()));
    }
    if order.len() == wanted.len() && second.len() <= 1 && third.len() <= 1 {
        return Ok(arranged);
    }
    arranged.try_reshape(&wanted, location)
}

/// A matrix product of two factors whose sizes are known to fit.
fn multiply([a, b]: [LazyTensor; 2], batch: usize, location: Loc) -> LazyTensor {
    for failed in [&a, &b] {
        if failed.check().is_err() {
            return failed.clone();
        }
    }
    let mut shape = Shape::from(&a.shape()[..batch]);
    if a.rank() > batch + 1 {
        shape.push(a.shape()[batch].clone());
    }
    if b.rank() > batch + 1 {
        shape.push(b.shape()[batch + 1].clone());
    }
    let dtype = a.dtype();
    let work = accumulated(dtype);
    let args = [a, b].map(|factor| map(Op::Cast(work), [factor.into()], location));
    let product = LazyTensor::node(Kind::Matmul { args }, shape, work, location);
    map(Op::Cast(dtype), [product.into()], location)
}

/// Axes in another order; the labels are the same.
fn arranged(op: &'static str, tensor: &Labelled, order: &Labels, location: Loc) -> LazyTensor {
    if tensor.labels == *order || tensor.tensor.check().is_err() {
        return tensor.tensor.clone();
    }
    let axes: Vec<usize> =
        order.iter().filter_map(|label| tensor.labels.iter().position(|own| own == label)).collect();
    permuted(op, &tensor.tensor, &axes, location)
}

/// One axis for each of `labels`, of size 1 where the tensor lacks it.
pub(in crate::lazy) fn spread(
    op: &'static str,
    tensor: &Labelled,
    labels: &[Label],
    location: Loc,
) -> LazyTensor {
    if tensor.labels.as_slice() == labels || tensor.tensor.check().is_err() {
        return tensor.tensor.clone();
    }
    let place = |label: &Label| labels.iter().position(|known| known == label).unwrap_or(0);
    let at = tensor.labels.iter().map(|label| position(place(label))).collect();
    let shape = labels.iter().map(|label| size(tensor, *label)).collect();
    moved(op, &tensor.tensor, shape, at, location)
}

fn sum_out(op: &'static str, tensor: Labelled, needed: impl Fn(&Label) -> bool, location: Loc) -> Labelled {
    let gone: Vec<i64> =
        (0..tensor.labels.len()).filter(|&d| !needed(&tensor.labels[d])).map(|d| d as i64).collect();
    if gone.is_empty() || tensor.tensor.check().is_err() {
        return tensor;
    }
    let dtype = tensor.tensor.dtype();
    let axes = Axes::from(gone.as_slice());
    let summed = reduce_in(op, ReduceOp::Sum, &tensor.tensor, &axes, dtype, location);
    let labels = tensor.labels.iter().copied().filter(|label| needed(label)).collect();
    Labelled { tensor: summed, labels }
}
