use proptest::prelude::*;

use super::*;
use crate::ir::Kernel;
use crate::sample::{SampleOptions, sample};

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn print_parse_print_is_the_identity(seed: u64) {
        let kernel = sample(seed, &SampleOptions::default()).kernel;
        let text = kernel.to_string();
        let parsed: Kernel = text.parse().unwrap();
        prop_assert_eq!(parsed.to_string(), text);
        prop_assert_eq!(parsed, kernel);
    }

    #[test]
    fn parse_never_panics(seed in 0u64..50, cut: prop::sample::Index, with in "[ -~\n]{0,3}") {
        let mut text = sample(seed, &SampleOptions::default()).kernel.to_string();
        let at = cut.index(text.len());
        text.replace_range(at..at + 1, &with);
        let _ = parse(&text);
    }
}
