//! Random kernels.

use tj_kernel::Access;
use tj_kernel::sample::{Sample, SampleOptions, sample};
use tj_tensor::DType;

use crate::run::check;

/// Seeds `first..first + 80`, in units of 20.
fn check_seeds(first: u64) {
    let dtypes = DType::ALL.into_iter().filter(|d| !d.is_complex()).collect();
    let options = SampleOptions { dtypes, ..SampleOptions::default() };
    for unit in 0..4 {
        let seeds = first + 20 * unit..first + 20 * (unit + 1);
        let samples: Vec<_> = seeds
            .map(|seed| {
                let mut sample = sample(seed, &options);
                sample.kernel.name = format!("seed_{seed}");
                sample
            })
            .collect();
        check(&samples);
    }
}

/// Results in the memory of operands.
#[test]
fn samples_agree_in_place() {
    let dtypes = [vec![DType::F32, DType::I32], vec![DType::U8, DType::Bool]];
    let samples = (0..60).map(|seed| {
        let dtypes = dtypes[seed as usize % 2].clone();
        let mut sample = sample(seed, &SampleOptions { dtypes, ..SampleOptions::default() }).in_place();
        sample.kernel.name = format!("seed_{seed}");
        sample
    });
    let shares = |sample: &Sample| {
        sample.kernel.buffers.iter().any(|buffer| matches!(buffer.access, Access::InPlace(_)))
    };
    let samples: Vec<Sample> = samples.filter(shares).collect();
    assert!(samples.len() > 10, "{}", samples.len());
    check(&samples);
}

#[test]
fn samples_agree() {
    check_seeds(0);
}

#[test]
fn more_samples_agree() {
    check_seeds(1000);
}
