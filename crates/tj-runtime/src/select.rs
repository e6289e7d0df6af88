//! Which scheduler applies.
//!
//! An argument of the call comes first, then what [`with_scheduler`] set for this thread, then what
//! [`set_scheduler`] set for the process, then the default. A thread that waits inside an entry of the library may run
//! other work meanwhile, which must not see its scheduler: so every entry *takes* the thread's slot for its run and puts
//! it back when it ends, by a panic too.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use tj_plan::{DefaultScheduler, Scheduler};

type Shared = Arc<dyn Scheduler>;

thread_local! {
    static SLOT: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

static PROCESS: RwLock<Option<Shared>> = RwLock::new(None);

static DEFAULT: LazyLock<Shared> = LazyLock::new(|| Arc::new(DefaultScheduler));

/// The scheduler that applies to this thread. It is a scheduler itself: give it to a thread that shall use the same.
///
/// ```
/// use tj_runtime::{Unfused, Scheduler, get_scheduler, with_scheduler};
///
/// assert_eq!(get_scheduler().name(), "default");
/// with_scheduler(Unfused, || {
///     let here = get_scheduler();
///     let other = std::thread::spawn(move || with_scheduler(here, || get_scheduler().name().to_string()));
///     assert_eq!(other.join().expect("the thread does not panic"), "unfused");
/// });
/// assert_eq!(get_scheduler().name(), "default");
/// ```
pub fn get_scheduler() -> Shared {
    let slot = SLOT.with_borrow(Clone::clone);
    slot.unwrap_or_else(process)
}

/// Sets the scheduler of the process, for all threads that did not choose one; gives back the one before.
pub fn set_scheduler(scheduler: impl Scheduler + 'static) -> Shared {
    let mut current = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    current.replace(Arc::new(scheduler)).unwrap_or_else(|| DEFAULT.clone())
}

/// Runs `f` with a scheduler for this thread; nests, and ends with `f`, by a panic too.
///
/// ```
/// use tj_runtime::{InterpretPlan, compute, with_scheduler};
/// use tj_ir::defer;
/// use tj_tensor::Tensor;
///
/// let a = Tensor::from_shape_vec([3], vec![1.0, 2.0, 3.0])?;
/// let doubled = with_scheduler(InterpretPlan, || compute(defer(&a) * 2))?;
/// assert_eq!(doubled.to_vec::<f64>()?, [2.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_scheduler<R>(scheduler: impl Scheduler + 'static, f: impl FnOnce() -> R) -> R {
    let before = SLOT.replace(Some(Arc::new(scheduler)));
    let _restored = Restore { before };
    f()
}

fn process() -> Shared {
    let current = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    current.clone().unwrap_or_else(|| DEFAULT.clone())
}

/// Puts a scheduler back into the slot of this thread.
struct Restore {
    before: Option<Shared>,
}

impl Drop for Restore {
    fn drop(&mut self) {
        SLOT.replace(self.before.take());
    }
}

/// What an entry of the library took from the slot of its thread, until it ends.
pub(crate) struct Taken(Restore);

impl Taken {
    /// Empties the slot.
    pub fn take() -> Taken {
        Taken(Restore { before: SLOT.take() })
    }

    /// The scheduler that applies to this run.
    pub fn scheduler(&self) -> Shared {
        self.0.before.clone().unwrap_or_else(process)
    }
}
