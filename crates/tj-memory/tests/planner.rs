//! One analysis, many tuples of sizes.

use std::sync::Arc;

use proptest::prelude::*;
use tj_memory::{Error, InPlace, Interval, Plan, Planner, Violation, verify_in_place};

/// Lifetimes and in-place pairs between some of those that allow it.
fn program() -> impl Strategy<Value = (Vec<Interval>, Vec<InPlace>)> {
    let interval =
        (0..20u64, 1..8u64, 0..5u32).prop_map(|(first, length, align)| (first, first + length, 1 << align));
    (prop::collection::vec(interval, 1..40), any::<u64>()).prop_map(|(lifetimes, mask)| {
        let intervals: Vec<Interval> = lifetimes
            .iter()
            .map(|&(first, last, align)| Interval::new(first, last, 512).with_align(align))
            .collect();
        let mut taken = vec![false; intervals.len()];
        let mut pairs = Vec::new();
        for (input, from) in intervals.iter().enumerate() {
            let heir =
                (0..intervals.len()).find(|&output| !taken[output] && intervals[output].first == from.last);
            if let Some(output) = heir.filter(|_| mask >> (input % 64) & 1 == 1) {
                taken[output] = true;
                pairs.push(InPlace { input, output });
            }
        }
        (intervals, pairs)
    })
}

proptest! {
    #[test]
    fn every_bind_verifies(
        (maxima, pairs) in program(),
        sizes in prop::collection::vec(prop::collection::vec(0..=512u64, 40), 1..5),
    ) {
        let planner = Planner::new(&maxima, &pairs).unwrap();
        let maximum = planner.maximum().unwrap();
        prop_assert_eq!(verify_in_place(&maxima, &pairs, maximum), Ok(()));
        for sizes in &sizes {
            let sizes = &sizes[..maxima.len()];
            let plan = planner.plan(sizes).unwrap();
            prop_assert!(plan.bound <= plan.peak && plan.peak <= maximum.peak);
            let intervals: Vec<Interval> =
                maxima.iter().zip(sizes).map(|(interval, &size)| Interval { size, ..*interval }).collect();
            prop_assert_eq!(verify_in_place(&intervals, &pairs, &plan), Ok(()));
            for pair in &pairs {
                prop_assert_eq!(plan.offsets[pair.input], plan.offsets[pair.output]);
            }
        }
    }
}

#[test]
fn plans_are_remembered() {
    let planner = Planner::new(&[Interval::new(0, 1, u64::MAX), Interval::new(1, 2, 1 << 62)], &[]).unwrap();
    assert_eq!(planner.maximum(), None);
    let first = planner.plan(&[64, 128]).unwrap();
    assert_eq!(first.peak, 192);
    assert!(Arc::ptr_eq(&first, &planner.plan(&[64, 128]).unwrap()));
    for size in 0..20 {
        planner.plan(&[size, 0]).unwrap();
    }
    assert!(!Arc::ptr_eq(&first, &planner.plan(&[64, 128]).unwrap()));
}

#[test]
fn bad_input_is_named() {
    let intervals = [Interval::new(0, 1, 64), Interval::new(1, 2, 64), Interval::new(1, 1, 64)];
    let pair = |input, output| InPlace { input, output };
    let planner = |pairs: &[InPlace]| Planner::new(&intervals, pairs).map(|_| ());
    for (pairs, input, output) in [
        (vec![pair(1, 0)], 1, 0),
        (vec![pair(0, 1), pair(0, 2)], 0, 2),
        (vec![pair(0, 1), pair(2, 1)], 2, 1),
        (vec![pair(0, 3)], 0, 3),
    ] {
        assert_eq!(planner(&pairs), Err(Error::InPlace { input, output }));
    }
    let planner = Planner::new(&intervals, &[]).unwrap();
    let sizes = |sizes: &[u64]| planner.plan(sizes).map(|_| ());
    assert_eq!(sizes(&[1]), Err(Error::Sizes { expected: 3, found: 1 }));
    assert_eq!(sizes(&[1, u64::MAX, 1]), Err(Error::TooLarge { interval: 1, size: u64::MAX }));
    assert_eq!(sizes(&[1 << 62, 1 << 62, 1]), Err(Error::TooLarge { interval: 1, size: 1 << 62 }));
}

#[test]
fn shared_storage_is_watched() {
    // 0 becomes 1 at step 1; 2 is another output of that step.
    let intervals = [Interval::new(0, 1, 128), Interval::new(1, 3, 64), Interval::new(1, 2, 64)];
    let pairs = [InPlace { input: 0, output: 1 }];
    let check = |offsets: &[u64]| {
        verify_in_place(&intervals, &pairs, &Plan { offsets: offsets.to_vec(), peak: 256, bound: 0 })
    };
    let overlap = |left, right| Err(vec![Violation::Overlap { left, right, step: 1 }]);
    assert_eq!(check(&[0, 0, 128]), Ok(()));
    // The tail of the input is still being read while the step runs.
    assert_eq!(check(&[0, 0, 64]), overlap(1, 2));
    // Sharing at another offset would write what has not been read.
    assert_eq!(check(&[0, 64, 192]), overlap(0, 1));
    // After the step the tail is free.
    let intervals = [intervals[0], intervals[1], Interval::new(2, 2, 64)];
    let plan = Plan { offsets: vec![0, 0, 64], peak: 256, bound: 0 };
    assert_eq!(verify_in_place(&intervals, &pairs, &plan), Ok(()));
}
