//! The threads that kernels run on.
//!
//! One pool for the process, made at first use. A run enters it at most once, and only if some kernel has enough
//! work; a caller that is a worker of another rayon pool stays in that pool. Nothing is locked while work runs, so
//! that a worker which steals another task while it waits cannot meet a lock of its own.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = || {
        let builder = ThreadPoolBuilder::new().thread_name(|n| format!("tensorjit-{n}"));
        builder.build().ok()
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
