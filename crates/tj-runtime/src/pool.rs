//! The threads that help callers with their runs.
//!
//! One a processor, made at first use, and only by a run with enough work. A helper sleeps on a processor of its own, and a
//! caller asks those of other processors than the one it runs on: left to itself the system may well wake a helper on
//! the caller's processor, to share it for milliseconds. Once awake a helper may be moved.
//!
//! A caller that is a worker of a rayon pool gets its helpers from that pool instead.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use crate::place;

type Job = Box<dyn FnOnce() + Send>;

/// The helper of one processor.
struct Helper {
    processor: usize,
    jobs: Sender<Job>,
}

/// A helper for each processor that this process may use.
fn helpers() -> &'static [Helper] {
    static HELPERS: OnceLock<Vec<Helper>> = OnceLock::new();
    HELPERS.get_or_init(|| {
        let all = place::Set::allowed();
        all.processors().into_iter().filter_map(|processor| start(&all, processor)).collect()
    })
}

/// Starts the helper of one processor; `None` if the system refuses.
fn start(all: &place::Set, processor: usize) -> Option<Helper> {
    let (jobs, received) = channel::<Job>();
    let (all, own) = (all.clone(), place::Set::of(processor));
    let work = move || {
        own.bind();
        for job in received {
            all.bind();
            job();
            own.bind();
        }
    };
    let thread = std::thread::Builder::new().name(format!("tensorjit-{processor}")).spawn(work);
    thread.ok().map(|_| Helper { processor, jobs })
}

/// Threads that a run may use: `asked`, or one a processor.
pub(crate) fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    }
}

/// Has `job` run on another thread, sooner or later. Jobs with different numbers from 1 on go to different threads as far
/// as there are enough.
pub(crate) fn spawn(number: usize, job: impl FnOnce() + Send + 'static) {
    if in_rayon() {
        rayon::spawn(job);
        return;
    }
    let (helpers, here) = (helpers(), place::here());
    let own = helpers.iter().position(|helper| helper.processor == here).unwrap_or(0);
    if !helpers.is_empty() {
        // Helpers never end; if one could not be reached, others would do its share.
        let _ = helpers[(own + number) % helpers.len()].jobs.send(Box::new(job));
    }
}

/// Whether this thread belongs to a pool of the user.
pub(crate) fn in_rayon() -> bool {
    rayon::current_thread_index().is_some()
}
