//! Bounds of known patterns, and what holds of all bounds.

mod truth;

use tj_ir::{LazyTensor, defer, einop};
use tj_plan::Scheduler;
use tj_plan::derive::form::{IndexSet, bit};
use tj_plan::derive::{Shape, fill_of, form_of, roots};
use tj_tensor::{Format, Tensor};

use super::constraints::{Constraint, Region};
use super::{Bound, Bounds, chain};
use crate::GalleyScheduler;
use crate::cost::Facts;
use crate::search::{Seen, search};
use crate::statistics::{Loops, Statistics};
use crate::tests::{Random, csr, graph, plan_of};

fn set(indices: &[u8]) -> IndexSet {
    indices.iter().fold(0, |all, &index| all | bit(index))
}

/// An edge relation of this many edges, of which each vertex has at most some.
fn edge(region: &mut Region, from: u8, to: u8, edges: f64, degree: f64) {
    region.indices |= set(&[from, to]);
    region.add(Constraint { from: 0, to: set(&[from, to]), most: edges });
    region.add(Constraint { from: bit(from), to: bit(to), most: degree });
    region.add(Constraint { from: bit(to), to: bit(from), most: degree });
}

fn edges(all: &[(u8, u8)], edges: f64, degree: f64) -> Region {
    let mut region = Region::default();
    all.iter().for_each(|&(from, to)| edge(&mut region, from, to, edges, degree));
    region
}

fn most(region: &Region, size: f64) -> f64 {
    region.most(0, region.indices, &|_| size)
}

#[test]
fn chains_of_degrees_bound_patterns() {
    assert_eq!(most(&edges(&[(0, 1), (1, 2)], 50.0, 5.0), 1e3), 250.0);
    assert_eq!(most(&edges(&[(0, 1), (1, 2), (2, 3)], 50.0, 5.0), 1e3), 1250.0);
    let triangle = [(0, 1), (1, 2), (0, 2)];
    assert_eq!(most(&edges(&triangle, 50.0, 5.0), 1e3), 250.0);
    let mut thin = edges(&triangle, 50.0, 5.0);
    edge(&mut thin, 0, 1, 1.0, 5.0);
    assert_eq!(most(&thin, 1e3), 5.0);
    // Of nothing that is kept there is one.
    assert_eq!(edges(&triangle, 50.0, 5.0).most(0, 0, &|_| 1e3), 1.0);
    // Of what is not known, all.
    assert_eq!(Region { indices: 3, ..Region::default() }.most(0, 3, &|_| 7.0), 49.0);
    // Nothing meets nothing, however far indices run.
    assert_eq!(most(&edges(&[(0, 1), (1, 2)], 0.0, 0.0), f64::INFINITY), 0.0);
}

#[test]
fn covers_bound_circles() {
    // Hubs with all edges: degrees say nothing.
    let count = |pattern: &[(u8, u8)]| most(&edges(pattern, 100.0, 100.0), 1e3);
    assert_eq!(count(&[(0, 1), (1, 2), (0, 2)]), 1000.0);
    assert_eq!(count(&[(0, 1), (1, 2), (2, 3), (3, 0)]), 1e4);
    assert_eq!(count(&[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]), 1e4);
    assert_eq!(count(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]), 1e5);
    // A path needs all of its ends.
    assert_eq!(count(&[(0, 1), (1, 2), (2, 3)]), 1e4);
    // One edge of a triangle that is known to be rare: 100 * 4 without the others.
    let mut thin = edges(&[(1, 2), (0, 2)], 100.0, 100.0);
    edge(&mut thin, 0, 1, 4.0, 4.0);
    assert_eq!(most(&thin, 1e3), 200.0);
}

/// Bounds of the only step that eliminates all reductions of a program.
fn whole(output: &LazyTensor) -> Bound {
    let (plan, inputs) = plan_of(output);
    let all = roots(&plan);
    let root = all.roots.last().unwrap().query;
    let mut form = form_of(&plan, &fill_of(&inputs), &all, root, Shape::Written, &[]).unwrap();
    let indices: Vec<u8> = form.reductions.iter().map(|own| own.index).collect();
    let step = form.eliminate(&indices).unwrap().clone();
    Bounds::new(&plan, &inputs).step(&form, &step, &[])
}

/// The same of a product at these indices, of which the greatest is taken over all but the first ones: no law takes that apart.
fn joined(indices: &str, text: &str, operands: &[(&str, &LazyTensor)], kept: usize) -> Bound {
    let mut product = einop(&format!("t[{indices}] = {text}"), operands);
    while product.rank() > kept {
        product = product.max(-1);
    }
    whole(&product)
}

fn vertices(chosen: &[i64], n: usize) -> Tensor {
    let mut items = vec![0.0; n];
    chosen.iter().for_each(|&vertex| items[vertex as usize] = 1.0);
    let dense: Tensor = items.into();
    dense.with_fill(Some(0.0.into())).unwrap().with_format(&Format::coo(1)).unwrap()
}

#[test]
fn stars_are_counted_exactly() {
    let n = 200;
    let a = graph(&mut Random(3), n, 700);
    let degrees = a.degrees(0).unwrap();
    let sum = |of: &dyn Fn(usize, f64) -> f64| -> f64 {
        degrees.iter().enumerate().map(|(vertex, &degree)| of(vertex, f64::from(degree))).sum()
    };
    let lazy = defer(&a);
    let ways = |indices: &str, text: &str| joined(indices, text, &[("A", &lazy)], 0).ways();
    assert_eq!(ways("i,j,k", "A[i,j] * A[i,k]"), sum(&|_, d| d * d));
    assert_eq!(ways("i,k,j", "A[i,j] * A[j,k]"), sum(&|_, d| d * d));
    assert_eq!(ways("i,j,k,l", "A[i,j] * A[i,k] * A[i,l]"), sum(&|_, d| d.powi(3)));
    // A triangle is no more than the path that it holds, nor than what its edges cover.
    let edges = a.stored_count() as f64;
    let paths = sum(&|_, d| d * d);
    assert_eq!(ways("i,j,k", "A[i,j] * A[j,k] * A[i,k]"), paths.min(edges.powf(1.5).floor()));
    let greatest = degrees.iter().copied().max().map_or(0.0, f64::from);
    let circle = ways("i,j,k,l", "A[i,j] * A[j,k] * A[k,l] * A[i,l]");
    // Each of the four stars holds three of its vertices.
    let stars = paths.powf(4.0 / 3.0).floor();
    assert_eq!(circle, (paths * greatest).min(edges * edges).min(stars));
    let label = defer(&vertices(&[0, 7, 8, 100], n));
    let labelled = joined("i,j,k", "U[i] * A[i,j] * A[i,k]", &[("A", &lazy), ("U", &label)], 0).ways();
    assert_eq!(labelled, sum(&|vertex, d| if [0, 7, 8, 100].contains(&vertex) { d * d } else { 0.0 }));
    // Of a product of matrices that is kept there are no more entries than ways, nor than elements.
    let product = joined("i,k,j", "A[i,j] * A[j,k]", &[("A", &lazy)], 2);
    assert_eq!(product.entries(), paths.min((n * n) as f64));
}

#[test]
fn long_dimensions_are_bounded_by_norms() {
    let n = 1 << 15;
    // A hub with 1000 leaves, and 500 edges apart.
    let mut pairs: Vec<(usize, usize)> = (1..=1000).flat_map(|leaf| [(0, leaf), (leaf, 0)]).collect();
    pairs.extend((0..500).flat_map(|at| [(2000 + 2 * at, 2001 + 2 * at), (2001 + 2 * at, 2000 + 2 * at)]));
    let a = defer(&csr(n, n, pairs));
    let path = joined("i,j,k", "A[i,j] * A[j,k]", &[("A", &a)], 0);
    // The sum of the squares of degrees, which the norms of equal tensors give.
    assert_eq!(path.ways(), 1_000_000.0 + 1000.0 + 1000.0);
    let label = defer(&vertices(&[5, 6, 7, 8], n));
    let labelled = joined("i,j", "U[i] * A[i,j]", &[("A", &a), ("U", &label)], 0);
    assert!(labelled.ways() >= 4.0 && labelled.ways() <= (4.0_f64 * 1_002_000.0).sqrt(), "{labelled:?}");
}

#[test]
fn unions_products_and_other_fills_are_bounded() {
    let of = |n: usize, chosen: usize| defer(&vertices(&(0..chosen as i64).collect::<Vec<_>>(), n));
    let (x, y) = (of(1000, 5), of(100, 10));
    // Each of a vector is there for all of the other.
    let union = whole(
        &einop(
            "r[i,j] += (X[i] + Y[j]) * A[i,j]",
            &[("X", &x), ("Y", &y), ("A", &defer(&Tensor::full([1000, 100], 1.0).unwrap()))],
        )
        .sum(0),
    );
    assert_eq!(union.ways(), 10_500.0);
    assert_eq!(union.entries(), 100.0);
    // What decides is all that counts.
    let filled = |items: Vec<f64>| {
        let tensor = Tensor::from(items).with_fill(Some(1.0.into())).unwrap();
        defer(&tensor.with_format(&Format::coo(1)).unwrap())
    };
    let ones = filled((0..1000).map(|at| if at % 7 == 0 { 3.0 } else { 1.0 }).collect());
    let ten = of(1000, 10);
    let product = whole(&(&(&ten * &ones) * &ones).sum(()));
    assert_eq!(product.ways(), 10.0);
    // A row, and a diagonal.
    let a = defer(&csr(6, 6, vec![(0, 0), (0, 1), (0, 5), (1, 1), (2, 0), (3, 3)]));
    assert_eq!(whole(&einop("p[] += A[0,j] * 2.0", &[("A", &a)])).ways(), 3.0);
    assert_eq!(whole(&einop("p[] += A[i,i]", &[("A", &a)])).ways(), 4.0);
    // Read backwards, entries are as many.
    assert_eq!(whole(&a.flip(0).sum(1)).ways(), 6.0);
    assert_eq!(whole(&a.flip(0).sum(1)).entries(), 4.0);
}

#[test]
fn sizes_of_nothing_and_of_one_are_bounded() {
    let none = defer(&csr(0, 5, Vec::new()));
    assert_eq!(whole(&none.sum(0)).entries(), 0.0);
    let empty = defer(&csr(4, 5, Vec::new()));
    assert_eq!(whole(&empty.sum(1)).entries(), 0.0);
    let one = defer(&csr(1, 1, vec![(0, 0)]));
    assert_eq!(whole(&one.sum(1)).entries(), 1.0);
    // Over nothing all are true, which is not the fill.
    let truths = Tensor::from_shape_vec([3, 0], Vec::<bool>::new()).unwrap();
    let truths = truths.with_fill(Some(false.into())).unwrap().with_format(&Format::csr()).unwrap();
    assert_eq!(whole(&defer(&truths).all(1)).entries(), 3.0);
}

/// Random constraints among some indices.
fn random_region(random: &mut Random, indices: u8) -> Region {
    let mut region = Region { indices: (1 << indices) - 1, ..Region::default() };
    for _ in 0..1 + random.below(8) {
        region.add(random_constraint(random, indices));
    }
    region
}

fn random_constraint(random: &mut Random, indices: u8) -> Constraint {
    let from = if random.below(2) == 0 { 0 } else { random.next() & ((1 << indices) - 1) & random.next() };
    let to = (random.next() & ((1 << indices) - 1)) | bit(random.below(indices.into()) as u8);
    Constraint { from, to: to & !from, most: (1 + random.below(40)) as f64 }
}

#[test]
fn bounds_are_monotone_and_compose() {
    for seed in 0..400 {
        let random = &mut Random(seed);
        let indices = 2 + random.below(4) as u8;
        let region = random_region(random, indices);
        let sizes: Vec<f64> = (0..indices).map(|_| (1 + random.below(30)) as f64).collect();
        let size = |index: u8| sizes[usize::from(index)];
        let [x, y, z] = [(); 3].map(|()| random.next() & region.indices);
        let bound = |from, to| region.most(from, to, &size);
        assert!(bound(x, y) <= bound(0, y), "seed {seed}: a condition never adds");
        assert!(bound(0, y) <= bound(0, y | z), "seed {seed}: a projection is no larger");
        let chain = |from, to| chain::bound(&region.constraints, from, to, &size);
        assert!(chain(0, y | z) <= chain(0, y) * chain(y, z), "seed {seed}: bounds compose");
        // One more constraint.
        let mut more = region.clone();
        more.add(random_constraint(random, indices));
        assert!(more.most(x, y, &size) <= bound(x, y), "seed {seed}: a constraint never loosens");
        // Other names, and another order.
        let name = |set: IndexSet| (0..indices).filter(move |&own| set & bit(own) != 0);
        let renamed = |set: IndexSet| name(set).fold(0, |all, own| all | bit(indices - 1 - own));
        let mut other = Region { indices: region.indices, ..Region::default() };
        region.constraints.iter().rev().for_each(|own| {
            other.add(Constraint { from: renamed(own.from), to: renamed(own.to), most: own.most });
        });
        let reversed = |index: u8| size(indices - 1 - index);
        assert_eq!(other.most(renamed(x), renamed(y), &reversed), bound(x, y), "seed {seed}");
        // What is kept says of all that is kept what was known before.
        let kept = region.projected(y, &size);
        assert!(kept.most(0, y, &size) <= bound(0, y), "seed {seed}: keeping forgets nothing");
    }
}

#[test]
fn more_entries_are_never_bounded_lower_and_more_factors_never_higher() {
    let patterns = [
        ("i,j,k", "A[i,j] * A[j,k]", 0),
        ("i,j,k", "A[i,j] * A[j,k] * A[i,k]", 0),
        ("i,k,j", "A[i,j] * A[j,k]", 2),
        ("i,j,k,l", "A[i,j] * A[j,k] * A[k,l] * A[l,i]", 0),
        ("i,j,k,l", "A[i,j] * A[i,k] * A[i,l]", 1),
    ];
    for seed in 0..20 {
        let random = &mut Random(seed);
        let n = 3 + random.below(20);
        let mut pairs: Vec<(usize, usize)> =
            (0..random.below(3 * n)).map(|_| (random.below(n), random.below(n))).collect();
        let few = defer(&csr(n, n, pairs.clone()));
        pairs.extend((0..1 + random.below(n)).map(|_| (random.below(n), random.below(n))));
        let many = defer(&csr(n, n, pairs));
        let label = defer(&vertices(&[0, n as i64 - 1], n));
        for (indices, pattern, kept) in patterns {
            let before = joined(indices, pattern, &[("A", &few)], kept);
            let after = joined(indices, pattern, &[("A", &many)], kept);
            assert!(after.ways() >= before.ways(), "seed {seed}, {pattern}: {before:?}, {after:?}");
            assert!(after.entries() >= before.entries(), "seed {seed}, {pattern}: {before:?}, {after:?}");
            let labelled = format!("{pattern} * L[i]");
            let labelled = joined(indices, &labelled, &[("A", &many), ("L", &label)], kept);
            assert!(labelled.ways() <= after.ways(), "seed {seed}, {pattern}: {after:?}, {labelled:?}");
            assert!(labelled.entries() <= after.entries(), "seed {seed}, {pattern}: {after:?}, {labelled:?}");
        }
    }
}

#[test]
fn chosen_steps_say_what_they_cannot_exceed() {
    let n = 300;
    let random = &mut Random(8);
    let mut matrix = |count: usize| {
        let pairs = (0..count).map(|_| (random.below(n), random.below(n)));
        defer(&csr(n, n, pairs.collect()))
    };
    let (a, b, c, d) = (matrix(9000), matrix(9000), matrix(9000), matrix(20));
    let (plan, inputs) = plan_of(&a.matmul(&b).matmul(&c).matmul(&d));
    let derivation = GalleyScheduler::default().derive(&plan, &inputs);
    let steps: Vec<&str> = derivation
        .reasons
        .iter()
        .filter(|reason| reason.rule == "step")
        .map(|reason| &*reason.detail)
        .collect();
    assert!(!steps.is_empty(), "{derivation:?}");
    let sparse: Vec<&&str> = steps.iter().filter(|step| step.contains("entries")).collect();
    assert!(!sparse.is_empty(), "{steps:?}");
    for step in sparse {
        let (expected, most) = step.rsplit_once(" entries, at most ").unwrap();
        let expected: f64 = expected.rsplit_once(' ').unwrap().1.parse().unwrap();
        assert!(expected <= most.parse().unwrap(), "{step}");
    }
}

/// What is expected is no more than what is certain, and what is computed as a dense tensor is not said to be less.
#[test]
fn estimates_are_capped_by_bounds() {
    let n = 100;
    let hub: Vec<(usize, usize)> = (0..n).flat_map(|leaf| [(0, leaf), (leaf, 0)]).collect();
    let a = defer(&csr(n, n, hub));
    let label = defer(&vertices(&[3], n));
    let (plan, inputs) =
        plan_of(&einop("p[] += L[i] * A[i,j] * A[j,k] * A[k,l] * L[l]", &[("A", &a), ("L", &label)]));
    let all = roots(&plan);
    let root = all.roots.last().unwrap().query;
    let form = form_of(&plan, &fill_of(&inputs), &all, root, Shape::Written, &[]).unwrap();
    let statistics = Statistics::new(&plan, &inputs, Loops::Guessed);
    let facts = Facts::new(&statistics, &form, false);
    let mut way = search(&facts, &form, &mut Seen::default()).unwrap();
    let bounds = Bounds::new(&plan, &inputs).way(&form, &way.steps);
    assert_eq!(bounds.len(), way.steps.len());
    for (step, bound) in way.priced.iter_mut().zip(&bounds) {
        let before = step.count;
        step.limit(bound);
        let expected = if step.is_sparse { before.min(bound.entries()) } else { before };
        assert_eq!(step.count, expected);
    }
}
