//! Results in the memory of operands: what it saves, and when it must not be done.
#![cfg(feature = "cranelift")]
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::Arc;

use tj_ir::{Dim, LazyTensor, Symbol, axis, input};
use tj_memory::{Effort, Interval, pack};
use tj_runtime::{
    CompileOptions, CompiledGraph, Error, InterpretKernel, MaxBytes, Scheduler, Stage, explain_with,
};
use tj_tensor::{DType, Tensor};

fn size(name: &str) -> Dim {
    Dim::new(name, 0..=4096).unwrap()
}

fn matrix(name: &str) -> LazyTensor {
    input(name, DType::F32, [size("N"), size("N")]).unwrap()
}

/// Numbers that have many different bits.
fn data(shape: &[usize], seed: usize) -> Tensor {
    let count = shape.iter().product::<usize>();
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
    Tensor::from_shape_vec(shape, (0..count).map(number).collect::<Vec<f32>>()).unwrap()
}

fn compile(output: &LazyTensor, fuse: bool, reuse: bool) -> CompiledGraph {
    let options = CompileOptions { fuse, reuse, threads: 3, parallel_work: Some(0), ..Default::default() };
    CompiledGraph::new(std::slice::from_ref(output), options).unwrap()
}

/// Matrices that the arena has room for: without sharing, with memory used again, and in place as well. Checks that none
/// of it changes a bit.
fn temporaries(output: &LazyTensor, fuse: bool, inputs: &[(&str, &Tensor)]) -> [u64; 3] {
    let matrix = inputs[0].1.as_bytes().unwrap().len() as u64;
    let options = CompileOptions { fuse, threads: 1, ..Default::default() };
    let graph = CompiledGraph::new(std::slice::from_ref(output), options).unwrap();
    let (shared, report) = graph.call_reported(&[], inputs).unwrap();
    for reuse in [true, false] {
        let got = compile(output, fuse, reuse).call(inputs).unwrap();
        assert!(shared[0].bit_eq(&got[0]));
    }
    let n = inputs[0].1.shape()[0] as i64;
    let again = pack(&intervals(output, fuse, n), Effort::Compile).unwrap().peak;
    [report.unreused_temporary_bytes, again, report.temporary_bytes].map(|bytes| bytes / matrix)
}

/// Buffers that are read in place of others.
fn marks(output: &LazyTensor, fuse: bool) -> usize {
    let options = CompileOptions { fuse, ..Default::default() };
    let explanation = explain_with(std::slice::from_ref(output), options).unwrap();
    explanation.text(Stage::Kernel).matches(" inplace @").count()
}

/// What lives in the arena of one worker, as a plan of memory without sharing in place has it.
fn intervals(output: &LazyTensor, fuse: bool, n: i64) -> Vec<Interval> {
    let options = CompileOptions { fuse, ..Default::default() };
    let explanation = explain_with(std::slice::from_ref(output), options).unwrap();
    let interval = |line: &str| {
        let (_, rest) = line.split_once(": steps ")?;
        let (steps, rest) = rest.split_once(", ").unwrap();
        let (first, last) = steps.split_once("..=").unwrap();
        let (len, width) = rest.split_once(" x ").unwrap();
        let len = Dim::parse(len, &mut |name| Symbol::declared(name, ..).ok()).unwrap();
        let width: u64 = width.split(' ').next().unwrap().parse().unwrap();
        let bytes = len.eval(&|_| Some(n)).unwrap() as u64 * width;
        Some(Interval::new(first.parse().unwrap(), last.parse().unwrap(), bytes))
    };
    explanation.text(Stage::Memory).lines().filter_map(interval).collect()
}

/// Every step is a kernel of its own, so that each temporary meets the next.
#[test]
fn a_chain_of_maps_needs_one_temporary() {
    let x = matrix("x");
    let y = (((x + 1.0).exp() * 0.5).sin() + 2.0).sqrt();
    assert_eq!(temporaries(&y, false, &[("x", &data(&[64, 64], 1))]), [5, 2, 1]);
}

/// Layers whose input is added to their result: what follows a contraction, panel by panel.
#[test]
fn layers_with_residuals() {
    let (x, a, b, c) = (matrix("x"), matrix("a"), matrix("b"), matrix("c"));
    let scaled = &x * 0.5;
    let first = scaled.matmul(&a).relu() + &scaled;
    let second = (&first * 2.0).matmul(&b).relu() + &first;
    let y = (&second * 2.0).matmul(&c).relu() + &second;
    let [x0, a0, b0, c0] = [1, 2, 3, 4].map(|seed| data(&[64, 64], seed));
    let inputs = [("x", &x0), ("a", &a0), ("b", &b0), ("c", &c0)];
    assert_eq!(temporaries(&y, true, &inputs), [8, 5, 4]);
    assert_eq!(temporaries(&y, false, &inputs), [11, 3, 3]);
    assert_eq!((marks(&y, true), marks(&y, false)), (1, 5));
}

/// A softmax takes over the memory of the temporary it is taken of: all reads of a row come before the row is written.
#[test]
fn rows_are_normalised_where_they_are() {
    let (x, v) = (matrix("x"), matrix("v"));
    let softmax = |x: &LazyTensor| {
        let e = (x - x.max(axis(1).keepdims())).exp();
        &e / e.sum(axis(1).keepdims())
    };
    let columns = x.exp();
    let y = softmax(&(&columns / columns.sum(0))).matmul(&v);
    // The same rows, read as columns.
    let z = softmax(&(columns.transpose() / columns.sum(1))).matmul(&v);
    let [x0, v0] = [1, 2].map(|seed| data(&[64, 64], seed));
    let inputs = [("x", &x0), ("v", &v0)];
    assert_eq!(temporaries(&y, true, &inputs), [2, 2, 1]);
    assert_eq!(temporaries(&z, true, &inputs), [2, 2, 2]);
    assert_eq!((marks(&y, true), marks(&z, true)), (1, 0));
}

/// Maps and reductions of rows in turn, each over the whole matrix.
#[test]
fn a_chain_with_reductions() {
    let x = matrix("x");
    let step = |x: &LazyTensor| (x - x.mean(axis(1).keepdims())) / x.max(axis(0).keepdims());
    let y = step(&step(&step(&x)));
    let x0 = data(&[64, 64], 1);
    assert_eq!(temporaries(&y, true, &[("x", &x0)]), [2, 2, 1]);
    assert_eq!(temporaries(&y, false, &[("x", &x0)]), [5, 2, 2]);
}

/// What a later kernel reads, or reads elsewhere, keeps its memory.
#[test]
fn what_is_needed_later_is_kept() {
    let x = matrix("x");
    let y = (&x + 1.0).exp();
    let z = &y * 2.0 + y.transpose();
    let x0 = data(&[64, 64], 1);
    // Nor is a result taken, though nobody reads it any more.
    for scheduler in [None, Some(Arc::new(InterpretKernel) as Arc<dyn Scheduler>)] {
        let options = CompileOptions { fuse: false, scheduler, ..Default::default() };
        let graph = CompiledGraph::new(&[y.clone(), z.clone(), &y * 3.0], options).unwrap();
        let [got, three] = [0, 2].map(|at| graph.call(&[("x", &x0)]).unwrap()[at].to_vec::<f32>().unwrap());
        assert!(got.iter().zip(&three).all(|(y, three)| y * 3.0 == *three));
    }
    assert_eq!(temporaries(&z, false, &[("x", &x0)]), [3, 2, 2]);
    assert_eq!(marks(&z, false), 1);
}

/// Calls with the argument kept, given, and given although somebody else holds it.
fn donate(output: &LazyTensor, shape: &[usize], donated: u64) {
    let x0 = data(shape, 1);
    let graph = compile(output, true, true);
    let (expected, kept) = graph.call_reported(&[], &[("x", &x0)]).unwrap();
    assert_eq!(kept.donated_inputs, 0);

    let given = data(shape, 1);
    let memory = given.data_ptr();
    let (got, report) = graph.call_donating_reported(&[], vec![("x", given)]).unwrap();
    assert!(got[0].bit_eq(&expected[0]));
    assert_eq!(report.donated_inputs, donated);
    assert_eq!(got[0].data_ptr() == memory, donated == 1);
    assert_eq!(kept.peak_bytes - report.peak_bytes, donated * report.output_bytes);

    let held = x0.clone();
    let (got, report) = graph.call_donating_reported(&[], vec![("x", x0)]).unwrap();
    assert!(got[0].bit_eq(&expected[0]) && held.bit_eq(&data(shape, 1)));
    assert_eq!(report.donated_inputs, 0);
    assert_eq!(graph.report().donated_inputs, donated);
}

#[test]
fn outputs_take_the_memory_of_inputs_given_away() {
    let x = matrix("x");
    for shape in [[0, 0], [1, 1], [33, 33], [200, 200]] {
        donate(&(&x * 2.0 + 1.0).exp(), &shape, 1);
        donate(&(&x / x.sum(axis(1).keepdims())), &shape, 1);
        // Read elsewhere, read by a later kernel, or of another size.
        donate(&(&x + x.transpose()), &shape, 0);
        donate(&(&x - x.sum(())), &shape, 1);
        donate(&x.matmul(&x), &shape, 0);
    }
    donate(&x.sum(1), &[33, 33], 0);
    donate(&x.flip(0), &[33, 33], 0);
}

/// The result of a call is given to the next one, though the graph keeps memory of results for later calls.
#[test]
fn a_state_stays_where_it_is() {
    let x = matrix("x");
    let graph = compile(&(&x * 0.5 + 1.0), true, true);
    let mut state = data(&[256, 256], 1);
    let memory = state.data_ptr();
    let mut expected = state.to_vec::<f32>().unwrap();
    for _ in 0..4 {
        state = graph.call_donating(vec![("x", state)]).unwrap().remove(0);
        assert_eq!(state.data_ptr(), memory);
        expected.iter_mut().for_each(|x| *x = *x * 0.5 + 1.0);
    }
    assert_eq!(state.to_vec::<f32>().unwrap(), expected);
    let report = graph.report();
    // There is no temporary, so that nothing is allocated.
    assert_eq!((report.donated_inputs, report.allocations), (4, 0));
}

/// Only what an input and an output share is counted once.
#[test]
fn the_budget_counts_shared_memory_once() {
    let x = matrix("x");
    let bytes = 256 * 256 * 4;
    let options = CompileOptions { max_bytes: MaxBytes::Bytes(bytes), ..Default::default() };
    let graph = CompiledGraph::new(&[&x * 3.0], options).unwrap();
    let x0 = data(&[256, 256], 1);
    let error = graph.call(&[("x", &x0)]).unwrap_err();
    assert!(matches!(error, Error::Budget { needed, allowed } if needed == 2 * bytes && allowed == bytes));
    assert!(graph.call_donating(vec![("x", x0)]).is_ok());
}

/// Of two inputs that would do, one is taken; an input that is a result itself, or given twice, is left alone.
#[test]
fn inputs_that_others_need() {
    let (x, y) = (matrix("x"), matrix("y"));
    let sum = compile(&(&x - &y), true, true);
    let (got, report) =
        sum.call_donating_reported(&[], vec![("x", data(&[9, 9], 1)), ("y", data(&[9, 9], 2))]).unwrap();
    assert_eq!(report.donated_inputs, 1);
    let one = data(&[9, 9], 3);
    let (zero, report) = sum.call_donating_reported(&[], vec![("x", one.clone()), ("y", one)]).unwrap();
    assert_eq!((report.donated_inputs, zero[0].to_vec::<f32>().unwrap()), (0, vec![0.0; 81]));
    assert!(!got[0].bit_eq(&zero[0]));

    let both = CompiledGraph::new(&[&x * 2.0, x.clone()], CompileOptions::default()).unwrap();
    let (got, report) = both.call_donating_reported(&[], vec![("x", data(&[9, 9], 1))]).unwrap();
    assert_eq!(report.donated_inputs, 0);
    assert!(got[1].bit_eq(&data(&[9, 9], 1)));
}
