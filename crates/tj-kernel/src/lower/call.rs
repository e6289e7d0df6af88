//! Functions of whole tensors: one call of the host, whose rows are the tasks.
//!
//! A function writes all of its results. One that no query stands for gets memory of the worker, as large as all of it.

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{Dim, Function, Shape};
use tj_plan::{Group, Plan, QueryId, RootCall};

use super::{Binding, Lowered};
use crate::build::Builder;
use crate::ir::{Access, Array, Buf, Call, Grid};

/// The kernel of a group whose queries are results of `call`.
pub(super) fn lower_call(plan: &Plan, group: &Group, call: &RootCall, name: String) -> Lowered {
    let sizes: Vec<&[Dim]> = call.args.iter().map(|&source| plan.shape_of(source).as_slice()).collect();
    let dtypes: Vec<_> = call.args.iter().map(|&source| plan.dtype_of(source)).collect();
    let results = call.function.dtypes(&dtypes).expect("the verifier knows the types of calls");
    let rows = call.function.rows(&sizes).expect("the verifier knows the ranks of calls");
    let head = &plan.query(group.queries[0]).shape;
    let grid = Grid { extent: count(&head[..rows]), multiple: 1, cost: cost(call.function, &sizes, rows) };
    let mut b = Builder::new(format!("{name}_{}", plan.query(group.queries[0]).word), grid);
    let mut bindings = Vec::new();
    let mut buffers: FxHashMap<Source, Buf> = FxHashMap::default();
    let mut args = Vec::new();
    for (&source, sizes) in call.args.iter().zip(&sizes) {
        let buffer = *buffers.entry(source).or_insert_with(|| {
            let (name, binding) = match source {
                Source::Input(i) => {
                    let name = plan.inputs[i as usize].name.as_deref();
                    (name.map_or(format!("in{i}"), str::to_string), Binding::Input(i))
                }
                Source::Def(q) => (format!("q{q}"), Binding::Query(QueryId(q))),
            };
            bindings.push(binding);
            b.buffer(name, plan.dtype_of(source), count(sizes), Access::Read)
        });
        args.push(array(&mut b, buffer, sizes));
    }
    let mut given = Vec::new();
    for (output, &dtype) in results.iter().enumerate() {
        let is_it = |id: &QueryId| plan.root_call(*id).is_some_and(|of| of.output == output);
        let (buffer, shape) = match group.queries.iter().copied().find(is_it) {
            Some(id) => {
                let shape = plan.query(id).shape.clone();
                bindings.push(Binding::Query(id));
                (b.buffer(id.to_string(), dtype, count(&shape), Access::Write), shape)
            }
            None => {
                let shape = call.function.shape(&sizes, output).expect("a size is open in sole results only");
                // Rows are those of the results that are asked for.
                let shape: Shape = head[..rows].iter().chain(&shape[rows..]).cloned().collect();
                bindings.push(Binding::Scratch);
                (b.buffer(format!("result{output}"), dtype, count(&shape), Access::Scratch), shape)
            }
        };
        given.push(array(&mut b, buffer, &shape));
    }
    b.call(Call { function: call.function, args, results: given });
    Lowered { kernel: b.finish(), bindings, numbers: Vec::new(), when: None }
}

fn count(sizes: &[Dim]) -> Dim {
    sizes.iter().fold(Dim::ONE, |n, d| n * d.clone())
}

fn array(b: &mut Builder, buffer: Buf, sizes: &[Dim]) -> Array {
    Array { buffer, extents: sizes.iter().map(|dim| b.size(dim)).collect() }
}

/// Rough cost of a row, in additions.
fn cost(function: Function, sizes: &[&[Dim]], rows: usize) -> Dim {
    let core = count(&sizes[0][rows..]);
    let own = |arg: usize| count(sizes[arg].get(rows..).unwrap_or_default());
    // The least side of a matrix: factorisations take that times its elements.
    let side = || sizes[0].get(rows + 1).map_or(Dim::ONE, |n| n.min(&sizes[0][rows]));
    match function {
        // A comparison of a sort is a branch that is often mispredicted, and there are some 20 for each element.
        Function::Sort { .. } | Function::Argsort { .. } => core * 100,
        Function::Searchsorted { .. } => own(1) * 100,
        Function::Scan { .. } => core * 4,
        Function::Take => count(sizes[1]) * sizes[0][rows + 1].clone(),
        Function::TakeAlong => own(1) * 4,
        Function::Locate { .. } => core * 2,
        Function::Scatter { .. } => core + own(2) * 2,
        Function::ScatterAlong { .. } => core + own(2) * 4,
        Function::Cholesky { .. }
        | Function::Det { .. }
        | Function::Slogdet { .. }
        | Function::Inv { .. } => core * side(),
        Function::Solve { .. } => (core + own(1)) * side(),
        Function::Qr { .. } => core * side() * 2,
        Function::Svd { .. }
        | Function::Svdvals { .. }
        | Function::Eigh { .. }
        | Function::Eigvalsh { .. } => core * side() * 20,
        Function::Fft { .. } | Function::Rfft | Function::Irfft => core * 64,
    }
}
