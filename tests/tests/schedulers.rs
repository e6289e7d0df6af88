//! Which scheduler applies: nested, across threads, after panics, and not to work that a waiting thread picks up.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use tensorjit::{
    CompileOptions, CompiledGraph, DefaultScheduler, InterpretPlan, LazyTensor, Scheduler, Tensor, Unfused,
    compute, compute_with, defer, fused, fused_fn, get_scheduler, set_scheduler, with_scheduler,
};
use tj_plan::{Grouping, Plan, Sizes};

/// The scheduler of the process is one: tests that read or set it run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts how often it is asked; else the default.
struct Counts(&'static AtomicUsize, u64);

impl Scheduler for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    fn options_key(&self) -> u64 {
        self.1
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        self.0.fetch_add(1, Ordering::SeqCst);
        DefaultScheduler.group(plan, sizes)
    }
}

fn name() -> String {
    get_scheduler().name().to_string()
}

fn data() -> Tensor {
    Tensor::from_shape_vec([4], vec![1.0, 2.0, 3.0, 4.0]).unwrap()
}

#[test]
fn scopes_nest_and_end() {
    let _alone = alone();
    assert_eq!(name(), "default");
    with_scheduler(Unfused, || {
        assert_eq!(name(), "unfused");
        with_scheduler(InterpretPlan, || assert_eq!(name(), "interpret"));
        assert_eq!(name(), "unfused");
        let panicked = catch_unwind(|| with_scheduler(InterpretPlan, || panic!("in the scope")));
        assert!(panicked.is_err());
        assert_eq!(name(), "unfused");
        // A scope belongs to a thread; a thread that wants it takes it along.
        let other = std::thread::spawn(name).join().unwrap();
        assert_eq!(other, "default");
        let here = get_scheduler();
        let other = std::thread::spawn(|| with_scheduler(here, name)).join().unwrap();
        assert_eq!(other, "unfused");
    });
    assert_eq!(name(), "default");
}

/// One test for what is set for the process, since tests may share one.
#[test]
fn the_argument_comes_before_the_scope_before_the_process() {
    let _alone = alone();
    static SCOPE: AtomicUsize = AtomicUsize::new(0);
    static PROCESS: AtomicUsize = AtomicUsize::new(0);
    static ARGUMENT: AtomicUsize = AtomicUsize::new(0);
    let asked = || [&SCOPE, &PROCESS, &ARGUMENT].map(|count| count.swap(0, Ordering::SeqCst));
    let program = |number: usize| {
        let x = defer(&data());
        (0..number).fold(x, |x, _| x.tanh())
    };
    let before = set_scheduler(Counts(&PROCESS, 1));
    assert_eq!(before.name(), "default");
    compute(program(1)).unwrap();
    assert_eq!(asked(), [0, 1, 0]);
    std::thread::spawn(move || compute(program(2)).unwrap()).join().unwrap();
    assert_eq!(asked(), [0, 1, 0]);
    with_scheduler(Counts(&SCOPE, 2), || {
        compute(program(3)).unwrap();
        assert_eq!(asked(), [1, 0, 0]);
        compute_with(program(3), &Counts(&ARGUMENT, 3)).unwrap();
        assert_eq!(asked(), [0, 0, 1]);
        CompiledGraph::new(&[program(4)], CompileOptions::default()).unwrap();
        assert_eq!(asked(), [1, 0, 0]);
    });
    let fused_here = fused_fn!(|x| x.tanh() * 3.5);
    with_scheduler(Counts(&SCOPE, 4), || fused_here(&data())).unwrap();
    assert_eq!(asked(), [1, 0, 0], "a fused function reads the scheduler when it is called");
    set_scheduler(before);
    assert_eq!(name(), "default");
}

/// A scheduler that, when asked, waits for tasks of others. The thread that waits runs some of them itself.
struct Waits;

static SEEN: AtomicUsize = AtomicUsize::new(0);

impl Scheduler for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        (0..100).into_par_iter().for_each(|k| {
            if name() != "default" {
                SEEN.fetch_add(1, Ordering::SeqCst);
            }
            let scaled = compute(defer(&data()) * (f64::from(k) + 2.5)).unwrap();
            assert_eq!(scaled.to_vec::<f64>().unwrap()[0], f64::from(k) + 2.5);
        });
        DefaultScheduler.group(plan, sizes)
    }
}

#[test]
fn stolen_tasks_see_nothing() {
    let _alone = alone();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum = pool.install(|| with_scheduler(Waits, || compute(defer(&data()).sum(0)))).unwrap();
    assert_eq!((sum.item::<f64>().unwrap(), SEEN.load(Ordering::SeqCst)), (10.0, 0));
}

#[fused]
fn normalise(x: LazyTensor, by: f64) -> (LazyTensor, LazyTensor) {
    let total = x.sum(0);
    (x / &total * by, total)
}

/// Names of a body are those of the user.
#[fused]
fn twice_fused(x: LazyTensor) -> LazyTensor {
    fn fused(x: &LazyTensor) -> LazyTensor {
        x + x
    }
    let result = fused(&x);
    result + x
}

#[fused(scheduler = InterpretPlan)]
fn interpreted((x, y): (LazyTensor, LazyTensor)) -> LazyTensor {
    (x + y) / 2
}

#[test]
fn fused_functions() {
    let _alone = alone();
    let a = data();
    let (shares, total) = normalise(&a, 100.0).unwrap();
    assert_eq!(
        (shares.to_vec::<f64>().unwrap(), total.item::<f64>().unwrap()),
        (vec![10.0, 20.0, 30.0, 40.0], 10.0)
    );
    let (again, _) = normalise(defer(&a), 1.0).unwrap();
    assert_eq!(again.to_vec::<f64>().unwrap(), [0.1, 0.2, 0.3, 0.4]);
    assert_eq!(twice_fused(&a).unwrap().to_vec::<f64>().unwrap(), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!(interpreted((&a, &a)).unwrap().to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let error = interpreted((&a, &Tensor::full([3], 1.0).unwrap())).unwrap_err().to_string();
    assert!(
        error.contains("add: shapes [4] and [3] do not fit") && error.contains("schedulers.rs"),
        "{error}"
    );
}

/// What panics in a function of the user leaves the scheduler as it was, and the next call works.
#[test]
fn a_panic_of_the_user_leaves_nothing_behind() {
    let _alone = alone();
    let a = data();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        with_scheduler(Unfused, || fused_fn!(|x| if x.rank() == 1 { panic!("no") } else { x })(&a))
    }));
    assert!(panicked.is_err());
    assert_eq!(name(), "default");
    assert_eq!(compute(defer(&a).sum(0)).unwrap().item::<f64>().unwrap(), 10.0);
}
