//! The threads that kernels run on.
//!
//! One pool for the process, made at first use. A run enters it at most once, and only if some kernel has enough
//! work; a caller that is a worker of another rayon pool stays in that pool. Nothing is locked while work runs, so
//! that a worker which steals another task while it waits cannot meet a lock of its own.
//!
//! Each worker stays on a processor of its own. Otherwise a worker that wakes up may land on the processor of another
//! and share it for a millisecond, which is longer than most runs. A machine that other processes keep busy may do better
//! without: `TENSORJIT_PIN=0` leaves workers where the system puts them.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = || {
        let pinned = std::env::var_os("TENSORJIT_PIN").is_none_or(|value| value != "0");
        let builder = ThreadPoolBuilder::new().thread_name(|n| format!("tensorjit-{n}"));
        builder
            .start_handler(move |worker| {
                if pinned {
                    pin(worker)
                }
            })
            .build()
            .ok()
    };
    POOL.get_or_init(build).as_ref()
}

/// Threads that a run may use: `asked`, or as many as the pool has.
pub(crate) fn threads(asked: usize) -> usize {
    match asked {
        0 => pool().map_or(1, ThreadPool::current_num_threads),
        n => n,
    }
}

/// Runs `work` on a worker thread, so that what it spawns costs little; at once if this is one already.
pub(crate) fn enter<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match pool() {
        Some(pool) if rayon::current_thread_index().is_none() => pool.install(work),
        Some(_) | None => work(),
    }
}

/// Binds the calling thread to the processor of its number among those it may run on.
#[cfg(target_os = "linux")]
fn pin(worker: usize) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: A set of processors is plain bits, for which all zeros are valid, and both calls get its true size. They
    // read and write the set and the affinity of this thread, nothing else; a failure leaves the thread as it was.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let mut own = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        let Some(cpu) = own.nth(worker) else { return };
        let mut only: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut only);
        libc::sched_setaffinity(0, size, &only);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_: usize) {}
