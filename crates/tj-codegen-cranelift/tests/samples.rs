//! Random kernels, against the interpreter.

mod common;

use common::{Case, call};
use proptest::prelude::*;
use tj_codegen_cranelift::{Features, Jit, Options};
use tj_kernel::sample::{SampleOptions, sample};
use tj_tensor::DType;

fn agree(seed: u64, features: Features) -> Result<(), TestCaseError> {
    let mut options = SampleOptions::default();
    options.dtypes.extend([DType::F16, DType::BF16]);
    let sample = sample(seed, &options);
    let (expected, _) = sample.interpret(Default::default()).expect("samples run");
    let jit = Jit::compile(&[&sample.kernel], &Options { features }).expect("samples are valid");
    let entry = jit.kernels().next().expect("there is one kernel");
    let mut case = Case {
        kernel: sample.kernel.clone(),
        buffers: sample.contents.clone(),
        sizes: sample.sizes.clone(),
        params: sample.params.clone(),
        tasks: sample.tasks.clone(),
    };
    // One call, and the same tasks in two calls.
    if sample.tasks.start == sample.tasks.end {
        return Ok(());
    }
    let whole = call(entry, &case);
    let middle = sample.tasks.start + (seed % (sample.tasks.end - sample.tasks.start) as u64) as i64;
    for part in [sample.tasks.start..middle, middle..sample.tasks.end] {
        if part.start < part.end {
            case.tasks = part;
            case.buffers = call(entry, &case);
        }
    }
    for found in [&whole, &case.buffers] {
        let difference = sample.difference(&expected, found);
        prop_assert_eq!(difference, None, "seed {} in\n{}", seed, sample.kernel);
    }
    Ok(())
}

/// Samples that once differed.
#[test]
fn known_samples_agree() {
    // A contraction of one term whose product rounds to -0: added to +0 it is +0.
    for seed in [18441058212281536168] {
        for features in [Features::Host, Features::Baseline] {
            agree(seed, features).expect("the sample agrees");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn samples_agree(seed: u64) {
        agree(seed, Features::Host)?;
        agree(seed, Features::Baseline)?;
    }
}
