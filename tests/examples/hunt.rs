//! Checks many seeds in a row: `hunt FIRST COUNT [c]`. Prints the smallest program of each failure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tj_tests::check::{Case, check};
use tj_tests::engines::{Named, c_engines, engines};
use tj_tests::generate::generate;
use tj_tests::shrink::shrink;

fn outcome(case: &Case, engines: &[Named]) -> Result<(), String> {
    let caught = catch_unwind(AssertUnwindSafe(|| check(case, engines).map(|_| ())));
    caught.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other: u64| words.get(at).and_then(|w| w.parse().ok()).unwrap_or(other);
    let engines = if words.get(2).is_some_and(|w| w == "c") { c_engines() } else { engines() };
    std::panic::set_hook(Box::new(|info| {
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            eprintln!("{info}\n{}", std::backtrace::Backtrace::force_capture());
        }
    }));
    let (first, count) = (number(0, 0), number(1, 100));
    let (mut steps, mut failures) = (0, 0);
    for seed in first..first + count {
        let case = generate(seed);
        steps += case.program.steps.len();
        if let Err(problem) = outcome(&case, &engines) {
            failures += 1;
            let small = shrink(&case, &|smaller| outcome(smaller, &engines).is_err());
            let now = outcome(&small, &engines).err().unwrap_or(problem);
            let now: Vec<&str> = now.lines().take(if words.len() > 3 { 200 } else { 6 }).collect();
            eprintln!(
                "seed {seed}: {}\nsizes {:?} data {}\n{}",
                now.join("\n"),
                small.values,
                small.seed,
                small.program
            );
        }
    }
    eprintln!("{failures} failures in {count} programs of {:.1} steps", steps as f64 / count as f64);
}
