//! How often row programs go over their rows.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tj_ir::trace::trace;
use tj_ir::{Axes, Dim, LazyTensor, axis, input};
use tj_kernel::{Counts, Memory, interpret, lower};
use tj_plan::{DefaultScheduler, Plan, Scheduler, Sizes, canonicalise, fuse};
use tj_tensor::DType;

/// Length of the row: longer than the lanes, shorter than a block.
const ROW: usize = 1000;

/// What the one kernel of a program of one input, `x`, does for one row of zeros.
fn counts(program: impl Fn(&LazyTensor) -> Vec<LazyTensor>) -> Counts {
    let x = input("x", DType::F32, [Dim::new("N", 1..=8).unwrap(), ROW.into()]).unwrap();
    let plan = canonicalise(&Plan::from_trace(trace(&[], &program(&x)).unwrap()));
    let fused = fuse(&plan, &DefaultScheduler.group(&plan, &Sizes)).unwrap();
    let [lowered] = &lower(&fused)[..] else { panic!("it is one kernel") };
    let kernel = &lowered.kernel;
    let value = |dim: &Dim| dim.eval(&|_| Some(1)).unwrap();
    let length = |buffer: &tj_kernel::Buffer| value(&buffer.len) as usize;
    let sizes: Vec<i64> = kernel.sizes.iter().map(value).collect();
    let mut bytes: Vec<Vec<u8>> =
        kernel.buffers.iter().map(|b| vec![0; length(b) * b.dtype.size()]).collect();
    let memory = kernel.buffers.iter().zip(&mut bytes);
    let mut memory: Vec<Memory<'_>> = memory.map(|(b, bytes)| Memory::write(b.dtype, bytes)).collect();
    interpret(kernel, &mut memory, &sizes, &[], 0..1).unwrap()
}

fn rows() -> Axes {
    axis(1).keepdims()
}

#[test]
fn softmax_loads_a_row_for_the_maximum_the_exponentials_and_the_quotients() {
    let counts = counts(|x| {
        let e = (x - x.max(rows())).exp();
        vec![&e / e.sum(rows())]
    });
    assert_eq!((counts.loads, counts.stores), (3 * ROW as u64, 2 * ROW as u64));
}

#[test]
fn a_reduction_goes_with_an_earlier_pass_over_its_row() {
    let counts = counts(|x| {
        let centred = x - x.mean(rows());
        let scale = (&centred * &centred).sum(rows()).sqrt().exp();
        vec![&centred * &scale, centred.abs().max(rows()) + &scale]
    });
    assert_eq!(counts.iterations / ROW as u64, 3);
}
