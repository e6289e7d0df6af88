//! Calls read and write whole buffers.
//!
//! The host makes slices of what a call names, so that the lengths must be right: extents are sizes, or constants, and
//! their product is the length of the buffer as a size, equal for all symbols. Rows are tasks, which is
//! why tasks write different rows.

use tj_ir::Dim;
use tj_tensor::DType;

use super::{Finding, Rule};
use crate::ir::{Array, Call, Kernel, Op, Stmt};

/// Checks the calls of a kernel whose form is right.
pub(super) fn check(kernel: &Kernel) -> Vec<Finding> {
    let calls =
        kernel.body.iter().filter_map(|stmt| if let Stmt::Call(call) = stmt { Some(call) } else { None });
    calls
        .filter_map(|call| problem(kernel, call))
        .map(|what| Finding::new(kernel, Rule::Call, what))
        .collect()
}

/// What is wrong with a call.
fn problem(kernel: &Kernel, call: &Call) -> Option<String> {
    let name = call.function.name();
    let dtypes = |arrays: &[Array]| -> Vec<DType> {
        arrays.iter().map(|array| kernel.buffers[array.buffer.index()].dtype).collect()
    };
    let (args, results) = (dtypes(&call.args), dtypes(&call.results));
    if call.function.dtypes(&args).is_none_or(|given| *given != *results) {
        return Some(format!("{name} of {args:?} does not give {results:?}"));
    }
    let mut sizes: Vec<Vec<Dim>> = Vec::new();
    for array in call.args.iter().chain(&call.results) {
        let Some(extents) = extents(kernel, array) else {
            return Some(format!("an extent of {} in {name} is no size", array.buffer));
        };
        let len = &kernel.buffers[array.buffer.index()].len;
        if product(&extents).known_eq(len) != Some(true) {
            return Some(format!(
                "{name} takes {} to have {} elements, not {len}",
                array.buffer,
                product(&extents)
            ));
        }
        sizes.push(extents);
    }
    let (args, results) = sizes.split_at(call.args.len());
    let args: Vec<&[Dim]> = args.iter().map(Vec::as_slice).collect();
    let Some(rows) = call.function.rows(&args) else {
        return Some(format!("{name} does not take arguments of these ranks"));
    };
    let tasks = &kernel.grid.extent;
    for (sizes, core) in results.iter().zip(call.function.core().1) {
        if sizes.len() != rows + core {
            return Some(format!("{name} gives rank {}, not {}", rows + core, sizes.len()));
        }
        if product(&sizes[..rows]).known_eq(tasks) != Some(true) {
            return Some(format!("{name} gives {} rows in {tasks} tasks", product(&sizes[..rows])));
        }
    }
    None
}

fn product(sizes: &[Dim]) -> Dim {
    sizes.iter().fold(Dim::ONE, |n, d| n * d.clone())
}

fn extents(kernel: &Kernel, array: &Array) -> Option<Vec<Dim>> {
    let extent = |&value| {
        let constant = kernel.constant(value).map(|scalar| Dim::from(scalar.to_i64()));
        let size = || if let Op::Size(position) = kernel.op(value) { Some(position as usize) } else { None };
        constant.or_else(|| kernel.sizes.get(size()?).cloned())
    };
    array.extents.iter().map(extent).collect()
}
