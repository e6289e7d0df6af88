//! Whatever the laws of algebra allow gives the same values, where these do not depend on the order of sums.

mod common;

use common::programs;
use proptest::prelude::*;
use tensorjit::{CompileOptions, Duplicates, Stage, Tensor, at, compute_as, defer, explain_with, where_};
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
    let (mut reducing, mut rearranged, mut kept) = (0, 0, 0);
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
        let reductions = ["sum<", "prod<", "max<", "min<", "or<", "and<"];
        reducing += usize::from(reductions.iter().any(|reduction| before.contains(reduction)));
        rearranged += usize::from(!after.is_empty() && before != after);
        kept += usize::from(after.contains(" filter:"));
    }
    let found = format!("{rearranged} of {reducing}, {kept} with factors that are kept");
    assert!(rearranged > reducing / 2 && reducing > 30 && kept > 2, "{found}");
}

/// A difference is a sum in some forms, of which infinities would decide more: `inf - inf` is NaN where the first is a fill, too.
#[test]
fn fills_decide_no_differences() {
    let at = |places: [i64; 2]| Tensor::from(places.to_vec());
    let x = Tensor::coo([4, 4], &[at([0, 2]), at([1, 2])], vec![2.0, 4.0], Duplicates::Refuse).unwrap();
    let infinite = 1.0 / defer(&x);
    let by = defer(&Tensor::from(vec![1.0, f64::INFINITY, 2.0, 3.0]));
    let other = defer(&Tensor::full([4, 4], 2.0).unwrap());
    let programs = [
        ((&infinite - &by).min(1), [f64::NEG_INFINITY, f64::NAN, f64::NAN, f64::NAN]),
        ((&infinite - &by).minimum(9.5).max(1), [9.5, f64::NAN, f64::NAN, f64::NAN]),
        (((&infinite - &by).minimum(9.5) * &other).sum(1), [f64::NEG_INFINITY, f64::NAN, f64::NAN, f64::NAN]),
        ((&by - &infinite).max(1), [f64::INFINITY, f64::NAN, f64::NAN, f64::NAN]),
    ];
    for (number, (program, expected)) in programs.iter().enumerate() {
        let options = (0..4).flat_map(wander::engines).map(|(_, options)| options);
        for options in options.chain([CompileOptions::default()]) {
            let found = compute_as(program, &options).unwrap().0.to_vec::<f64>().unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "program {number}");
        }
    }
}

/// What stands before an empty part is read nowhere, whatever is computed before the loops that say so.
#[test]
fn factors_stay_inside_of_the_loops_that_may_be_empty() {
    let x = Tensor::full([2, 2], 0_f32).unwrap();
    let zero = defer(&x).logical_not();
    let counts = where_(&zero, &zero, 0_i64);
    for (stop, expected) in [(-3, [0, 0, 0, 0]), (2, [1, 0, 1, 0])] {
        let part = counts.index([at(-4, stop, 2), at(None, None, 1)]);
        let padded = part.pad([(0_i64, 2_i64), (0, 0)], 0_i64).index([at(None, 2, 1), at(None, None, 1)]);
        let program = &padded * &padded;
        for seed in 0..12 {
            for (engine, options) in wander::engines(seed) {
                let found =
                    compute_as(&program, &options).unwrap_or_else(|e| panic!("{engine}, {seed}: {e}")).0;
                let found = found.transpose().to_vec::<i64>().unwrap();
                assert_eq!(found, expected, "{engine}, {seed}");
            }
        }
    }
}
