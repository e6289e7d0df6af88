//! Plans are as short as an exhaustive search finds, and estimates are near what they estimate.

use std::sync::Arc;

use smallvec::SmallVec;
use tj_ir::trace::trace;
use tj_ir::{LazyTensor, defer, einop};
use tj_plan::derive::form::{Form, bit};
use tj_plan::derive::{Shape, fill_of, form_of, roots};
use tj_plan::sparse::StoredInput;
use tj_plan::{Plan, Scheduler, canonicalise};
use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor, Width};

use crate::GalleyScheduler;
use crate::cost::Facts;
use crate::frame::Frame;
use crate::search::{Seen, Way, search, search_within};
use crate::statistics::{Loops, Statistics};
use crate::support::{Degrees, Sums, Support};

/// A small generator of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub(crate) fn csr(rows: usize, columns: usize, mut pairs: Vec<(usize, usize)>) -> Tensor {
    pairs.sort_unstable();
    pairs.dedup();
    let column = |at: usize| -> Tensor {
        pairs.iter().map(|pair| [pair.0, pair.1][at] as i64).collect::<Vec<i64>>().into()
    };
    let ones = Tensor::full([pairs.len()], 1.0).unwrap();
    Tensor::from_entries(
        [rows, columns],
        &[column(0), column(1)],
        ones,
        Scalar::zero(DType::F64),
        Duplicates::Refuse,
        &Format::csr(),
    )
    .unwrap()
}

fn random_matrix(random: &mut Random, rows: usize, columns: usize, count: usize) -> Tensor {
    csr(rows, columns, (0..count).map(|_| (random.below(rows), random.below(columns))).collect())
}

/// How many entries each row has.
fn degrees_of(a: &Tensor) -> Degrees {
    let counted = (a.degrees(0).unwrap(), a.degree_summary(0).unwrap());
    let frame = Arc::new(Frame::of(a.shape()[0], std::slice::from_ref(&counted)));
    Degrees::Counted(frame.counts(&counted))
}

/// An undirected graph with hubs.
pub(crate) fn graph(random: &mut Random, n: usize, edges: usize) -> Tensor {
    let mut pairs = Vec::new();
    for _ in 0..edges {
        let (i, j) = ((random.unit().powf(2.5) * n as f64) as usize, random.below(n));
        if i != j {
            pairs.extend([(i, j), (j, i)]);
        }
    }
    csr(n, n, pairs)
}

pub(crate) fn plan_of(output: &LazyTensor) -> (Plan, Vec<Option<StoredInput>>) {
    let plan = canonicalise(&Plan::from_trace(trace(&[], std::slice::from_ref(output)).unwrap()));
    let stored = |input: &tj_ir::InputDecl| {
        let stored = input.data.as_ref()?.stored()?;
        Some(StoredInput {
            format: stored.format().clone(),
            fill: stored.fill(),
            is_hypersparse: false,
            width: Width::U32,
            may_store_fill: false,
            entries: None,
        })
    };
    let inputs = plan.inputs.iter().map(stored).collect();
    (plan, inputs)
}

fn with_form<R>(output: &LazyTensor, shape: Shape, f: impl FnOnce(&Facts<'_>, &Form) -> R) -> R {
    let (plan, inputs) = plan_of(output);
    let all = roots(&plan);
    let root = all.roots.last().unwrap().query;
    let form = form_of(&plan, &fill_of(&inputs), &all, root, shape, &[]).unwrap();
    let statistics = Statistics::new(&plan, &inputs, Loops::Guessed);
    f(&Facts::new(&statistics, &form, false), &form)
}

/// The cheapest of all orders.
fn exhaustive(facts: &Facts<'_>, form: &Form, known: &mut Vec<Option<Arc<Support>>>, so_far: f64) -> f64 {
    if form.reductions.is_empty() {
        return so_far + facts.rest(form, known);
    }
    let mut best = f64::INFINITY;
    for choice in form.choices() {
        let mut next = form.clone();
        let step = next.eliminate(&choice).unwrap().clone();
        let priced = facts.price(&next, &step, known, false);
        let all: SmallVec<[u8; 8]> = step.axes.iter().chain(&step.reduced).copied().collect();
        let is_result = next.reductions.is_empty() && next.is_read(next.root);
        let order: Vec<u8> = priced.order.iter().map(|&role| all[usize::from(role)]).collect();
        next.keep_in_order(if is_result { &[] } else { &order });
        known.push(priced.result.as_ref().map(|support| Arc::new(support.renamed(&all))));
        best = best.min(exhaustive(facts, &next, known, so_far + priced.cost));
        known.pop();
    }
    best
}

#[test]
fn chains_are_as_short_as_an_exhaustive_search_finds() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let count = 3 + seed as usize % 5;
        let sizes: Vec<usize> = (0..=count).map(|_| 8 << random.below(6)).collect();
        let mut product: Option<LazyTensor> = None;
        for pair in sizes.windows(2) {
            let entries = 1 + random.below(pair[0] * pair[1] / 4 + 1);
            let matrix = match random.below(2) {
                0 => Tensor::full([pair[0], pair[1]], 1.0).unwrap(),
                _ => random_matrix(&mut random, pair[0], pair[1], entries),
            };
            let next = defer(&matrix);
            product = Some(match product {
                Some(product) => product.matmul(&next),
                None => next,
            });
        }
        with_form(&product.unwrap(), Shape::Written, |facts, form| {
            let found = search_within(facts, form, &mut Seen::default(), &|_| 20_000).unwrap();
            let best = exhaustive(facts, form, &mut Vec::new(), 0.0);
            assert!(found.cost <= best * 1.0001, "seed {seed}: {} found, {best} is possible", found.cost);
        });
    }
}

/// The multiplications of a chain of dense matrices by the way that is found, and the fewest that there are.
#[test]
fn dense_chains_take_the_fewest_multiplications() {
    for seed in 0..8 {
        let mut random = Random(100 + seed);
        let sizes: Vec<usize> = (0..=8).map(|_| 64 << random.below(5)).collect();
        let matrices =
            sizes.windows(2).map(|pair| defer(&Tensor::full([pair[0], pair[1]], 1.0_f32).unwrap()));
        let product = matrices.reduce(|product, next| product.matmul(&next)).unwrap();
        let found = with_form(&product, Shape::Written, |facts, form| {
            search(facts, form, &mut Seen::default()).unwrap()
        });
        let multiplications: f64 = found.priced.iter().map(|step| step.rounds).sum();
        let count = sizes.len() - 1;
        let mut fewest = vec![vec![0.0; count]; count];
        for width in 1..count {
            for i in 0..count - width {
                let j = i + width;
                let split = |k: usize| {
                    fewest[i][k] + fewest[k + 1][j] + (sizes[i] * sizes[k + 1] * sizes[j + 1]) as f64
                };
                fewest[i][j] = (i..j).map(split).fold(f64::INFINITY, f64::min);
            }
        }
        let fewest = fewest[0][count - 1];
        assert!(multiplications <= 1.05 * fewest, "seed {seed}: {multiplications}, {fewest} is possible");
    }
}

/// The edges of a pattern, each to a vertex of a higher number; its vertices; and how far an estimate may be off.
type Pattern = (&'static [(usize, usize)], usize, f64);

/// The number of homomorphisms of a pattern of edges, by going through all of them.
pub(crate) fn count(adjacent: &[Vec<usize>], edges: &[(usize, usize)], vertices: usize) -> f64 {
    fn below(adjacent: &[Vec<usize>], edges: &[(usize, usize)], at: &mut Vec<usize>, vertices: usize) -> f64 {
        let next = at.len();
        if next == vertices {
            return 1.0;
        }
        let before: Vec<usize> = edges.iter().filter(|e| e.1 == next).map(|e| e.0).collect();
        let Some((&first, others)) = before.split_first() else {
            return (0..adjacent.len())
                .map(|v| {
                    at.push(v);
                    let n = below(adjacent, edges, at, vertices);
                    at.pop();
                    n
                })
                .sum();
        };
        let mut all = 0.0;
        for &candidate in &adjacent[at[first]] {
            if others.iter().all(|&other| adjacent[at[other]].binary_search(&candidate).is_ok()) {
                at.push(candidate);
                all += below(adjacent, edges, at, vertices);
                at.pop();
            }
        }
        all
    }
    below(adjacent, edges, &mut Vec::new(), vertices)
}

#[test]
fn estimates_of_patterns_are_near_their_counts() {
    let n = 300;
    let a = graph(&mut Random(7), n, 1200);
    let degrees = degrees_of(&a);
    let total = a.stored_count() as f64;
    let (entries, _) = a.to_entries().unwrap();
    let (rows, columns) = (entries[0].to_vec::<i64>().unwrap(), entries[1].to_vec::<i64>().unwrap());
    let mut adjacent = vec![Vec::new(); n];
    rows.iter().zip(&columns).for_each(|(&i, &j)| adjacent[i as usize].push(j as usize));
    let patterns: [Pattern; 6] = [
        (&[(0, 1), (1, 2)], 3, 1.0001),
        (&[(0, 1), (0, 2), (0, 3)], 4, 1.0001),
        (&[(0, 1), (1, 2), (2, 3)], 4, 2.0),
        (&[(0, 1), (1, 2), (1, 3), (3, 4)], 5, 2.0),
        (&[(0, 1), (1, 2), (0, 2)], 3, 4.0),
        (&[(0, 1), (1, 2), (2, 3), (0, 3)], 4, 4.0),
    ];
    for (edges, vertices, within) in patterns {
        let truth = count(&adjacent, edges, vertices);
        let supports: Vec<Support> = edges
            .iter()
            .map(|&(i, j)| Support {
                count: total,
                axes: [(i as u8, degrees.clone()), (j as u8, degrees.clone())].into_iter().collect(),
            })
            .collect();
        let supports: Vec<&Support> = supports.iter().collect();
        let all = (0..vertices as u8).fold(0, |all, index| all | bit(index));
        let estimate = Sums::default().joined(&supports, all, &|_| n as f64);
        let error = (estimate / truth).max(truth / estimate);
        assert!(error <= within, "{edges:?}: {estimate} for {truth}");
    }
}

#[test]
fn what_is_kept_of_products_is_near_the_truth() {
    for (seed, n, edges) in [(1, 300, 600), (2, 300, 2400), (3, 500, 1500)] {
        let a = graph(&mut Random(seed), n, edges);
        let (entries, _) = a.to_entries().unwrap();
        let (rows, columns) = (entries[0].to_vec::<i64>().unwrap(), entries[1].to_vec::<i64>().unwrap());
        let mut adjacent = vec![Vec::new(); n];
        rows.iter().zip(&columns).for_each(|(&i, &j)| adjacent[i as usize].push(j as usize));
        let mut truth = 0;
        for row in &adjacent {
            let mut reached: Vec<usize> = row.iter().flat_map(|&j| adjacent[j].iter().copied()).collect();
            reached.sort_unstable();
            reached.dedup();
            truth += reached.len();
        }
        let degrees = degrees_of(&a);
        let edge = |i: u8, j: u8| Support {
            count: a.stored_count() as f64,
            axes: [(i, degrees.clone()), (j, degrees.clone())].into_iter().collect(),
        };
        let (first, second) = (edge(0, 2), edge(1, 2));
        let kept = Sums::default().kept(&[&first, &second], 7, 3, &|_| n as f64);
        let error = (kept.count / truth as f64).max(truth as f64 / kept.count);
        assert!(error <= 1.5, "{} for {truth}", kept.count);
        assert_eq!(kept.axes.len(), 2);
    }
}

fn steps(way: &Way) -> usize {
    way.steps.len()
}

#[test]
fn patterns_are_counted_by_what_they_need() {
    let a = defer(&graph(&mut Random(5), 400, 2000));
    let of = |text: &str| einop(text, &[("A", &a)]);
    // A path is pushed along, a vector a step.
    let path = with_form(&of("p[] += A[i,j] * A[j,k] * A[k,l]"), Shape::Written, |facts, form| {
        search(facts, form, &mut Seen::default()).unwrap()
    });
    assert!(path.priced.iter().all(|step| step.count <= 400.0), "{path:?}");
    // A triangle is one walk.
    let triangle = with_form(&of("p[] += A[i,j] * A[j,k] * A[i,k]"), Shape::Written, |facts, form| {
        search(facts, form, &mut Seen::default()).unwrap()
    });
    assert_eq!(steps(&triangle), 1);
}

#[test]
fn a_model_over_a_join_is_computed_before_the_join() {
    let mut random = Random(3);
    let key = random_matrix(&mut random, 4000, 50, 4000);
    let features = random_matrix(&mut random, 50, 40, 400);
    let weights = Tensor::full([40], 1.0).unwrap();
    let model = defer(&key).matmul(&defer(&features)).matmul(&defer(&weights));
    let (plan, inputs) = plan_of(&model);
    let derivation = GalleyScheduler::default().derive(&plan, &inputs);
    assert_eq!(derivation.queries.len(), 1, "{:?}", derivation.reasons);
    // The weights meet the features first.
    assert_eq!(derivation.queries[0].steps.len(), 2);
    assert!(GalleyScheduler::exact().derive(&plan, &inputs).queries.is_empty());
}

/// Nearly full matrices are multiplied as dense ones, whatever they are stored as.
#[test]
fn products_of_what_is_nearly_full_are_dense() {
    let mut random = Random(11);
    let a = defer(&random_matrix(&mut random, 300, 300, 60_000));
    let b = defer(&random_matrix(&mut random, 300, 300, 60_000));
    let c = defer(&random_matrix(&mut random, 300, 300, 90));
    let (plan, inputs) = plan_of(&a.matmul(&b).matmul(&c));
    let all = roots(&plan);
    let form = form_of(&plan, &fill_of(&inputs), &all, all.roots[0].query, Shape::Written, &[]).unwrap();
    assert!(form.is_closed(), "{form:?}");
    let derivation = GalleyScheduler::default().derive(&plan, &inputs);
    let is_dense = |step: &tj_plan::derive::Elimination| step.is_dense;
    let dense = derivation.queries.iter().flat_map(|query| &query.steps).any(is_dense);
    assert!(dense || !derivation.dense.is_empty(), "{:?}", derivation.reasons);
}
