//! Random programs have the same bits on every engine.

mod common;

use common::programs;
use proptest::prelude::*;
use tensorjit::{CompileOptions, Stage, explain_with};
use tj_tests::check::check_together;
use tj_tests::donate::gives_arguments_away;
use tj_tests::engines::{Outcome, c_compiler, c_engines, engines};
use tj_tests::generate::generate;
use tj_tests::shrink::{guarded, report};
use tj_tests::{Case, check};

/// How many programs a C compiler sees at once: starting it costs more than a kernel does.
const UNIT: u32 = 24;

proptest! {
    #![proptest_config(programs(96, 1))]

    #[test]
    fn programs_have_the_same_bits_on_every_engine(seed in any::<u64>().no_shrink()) {
        let case = generate(seed);
        let test = |case: &Case| check(case, &engines()).map(|_| ());
        if guarded(|| test(&case)).is_err() {
            prop_assert!(false, "{}", report(seed, &case, &test));
        }
    }
}

proptest! {
    #![proptest_config(programs(3 * UNIT, UNIT))]

    #[test]
    fn programs_have_the_same_bits_in_c(seed in any::<u64>().no_shrink()) {
        if c_compiler() {
            let unit: Vec<(Case, Vec<Outcome>)> = (0..u64::from(UNIT))
                .map(|k| generate(seed.wrapping_add(k)))
                .filter_map(|case| guarded(|| check(&case, &[])).ok().map(|outcomes| (case, outcomes)))
                .collect();
            if let Err((number, problem)) = check_together(&unit, &c_engines()) {
                let test = |case: &Case| check(case, &c_engines()).map(|_| ());
                let text = unit.get(number).map(|(case, _)| report(seed, case, &test));
                prop_assert!(false, "{problem}\n{}", text.unwrap_or_default());
            }
        }
    }
}

/// What the tests above compare includes temporaries in the memory of others, and outputs in that of arguments.
#[test]
fn programs_share_memory() {
    let (mut shared, mut donated) = (0, 0);
    for seed in 0..80 {
        let case = generate(seed);
        let outputs = case.program.outputs("").expect("generated programs are well formed");
        for fuse in [true, false] {
            let options = CompileOptions { fuse, ..Default::default() };
            let text = explain_with(&outputs, options).expect("generated programs compile");
            shared += usize::from(text.text(Stage::Kernel).contains(" inplace @"));
        }
        let Ok(outcomes) = check(&case, &[]) else { continue };
        let arguments = case.arguments("", &outputs).expect("generated programs have arguments");
        donated += gives_arguments_away(&outputs, arguments, &outcomes).expect("arguments may be given away");
    }
    assert!(shared > 20 && donated > 20, "{shared} programs share memory, {donated} arguments were taken");
}
