//! Random programs over tensors that are stored in any way agree with the plan's interpreter, whoever runs them.

mod common;

use common::programs;
use proptest::prelude::*;
use tj_tests::shrink::guarded;
use tj_tests::sparse::{Run, check, generate, report, runs};

proptest! {
    #![proptest_config(programs(200, 1))]

    #[test]
    fn storage_changes_nothing(seed in any::<u64>().no_shrink()) {
        let case = generate(seed);
        // The C compiler takes longer than all else.
        let engines = runs(if seed % 16 == 0 { Run::C } else { Run::Some }, seed);
        if let Err(first) = guarded(|| check(&case, &engines)) {
            prop_assert!(false, "{}", report(seed, &case, &engines, &first));
        }
    }
}
