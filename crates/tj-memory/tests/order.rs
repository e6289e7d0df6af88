//! An order respects every dependency and is never worse than the source order.

use proptest::prelude::*;
use tj_memory::{BufferId, Step, lifetimes, live_peak, order_for_peak};

fn steps() -> impl Strategy<Value = (Vec<Step>, Vec<u64>)> {
    let touches = prop::collection::vec(0..12u32, 0..4);
    let step = (touches.clone(), touches).prop_map(|(reads, writes)| Step {
        reads: reads.into_iter().map(BufferId).collect(),
        writes: writes.into_iter().map(BufferId).collect(),
    });
    (prop::collection::vec(step, 0..30), prop::collection::vec(0..1000u64, 12))
}

proptest! {
    #[test]
    fn orders_are_legal_and_no_worse((steps, sizes) in steps()) {
        let order = order_for_peak(&steps, &sizes);
        let mut position = vec![usize::MAX; steps.len()];
        for (at, &step) in order.iter().enumerate() {
            prop_assert_eq!(position[step], usize::MAX);
            position[step] = at;
        }
        for later in 0..steps.len() {
            for earlier in 0..later {
                let (early, late) = (&steps[earlier], &steps[later]);
                let hazard = late.reads.iter().any(|read| early.writes.contains(read))
                    || late.writes.iter().any(|write| early.reads.contains(write) || early.writes.contains(write));
                prop_assert!(!hazard || position[earlier] < position[later]);
            }
        }
        let source: Vec<usize> = (0..steps.len()).collect();
        prop_assert!(live_peak(&order, &steps, &sizes) <= live_peak(&source, &steps, &sizes));
    }
}

#[test]
fn lifetimes_are_inclusive() {
    let b = BufferId;
    let steps = [
        Step { reads: vec![b(0)], writes: vec![b(1)] },
        Step { reads: vec![b(1)], writes: vec![b(2)] },
        Step { reads: vec![b(0), b(2)], writes: vec![b(3)] },
    ];
    let expected = [Some((0, 2)), Some((0, 1)), Some((1, 2)), Some((2, 2)), None];
    assert_eq!(lifetimes(&[0, 1, 2], &steps, 5), expected);
}

#[test]
fn wide_programs_become_narrow() {
    // A hundred branches, written level by level: make 1000 bytes, halve twice, add to a running sum.
    let (branches, mut steps, mut sizes) = (100, Vec::new(), Vec::new());
    let mut buffer = |size: u64| {
        sizes.push(size);
        BufferId(sizes.len() as u32 - 1)
    };
    let mut level: Vec<BufferId> = (0..branches).map(|_| buffer(1000)).collect();
    steps.extend(level.iter().map(|&made| Step { reads: vec![], writes: vec![made] }));
    for size in [500, 250] {
        let next: Vec<BufferId> = (0..branches).map(|_| buffer(size)).collect();
        steps
            .extend(level.iter().zip(&next).map(|(&from, &to)| Step { reads: vec![from], writes: vec![to] }));
        level = next;
    }
    let mut sum = level[0];
    for &term in &level[1..] {
        let next = buffer(250);
        steps.push(Step { reads: vec![sum, term], writes: vec![next] });
        sum = next;
    }
    let source: Vec<usize> = (0..steps.len()).collect();
    assert_eq!(live_peak(&source, &steps, &sizes), 100_500);
    assert_eq!(live_peak(&order_for_peak(&steps, &sizes), &steps, &sizes), 1750);
}
