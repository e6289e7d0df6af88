//! A scheduler can be foolish, never wrong.

mod common;

use common::programs;
use proptest::prelude::*;
use tj_tests::chaos::{check_spoiled, engines};
use tj_tests::generate::generate;
use tj_tests::shrink::{guarded, report};
use tj_tests::{Case, check};

fn legal(case: &Case, seed: u64) -> Result<(), String> {
    check(case, &engines(seed)).map(|_| ())
}

fn illegal(case: &Case, seed: u64) -> Result<(), String> {
    let outcomes = check(case, &[])?;
    (0..4).try_for_each(|k| check_spoiled(case, &outcomes, seed.wrapping_add(k)).map(|_| ()))
}

proptest! {
    #![proptest_config(programs(64, 1))]

    #[test]
    fn legal_decisions_give_the_same_bits(seed in any::<u64>().no_shrink()) {
        let case = generate(seed);
        if guarded(|| legal(&case, seed)).is_err() {
            prop_assert!(false, "{}", report(seed, &case, &|case| legal(case, seed)));
        }
    }

    #[test]
    fn illegal_decisions_are_refused(seed in any::<u64>().no_shrink()) {
        let case = generate(seed);
        if guarded(|| illegal(&case, seed)).is_err() {
            prop_assert!(false, "{}", report(seed, &case, &|case| illegal(case, seed)));
        }
    }
}

/// Spoiling is of use only if it is noticed often.
#[test]
fn most_spoiled_decisions_are_refused() {
    let mut refused = 0;
    for seed in 0..40 {
        let case = generate(seed);
        let outcomes = check(&case, &[]).unwrap();
        refused += usize::from(check_spoiled(&case, &outcomes, seed).unwrap());
    }
    assert!(refused >= 20, "{refused} of 40");
}
