//! The smallest case that still fails.
//!
//! Greedy: each attempt makes the case smaller in one way, and is kept if it still fails. Every way is tried again
//! until none helps.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::check::Case;
use crate::program::{Arg, Program, Step};

/// Attempts before giving up on a smaller case: each runs the program on every engine.
const ATTEMPTS: usize = 600;

/// What a test of a case says, where a panic is a failure like any other.
///
/// # Errors
/// The failure in words.
pub fn guarded<T>(test: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(test)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// A failure of `test` in words: the smallest program that shows it.
pub fn report(seed: u64, case: &Case, test: &dyn Fn(&Case) -> Result<(), String>) -> String {
    let small = shrink(case, &|smaller| guarded(|| test(smaller)).is_err());
    let problem = guarded(|| test(&small)).err().unwrap_or_else(|| "nothing when run again".to_string());
    format!("seed {seed}: {problem}\nsizes {:?}, data {}\n{}", small.values, small.seed, small.program)
}

/// The smallest case found for which `fails` says so. `case` itself fails.
pub fn shrink(case: &Case, fails: &dyn Fn(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut left = ATTEMPTS;
    loop {
        let found = candidates(&best).into_iter().find(|candidate| {
            if left == 0 || candidate == &best || !candidate.is_well_formed() {
                return false;
            }
            left -= 1;
            fails(candidate)
        });
        match found {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Cases that are smaller in one way, the boldest first.
pub(crate) fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let with = |program: Program| Case { program: program.without_dead(), ..case.clone() };
    let program = &case.program;
    if case.values.len() > 1 {
        all.extend(case.values.iter().map(|v| Case { values: vec![v.clone()], ..case.clone() }));
    }
    if program.outputs.len() > 1 {
        for &output in &program.outputs {
            all.push(with(Program { outputs: vec![output], ..program.clone() }));
        }
        for drop in 0..program.outputs.len() {
            let mut outputs = program.outputs.clone();
            outputs.remove(drop);
            all.push(with(Program { outputs, ..program.clone() }));
        }
    }
    // A step replaced by one of those it is built on.
    for k in (0..program.steps.len()).rev() {
        for arg in program.steps[k].args() {
            let replace = |j: usize| if j == k { arg } else { j };
            let steps = program.steps.iter().map(|step| step.map_args(&replace)).collect();
            let outputs = program.outputs.iter().map(|&j| replace(j)).collect();
            all.push(with(Program { steps, outputs, ..program.clone() }));
        }
    }
    // An argument of an operator replaced by another of the same operator, or by a number.
    for (k, step) in program.steps.iter().enumerate() {
        let Step::Map(op, args) = step else { continue };
        for at in 0..args.len() {
            for other in args.iter().copied().filter(|a| *a != args[at]).chain([Arg::Int(1)]) {
                let mut args = args.clone();
                args[at] = other;
                if args.iter().any(|a| matches!(a, Arg::Step(_))) {
                    let mut steps = program.steps.clone();
                    steps[k] = Step::Map(*op, args);
                    all.push(with(Program { steps, ..program.clone() }));
                }
            }
        }
    }
    // Smaller sizes.
    for (call, values) in case.values.iter().enumerate() {
        for (at, &value) in values.iter().enumerate() {
            for smaller in [1, 2, 3, value / 2, value - 1] {
                if (0..value).contains(&smaller) {
                    let mut values = case.values.clone();
                    values[call][at] = smaller;
                    all.push(Case { values, ..case.clone() });
                }
            }
        }
    }
    all
}
