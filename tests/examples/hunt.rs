//! Checks many seeds in a row: `hunt FIRST COUNT [all | c | legal | illegal | sparse | sparse-c | integers | free | free-c]`. Prints the smallest program of each failure.

use tj_tests::engines::{c_engines, engines};
use tj_tests::generate::generate;
use tj_tests::shrink::{guarded, report};
use tj_tests::sparse::{self, Run};
use tj_tests::wander::{self, of_integers};
use tj_tests::{Case, chaos, check};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other: u64| words.get(at).and_then(|w| w.parse().ok()).unwrap_or(other);
    let (first, count) = (number(0, 0), number(1, 100));
    let test = |case: &Case, seed: u64| match words.get(2).map_or("all", String::as_str) {
        "c" => check(case, &c_engines()).map(|_| ()),
        "legal" => check(case, &chaos::engines(seed)).map(|_| ()),
        "illegal" => {
            let outcomes = check(case, &[])?;
            (0..4).try_for_each(|k| chaos::check_spoiled(case, &outcomes, seed.wrapping_add(k)).map(|_| ()))
        }
        "integers" => {
            of_integers(case).map_or(Ok(()), |case| check(&case, &wander::engines(seed)).map(|_| ()))
        }
        _ => check(case, &engines()).map(|_| ()),
    };
    let kind = words.get(2).map_or("all", String::as_str);
    if let Some(run) = match kind {
        "sparse" => Some(Run::All),
        "sparse-c" => Some(Run::C),
        "free" => Some(Run::Free { with_c: false }),
        "free-c" => Some(Run::Free { with_c: true }),
        _ => None,
    } {
        return hunt_sparse(first, count, run);
    }
    // Panics are failures like any other, and are reported with the program.
    std::panic::set_hook(Box::new(|_| ()));
    let (mut steps, mut failures) = (0, 0);
    for seed in first..first + count {
        let case = generate(seed);
        steps += case.program.steps.len();
        if guarded(|| test(&case, seed)).is_err() {
            failures += 1;
            eprintln!("{}", report(seed, &case, &|case| test(case, seed)));
        }
    }
    eprintln!("{failures} failures in {count} programs of {:.1} steps", steps as f64 / count as f64);
}

fn hunt_sparse(first: u64, count: u64, run: Run) {
    std::panic::set_hook(Box::new(|_| ()));
    let (mut steps, mut failures) = (0, 0);
    for seed in first..first + count {
        let case = sparse::generate(seed);
        let is_free = matches!(run, Run::Free { .. });
        let case = if is_free { case.whole(seed.is_multiple_of(3)) } else { case };
        steps += case.program.steps.len();
        let engines = sparse::runs(run, seed);
        if let Err(first) = guarded(|| sparse::check(&case, &engines)) {
            failures += 1;
            eprintln!("{}", sparse::report(seed, &case, &engines, &first));
        }
    }
    eprintln!("{failures} failures in {count} programs of {:.1} steps", steps as f64 / count as f64);
}
