//! Histories: shared ones appear once, in program order, whoever built and joined them.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tj_ir::{Context, LazyTensor, Source, input};
use tj_tensor::DType;

fn x(name: &str) -> LazyTensor {
    input(name, DType::F64, [3.into()]).unwrap()
}

/// Words of the definitions of a context, in order.
fn words(context: &Context) -> Vec<String> {
    context.trace().unwrap().defs.iter().map(|def| def.word.to_string()).collect()
}

#[test]
fn shared_history_appears_once_from_any_number_of_threads() {
    let base = (0..1000).fold(x("x"), |y, _| y.relu());
    let branches: Vec<LazyTensor> = std::thread::scope(|scope| {
        let branch = |k: usize| {
            let base = &base;
            scope.spawn(move || if k.is_multiple_of(2) { base.exp() } else { base.tanh() })
        };
        let threads: Vec<_> = (0..8).map(branch).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let joined = branches.iter().fold(Context::new(), |all, branch| all.bind(branch));
    let mut expected = vec!["relu".to_string(); 1000];
    expected.extend((0..8).map(|k| if k % 2 == 0 { "exp" } else { "tanh" }.to_string()));
    assert_eq!(words(&joined), expected);
    // Joined with itself, or with a part of itself, nothing is added.
    let again = joined.join(&Context::of(&base)).join(&joined);
    assert_eq!(words(&again), expected);
    assert_eq!(again.trace().unwrap().outputs.len(), 17);
}

#[test]
fn the_order_is_that_of_the_program_not_of_time() {
    let (a, b) = (x("a"), x("b"));
    let late = b.exp();
    let early = a.tanh();
    let program = early.abs() + late.sqrt();
    assert_eq!(words(&program.context()), ["tanh", "abs", "exp", "sqrt", "add"]);
}

#[test]
fn unrelated_histories_lie_side_by_side() {
    let (one, two) = (x("a").exp().sum(0), x("b").tanh());
    let joined = Context::of(&one).join(&Context::of(&two));
    let trace = joined.trace().unwrap();
    let names: Vec<_> = trace.inputs.iter().map(|input| input.name.as_deref().unwrap()).collect();
    assert_eq!((names, trace.defs.len()), (vec!["a", "b"], 3));
    assert_eq!(trace.outputs, [Source::Def(1), Source::Def(2)]);
    assert_eq!(words(&joined), ["exp", "sum", "tanh"]);
}

#[test]
fn a_million_joins() {
    let y = x("x").exp();
    let joined = (0..1_000_000).fold(Context::new(), |all, _| all.bind(&y));
    let trace = joined.trace().unwrap();
    assert_eq!((trace.defs.len(), trace.outputs.len()), (1, 1_000_000));
    drop(joined);
}
