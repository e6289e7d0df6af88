//! Random programs have the same bits on every engine.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use tj_tests::Case;
use tj_tests::check::{check, check_together};
use tj_tests::engines::{Named, Outcome, c_compiler, c_engines, engines};
use tj_tests::generate::generate;
use tj_tests::shrink::shrink;

/// How many programs a C compiler sees at once.
const UNIT: u64 = 24;

/// As many cases as the environment asks for, `programs` to a case.
fn cases(default: u32, programs: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse::<u32>().ok());
    let cases = asked.unwrap_or(default).div_ceil(programs);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Checks a case; a panic is a failure like any other.
fn outcome(case: &Case, engines: &[Named]) -> Result<Vec<Outcome>, String> {
    catch_unwind(AssertUnwindSafe(|| check(case, engines))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// A failure in words: the smallest program that shows it.
fn report(seed: u64, case: &Case, problem: &str, engines: &[Named]) -> String {
    let small = shrink(case, &|smaller| outcome(smaller, engines).is_err());
    let now = outcome(&small, engines).err().unwrap_or_else(|| problem.to_string());
    let Case { program, values, seed: data } = &small;
    format!("seed {seed}: {problem}\nsmallest: {now}\nsizes {values:?}, data {data}\n{program}")
}

proptest! {
    #![proptest_config(cases(96, 1))]

    #[test]
    fn programs_have_the_same_bits_on_every_engine(seed in any::<u64>().no_shrink()) {
        let case = generate(seed);
        if let Err(problem) = outcome(&case, &engines()) {
            prop_assert!(false, "{}", report(seed, &case, &problem, &engines()));
        }
    }
}

proptest! {
    #![proptest_config(cases(3 * UNIT as u32, UNIT as u32))]

    #[test]
    fn programs_have_the_same_bits_in_c(seed in any::<u64>().no_shrink()) {
        if c_compiler() {
            let unit: Vec<(Case, Vec<Outcome>)> = (0..UNIT)
                .map(|k| generate(seed.wrapping_add(k)))
                .filter_map(|case| outcome(&case, &[]).ok().map(|outcomes| (case, outcomes)))
                .collect();
            if let Err((number, problem)) = check_together(&unit, &c_engines()) {
                let text = match unit.get(number) {
                    Some((case, _)) => report(seed, case, &problem, &c_engines()),
                    None => problem,
                };
                prop_assert!(false, "{text}");
            }
        }
    }
}
