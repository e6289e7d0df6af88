//! A scheduler that reads data makes no program slower: by the rounds that are counted, against the default one.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::ops::Range;

use tensorjit::GalleyScheduler;
use tj_tests::joins::{generate, works};

/// How much more than the default scheduler's plan each program may take.
const MOST: f64 = 1.1;

/// Checks each program, and that all together take at most this part.
fn check(seeds: Range<u64>, together: f64) {
    let (mut before, mut after) = (0, 0);
    for seed in seeds {
        let made = generate(seed);
        let [default, own] = works(&made.program, GalleyScheduler::default()).unwrap();
        assert!(own as f64 <= MOST * default as f64, "{seed}: {own} rounds, not {default}: {}", made.text);
        before += default;
        after += own;
    }
    assert!(after as f64 <= together * before as f64, "{after} rounds, not {before}");
}

#[test]
fn no_join_takes_more_rounds() {
    check(0..25, 0.2);
}

#[test]
fn no_second_join_takes_more_rounds() {
    check(25..50, 0.8);
}

#[test]
fn no_third_join_takes_more_rounds() {
    check(50..75, 0.7);
}

#[test]
fn no_fourth_join_takes_more_rounds() {
    check(75..110, 1.05);
}

/// Lists that meet others again and again are spread over memory, whichever loop is around them.
#[test]
fn no_product_of_long_rows_takes_more_rounds() {
    check(294..295, 0.6);
}
