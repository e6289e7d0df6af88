//! Every engine gives what the plan's interpreter gives, and what results say of themselves is true.

use tensorjit::{
    Backend, CompileOptions, DefaultScheduler, GalleyScheduler, InterpretKernel, InterpretPlan, LazyTensor,
    Level, Reassociate, Scalar, Scheduler, Surprise, Tensor, Unfused, cache_report, compute_as,
};

use super::{Case, Compare};
use crate::engines::{Named, c_compiler, scheduled};
use crate::program::Step;
use crate::wander;

/// Engines that combine values in whatever order they choose.
const FREE: &str = "any order: ";

/// Which engines run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// One of those that need no C compiler, by the seed.
    Some,
    /// All of those.
    All,
    /// C.
    C,
    /// Those that combine values in any order, of which C is one where `with_c` says so.
    Free {
        /// Whether a C compiler may be used.
        with_c: bool,
    },
}

/// The engines of a seed.
pub fn runs(run: Run, seed: u64) -> Vec<Named> {
    let cut = |threads| CompileOptions {
        threads,
        parallel_work: Some(0),
        ..scheduled(DefaultScheduler.on(Backend::Cranelift))
    };
    let galley = GalleyScheduler::new(Reassociate::Expand);
    // They decide again after every step.
    let always = Surprise { times: 0, entries: 0, left: 0 };
    let restless = galley.surprised_by(always);
    let all: Vec<Named> = vec![
        ("cranelift", scheduled(DefaultScheduler.on(Backend::Cranelift))),
        ("kernel interpreter", scheduled(InterpretKernel)),
        ("cranelift, cut, 2 threads", cut(2)),
        ("cranelift, unfused", scheduled(Unfused)),
        ("cranelift, cut, 1 thread", cut(1)),
        ("galley, exact", scheduled(GalleyScheduler::exact())),
        ("galley, exact, restless", scheduled(GalleyScheduler::exact().surprised_by(always))),
        ("any order: galley", scheduled(galley)),
        ("any order: galley, restless", scheduled(restless)),
    ];
    match run {
        Run::All => all,
        Run::C if c_compiler() => vec![("c", scheduled(DefaultScheduler.on(Backend::C)))],
        Run::C => Vec::new(),
        Run::Free { with_c } => {
            let mut free = wander::engines(seed);
            free.push(("any order: galley", scheduled(galley)));
            free.push(("any order: galley, restless", scheduled(restless)));
            free.push(("any order: galley, factors only", scheduled(GalleyScheduler::default())));
            free.extend(if with_c && c_compiler() { wander::c_engines(seed) } else { Vec::new() });
            free
        }
        Run::Some => vec![all[(seed % all.len() as u64) as usize].clone()],
    }
}

/// Runs a case on some engines.
///
/// # Errors
/// The first thing that is wrong, in words.
pub fn check(case: &Case, engines: &[Named]) -> Result<(), String> {
    let mut before: Option<(Vec<Tensor>, Vec<i64>)> = None;
    for round in 0..2 {
        let tensors = case.tensors(round)?;
        let steps = case.steps(round);
        let Ok(built) = case.build(&steps, &tensors) else { return Ok(()) };
        let outputs: Vec<LazyTensor> = case.program.outputs.iter().map(|&k| built[k].clone()).collect();
        if outputs.iter().any(|output| output.check().is_err()) {
            return Ok(());
        }
        let oracle = scheduled(InterpretPlan);
        let expected = compute_as(outputs.clone(), &oracle).map(|(values, _)| values);
        let scale = match (case.compare, &expected) {
            (Compare::Sum { terms }, Ok(_)) => {
                scale(&steps[case.program.outputs[0]], &built)?.map(|scale| (scale, terms))
            }
            _ => None,
        };
        let sizes: Vec<i64> =
            built.iter().flat_map(LazyTensor::shape).map(|size| size.hint().unwrap_or(-1)).collect();
        let same = before.as_ref().is_some_and(|(tensors_before, sizes_before)| {
            let same_numbers = steps == case.program.steps;
            same_numbers && same_code(tensors_before, &tensors) && same_pattern(sizes_before, &sizes)
        });
        for (name, options) in engines {
            if name.starts_with(FREE) && !case.is_exact_in_any_order() {
                continue;
            }
            let fail = |problem: String| format!("{name}, round {round}: {problem}");
            let compiled = cache_report().compilations;
            let got = compute_as(outputs.clone(), options).map(|(values, _)| values);
            let compiled = cache_report().compilations - compiled;
            let (got, expected) = match (got, &expected) {
                (Ok(got), Ok(expected)) => (got, expected),
                (Err(got), Err(expected)) if got.to_string() == expected.to_string() => continue,
                (Err(got), Err(expected)) => return Err(fail(format!("error {got}, expected {expected}"))),
                (Err(got), Ok(_)) => return Err(fail(format!("error {got}"))),
                (Ok(_), Err(expected)) => return Err(fail(format!("no error, expected {expected}"))),
            };
            let reads_data = options.scheduler.as_ref().is_some_and(|own| own.reads_data());
            if same && compiled > 0 && !reads_data {
                return Err(fail("compiled again for other data".to_string()));
            }
            for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
                let fill = outputs[at].fill();
                result(got, expected, fill, scale.as_ref())
                    .map_err(|problem| fail(format!("output {at}: {problem}")))?;
            }
        }
        before = Some((tensors, sizes));
    }
    Ok(())
}

/// Whether code for some arguments is code for others.
fn same_code(before: &[Tensor], now: &[Tensor]) -> bool {
    let few = |tensor: &Tensor| {
        tensor.stored().is_some_and(|stored| {
            stored.format().rank() > 0 && stored.extent(0) / 16 > stored.leaf_positions().max(1)
        })
    };
    let same = |x: &Tensor, y: &Tensor| {
        x.format() == y.format()
            && few(x) == few(y)
            && x.fill() == y.fill()
            && x.stores_fill() == y.stores_fill()
    };
    before.iter().zip(now).all(|(x, y)| same(x, y))
}

/// Whether sizes are 1, and equal to each other, at the same places: what is broadcast then is the same.
fn same_pattern(before: &[i64], now: &[i64]) -> bool {
    let pairs: Vec<(i64, i64)> = before.iter().copied().zip(now.iter().copied()).chain([(1, 1)]).collect();
    before.len() == now.len() && pairs.iter().all(|x| pairs.iter().all(|y| (x.0 == y.0) == (x.1 == y.1)))
}

/// The sum of absolute values in place of the sum that ends a program.
fn scale(last: &Step, built: &[LazyTensor]) -> Result<Option<Tensor>, String> {
    if last.args().is_empty() {
        return Ok(None);
    }
    let mut sizes: Vec<LazyTensor> = built.to_vec();
    for arg in last.args() {
        if !built[arg].dtype().is_bool() {
            sizes[arg] = built[arg].abs();
        }
    }
    let sum = last.apply(&[], &[], "", &sizes).map_err(|error| error.to_string())?;
    let (values, _) = compute_as(sum, &scheduled(InterpretPlan)).map_err(|error| error.to_string())?;
    Ok(Some(values))
}

fn result(
    got: &Tensor,
    expected: &Tensor,
    fill: Option<Scalar>,
    scale: Option<&(Tensor, usize)>,
) -> Result<(), String> {
    if got.dtype() != expected.dtype() || got.shape() != expected.shape() {
        let text = |t: &Tensor| format!("{}{:?}", t.dtype(), t.shape());
        return Err(format!("{}, expected {}", text(got), text(expected)));
    }
    if !same_fill(got.fill(), expected.fill()) || !same_fill(got.fill(), fill) {
        return Err(format!("fill {:?}, expected {:?}, declared {fill:?}", got.fill(), expected.fill()));
    }
    let dense = |t: &Tensor| t.to_dense().map_err(|error| error.to_string());
    let (values, wanted) = (elements(&dense(got)?)?, elements(&dense(expected)?)?);
    let scales = match scale {
        Some((scale, terms)) => Some((elements(&dense(scale)?)?, *terms)),
        None => None,
    };
    for (at, (x, y)) in values.iter().zip(&wanted).enumerate() {
        let is_right = match &scales {
            None => same(*x, *y),
            Some((scales, terms)) => same(*x, *y) || is_near(*x, *y, scales[at], *terms),
        };
        if !is_right {
            return Err(format!("{x} at {at} of {:?}, expected {y}", got.shape()));
        }
    }
    let Some(stored) = got.stored() else { return Ok(()) };
    let Some(fill) = fill else { return Err("stored, and has no fill".to_string()) };
    // By bits: -0 is not 0 here.
    let is_fill = |x: &Scalar| x.bits() == fill.bits() || (x.to_f64().is_nan() && fill.to_f64().is_nan());
    let differ = values.iter().filter(|value| !is_fill(value)).count();
    let nnz = got.nnz().map_err(|error| error.to_string())?;
    if nnz != differ {
        return Err(format!("nnz {nnz}, but {differ} elements differ from the fill"));
    }
    let levels = stored.levels().to_vec();
    Tensor::from_levels(stored.format().clone(), got.shape(), levels, stored.leaf().clone(), stored.fill())
        .map_err(|error| format!("an invalid result: {error}"))?;
    let lists = matches!(stored.levels().last(), Some(Level::Compressed { .. } | Level::Singleton { .. }));
    if lists && got.stored_count() != nnz {
        return Err(format!("{} stored, {nnz} differ from the fill", got.stored_count()));
    }
    Ok(())
}

fn elements(tensor: &Tensor) -> Result<Vec<Scalar>, String> {
    let flat = tensor.reshape([tensor.count().map_err(|e| e.to_string())?]).map_err(|e| e.to_string())?;
    (0..flat.shape()[0]).map(|at| flat.get(&[at]).map_err(|e| e.to_string())).collect()
}

fn same_fill(x: Option<Scalar>, y: Option<Scalar>) -> bool {
    match (x, y) {
        (Some(x), Some(y)) => same(x, y),
        (x, y) => x.is_none() && y.is_none(),
    }
}

/// Bit for bit, but for signs of zeros and what NaN carries.
fn same(x: Scalar, y: Scalar) -> bool {
    let (a, b) = (x.to_f64(), y.to_f64());
    x == y || (x.dtype().is_float() && ((a.is_nan() && b.is_nan()) || (a == 0.0 && b == 0.0)))
}

/// Whether two sums of the same terms may differ like this.
fn is_near(x: Scalar, y: Scalar, scale: Scalar, terms: usize) -> bool {
    let eps = x.dtype().finfo().map_or(0.0, |info| info.eps);
    let (x, y, scale) = (x.to_f64(), y.to_f64(), scale.to_f64());
    !scale.is_finite() || (x - y).abs() <= (terms + 2) as f64 * eps * scale
}
