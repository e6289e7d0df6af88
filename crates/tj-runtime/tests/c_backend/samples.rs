//! Random kernels.

use tj_kernel::sample::{SampleOptions, sample};
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

#[test]
fn samples_agree() {
    check_seeds(0);
}

#[test]
fn more_samples_agree() {
    check_seeds(1000);
}
