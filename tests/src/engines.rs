//! Every way to run a program; all must give the same bits.

use std::sync::{Arc, OnceLock};

use tensorjit::{
    Backend, CompileOptions, CompiledGraph, DType, Error, GalleyScheduler, InterpretKernel, InterpretPlan,
    LazyTensor, Scheduler, Tensor, input,
};
use tj_plan::{Engine, Grouping, Plan, Sizes};

/// Options with a name.
pub type Named = (&'static str, CompileOptions);

/// Arguments of one call.
#[derive(Clone, Debug, Default)]
pub struct Call<'a> {
    /// Values of sizes that no argument determines.
    pub bindings: Vec<(&'a str, i64)>,
    /// Arguments by name.
    pub inputs: Vec<(&'a str, &'a Tensor)>,
}

/// What a call gave: outputs, or the text of the error.
pub type Outcome = Result<Vec<Tensor>, String>;

/// Kernels without fusion, interpreted.
#[derive(Clone, Copy, Debug)]
struct UnfusedKernel;

impl Scheduler for UnfusedKernel {
    fn name(&self) -> &str {
        "unfused-kernel"
    }

    fn engine(&self) -> Engine {
        Engine::InterpretKernel
    }

    fn group(&self, plan: &Plan, _sizes: &Sizes) -> Grouping {
        Grouping::separate(plan)
    }
}

/// The default options under a scheduler.
pub fn scheduled(scheduler: impl Scheduler + 'static) -> CompileOptions {
    CompileOptions { scheduler: Some(Arc::new(scheduler)), ..Default::default() }
}

/// The plan interpreter: what everything is held against.
pub fn oracle() -> Named {
    ("plan interpreter", scheduled(InterpretPlan))
}

/// Options that cut every kernel that can be cut.
fn cut(threads: usize) -> CompileOptions {
    CompileOptions { threads, parallel_work: Some(0), ..Default::default() }
}

/// Engines that need no C compiler.
pub fn engines() -> Vec<Named> {
    vec![
        ("kernel interpreter", scheduled(InterpretKernel)),
        ("kernel interpreter, unfused", scheduled(UnfusedKernel)),
        ("cranelift, 1 thread", CompileOptions { threads: 1, ..Default::default() }),
        ("cranelift, 2 threads", cut(2)),
        ("cranelift, 3 threads, no reuse", CompileOptions { reuse: false, ..cut(3) }),
        ("cranelift, unfused, 1 thread, no reuse", CompileOptions { fuse: false, reuse: false, ..cut(1) }),
        ("cranelift, unfused, 3 threads", CompileOptions { fuse: false, ..cut(3) }),
        ("galley, exact", scheduled(GalleyScheduler::exact())),
    ]
}

/// Engines that go through C; none if this machine has no compiler.
pub fn c_engines() -> Vec<Named> {
    if !c_compiler() {
        return Vec::new();
    }
    vec![
        ("c, 1 thread", CompileOptions { threads: 1, backend: Backend::C, ..Default::default() }),
        ("c, unfused, 3 threads", CompileOptions { fuse: false, backend: Backend::C, ..cut(3) }),
    ]
}

/// Whether the C back end works here. Says so once if it does not.
pub fn c_compiler() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let x = input("x", DType::F32, []).expect("a scalar input is well formed");
        let options = CompileOptions { backend: Backend::C, ..Default::default() };
        let tried = CompiledGraph::new(&[x + 1], options);
        if let Err(error) = &tried {
            eprintln!("skipping the C back end: {error}");
        }
        tried.is_ok()
    })
}

/// Runs all calls on all engines and compares bits and messages; gives what the oracle says.
///
/// # Errors
/// The first difference, in words.
pub fn same_everywhere(
    outputs: &[LazyTensor],
    declared: &[LazyTensor],
    calls: &[Call<'_>],
    engines: &[Named],
) -> Result<Vec<Outcome>, String> {
    let (_, options) = oracle();
    let expected =
        outcomes(outputs, declared, calls, options).map_err(|e| format!("plan interpreter: {e}"))?;
    for (name, options) in engines {
        let got = outcomes(outputs, declared, calls, options.clone()).map_err(|e| format!("{name}: {e}"))?;
        for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
            differ(got, expected).map_or(Ok(()), |problem| Err(format!("{name}: call {at}: {problem}")))?;
        }
    }
    Ok(expected)
}

/// All calls on one engine, and the first again, since a call must not change later ones.
fn outcomes(
    outputs: &[LazyTensor],
    declared: &[LazyTensor],
    calls: &[Call<'_>],
    options: CompileOptions,
) -> Result<Vec<Outcome>, Error> {
    let graph = CompiledGraph::new(outputs, CompileOptions { inputs: declared.to_vec(), ..options })?;
    let call = |c: &Call<'_>| graph.call_with_bindings(&c.bindings, &c.inputs).map_err(|e| e.to_string());
    let mut done: Vec<Outcome> = calls.iter().map(call).collect();
    if let (Some(first), 2..) = (calls.first(), calls.len()) {
        let again = call(first);
        if let Some(problem) = differ(&again, &done[0]) {
            done[0] = Err(format!("called again: {problem}"));
        }
    }
    Ok(done)
}

/// What is different about two outcomes.
pub fn differ(got: &Outcome, expected: &Outcome) -> Option<String> {
    let (got, expected) = match (got, expected) {
        (Ok(got), Ok(expected)) => (got, expected),
        (Err(got), Err(expected)) if got == expected => return None,
        (got, expected) => {
            let text =
                |o: &Outcome| o.as_ref().map_or_else(|e| format!("error: {e}"), |_| "outputs".to_string());
            return Some(format!("{}, expected {}", text(got), text(expected)));
        }
    };
    if got.len() != expected.len() {
        return Some(format!("{} outputs, expected {}", got.len(), expected.len()));
    }
    let at = (0..got.len()).find(|&k| !got[k].bit_eq(&expected[k]))?;
    Some(format!("output {at}: {}", first_difference(&got[at], &expected[at])))
}

fn first_difference(got: &Tensor, expected: &Tensor) -> String {
    if got.dtype() != expected.dtype() || got.shape() != expected.shape() {
        let text = |t: &Tensor| format!("{}{:?}", t.dtype(), t.shape());
        return format!("{}, expected {}", text(got), text(expected));
    }
    let mut at = vec![0; got.rank()];
    loop {
        let (g, e) = (got.get(&at), expected.get(&at));
        if let (Ok(g), Ok(e)) = (&g, &e)
            && g != e
            && !(g.to_f64().is_nan() && e.to_f64().is_nan())
        {
            return format!("{g} at {at:?} of {}{:?}, expected {e}", got.dtype(), got.shape());
        }
        let Some(d) = (0..at.len()).rev().find(|&d| at[d] + 1 < got.shape()[d]) else {
            return "nothing to see".to_string();
        };
        at[d] += 1;
        at[d + 1..].fill(0);
    }
}

/// One call on every engine, C included.
///
/// # Panics
/// When engines differ, or the call fails.
#[track_caller]
pub fn everywhere(outputs: &[LazyTensor], inputs: &[(&str, &Tensor)]) -> Vec<Tensor> {
    match all_outcomes(outputs, &[], &[Call { bindings: Vec::new(), inputs: inputs.to_vec() }]).remove(0) {
        Ok(outputs) => outputs,
        Err(error) => panic!("{error}"),
    }
}

/// Several calls of one program on every engine, C included.
///
/// # Panics
/// When engines differ.
#[track_caller]
pub fn all_outcomes(outputs: &[LazyTensor], declared: &[LazyTensor], calls: &[Call<'_>]) -> Vec<Outcome> {
    let mut all = engines();
    all.extend(c_engines());
    same_everywhere(outputs, declared, calls, &all).unwrap_or_else(|problem| panic!("{problem}"))
}
