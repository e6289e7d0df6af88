//! What is left of a plan that was computed in part.
//!
//! Who knows how large an intermediate result is, and expected something else, may decide again about all that follows. What
//! was computed is an argument then, as any other.

use rustc_hash::FxHashMap;
use tj_ir::expr::Source;
use tj_ir::{ExprArena, InputDecl};
use tj_tensor::Tensor;

use crate::plan::{Plan, Produces, Query, QueryId};
use crate::substitute::copy;

/// What is left of a plan.
#[derive(Clone, Debug)]
pub struct Left {
    /// Of the same products.
    pub plan: Plan,
    /// What its arguments are: arguments of the whole plan by their places, and after these what is computed.
    pub takes: Vec<usize>,
}

/// A plan of the same products from its arguments, whose data are `arguments`, and from queries that are `computed`. What nobody
/// needs any more is left out, and so are its guards, which were checked before anything was computed; an argument that is not
/// needed may be any tensor.
///
/// # Panics
/// If there is no such query, or not one tensor for each argument.
pub fn rest(plan: &Plan, arguments: &[Tensor], computed: &[(QueryId, Tensor)]) -> Left {
    assert_eq!(plan.inputs.len(), arguments.len(), "one tensor for each argument");
    let is_computed = |id: QueryId| computed.iter().any(|(own, _)| *own == id);
    let mut is_needed = plan.produced();
    let is_read = |at: usize| plan.produces.0.contains(&Source::Input(at as u32));
    let mut is_read: Vec<bool> = (0..arguments.len()).map(is_read).collect();
    for id in plan.query_ids().rev().filter(|&id| !is_computed(id)) {
        if is_needed[id.index()] {
            for (_, source) in plan.reads(id) {
                match source {
                    Source::Def(q) => is_needed[q as usize] = true,
                    Source::Input(at) => is_read[at as usize] = true,
                }
            }
        }
    }
    let mut became: FxHashMap<Source, Source> = FxHashMap::default();
    let mut inputs: Vec<InputDecl> = Vec::new();
    let mut takes = Vec::new();
    for (at, (input, data)) in plan.inputs.iter().zip(arguments).enumerate().filter(|(at, _)| is_read[*at]) {
        became.insert(Source::Input(at as u32), Source::Input(inputs.len() as u32));
        inputs.push(InputDecl { data: Some(data.clone()), ..input.clone() });
        takes.push(at);
    }
    for (at, (id, tensor)) in computed.iter().enumerate().filter(|(_, (id, _))| is_needed[id.index()]) {
        let Query { dtype, ref shape, .. } = *plan.query(*id);
        became.insert(Source::Def(id.0), Source::Input(inputs.len() as u32));
        inputs.push(InputDecl { name: None, dtype, shape: shape.clone(), data: Some(tensor.clone()) });
        takes.push(arguments.len() + at);
    }
    let mut arena = ExprArena::new();
    let mut done = FxHashMap::default();
    let mut queries: Vec<Query> = Vec::new();
    for id in plan.query_ids().filter(|id| is_needed[id.index()]) {
        let source = Source::Def(id.0);
        if became.contains_key(&source) {
            continue;
        }
        let query = plan.query(id);
        let name = |source: Source| became.get(&source).copied().unwrap_or(source);
        let body = copy(&plan.arena, &mut arena, &mut done, query.body, &name);
        became.insert(source, Source::Def(queries.len() as u32));
        queries.push(Query { body, ..query.clone() });
    }
    let produces = plan.produces.0.iter().map(|source| became.get(source).copied().unwrap_or(*source));
    let plan = Plan {
        produces: Produces(produces.collect()),
        arena,
        inputs,
        queries,
        guards: Vec::new(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    };
    Left { plan, takes }
}

#[cfg(test)]
mod tests {
    use tj_ir::defer;
    use tj_ir::trace::trace;
    use tj_tensor::Tensor;

    use super::*;
    use crate::interpret;

    #[test]
    fn what_is_left_gives_the_same() {
        let x: Tensor = Tensor::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let rows = defer(&x).sum(1);
        let y: Tensor = Tensor::from(vec![0.5, 2.0]);
        let outputs = [(rows.clone() * rows.clone()).sum(()), rows + defer(&y)];
        let plan = Plan::from_trace(trace(&[], &outputs).unwrap());
        let values = |plan: &Plan, inputs: &[Tensor]| -> Vec<Vec<f64>> {
            let size = |symbol: &tj_ir::Symbol| Some(if symbol.to_string() == "s0" { 2 } else { 3 });
            let results = interpret(plan, inputs, &size).unwrap();
            results.iter().map(|result| result.to_vec::<f64>().unwrap()).collect()
        };
        let sum = plan.query_ids().find(|&id| plan.root_reduce(id).is_some()).unwrap();
        let computed = [(sum, Tensor::from(vec![6.0, 15.0]))];
        let arguments: Vec<Tensor> = plan.inputs.iter().map(|input| input.data.clone().unwrap()).collect();
        let Left { plan: left, takes } = rest(&plan, &arguments, &computed);
        // The matrix is not needed any more.
        assert_eq!((takes.as_slice(), left.inputs.len()), ([1, 2].as_slice(), 2));
        assert!(left.queries.len() < plan.queries.len());
        assert!(left.query_ids().all(|id| left.root_reduce(id).is_none() || left.query(id).shape.is_empty()));
        let others = [arguments[1].clone(), computed[0].1.clone()];
        assert_eq!(values(&left, &others), values(&plan, &arguments));
    }
}
