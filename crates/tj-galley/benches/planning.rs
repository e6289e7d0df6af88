//! How long it takes to decide by data how programs are computed. The statistics of their tensors are known.

use criterion::{Criterion, criterion_group, criterion_main};
use tj_galley::GalleyScheduler;
use tj_ir::trace::trace;
use tj_ir::{InputDecl, LazyTensor, defer, einop};
use tj_plan::sparse::StoredInput;
use tj_plan::{Plan, Scheduler, canonicalise};
use tj_tensor::{DType, Duplicates, Format, Scalar, Tensor, TensorError, Width};

/// A small generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A matrix whose first rows hold more, the higher `skew` is.
    fn matrix(
        &mut self,
        rows: usize,
        columns: usize,
        entries: usize,
        skew: f64,
    ) -> Result<Tensor, TensorError> {
        let below = |x: f64, n: usize| ((x * n as f64) as usize).min(n - 1) as i64;
        let mut pairs: Vec<(i64, i64)> = (0..entries)
            .map(|_| (below(self.unit().powf(skew), rows), below(self.unit(), columns)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let ones = Tensor::full([pairs.len()], 1.0)?;
        let (i, j): (Vec<i64>, Vec<i64>) = pairs.into_iter().unzip();
        let zero = Scalar::zero(DType::F64);
        Tensor::from_entries(
            [rows, columns],
            &[i.into(), j.into()],
            ones,
            zero,
            Duplicates::Refuse,
            &Format::csr(),
        )
    }

    /// A product of sparse matrices of very different sizes.
    fn chain(&mut self, count: usize) -> Result<LazyTensor, TensorError> {
        let size = |number: usize| [2000, 50, 3000, 400, 100][number % 5];
        let mut product: Option<LazyTensor> = None;
        for number in 0..count {
            let (rows, columns) = (size(number), size(number + 1));
            let next = defer(&self.matrix(rows, columns, rows * columns / 100, 1.0)?);
            product = Some(match product {
                Some(product) => product.matmul(&next),
                None => next,
            });
        }
        Ok(product.unwrap_or_else(|| defer(&Tensor::scalar(1.0))))
    }
}

fn stored(input: &InputDecl) -> Option<StoredInput> {
    let stored = input.data.as_ref()?.stored()?;
    Some(StoredInput {
        format: stored.format().clone(),
        fill: stored.fill(),
        is_hypersparse: false,
        width: Width::U32,
        may_store_fill: false,
        entries: None,
    })
}

fn programs() -> Result<Vec<(&'static str, LazyTensor)>, TensorError> {
    let mut random = Random(7);
    let small = random.matrix(3000, 3000, 12_000, 2.0)?;
    let large = random.matrix(250_000, 250_000, 1_000_000, 2.0)?;
    let walk = |a: &Tensor| einop("p[] += A[i,j] * A[j,k] * A[k,l] * A[l,m]", &[("A", &defer(a))]);
    let cycle = |a: &Tensor| einop("p[] += A[i,j] * A[j,k] * A[k,l] * A[l,i]", &[("A", &defer(a))]);
    Ok(vec![
        ("walk, 3000 vertices", walk(&small)),
        ("walk, 250000 vertices", walk(&large)),
        ("cycle, 3000 vertices", cycle(&small)),
        ("chain of 4", random.chain(4)?),
        ("chain of 10", random.chain(10)?),
    ])
}

fn planning(c: &mut Criterion) {
    for (name, output) in programs().expect("the matrices are valid") {
        let traced = trace(&[], std::slice::from_ref(&output)).expect("the programs are valid");
        let plan = canonicalise(&Plan::from_trace(traced));
        let inputs: Vec<Option<StoredInput>> = plan.inputs.iter().map(stored).collect();
        let scheduler = GalleyScheduler::default();
        c.bench_function(&format!("planning/{name}"), |b| b.iter(|| scheduler.derive(&plan, &inputs)));
    }
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = planning }
criterion_main!(benches);
