//! Every plan is disjoint, aligned, inside its arena, and never below what brute force finds.

use std::time::Duration;

use proptest::prelude::*;
use tj_memory::{Answer, Effort, Interval, Plan, Violation, pack, solve, verify};

/// Longer than any search here takes.
const MINUTE: Duration = Duration::from_secs(60);

fn interval() -> impl Strategy<Value = Interval> {
    let size = prop_oneof![Just(0u64), 1..200u64, (1..20u64).prop_map(|lines| 64 * lines)];
    (0..30u64, 0..12u64, size, 0..8u32).prop_map(|(first, length, size, align)| {
        Interval::new(first, first + length, size).with_align(1 << align)
    })
}

/// Small and crowded, so that bounds are seldom reached.
fn crowd() -> impl Strategy<Value = Vec<Interval>> {
    let interval = (0..8u64, 0..5u64, 1..10u64, 0..3u32).prop_map(|(first, length, size, align)| {
        Interval::new(first, first + length, size).with_align(1 << align.saturating_sub(1))
    });
    prop::collection::vec(interval, 0..9)
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

/// A rectangle of 64 steps and `64 << grain` bytes, cut again and again: it can be put together without a
/// gap.
fn cut_rectangle(grain: u32, cuts: Vec<(prop::sample::Index, prop::sample::Index, bool)>) -> Vec<Interval> {
    let mut pieces = vec![Interval::new(0, 63, 64)];
    for (which, place, across) in cuts {
        let which = which.index(pieces.len());
        let Interval { first, last, size, .. } = pieces[which];
        if across && last > first {
            let cut = first + place.index((last - first) as usize) as u64;
            pieces[which].last = cut;
            pieces.push(Interval::new(cut + 1, last, size));
        } else if !across && size > 1 {
            let cut = 1 + place.index(size as usize - 1) as u64;
            pieces[which].size = cut;
            pieces.push(Interval::new(first, last, size - cut));
        }
    }
    pieces
        .iter()
        .map(|piece| Interval::new(piece.first, piece.last, piece.size << grain).with_align(1 << grain))
        .collect()
}

proptest! {
    #[test]
    fn every_plan_verifies(intervals in prop::collection::vec(interval(), 0..50)) {
        for effort in [Effort::Bind, Effort::Compile] {
            let plan = pack(&intervals, effort).unwrap();
            prop_assert_eq!(verify(&intervals, &plan), Ok(()));
            prop_assert!(plan.bound <= plan.peak);
            prop_assert_eq!(&plan, &pack(&intervals, effort).unwrap());
        }
    }

    #[test]
    fn search_agrees_with_brute_force(
        intervals in prop_oneof![crowd(), prop::collection::vec(interval(), 0..8)],
    ) {
        let optimum = optimum(&intervals);
        let quick = pack(&intervals, Effort::Compile).unwrap();
        prop_assert!(quick.bound <= optimum && optimum <= quick.peak, "{:?}, optimum {}", quick, optimum);
        let best = pack(&intervals, Effort::Max(MINUTE)).unwrap();
        prop_assert_eq!((best.peak, verify(&intervals, &best)), (optimum, Ok(())));
        match solve(&intervals, optimum, MINUTE).unwrap() {
            Answer::Fits(plan) => prop_assert_eq!((plan.peak, verify(&intervals, &plan)), (optimum, Ok(()))),
            Answer::Impossible | Answer::Unknown => prop_assert!(false, "{} bytes are enough", optimum),
        }
        if optimum > 0 {
            prop_assert_eq!(solve(&intervals, optimum - 1, MINUTE).unwrap(), Answer::Impossible);
        }
    }

    #[test]
    fn a_cut_rectangle_is_put_together(
        grain in 0..8u32,
        cuts in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, bool)>(), 0..40),
    ) {
        let intervals = cut_rectangle(grain, cuts);
        match solve(&intervals, 64 << grain, MINUTE).unwrap() {
            Answer::Fits(plan) => {
                prop_assert_eq!((plan.peak, verify(&intervals, &plan)), (64 << grain, Ok(())));
            }
            Answer::Impossible | Answer::Unknown => prop_assert!(false, "it fitted before it was cut"),
        }
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
