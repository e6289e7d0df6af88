//! The smallest case that still fails, by the cuts that programs over dense tensors know, and simpler arguments.

use super::{Argument, Case, Fill, Storage, check};
use crate::engines::Named;
use crate::program::Step;
use crate::shrink::{candidates, guarded};

/// Attempts before giving up on a smaller case.
const ATTEMPTS: usize = 250;

/// A failure in words, of which the `first` are known: the smallest program that shows it.
pub fn report(seed: u64, case: &Case, engines: &[Named], first: &str) -> String {
    let problem = |case: &Case| guarded(|| check(case, engines)).err();
    let mut best = case.clone();
    let mut left = ATTEMPTS;
    // One engine that fails is enough.
    let same_kind = |found: &str| found.contains("error") == first.contains("error");
    loop {
        let smaller = smaller(&best).into_iter().find(|candidate| {
            if left == 0 || candidate == &best {
                return false;
            }
            left -= 1;
            problem(candidate).is_some_and(|found| same_kind(&found))
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => break,
        }
    }
    let problem = problem(&best).unwrap_or_else(|| format!("nothing when run again; at first {first}"));
    format!("seed {seed}: {problem}\n{best}")
}

fn smaller(case: &Case) -> Vec<Case> {
    let as_dense = crate::Case { program: case.program.clone(), values: Vec::new(), seed: 0 };
    let programs = candidates(&as_dense).into_iter().map(|smaller| smaller.program);
    let mut all: Vec<Case> = programs.map(|program| Case { program, ..case.clone() }).collect();
    for (at, argument) in case.arguments.iter().enumerate() {
        if !case.program.steps.contains(&Step::Input(at)) {
            continue;
        }
        let mut with = |argument: Argument| {
            let mut arguments = case.arguments.clone();
            arguments[at] = argument;
            all.push(Case { arguments, ..case.clone() });
        };
        let own = || argument.clone();
        if argument.storage != Storage::Plain {
            with(Argument { storage: Storage::Plain, ..own() });
            let list = Storage::Levels(format!("csf({})", argument.shape.len()));
            if argument.shape.len() == 2 && argument.storage != list {
                with(Argument { storage: Storage::Levels("csr".to_string()), ..own() });
            }
            if !matches!(&argument.storage, Storage::Levels(format) if format.len() <= 6) {
                with(Argument { storage: list, ..own() });
            }
        }
        if argument.fill != Fill::Zero {
            with(Argument { fill: Fill::Zero, ..own() });
        }
        if argument.special {
            with(Argument { special: false, ..own() });
        }
        if argument.explicit > 0 {
            with(Argument { explicit: 0, ..own() });
        }
        for density in [0, 20, 100] {
            if argument.density != density && argument.density != 0 && argument.density != 100 {
                with(Argument { density, ..own() });
            }
        }
    }
    // A size everywhere at once, so that what meets still does.
    let mut sizes: Vec<usize> = case.arguments.iter().flat_map(|a| a.shape.clone()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for &size in &sizes {
        for less in [1, 2, 3].into_iter().filter(|&less| less < size) {
            let mut arguments = case.arguments.clone();
            for argument in &mut arguments {
                argument.shape.iter_mut().filter(|n| **n == size).for_each(|n| *n = less);
            }
            all.push(Case { arguments, ..case.clone() });
        }
    }
    all
}
