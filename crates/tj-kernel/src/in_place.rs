//! Which written buffer may be the same memory as a read one.
//!
//! # Problem
//!
//! A result may take over the memory of an operand that nobody needs any more, if the kernel has read each element of
//! the operand before it overwrites it. Doing that without proof gives wrong numbers only for some sizes and some
//! numbers of threads, so what is not obviously right is refused.
//!
//! # Meaning
//!
//! `(r, w)` is *proved* if the kernel leaves the same bits in every buffer whether `r` and `w` are one memory, or `w`
//! starts as a copy of `r` beside it; for any cut of the task range into calls that run at the same time, and any order
//! of lanes. So it may be done for a kernel that never loads an element of `w` before it stores it; lowering makes
//! no other.
//!
//! # Idea
//!
//! Both have the same number of elements of one width, and for every load of `r` and every store to `w`: whenever they
//! touch the same element, the load comes first, in one call. Words: a load and a store have some loops in *common*, the
//! outermost ones around both. Indices are linear in the variables of loops. Then it is enough that
//!
//! 1. the load is further up in the text of the kernel;
//! 2. if they touch the same element, the variables of all common loops have the same values at the load as at the
//!    store: then they happen in the same iteration of all of these, and the text says which is first;
//! 3. if they touch the same element, one variable that stays inside the task range has the same value at both: then
//!    they happen in the same call. If no common loop is such a loop, the two may have one each (nests
//!    that split the task range); and nothing is asked if there is one task.
//!
//! Equal values are shown as digits of a number are: if `a * x + u = a * y + v` and `|u - v| < a` then `x = y`, so that the
//! term drops out of both sides and the next variable has its turn (`Pair::solve`). A loop that an index does not mention
//! has one iteration, or cuts another loop into blocks: then `lo = c + s * p` and `hi <= lo + s`, so that a value of the
//! inner variable belongs to one `p` (`Loop::block_of`).
//!
//! # Why it is right
//!
//! Indices are inside their buffers, by the verifier's proofs and guards, so the machine's wrapping index is the true
//! number. Each task is run by one call. A `While` repeats what is inside of it without a variable to tell the rounds
//! apart, and contractions and calls read and write in an order of their own: all of these make their buffers unfit. Iterations of lanes
//! that share no element before share none afterwards, as their variable is among those of 2.
//!
//! Back ends keep loads of [`Access::InPlace`] buffers before the stores that follow them; to move one up is harmless.
//!
//! # Cost
//!
//! One walk over the kernel, and a few proofs about sizes for each load and store of the pair.

mod walk;

use tj_ir::dim::{Dim, Ranges, Symbol};

use crate::ir::{Access, Buf, Kernel};
use walk::collect;

/// All proved pairs `(read, written)` of a kernel.
///
/// ```
/// use tj_kernel::{Buf, in_place};
/// let kernel: tj_kernel::Kernel = "
///     kernel add(grid N cut 1 cost 1) {
///       buffer @0 x: f32[N] read
///       buffer @1 y: f32[1] read
///       buffer @2 z: f32[N] write
///       task %0..%1
///       %0: i64 = task lo
///       %1: i64 = task hi
///       %2: i64 = const 0i64
///       %3: f32 = load @1[%2]
///       for lanes(32) %4 in %0..%1 {
///         %5: f32 = load @0[%4]
///         %6: f32 = add %5, %3
///         store @2[%4] = %6
///       }
///     }".parse()?;
/// assert_eq!(in_place::pairs(&kernel), [(Buf(0), Buf(2))]);
/// # Ok::<(), tj_kernel::ParseError>(())
/// ```
pub fn pairs(kernel: &Kernel) -> Vec<(Buf, Buf)> {
    let bufs = |wanted: fn(Access) -> bool| {
        let chosen = kernel.buffers.iter().enumerate().filter(move |(_, buffer)| wanted(buffer.access));
        chosen.map(|(id, _)| Buf(id as u32))
    };
    let accesses = Accesses::new(kernel);
    let all = bufs(Access::is_read)
        .flat_map(|read| bufs(|a| a == Access::Write).map(move |written| (read, written)));
    all.filter(|&(read, written)| accesses.proves(read, written)).collect()
}

/// Everything a kernel loads and stores, for questions about pairs of buffers.
#[derive(Debug)]
pub struct Accesses<'k> {
    kernel: &'k Kernel,
    /// By buffer.
    loads: Vec<Vec<Site>>,
    stores: Vec<Vec<Site>>,
    /// Buffers with an access that is in no `Site`.
    unfit: Vec<bool>,
    loops: Vec<Loop>,
    /// Of the variables of loads, and of those of stores, which have other numbers.
    ranges: Ranges,
}

/// A load or a store.
#[derive(Debug)]
struct Site {
    /// Its place in the text.
    place: usize,
    /// The loops around it, outermost first.
    loops: Vec<usize>,
    /// Which element; `None` if that is not known.
    index: Option<Dim>,
}

#[derive(Debug)]
struct Loop {
    /// Number of its variable as an index of `Dim`.
    number: u32,
    /// Whether its variable stays inside the task range of the call.
    in_task: bool,
    /// Whether it has at most one iteration.
    once: bool,
    /// The loop around it that it is cut into blocks by.
    block_of: Option<usize>,
}

/// Numbers of the ends of the task range.
const TASK_LO: u32 = 0;
const TASK_HI: u32 = 1;

impl<'k> Accesses<'k> {
    /// Looks at a kernel whose form is right.
    pub fn new(kernel: &'k Kernel) -> Accesses<'k> {
        let mut accesses = collect(kernel);
        accesses.rename_stores();
        accesses
    }

    /// Whether the pair is proved.
    pub fn proves(&self, read: Buf, written: Buf) -> bool {
        let [r, w] = [read, written].map(|buffer| &self.kernel.buffers[buffer.index()]);
        r.access.is_read()
            && w.access == Access::Write
            && r.len == w.len
            && r.dtype.size() == w.dtype.size()
            && ![read, written].iter().any(|buffer| self.unfit[buffer.index()])
            && (self.loads[read.index()].iter())
                .all(|load| self.stores[written.index()].iter().all(|store| self.keeps_order(load, store)))
    }

    /// Gives the variables around stores numbers of their own, since they have values of their own.
    fn rename_stores(&mut self) {
        let numbers = self.first_of_stores();
        for number in 0..numbers {
            if let Some((lo, hi)) = self.ranges.get(number) {
                let (lo, hi) = (renamed(lo, numbers), renamed(hi, numbers));
                self.ranges.set(number + numbers, lo, hi);
            }
        }
        for store in self.stores.iter_mut().flatten() {
            store.index = store.index.as_ref().map(|index| renamed(index, numbers));
        }
    }

    /// The number that numbers of stores count from.
    fn first_of_stores(&self) -> u32 {
        2 + self.loops.len() as u32
    }

    /// Whether the load comes first, in the same call, whenever both touch one element.
    fn keeps_order(&self, load: &Site, store: &Site) -> bool {
        let (Some(x), Some(y)) = (&load.index, &store.index) else { return false };
        if load.place > store.place {
            return false;
        }
        let n_common = load.loops.iter().zip(&store.loops).take_while(|(a, b)| a == b).count();
        let (common, own) = load.loops.split_at(n_common);
        let mut digits: Vec<(usize, usize)> = common.iter().map(|&l| (l, l)).collect();
        let task_loop = |loops: &[usize]| loops.iter().copied().find(|&l| self.loops[l].in_task);
        if task_loop(common).is_none() {
            digits.extend(task_loop(own).zip(task_loop(&store.loops[n_common..])));
        }
        let equal = Pair { accesses: self, x: x.clone(), y: y.clone() }.solve(digits);
        let one_call = self.kernel.grid.extent.known_le(&Dim::ONE) == Some(true)
            || equal.iter().any(|&(a, b)| self.loops[a].in_task && self.loops[b].in_task);
        let is_equal = |l: usize| equal.contains(&(l, l));
        one_call
            && common.iter().all(|&l| {
                let cuts = |inner: &usize| self.loops[*inner].block_of == Some(l) && is_equal(*inner);
                is_equal(l) || self.loops[l].once || common.iter().any(cuts)
            })
    }
}

/// The index of a load and that of a store, of which equal terms have been taken away.
struct Pair<'a> {
    accesses: &'a Accesses<'a>,
    x: Dim,
    y: Dim,
}

impl Pair<'_> {
    /// Those pairs of loops whose variables are equal whenever `x` and `y` are.
    fn solve(mut self, mut digits: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        let mut equal = Vec::new();
        while let Some(at) = digits.iter().position(|&digit| self.take(digit)) {
            equal.push(digits.swap_remove(at));
        }
        equal
    }

    /// If the variables are equal whenever `x` and `y` are, takes their terms away.
    fn take(&mut self, (a, b): (usize, usize)) -> bool {
        let loops = &self.accesses.loops;
        let a = Symbol::index(loops[a].number);
        let b = Symbol::index(loops[b].number + self.accesses.first_of_stores());
        let (Some(step), Some(other)) = (self.x.coefficient_of(&a), self.y.coefficient_of(&b)) else {
            return false;
        };
        if step != other || has_index(&step) {
            return false;
        }
        let (x, y) = (self.x.without(&a), self.y.without(&b));
        let rest = &x - &y;
        let is_less = |step: &Dim| {
            [step - 1 - &rest, step - 1 + &rest]
                .iter()
                .all(|slack| slack.known_ge_zero_in(&self.accesses.ranges) == Some(true))
        };
        // Either way the step is not zero.
        let solved = is_less(&step) || is_less(&-&step);
        if solved {
            (self.x, self.y) = (x, y);
        }
        solved
    }
}

fn has_index(dim: &Dim) -> bool {
    dim.symbols().any(|symbol| symbol.as_index().is_some())
}

fn renamed(dim: &Dim, by: u32) -> Dim {
    dim.substitute(&|symbol| symbol.as_index().map(|number| Dim::index(number + by)))
}

#[cfg(test)]
mod tests;
