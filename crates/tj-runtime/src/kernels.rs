//! Kernels that were compiled before, for other programs.
//!
//! Programs that differ have kernels that do not: patterns with a label more, plans for other densities, stages of a
//! computation. Compiling a kernel takes a millisecond, comparing it some microseconds. So what is compiled to memory is found
//! here by what it computes, names left out, as long as some program holds it.

use std::any::Any;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use rustc_hash::FxHashMap;
use tj_kernel::Kernel;
use tj_kernel::abi::KernelFn;

/// Entries whose code is gone are swept out when there are so many, and twice as many as were left the last time.
const SWEPT: usize = 256;

/// What keeps code in memory: all that was compiled at once, which is one program at most.
pub(crate) type Owner = dyn Any + Send + Sync;

/// A function, and what keeps it there.
pub(crate) type Held = (KernelFn, Arc<Owner>);

#[derive(Default)]
struct Table {
    known: FxHashMap<Kernel, (KernelFn, Weak<Owner>)>,
    sweep_at: usize,
    counts: KernelCounts,
}

/// Kernels of all programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelCounts {
    /// That were compiled.
    pub compiled: u64,
    /// That another program had.
    pub shared: u64,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// How many kernels were compiled, and how many found.
pub(crate) fn counts() -> KernelCounts {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner).counts
}

/// Functions of kernels, whose names do not count; `compile` makes those that nobody has.
pub(crate) fn functions<E>(
    kernels: Vec<(Kernel, &Kernel)>,
    compile: impl FnOnce(&[&Kernel]) -> Result<(Vec<KernelFn>, Arc<Owner>), E>,
) -> Result<Vec<Held>, E> {
    let mut found: Vec<Option<Held>> = {
        let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |(nameless, _): &(Kernel, &Kernel)| {
            let (function, owner) = table.known.get(nameless)?;
            Some((*function, owner.upgrade()?))
        };
        let found: Vec<Option<Held>> = kernels.iter().map(find).collect();
        table.counts.shared += found.iter().flatten().count() as u64;
        found
    };
    let missing: Vec<usize> = (0..found.len()).filter(|&at| found[at].is_none()).collect();
    if !missing.is_empty() {
        let named: Vec<&Kernel> = missing.iter().map(|&at| kernels[at].1).collect();
        let (functions, owner) = compile(&named)?;
        for (&at, function) in missing.iter().zip(functions) {
            found[at] = Some((function, Arc::clone(&owner)));
        }
        let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
        table.counts.compiled += missing.len() as u64;
        for (at, (nameless, _)) in kernels.into_iter().enumerate() {
            if let (true, Some((function, owner))) = (missing.contains(&at), &found[at]) {
                table.known.insert(nameless, (*function, Arc::downgrade(owner)));
            }
        }
        if table.known.len() > table.sweep_at.max(SWEPT) {
            table.known.retain(|_, (_, owner)| owner.strong_count() > 0);
            table.sweep_at = 2 * table.known.len();
        }
    }
    Ok(found.into_iter().flatten().collect())
}
