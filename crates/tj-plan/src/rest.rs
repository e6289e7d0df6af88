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

/// A plan of the same products from its arguments, whose data are `arguments`, and from queries that are `computed`: these are
/// arguments after the others, in order. What nobody needs any more is left out, and so are its guards, which were checked before
/// anything was computed.
///
/// # Panics
/// If there is no such query, or not one tensor for each argument.
pub fn rest(plan: &Plan, arguments: &[Tensor], computed: &[(QueryId, Tensor)]) -> Plan {
    assert_eq!(plan.inputs.len(), arguments.len(), "one tensor for each argument");
    let with = |(input, data): (&InputDecl, &Tensor)| InputDecl { data: Some(data.clone()), ..input.clone() };
    let mut inputs: Vec<InputDecl> = plan.inputs.iter().zip(arguments).map(with).collect();
    let mut became: FxHashMap<Source, Source> = FxHashMap::default();
    for (id, tensor) in computed {
        let Query { dtype, ref shape, .. } = *plan.query(*id);
        became.insert(Source::Def(id.0), Source::Input(inputs.len() as u32));
        inputs.push(InputDecl { name: None, dtype, shape: shape.clone(), data: Some(tensor.clone()) });
    }
    let mut is_needed = plan.produced();
    for id in plan.query_ids().rev() {
        if is_needed[id.index()] && !became.contains_key(&Source::Def(id.0)) {
            for (_, source) in plan.reads(id) {
                if let Source::Def(q) = source {
                    is_needed[q as usize] = true;
                }
            }
        }
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
    Plan {
        produces: Produces(produces.collect()),
        arena,
        inputs,
        queries,
        guards: Vec::new(),
        symbols: plan.symbols.clone(),
        numbers: plan.numbers.clone(),
    }
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
        let outputs = [(rows.clone() * rows.clone()).sum(()), rows + 1.0];
        let plan = Plan::from_trace(trace(&[], &outputs).unwrap());
        let values = |plan: &Plan, inputs: &[Tensor]| -> Vec<Vec<f64>> {
            let size = |symbol: &tj_ir::Symbol| Some(if symbol.to_string() == "s0" { 2 } else { 3 });
            let results = interpret(plan, inputs, &size).unwrap();
            results.iter().map(|result| result.to_vec::<f64>().unwrap()).collect()
        };
        let sum = plan.query_ids().find(|&id| plan.root_reduce(id).is_some()).unwrap();
        let computed = [(sum, Tensor::from(vec![6.0, 15.0]))];
        let arguments: Vec<Tensor> = plan.inputs.iter().map(|input| input.data.clone().unwrap()).collect();
        let left = rest(&plan, &arguments, &computed);
        assert_eq!(left.inputs.len(), plan.inputs.len() + 1);
        assert!(left.queries.len() < plan.queries.len());
        assert!(left.query_ids().all(|id| left.root_reduce(id).is_none() || left.query(id).shape.is_empty()));
        let mut others = arguments.clone();
        others.push(computed[0].1.clone());
        assert_eq!(values(&left, &others), values(&plan, &arguments));
    }
}
