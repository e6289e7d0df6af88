//! Samples are near what they estimate, and the same each time.

use std::sync::Arc;

use tj_ir::{Dim, LazyTensor, at, defer, einop};
use tj_plan::Plan;
use tj_plan::derive::form::Form;
use tj_plan::derive::{Shape, Step, fill_of, form_of, roots};
use tj_tensor::Tensor;

use super::{STARTS, Samples};
use crate::tests::{Random, count, graph, plan_of};

/// A product at these indices, of which the greatest is taken over all of them, so that it is one step.
fn step_of(indices: &str, text: &str, operands: &[(&str, &LazyTensor)]) -> (Plan, Form, Step) {
    let mut product = einop(&format!("t[{indices}] = {text}"), operands);
    while product.rank() > 0 {
        product = product.max(-1);
    }
    let (plan, inputs) = plan_of(&product);
    let all = roots(&plan);
    let root = all.roots.last().unwrap().query;
    let mut form = form_of(&plan, &fill_of(&inputs), &all, root, Shape::Written, &[]).unwrap();
    let indices: Vec<u8> = form.reductions.iter().map(|own| own.index).collect();
    let step = form.eliminate(&indices).unwrap().clone();
    (plan, form, step)
}

fn ways(indices: &str, text: &str, operands: &[(&str, &LazyTensor)]) -> Option<f64> {
    let (plan, form, step) = step_of(indices, text, operands);
    let ways = Samples::new(&plan).ways(&form, &step);
    assert_eq!(Samples::new(&plan).ways(&form, &step), ways, "samples are the same each time");
    ways
}

fn adjacent(a: &Tensor) -> Vec<Vec<usize>> {
    let (entries, _) = a.to_entries().unwrap();
    let (rows, columns) = (entries[0].to_vec::<i64>().unwrap(), entries[1].to_vec::<i64>().unwrap());
    let mut adjacent = vec![Vec::new(); a.shape()[0]];
    rows.iter().zip(&columns).for_each(|(&i, &j)| adjacent[i as usize].push(j as usize));
    adjacent
}

#[test]
fn triangles_of_few_entries_are_counted() {
    let a = graph(&mut Random(4), 200, 900);
    assert!(a.stored_count() <= STARTS);
    let truth = count(&adjacent(&a), &[(0, 1), (1, 2), (0, 2)], 3);
    assert!(truth > 100.0);
    let a = defer(&a);
    assert_eq!(ways("i,j,k", "A[i,j] * A[j,k] * A[i,k]", &[("A", &a)]), Some(truth));
    // However its edges are read.
    assert_eq!(ways("i,j,k", "A[j,i] * A[j,k] * A[k,i]", &[("A", &a)]), Some(truth));
}

/// Indices, factors, and the edges that these are.
type Pattern = (&'static str, &'static str, &'static [(usize, usize)]);

#[test]
fn circles_of_many_entries_are_near_their_number() {
    for (seed, n, edges) in [(1, 150, 1200), (3, 200, 1800)] {
        let a = graph(&mut Random(seed), n, edges);
        assert!(a.stored_count() > STARTS);
        let adjacent = adjacent(&a);
        let a = defer(&a);
        let patterns: [Pattern; 3] = [
            ("i,j,k", "A[i,j] * A[j,k] * A[i,k]", &[(0, 1), (1, 2), (0, 2)]),
            ("i,j,k,l", "A[i,j] * A[j,k] * A[k,l] * A[i,l]", &[(0, 1), (1, 2), (2, 3), (0, 3)]),
            (
                "i,j,k,l",
                "A[i,j] * A[i,k] * A[i,l] * A[j,k] * A[j,l] * A[k,l]",
                &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
            ),
        ];
        for (indices, text, edges) in patterns {
            let truth = count(&adjacent, edges, indices.split(',').count());
            let found = ways(indices, text, &[("A", &a)]).unwrap();
            let error = (found / truth).max(truth / found);
            assert!(error < 2.0, "seed {seed}, {text}: {found} for {truth}");
        }
    }
}

/// What an earlier step keeps holds the pairs that its factors connect, and no others.
#[test]
fn what_a_step_keeps_is_looked_for() {
    let a = graph(&mut Random(9), 150, 400);
    let lists = adjacent(&a);
    let a = defer(&a);
    let text = "t[i,j,k,l] = A[i,j] * A[j,k] * A[k,l] * A[i,l]";
    let (plan, inputs) = plan_of(&einop(text, &[("A", &a)]).sum(()));
    let all = roots(&plan);
    let root = all.roots.last().unwrap().query;
    let mut form = form_of(&plan, &fill_of(&inputs), &all, root, Shape::Written, &[]).unwrap();
    let first = form.choices()[0].to_vec();
    let made = form.eliminate(&first[..1]).unwrap().clone();
    assert_eq!(made.axes.len(), 2);
    let rest: Vec<u8> = form.reductions.iter().map(|own| own.index).collect();
    let step = form.eliminate(&rest).unwrap().clone();
    // Every path of two edges has itself for the pair of its ends.
    let paths: usize = lists.iter().map(|list| list.len() * list.len()).sum();
    let found = Samples::new(&plan).ways(&form, &step).unwrap();
    let error = (found / paths as f64).max(paths as f64 / found);
    assert!(error < 1.5, "{found} for {paths}");
}

/// A coordinate of the start of a longer tensor may be none of another.
#[test]
fn only_what_is_read_as_a_whole_is_sampled() {
    let (long, short) = (graph(&mut Random(5), 300, 2000), graph(&mut Random(6), 120, 900));
    let operands = [("A", &defer(&long)), ("B", &defer(&short))];
    let (plan, mut form, step) = step_of("i,j,k", "A[i,j] * A[j,k] * A[k,i]", &operands[..1]);
    assert!(Samples::new(&plan).ways(&form, &step).is_some());
    form.extents = Arc::new(form.extents.iter().map(|_| Dim::from(120)).collect());
    assert_eq!(Samples::new(&plan).ways(&form, &step), None);
    // However a program comes by such an index.
    let start = defer(&long).index([at(0, 120, 1), at(0, 120, 1)]);
    let operands = [("P", &start), ("B", operands[1].1)];
    assert_eq!(ways("i,j,k", "P[i,j] * B[j,k] * B[k,i]", &operands), None);
}

#[test]
fn only_circles_of_what_is_stored_are_sampled() {
    let a = defer(&graph(&mut Random(2), 50, 100));
    let dense = defer(&Tensor::full([50, 50], 1.0).unwrap());
    let operands = [("A", &a), ("D", &dense)];
    assert_eq!(ways("i,j,k", "A[i,j] * A[j,k]", &operands[..1]), None);
    assert_eq!(ways("i,j,k", "D[i,j] * A[j,k] * A[i,k]", &operands), None);
    assert_eq!(ways("i,j", "A[i,j] * A[j,i]", &operands[..1]), None);
    let none = defer(&graph(&mut Random(2), 50, 0));
    assert_eq!(ways("i,j,k", "A[i,j] * A[j,k] * A[i,k]", &[("A", &none)]), Some(0.0));
}
