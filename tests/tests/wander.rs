//! Whatever the laws of algebra allow gives the same values, where these do not depend on the order of sums.

mod common;

use common::programs;
use proptest::prelude::*;
use tensorjit::{Stage, explain_with};
use tj_tests::check::{Case as Dense, check};
use tj_tests::generate::generate;
use tj_tests::shrink::{guarded, report};
use tj_tests::sparse::{self, Case, Run, runs};
use tj_tests::wander::{self, of_integers};

fn case(seed: u64) -> Case {
    sparse::generate(seed).whole(seed.is_multiple_of(3))
}

proptest! {
    #![proptest_config(programs(120, 1))]

    #[test]
    fn every_order_gives_the_values_of_the_program(seed in any::<u64>().no_shrink()) {
        let case = case(seed);
        // The C compiler takes longer than all else.
        let engines = runs(Run::Free { with_c: seed % 16 == 0 }, seed);
        if let Err(first) = guarded(|| sparse::check(&case, &engines)) {
            prop_assert!(false, "{}", sparse::report(seed, &case, &engines, &first));
        }
    }

    /// Sizes are symbols here, and whole numbers wrap around.
    #[test]
    fn every_order_of_whole_numbers_gives_the_same_bits(seed in any::<u64>().no_shrink()) {
        let test = |case: &Dense| check(case, &wander::engines(seed)).map(|_| ());
        if let Some(case) = of_integers(&generate(seed))
            && guarded(|| test(&case)).is_err()
        {
            prop_assert!(false, "{}", report(seed, &case, &test));
        }
    }
}

/// What the tests above compare is rearranged often, and code that reads what is kept in another order or dense.
#[test]
fn programs_are_rearranged() {
    let (mut seen, mut rearranged, mut kept) = (0, 0, 0);
    for seed in 0..150 {
        let case = case(seed);
        if !case.is_exact_in_any_order() {
            continue;
        }
        let tensors = case.tensors(0).expect("arguments can be made");
        let built = case.build(&case.steps(0), &tensors).expect("programs can be built");
        let outputs: Vec<_> = case.program.outputs.iter().map(|&k| built[k].clone()).collect();
        let (_, options) = wander::engines(seed).swap_remove(1);
        let Ok(text) = explain_with(&outputs, options) else { continue };
        let before = text.text(Stage::Plan);
        let after = text.text(Stage::Derive);
        seen += 1;
        rearranged += usize::from(!after.is_empty() && before != after);
        kept += usize::from(after.contains(" filter:"));
    }
    assert!(rearranged > seen / 4 && kept > 2, "{rearranged} of {seen}, {kept} with factors that are kept");
}
