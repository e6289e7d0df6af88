//! Every plan is disjoint, aligned, inside its arena, and never below what brute force finds.

use proptest::prelude::*;
use tj_memory::{Effort, Interval, Plan, Violation, pack, verify};

fn interval() -> impl Strategy<Value = Interval> {
    let size = prop_oneof![Just(0u64), 1..200u64, (1..20u64).prop_map(|lines| 64 * lines)];
    (0..30u64, 0..12u64, size, 0..8u32).prop_map(|(first, length, size, align)| {
        Interval::new(first, first + length, size).with_align(1 << align)
    })
}

/// The lowest peak of all: some best plan has every interval either at 0 or on top of one that it meets, so
/// putting them one by one as low as they go, in every order, finds it.
fn optimum(intervals: &[Interval]) -> u64 {
    fn place(intervals: &[Interval], offsets: &mut Vec<Option<u64>>, peak: u64, best: &mut u64) {
        if peak >= *best {
            return;
        }
        let rest: Vec<usize> = (0..intervals.len()).filter(|&i| offsets[i].is_none()).collect();
        if rest.is_empty() {
            *best = peak;
        }
        for next in rest {
            let mut low = 0;
            for (i, offset) in offsets.iter().enumerate() {
                if let Some(offset) = offset
                    && intervals[i].meets(&intervals[next])
                {
                    low = low.max(offset + intervals[i].size);
                }
            }
            let low = low.next_multiple_of(intervals[next].align);
            offsets[next] = Some(low);
            place(intervals, offsets, peak.max(low + intervals[next].size), best);
            offsets[next] = None;
        }
    }
    let intervals: Vec<Interval> = intervals.iter().copied().filter(|interval| interval.size > 0).collect();
    let mut best = u64::MAX;
    place(&intervals, &mut vec![None; intervals.len()], 0, &mut best);
    if intervals.is_empty() { 0 } else { best }
}

proptest! {
    #[test]
    fn every_plan_verifies(intervals in prop::collection::vec(interval(), 0..80)) {
        for effort in [Effort::Bind, Effort::Compile] {
            let plan = pack(&intervals, effort).unwrap();
            prop_assert_eq!(verify(&intervals, &plan), Ok(()));
            prop_assert!(plan.bound <= plan.peak);
            prop_assert_eq!(&plan, &pack(&intervals, effort).unwrap());
        }
    }

    #[test]
    fn no_plan_beats_brute_force(intervals in prop::collection::vec(interval(), 0..7)) {
        let optimum = optimum(&intervals);
        let plan = pack(&intervals, Effort::Compile).unwrap();
        prop_assert!(plan.bound <= optimum && optimum <= plan.peak, "{:?}, optimum {}", plan, optimum);
    }

    #[test]
    fn a_moved_interval_is_found(
        intervals in prop::collection::vec(interval(), 2..40),
        moved in any::<prop::sample::Index>(),
        offset in 0..4000u64,
    ) {
        let mut plan = pack(&intervals, Effort::Bind).unwrap();
        let moved = moved.index(intervals.len());
        plan.offsets[moved] = offset;
        let Interval { size, align, .. } = intervals[moved];
        let clash = |other: usize| {
            let (there, bytes) = (plan.offsets[other], intervals[other].size);
            other != moved && size.min(bytes) > 0 && intervals[moved].meets(&intervals[other])
                && offset < there + bytes && there < offset + size
        };
        let mut expected = (0..intervals.len()).filter(|&other| clash(other)).count();
        expected += usize::from(offset % align != 0) + usize::from(offset + size > plan.peak);
        let found = verify(&intervals, &plan).err().unwrap_or_default();
        prop_assert_eq!(found.len(), expected, "{:?}", found);
    }
}

#[test]
fn wrong_lengths_are_found() {
    let plan = Plan { offsets: vec![0], peak: 0, bound: 0 };
    assert_eq!(verify(&[], &plan), Err(vec![Violation::Length { intervals: 0, offsets: 1 }]));
}
