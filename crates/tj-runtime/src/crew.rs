//! Threads that help with one run.
//!
//! **Problem.** Waking a thread takes as long as a small kernel runs, and a caller that hands its work over and sleeps
//! leaves a processor idle for that time.
//!
//! **Idea.** The caller takes a share of every kernel. Others are asked at the first kernel that is worth sharing; they join whichever kernel is current when they arrive. Nobody waits for a helper that has not arrived. Between
//! kernels a helper looks out for the next one for a while, then leaves, and the caller asks again when there is work.
//! A helper that has lost its processor to another process, while the caller waits for its piece, is brought to the
//! caller's processor: threads of other libraries spin for tenths of a second after their work.
//!
//! **Invariants.** A piece is claimed by one thread. A kernel begins when all pieces of the one before it are done. A
//! helper touches the work only while it is inside, and [`run`] returns only when none is. A panic of a piece is the
//! caller's.
//!
//! **Cost.** A few allocations a run, two atomic additions a piece. No lock is held while work runs.
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use crate::{place, pool};

/// A part of a run that begins when the part before it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    /// Pieces that may run at once.
    pub pieces: i64,
    /// Threads that share it, the caller included.
    pub workers: usize,
}

/// What runs a piece: number of the stage, number of the thread below the stage's `workers`, number of the piece.
type Work<'w> = dyn Fn(usize, usize, i64) + Sync + 'w;

/// Runs all pieces of all stages, stage by stage. Pieces that run at once have different numbers of threads.
pub(crate) fn run(stages: &[Stage], work: &Work<'_>) {
    // The lifetime is left out of the pointer's type; `take` says why that is right.
    let work: *const Work<'_> = work;
    // SAFETY: Both are pointers to the same trait object; nothing is dereferenced here.
    let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
    let most = stages.iter().map(|stage| stage.workers).max().unwrap_or(1);
    let crew = Arc::new(Crew {
        current: AtomicUsize::new(0),
        stages: stages.iter().map(|&stage| Progress::new(stage)).collect(),
        helpers: (1..most).map(|_| Helper::default()).collect(),
        caller: std::thread::current(),
        sleeps: AtomicBool::new(false),
        panic: Mutex::new(None),
        work,
    });
    let close = Close(&crew);
    for (number, progress) in crew.stages.iter().enumerate() {
        crew.current.store(number, Ordering::Release);
        for worker in 1..progress.stage.workers {
            crew.ask(worker);
        }
        crew.take(number, 0);
        crew.wait(|| progress.done.load(Ordering::SeqCst) >= progress.stage.pieces);
    }
    drop(close);
    let panic = crew.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// A helper that is not asked, has left, or came too late.
const AWAY: u8 = 0;
/// A helper that may come.
const ASKED: u8 = 1;
/// A helper that may touch the work.
const INSIDE: u8 = 2;
/// A helper that may touch the work until its piece is done, on the processor of the caller.
const MOVED: u8 = 3;

/// How often a thread looks for what it waits for before it gives up: some 20 to 50 microseconds.
const LOOKS: u32 = 2000;

/// How long the caller first sleeps while it waits, and how long at most before it looks after helpers again.
const NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);

struct Crew {
    /// The stage that runs; their number once all have ended.
    current: AtomicUsize,
    stages: Box<[Progress]>,
    /// All threads but the caller, whose number is 0.
    helpers: Box<[Helper]>,
    caller: Thread,
    /// Whether the caller sleeps, or is about to.
    sleeps: AtomicBool,
    /// What a piece that ran on a helper stopped with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    work: *const Work<'static>,
}

// SAFETY: All but the pointer is shared safely, and what it points to is `Sync`.
unsafe impl Send for Crew {}
// SAFETY: As above.
unsafe impl Sync for Crew {}

#[derive(Default)]
struct Helper {
    state: AtomicU8,
    /// Set while it is inside, if it may be moved.
    thread: Mutex<Option<place::Thread>>,
}

struct Progress {
    stage: Stage,
    next: AtomicI64,
    done: AtomicI64,
}

impl Progress {
    fn new(stage: Stage) -> Progress {
        Progress { stage, next: AtomicI64::new(0), done: AtomicI64::new(0) }
    }
}

impl Helper {
    fn thread(&self) -> MutexGuard<'_, Option<place::Thread>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// How long its thread has been running, if it is inside and has not been moved.
    fn time(&self) -> Option<Duration> {
        let thread = self.thread();
        let thread = thread.filter(|_| self.state.load(Ordering::SeqCst) == INSIDE)?;
        // SAFETY: The thread takes its name from here, under the lock that is held, before it goes on with its life.
        unsafe { thread.time() }
    }

    /// Moves its thread to the processor of this one.
    fn bring_here(&self) {
        let thread = self.thread();
        if let Some(thread) = *thread
            && self.change(INSIDE, MOVED)
        {
            // SAFETY: As for `time`.
            unsafe { thread.bring_here() };
        }
    }
}

impl Crew {
    /// Asks a helper to come, unless it is here or on its way.
    fn ask(self: &Arc<Crew>, worker: usize) {
        if self.helpers[worker - 1].change(AWAY, ASKED) {
            let crew = self.clone();
            pool::spawn(worker, move || crew.help(worker));
        }
    }

    /// The life of a helper.
    fn help(&self, worker: usize) {
        let helper = &self.helpers[worker - 1];
        if !helper.change(ASKED, INSIDE) {
            return;
        }
        *helper.thread() = (!pool::in_rayon()).then(place::Thread::current);
        let mut looks = 0;
        while looks < LOOKS {
            let current = self.current.load(Ordering::Acquire);
            if current >= self.stages.len() {
                break;
            }
            looks = if self.take(current, worker) { 0 } else { looks + 1 };
            // The caller needs its processor for itself again; the next job starts where this helper belongs.
            if helper.state.load(Ordering::Relaxed) == MOVED {
                break;
            }
            std::hint::spin_loop();
        }
        *helper.thread() = None;
        helper.state.store(AWAY, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until others have done something: awake at first, because falling asleep takes longer than most waits.
    fn wait(&self, done: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleeps.store(true, Ordering::SeqCst);
        let times = || -> Vec<Option<Duration>> { self.helpers.iter().map(Helper::time).collect() };
        let (mut nap, mut before) = (NAP, times());
        while !done() {
            std::thread::park_timeout(nap);
            let now = times();
            let stuck = now.iter().zip(&before).position(|(now, before)| now.is_some() && now == before);
            if let Some(stuck) = stuck {
                self.helpers[stuck].bring_here();
            }
            (nap, before) = ((2 * nap).min(LONGEST_NAP), now);
        }
        self.sleeps.store(false, Ordering::SeqCst);
    }

    /// Wakes the caller after what it may wait for.
    fn wake(&self) {
        if self.sleeps.load(Ordering::SeqCst) {
            self.caller.unpark();
        }
    }

    /// Runs pieces of a stage until none is left; whether there was any.
    fn take(&self, number: usize, worker: usize) -> bool {
        let Progress { stage, next, done } = &self.stages[number];
        let mut any = false;
        // A look before the claim, so that waiting threads do not write to what others claim from.
        while worker < stage.workers && next.load(Ordering::Relaxed) < stage.pieces {
            if worker != 0 && self.helpers[worker - 1].state.load(Ordering::Relaxed) == MOVED {
                break;
            }
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= stage.pieces {
                break;
            }
            // SAFETY: The work lives until `run` returns or unwinds. The caller gets here before that; a helper only between
            // its change of state from ASKED to INSIDE and its change to AWAY, and `Close` takes ASKED back and waits until
            // every state is AWAY before `run` ends in either way. Only `run` sets ASKED.
            let work = unsafe { &*self.work };
            if worker == 0 {
                work(number, worker, piece);
            } else if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(number, worker, piece))) {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            if done.fetch_add(1, Ordering::SeqCst) + 1 == stage.pieces && worker != 0 {
                self.wake();
            }
            any = true;
        }
        any
    }
}

/// Ends a run: no helper comes any more, and those that are inside have left.
struct Close<'c>(&'c Crew);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.current.store(self.0.stages.len(), Ordering::Release);
        for helper in &self.0.helpers {
            helper.change(ASKED, AWAY);
            self.0.wait(|| helper.state.load(Ordering::SeqCst) == AWAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn every_piece_runs_once_and_stages_in_order() {
        for workers in [1, 2, 5] {
            let stages = [
                Stage { pieces: 1, workers: 1 },
                Stage { pieces: 100, workers },
                Stage { pieces: 0, workers },
                Stage { pieces: 1, workers: 1 },
                Stage { pieces: 37, workers },
            ];
            let counts: Vec<Vec<AtomicUsize>> =
                stages.iter().map(|s| (0..s.pieces).map(|_| AtomicUsize::new(0)).collect()).collect();
            let busy: Vec<AtomicBool> = (0..workers).map(|_| AtomicBool::new(false)).collect();
            run(&stages, &|stage, worker, piece| {
                assert!(worker < stages[stage].workers);
                assert!(!busy[worker].swap(true, Ordering::AcqRel), "a thread's number is in use");
                for earlier in &counts[..stage] {
                    assert!(earlier.iter().all(|n| n.load(Ordering::Relaxed) == 1), "stage {stage} is early");
                }
                counts[stage][piece as usize].fetch_add(1, Ordering::Relaxed);
                busy[worker].store(false, Ordering::Release);
            });
            assert!(counts.iter().flatten().all(|n| n.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn runs_at_once_do_not_wait_for_each_others_helpers() {
        let total = AtomicI64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        run(&[Stage { pieces: 6, workers: 3 }; 3], &|_, _, piece| {
                            total.fetch_add(piece, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 8 * 200 * 3 * 15);
    }

    #[test]
    fn a_run_inside_a_piece_of_another_ends() {
        let seen = Mutex::new(Vec::new());
        run(&[Stage { pieces: 3, workers: 2 }], &|_, _, outer| {
            run(&[Stage { pieces: 2, workers: 2 }], &|_, _, inner| {
                seen.lock().expect("no holder panics").push((outer, inner));
            });
        });
        let mut seen = seen.into_inner().expect("no holder panics");
        seen.sort_unstable();
        assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn a_panic_of_a_helper_is_the_callers() {
        // The caller keeps to its first piece until a helper has come and stopped.
        let stopped = AtomicBool::new(false);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&[Stage { pieces: 64, workers: 3 }], &|_, worker, _| {
                if worker != 0 {
                    stopped.store(true, Ordering::SeqCst);
                    panic!("stop");
                }
                while !stopped.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            });
        }));
        let message = outcome.err().and_then(|panic| panic.downcast_ref::<&str>().map(ToString::to_string));
        assert_eq!(message.as_deref(), Some("stop"));
    }

    #[test]
    fn a_panic_of_the_caller_waits_for_helpers() {
        let data = [1_u8; 64];
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // The second stage belongs to the caller alone.
            let stages = [Stage { pieces: 64, workers: 3 }, Stage { pieces: 1, workers: 1 }];
            run(&stages, &|stage, _, piece| assert!(stage == 0 && data[piece as usize] == 1, "stop"));
        }));
        assert!(outcome.is_err());
    }
}
