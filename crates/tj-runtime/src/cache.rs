//! Compiled programs by their structure, least recently used first to go.
//!
//! **Problem.** `compute` meets the same program again and again, from any thread, and must find its code in less time
//! than running it takes; and what nobody uses must not pile up. **Idea.** One table for the process, keyed by the
//! words of [`tj_ir::Structure`], the scheduler and its engine. An entry is found under one short lock; compiling
//! happens outside of it. Who finds that another thread is compiling the same program waits for it, but not for ever:
//! that thread may itself wait for this one, where a scheduler runs tasks of others, so that after a while both compile.
//!
//! **Invariants.** An entry holds no argument of a user, only memory of results for its next calls. That is not part of
//! the budget; beyond [`set_kept_bytes`] the programs that were used least recently give theirs back. What fails to compile leaves no entry. The sum of the sizes of
//! entries stays within the budget, but for the one used last; sizes are estimates of code and tables.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use rustc_hash::FxBuildHasher;

use crate::arena::{Emptied, kept_bytes};
use crate::chain::Chain;
use crate::error::Error;
use crate::executable::Executable;
use crate::kernels;

/// What programs may take together, unless [`set_cache_bytes`] says otherwise.
const BUDGET: u64 = 256 << 20;

/// What programs may keep for their next calls, all together, unless [`set_kept_bytes`] says otherwise.
static KEPT: AtomicU64 = AtomicU64::new(1 << 30);

/// With how many programs a new one is compared, to say why it was compiled.
const COMPARED: usize = 256;

/// How long to wait for another thread that compiles the same program. Cranelift needs some milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);

/// A program in the cache.
#[derive(Debug)]
pub(crate) struct Cached {
    pub code: Compiled,
    /// For each size of the program, which deferred size of the structure it is.
    pub sizes: Vec<usize>,
    pub facts: Facts,
}

/// One compiled program, or several in order.
#[derive(Debug)]
pub(crate) enum Compiled {
    /// Where every argument is dense.
    One(Box<Executable>),
    /// Where kernels walk some argument.
    Chain(Box<Chain>),
}

/// What is told of a program in the cache.
#[derive(Debug)]
pub(crate) struct Facts {
    pub scheduler: String,
    /// Why no program that was there would do.
    pub reason: String,
    pub compile_time: Duration,
    /// Runs that found it.
    pub hits: AtomicU64,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hits, time) = (self.hits.load(Ordering::Relaxed), self.compile_time);
        write!(f, "found: compiled in {time:.1?} because {}; ", self.reason)?;
        match hits {
            0 => f.write_str("not used since"),
            1 => f.write_str("used once since"),
            _ => write!(f, "used {hits} times since"),
        }
    }
}

impl Cached {
    /// The programs that were compiled at first, in order.
    pub fn executables(&self) -> Vec<&Executable> {
        match &self.code {
            Compiled::One(executable) => vec![executable],
            Compiled::Chain(chain) => chain.executables(),
        }
    }

    /// Goes over all programs, those that were decided on later among them.
    fn for_each(&self, act: &mut dyn FnMut(&Executable)) {
        match &self.code {
            Compiled::One(executable) => act(executable),
            Compiled::Chain(chain) => chain.for_each(act),
        }
    }

    fn estimated_bytes(&self) -> u64 {
        let mut bytes = 0;
        self.for_each(&mut |executable| bytes += executable.program.estimated_bytes());
        bytes
    }

    fn count_hit(&self) {
        self.facts.hits.fetch_add(1, Ordering::Relaxed);
    }
}

/// A program in the cache, as users see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// What its kernels compute, each by the operator and the line of the user that called it.
    pub queries: Vec<String>,
    /// Names of its kernels.
    pub kernels: Vec<String>,
    /// What must hold of the sizes of a run.
    pub guards: Vec<String>,
    /// Who decided.
    pub scheduler: String,
    /// Why it was compiled.
    pub reason: String,
    /// What that took.
    pub compile_time: Duration,
    /// Runs that found it.
    pub hits: u64,
    /// What it takes, by estimate.
    pub bytes: u64,
}

/// What has been compiled for `compute`, and what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheReport {
    /// Programs that were compiled.
    pub compilations: u64,
    /// Runs that found their program.
    pub cache_hits: u64,
    /// What the compilations took, all together.
    pub compile_time: Duration,
    /// Kernels that were compiled to memory, for all programs and graphs.
    pub kernels_compiled: u64,
    /// Kernels that another program had, so that they were not compiled again.
    pub kernels_shared: u64,
    /// Programs that had to go for others.
    pub evictions: u64,
    /// Programs that are held.
    pub entries: usize,
    /// What they take, by estimate.
    pub bytes: u64,
    /// What they may take.
    pub max_bytes: u64,
    /// What is kept for next calls: temporaries, and results that are not used any more or will not be one day. Compiled
    /// graphs are counted, too.
    pub kept_bytes: u64,
}

struct Entry {
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Compiling,
    Ready(Arc<Cached>),
    Failed,
}

struct Table {
    entries: LruCache<Box<[u64]>, Slot, FxBuildHasher>,
    report: CacheReport,
}

/// A place in the table.
enum Slot {
    /// Some thread is at it.
    Compiling(Arc<Entry>),
    /// A program and its size.
    Ready(Arc<Cached>, u64),
}

impl Slot {
    fn bytes(&self) -> u64 {
        match self {
            Slot::Compiling(_) => 0,
            Slot::Ready(_, bytes) => *bytes,
        }
    }
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(|| {
    let report = CacheReport { max_bytes: BUDGET, ..CacheReport::default() };
    Mutex::new(Table { entries: LruCache::unbounded_with_hasher(FxBuildHasher), report })
});

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts of the cache of compiled programs.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::{cache_report, compute};
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let before = cache_report();
/// for rows in [0, 1, 1000] {
///     let a = Tensor::full([rows, 3], 1.0_f32)?;
///     compute((defer(&a) * 2.5).sum(1))?;
/// }
/// let after = cache_report();
/// assert_eq!((after.compilations - before.compilations, after.cache_hits - before.cache_hits), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cache_report() -> CacheReport {
    let table = table();
    let kernels = kernels::counts();
    CacheReport {
        entries: table.entries.len(),
        kept_bytes: kept_bytes(),
        kernels_compiled: kernels.compiled,
        kernels_shared: kernels.shared,
        ..table.report
    }
}

/// The programs in the cache, the one used last first.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::{cache_entries, compute};
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let a = Tensor::full([2, 3], 1.0_f32)?;
/// for _ in 0..3 {
///     compute((defer(&a) * 2.5).sum(1))?;
/// }
/// let last = &cache_entries()[0];
/// assert!(last.queries[0].starts_with("sum (") && last.hits == 2 && last.kernels.len() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cache_entries() -> Vec<CacheEntry> {
    let held: Vec<(Arc<Cached>, u64)> = {
        let table = table();
        let ready = table.entries.iter().take(COMPARED).filter_map(|(_, slot)| match slot {
            Slot::Ready(cached, bytes) => Some((cached.clone(), *bytes)),
            Slot::Compiling(_) => None,
        });
        ready.collect()
    };
    let entry = |(cached, bytes): &(Arc<Cached>, u64)| {
        let facts = &cached.facts;
        let mut queries: Vec<String> = Vec::new();
        let (mut kernels, mut guards) = (Vec::new(), Vec::new());
        for program in cached.executables().into_iter().map(|executable| &executable.program) {
            for query in &program.fused.plan.queries {
                let text = query.to_string();
                // The arrays of one result are one query.
                if queries.last() != Some(&text) || matches!(cached.code, Compiled::One(_)) {
                    queries.push(text);
                }
            }
            kernels.extend(program.kernels.iter().map(|lowered| lowered.kernel.name.clone()));
            guards.extend(program.guards());
        }
        CacheEntry {
            queries,
            kernels,
            guards,
            scheduler: facts.scheduler.clone(),
            reason: facts.reason.clone(),
            compile_time: facts.compile_time,
            hits: facts.hits.load(Ordering::Relaxed),
            bytes: *bytes,
        }
    };
    held.iter().map(entry).collect()
}

/// The program of this key, if it is there; it does not count as used.
pub(crate) fn peek(key: &[u64]) -> Option<Arc<Cached>> {
    match table().entries.peek(key) {
        Some(Slot::Ready(cached, _)) => Some(cached.clone()),
        Some(Slot::Compiling(_)) | None => None,
    }
}

/// Where this key differs from that of the program that is most like it: all differences are in this part of it.
pub(crate) fn nearest_difference(key: &[u64]) -> Option<Range<usize>> {
    let table = table();
    let ready = table.entries.iter().take(COMPARED).filter(|(_, slot)| matches!(slot, Slot::Ready(..)));
    let windows = ready.map(|(other, _)| {
        let ahead = key.iter().zip(other).take_while(|(a, b)| a == b).count();
        let shorter = key.len().min(other.len());
        let behind = key.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
        let behind = behind.min(shorter - ahead);
        (key.len() + other.len() - 2 * (ahead + behind), ahead..key.len() - behind)
    });
    windows.min_by_key(|(different, _)| *different).map(|(_, window)| window)
}

/// Sets how many bytes compiled programs may take together, and drops what is too much. Programs that run stay until
/// they end.
pub fn set_cache_bytes(max_bytes: u64) {
    let mut dropped = Vec::new();
    {
        let mut table = table();
        table.report.max_bytes = max_bytes;
        table.shrink(0, &mut dropped);
    }
    drop(dropped);
}

/// Sets how many bytes all programs may keep for their next calls, before those of the cache that were used least recently
/// give theirs back. That happens when a program runs next; its own memory it keeps.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::{cache_report, compute, set_kept_bytes};
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// set_kept_bytes(0);
/// let a = Tensor::full([1 << 16], 1.0)?;
/// drop(compute(defer(&a) + 1)?); // half a MiB, kept for the next call
/// compute(defer(&a).sum(()))?; // given back
/// assert!(cache_report().kept_bytes < 1 << 19);
/// set_kept_bytes(1 << 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_kept_bytes(max_bytes: u64) {
    KEPT.store(max_bytes, Ordering::Relaxed);
}

/// Forgets all compiled programs.
pub fn clear_cache() {
    let mut dropped = Vec::new();
    {
        let mut table = table();
        while let Some((_, slot)) = table.entries.pop_lru() {
            dropped.push(slot);
        }
        table.report.bytes = 0;
    }
    drop(dropped);
}

impl Table {
    /// Drops entries until the rest fits, but for the last `keep`. They are handed out, to be freed without the lock.
    fn shrink(&mut self, keep: usize, dropped: &mut Vec<Slot>) {
        while self.report.bytes > self.report.max_bytes && self.entries.len() > keep {
            let Some((_, slot)) = self.entries.pop_lru() else { break };
            self.report.bytes -= slot.bytes();
            self.report.evictions += 1;
            dropped.push(slot);
        }
    }
}

/// Empties pools, of the programs used least recently first, until the rest is not too much; but not the pool of `key`,
/// which is to run now.
fn give_back(key: &[u64]) {
    let mut emptied: Vec<Emptied> = Vec::new();
    {
        let table = table();
        for (_, slot) in table.entries.iter().rev().filter(|(other, _)| ***other != *key) {
            if kept_bytes() <= KEPT.load(Ordering::Relaxed) {
                break;
            }
            if let Slot::Ready(cached, _) = slot {
                cached.for_each(&mut |executable| emptied.push(executable.pools.empty()));
            }
        }
    }
    drop(emptied);
}

/// The program of this key; `compile` makes it if it is not there.
pub(crate) fn find(
    key: &[u64],
    compile: impl FnOnce() -> Result<Cached, Error>,
) -> Result<Arc<Cached>, Error> {
    if kept_bytes() > KEPT.load(Ordering::Relaxed) {
        give_back(key);
    }
    let entry = {
        let mut guard = table();
        let table = &mut *guard;
        match table.entries.get(key) {
            Some(Slot::Ready(cached, _)) => {
                table.report.cache_hits += 1;
                cached.count_hit();
                return Ok(cached.clone());
            }
            Some(Slot::Compiling(entry)) => Err(entry.clone()),
            None => {
                let entry = Arc::new(Entry { state: Mutex::new(State::Compiling), changed: Condvar::new() });
                table.entries.put(key.into(), Slot::Compiling(entry.clone()));
                Ok(entry)
            }
        }
    };
    let entry = match entry {
        Ok(ours) => ours,
        Err(others) => {
            if let Some(found) = others.wait() {
                table().report.cache_hits += 1;
                found.count_hit();
                return Ok(found);
            }
            others
        }
    };
    let failing = Failing { key, entry: &entry };
    let cached = Arc::new(compile()?);
    std::mem::forget(failing);
    entry.set(State::Ready(cached.clone()));
    let bytes = size_of_val(key) as u64 + cached.estimated_bytes();
    let mut dropped = Vec::new();
    {
        let mut table = table();
        table.report.compilations += 1;
        table.report.compile_time += cached.facts.compile_time;
        let before = table.entries.put(key.into(), Slot::Ready(cached.clone(), bytes));
        let freed = before.as_ref().map_or(0, Slot::bytes);
        dropped.extend(before);
        table.report.bytes = table.report.bytes + bytes - freed;
        table.shrink(1, &mut dropped);
    }
    drop(dropped);
    Ok(cached)
}

/// Counts what was decided on while the program of this key ran.
pub(crate) fn has_grown(key: &[u64]) {
    let mut dropped = Vec::new();
    {
        let mut guard = table();
        let table = &mut *guard;
        let Some(Slot::Ready(cached, bytes)) = table.entries.get_mut(key) else { return };
        let before = std::mem::replace(bytes, size_of_val(key) as u64 + cached.estimated_bytes());
        table.report.bytes = table.report.bytes + *bytes - before;
        table.shrink(1, &mut dropped);
    }
    drop(dropped);
}

impl Entry {
    /// The program, as soon as it is there. `None` if it failed, or if it takes too long.
    fn wait(&self) -> Option<Arc<Cached>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let compiling = |state: &mut State| matches!(state, State::Compiling);
        let waited = self.changed.wait_timeout_while(state, PATIENCE, compiling);
        match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
            State::Ready(cached) => Some(cached.clone()),
            State::Compiling | State::Failed => None,
        }
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

/// Takes an entry out again when its compilation fails, or panics in a scheduler.
struct Failing<'k> {
    key: &'k [u64],
    entry: &'k Arc<Entry>,
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        let mut table = table();
        let ours = |slot: &Slot| match slot {
            Slot::Compiling(entry) => Arc::ptr_eq(entry, self.entry),
            Slot::Ready(..) => false,
        };
        if table.entries.peek(self.key).is_some_and(ours) {
            table.entries.pop(self.key);
        }
        drop(table);
        self.entry.set(State::Failed);
    }
}
