//! An order of steps that needs less memory at once.
//!
//! Problem: the order of the source is legal but may hold many buffers that a better order would have
//! finished with. Finding the best order is NP-hard, and order matters more than packing.
//!
//! Idea: list scheduling. Among the steps whose predecessors are done take the one that frees most bytes less
//! those it allocates; ties go to the source order. The same from the end backwards is another candidate,
//! because lifetimes read the same in both directions. The source order is kept unless a candidate is
//! strictly better.
//!
//! Dependencies follow from the argument lists: a read comes after the last write before it in the source,
//! and a write after every earlier read and write of the buffer.
//!
//! Cost: O((steps + arguments) log steps). While a step waits its gain only grows: when a buffer it would
//! have to allocate is there already, and when it is the last to touch a buffer. Either happens once a
//! buffer, and then the steps that touch it enter the heap again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

/// A buffer, by its position among the sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

/// The buffers a step touches. All of them must exist while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Buffers it reads.
    pub reads: Vec<BufferId>,
    /// Buffers it writes, whether or not they held something before.
    pub writes: Vec<BufferId>,
}

/// Orders `steps` so that few bytes are live at once; `result[k]` is the step that runs `k`-th. A buffer that
/// does not live in the arena has size 0.
///
/// ```
/// use tj_memory::{BufferId as B, Step, order_for_peak};
///
/// // Two large buffers, each reduced to a small one, then both joined.
/// let step = |reads: &[u32], writes: &[u32]| Step {
///     reads: reads.iter().map(|&b| B(b)).collect(),
///     writes: writes.iter().map(|&b| B(b)).collect(),
/// };
/// let steps = [step(&[], &[0]), step(&[], &[1]), step(&[0], &[2]), step(&[1], &[3]), step(&[2, 3], &[4])];
/// assert_eq!(order_for_peak(&steps, &[1000, 1000, 1, 1, 1]), [0, 2, 1, 3, 4]);
/// ```
///
/// # Panics
///
/// If a step touches a buffer that has no size.
pub fn order_for_peak(steps: &[Step], sizes: &[u64]) -> Vec<usize> {
    let graph = Graph::new(steps, sizes);
    let source: Vec<usize> = (0..steps.len()).collect();
    let forward = graph.schedule(Direction::Forward);
    let backward = graph.schedule(Direction::Backward);
    [source, forward, backward]
        .into_iter()
        .min_by_key(|order| live_peak(order, steps, sizes))
        .expect("three candidates are not none")
}

/// First and last position in `order` at which each of `n_buffers` buffers is needed, both included; `None`
/// for a buffer that no step touches. A buffer that is read before any step writes it holds something from
/// outside, so that it is needed from position 0.
///
/// # Panics
///
/// If a step touches a buffer outside `n_buffers`.
pub fn lifetimes(order: &[usize], steps: &[Step], n_buffers: usize) -> Vec<Option<(u64, u64)>> {
    let mut lifetimes: Vec<Option<(u64, u64)>> = vec![None; n_buffers];
    for (position, &step) in order.iter().enumerate() {
        let position = position as u64;
        for read in &steps[step].reads {
            lifetimes[read.0 as usize].get_or_insert((0, position)).1 = position;
        }
        for write in &steps[step].writes {
            lifetimes[write.0 as usize].get_or_insert((position, position)).1 = position;
        }
    }
    lifetimes
}

/// Bytes live at the worst position of `order`: what [`pack`](crate::pack()) would report as bound for
/// unaligned buffers.
pub fn live_peak(order: &[usize], steps: &[Step], sizes: &[u64]) -> u128 {
    let mut change = vec![0i128; order.len() + 1];
    for (lifetime, &size) in lifetimes(order, steps, sizes.len()).iter().zip(sizes) {
        if let Some((first, last)) = *lifetime {
            change[first as usize] += i128::from(size);
            change[last as usize + 1] -= i128::from(size);
        }
    }
    let mut live = 0i128;
    let peak = change.iter().map(|change| {
        live += change;
        live
    });
    peak.max().map_or(0, i128::unsigned_abs)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The steps as touches of buffers and edges between steps, each as one array cut by another.
struct Graph<'a> {
    sizes: &'a [u64],
    /// Buffers that each step touches, each once.
    touches: Cut,
    /// Steps that touch each buffer.
    touched_by: Cut,
    /// Steps that must come later.
    after: Cut,
    /// Steps that must come earlier.
    before: Cut,
    /// Whether a buffer holds something before the first step.
    outside: Vec<bool>,
}

/// Lists of numbers in one allocation.
struct Cut {
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Cut {
    fn new(keys: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; keys + 1];
        for &(key, _) in pairs {
            starts[key as usize + 1] += 1;
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let mut cursor = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(key, item) in pairs {
            items[cursor[key as usize]] = item;
            cursor[key as usize] += 1;
        }
        Self { starts, items }
    }

    fn of(&self, key: usize) -> &[u32] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }
}

impl<'a> Graph<'a> {
    fn new(steps: &[Step], sizes: &'a [u64]) -> Self {
        let mut touches: Vec<(u32, u32)> = Vec::new();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut writer: Vec<Option<u32>> = vec![None; sizes.len()];
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
        let mut outside = vec![false; sizes.len()];
        for (index, step) in steps.iter().enumerate() {
            let index = index as u32;
            let from = touches.len();
            for &BufferId(read) in &step.reads {
                match writer[read as usize] {
                    Some(writer) => edges.push((writer, index)),
                    None => outside[read as usize] = true,
                }
                readers[read as usize].push(index);
                touches.push((index, read));
            }
            for &BufferId(write) in &step.writes {
                edges.extend(readers[write as usize].drain(..).map(|reader| (reader, index)));
                edges.extend(writer[write as usize].replace(index).map(|writer| (writer, index)));
                touches.push((index, write));
            }
            touches[from..].sort_unstable();
        }
        touches.dedup();
        edges.retain(|(from, to)| from != to);
        edges.sort_unstable();
        edges.dedup();
        let after = Cut::new(steps.len(), &edges);
        edges.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
        let before = Cut::new(steps.len(), &edges);
        let forth = Cut::new(steps.len(), &touches);
        touches.iter_mut().for_each(|touch| *touch = (touch.1, touch.0));
        let back = Cut::new(sizes.len(), &touches);
        Self { sizes, touches: forth, touched_by: back, after, before, outside }
    }

    fn schedule(&self, direction: Direction) -> Vec<usize> {
        let n = self.touches.starts.len() - 1;
        let (before, after) = match direction {
            Direction::Forward => (&self.before, &self.after),
            Direction::Backward => (&self.after, &self.before),
        };
        // Of each buffer: how many steps have yet to touch it, and whether it occupies memory now.
        let mut left: Vec<usize> =
            (0..self.sizes.len()).map(|buffer| self.touched_by.of(buffer).len()).collect();
        let mut live = vec![false; self.sizes.len()];
        // Memory held from outside is there before the first step forward, and after the last one backward.
        let held = |buffer: usize| self.outside[buffer];
        if direction == Direction::Forward {
            live.copy_from_slice(&self.outside);
        }
        let gain = |step: usize, left: &[usize], live: &[bool]| -> i128 {
            let touched = self.touches.of(step).iter().map(|&buffer| {
                let buffer = buffer as usize;
                let size = i128::from(self.sizes[buffer]);
                let freed = left[buffer] == 1 && (direction == Direction::Forward || !held(buffer));
                size * (i128::from(freed) - i128::from(!live[buffer]))
            });
            touched.sum()
        };
        let tie = |step: usize| match direction {
            Direction::Forward => Reverse(step),
            Direction::Backward => Reverse(n - 1 - step),
        };
        let mut waits: Vec<u32> = (0..n).map(|step| before.of(step).len() as u32).collect();
        let mut done = vec![false; n];
        let mut ready: BinaryHeap<(i128, Reverse<usize>, usize)> = (0..n)
            .filter(|&step| waits[step] == 0)
            .map(|step| (gain(step, &left, &live), tie(step), step))
            .collect();
        let mut order = Vec::with_capacity(n);
        while let Some((_, _, step)) = ready.pop() {
            // A step whose gain grew while it waited is in the heap again, further up.
            if done[step] {
                continue;
            }
            done[step] = true;
            order.push(step);
            let mut raised = Vec::new();
            for &buffer in self.touches.of(step) {
                let buffer = buffer as usize;
                left[buffer] -= 1;
                let was = live[buffer];
                live[buffer] = left[buffer] > 0 || (direction == Direction::Backward && held(buffer));
                if left[buffer] == 1 || (!was && live[buffer]) {
                    raised.push(buffer);
                }
            }
            for buffer in raised {
                for &other in self.touched_by.of(buffer) {
                    let other = other as usize;
                    if !done[other] && waits[other] == 0 {
                        ready.push((gain(other, &left, &live), tie(other), other));
                    }
                }
            }
            for &next in after.of(step) {
                let next = next as usize;
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push((gain(next, &left, &live), tie(next), next));
                }
            }
        }
        if direction == Direction::Backward {
            order.reverse();
        }
        order
    }
}
