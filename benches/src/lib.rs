//! The programs of the benchmark suite.
//!
//! A dense case is a program over inputs with declared sizes, compiled once; those over sparse tensors are in [`sparse`].
//! `serve` times a case in turn with other libraries on the same data, `seed` reports the matrix chain at several sizes,
//! fused and unfused.

#![forbid(unsafe_code)]

pub mod data;
pub mod estimates;
pub mod galley;
pub mod galley_cases;
pub mod hand;
pub mod sparse;

use std::collections::BTreeMap;
use std::error::Error;

use tensorjit::{DType, Dim, LazyTensor, Tensor, axis, input};

/// Anything that can go wrong in a benchmark.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

/// A program and the names of the inputs that it takes.
#[derive(Debug)]
pub struct Case {
    /// What it computes.
    pub output: LazyTensor,
    /// The names of its inputs.
    pub inputs: &'static [&'static str],
}

fn f32s(name: &str, shape: &[&Dim]) -> Result<LazyTensor, Failure> {
    Ok(input(name, DType::F32, shape.iter().map(|&d| d.clone()))?)
}

/// The matrix chain: `relu(((x @ a) @ b) @ c + bias).sum(1)`.
///
/// # Errors
/// Never for the names used here.
pub fn matmul_chain() -> Result<LazyTensor, Failure> {
    let n = Dim::new("N", 0..=1 << 16)?;
    let square = [&n, &n];
    let x = f32s("x", &square)?;
    let product = x.matmul(&f32s("a", &square)?).matmul(&f32s("b", &square)?).matmul(&f32s("c", &square)?);
    Ok((product + f32s("bias", &[&n])?).relu().sum(1))
}

/// The program of a case by the start of its name (`d1`, `d1_chain`).
///
/// # Errors
/// For a case that is not part of the suite.
pub fn case(name: &str) -> Result<Case, Failure> {
    let (n, m, k) = (Dim::new("N", ..)?, Dim::new("M", ..)?, Dim::new("K", ..)?);
    let (output, inputs): (LazyTensor, &'static [&'static str]) = match name.split('_').next().unwrap_or(name)
    {
        "d1" => {
            let vector = |name| f32s(name, &[&n]);
            let (a, b, c, d) = (vector("a")?, vector("b")?, vector("c")?, vector("d")?);
            ((a + b) * c - d * 0.5, &["a", "b", "c", "d"])
        }
        "d2" => {
            let vector = |name| f32s(name, &[&n]);
            let (x, y, z) = (vector("x")?, vector("y")?, vector("z")?);
            ((-&x * &x).exp() * y.sin() + z.tanh(), &["x", "y", "z"])
        }
        "d3" => (matmul_chain()?, &["x", "a", "b", "c", "bias"]),
        "d4" => {
            let x = f32s("x", &[&n, &m])?;
            let e = (&x - x.max(axis(1).keepdims())).exp();
            (&e / e.sum(axis(1).keepdims()), &["x"])
        }
        "d5" => {
            let x = f32s("x", &[&n, &m])?;
            let centred = &x - x.mean(axis(1).keepdims());
            let variance = (&centred * &centred).mean(axis(1).keepdims());
            let scaled = centred / (variance + 1e-5).sqrt() * f32s("g", &[&m])? + f32s("b", &[&m])?;
            (scaled, &["x", "g", "b"])
        }
        "d6" => {
            let x = f32s("x", &[&n, &784.into()])?;
            let layer = |x: &LazyTensor, number: usize, from: i64, to: i64| -> Result<LazyTensor, Failure> {
                let w = f32s(&format!("w{number}"), &[&from.into(), &to.into()])?;
                Ok(x.matmul(&w) + f32s(&format!("b{number}"), &[&to.into()])?)
            };
            let hidden = layer(&x, 1, 784, 512)?.relu();
            let hidden = layer(&hidden, 2, 512, 512)?.relu();
            (layer(&hidden, 3, 512, 10)?, &["x", "w1", "b1", "w2", "b2", "w3", "b3"])
        }
        "d7" => {
            let shape = [&n, &m, &k];
            let (q, keys, v) = (f32s("q", &shape)?, f32s("k", &shape)?, f32s("v", &shape)?);
            let scores = q.matmul(&keys.permute(&[0, 2, 1])) * 0.125;
            let e = (&scores - scores.max(axis(-1).keepdims())).exp();
            ((&e / e.sum(axis(-1).keepdims())).matmul(&v), &["q", "k", "v"])
        }
        "d8" => {
            let (x, y) = (f32s("x", &[&n, &k])?, f32s("y", &[&m, &k])?);
            let difference = x.expand_dims(1) - y.expand_dims(0);
            ((&difference * &difference).sum(-1), &["x", "y"])
        }
        "d9" => {
            let (s, k, t) = (f32s("s", &[&n])?, f32s("k", &[&n])?, f32s("t", &[&n])?);
            let (rate, volatility) = (0.02, 0.3);
            let distribution = |z: &LazyTensor| ((z * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
            let spread = t.sqrt() * volatility;
            let drift = &t * (rate + volatility * volatility / 2.0);
            let first = ((&s / &k).log() + drift) / &spread;
            let second = &first - spread;
            let discounted = k * (t * -rate).exp();
            (s * distribution(&first) - discounted * distribution(&second), &["s", "k", "t"])
        }
        "d10" => {
            let u = f32s("u", &[&n, &m])?;
            let (low, mid, high) =
                (tensorjit::at(None, -2, 1), tensorjit::at(1, -1, 1), tensorjit::at(2, None, 1));
            let part =
                |rows: &tensorjit::At, columns: &tensorjit::At| u.index([rows.clone(), columns.clone()]);
            let sum = part(&low, &mid) + part(&high, &mid) + part(&mid, &low) + part(&mid, &high);
            (sum * 0.25, &["u"])
        }
        "d11" => {
            let x = f32s("x", &[&n, &m])?;
            let centred = &x - x.mean(axis(0).keepdims());
            ((&centred * &centred).mean(0), &["x"])
        }
        "d12" => {
            let whole = |name| input(name, DType::I64, [n.clone(), n.clone()]);
            ((whole("a")? + whole("b")?) / 2, &["a", "b"])
        }
        "d13" => {
            let square = [&n, &n];
            (f32s("a", &square)?.matmul(&f32s("b", &square)?), &["a", "b"])
        }
        "d14" => {
            let layer = f32s("x", &[&n, &m])?.matmul(&f32s("w", &[&m, &k])?) + f32s("bias", &[&k])?;
            (layer.relu().sum(1), &["x", "w", "bias"])
        }
        other => return Err(format!("case {other} is not part of the suite").into()),
    };
    Ok(Case { output, inputs })
}

/// Pseudo-random values in -1..1, the same for every run.
///
/// # Errors
/// When the tensor cannot be allocated.
pub fn random(shape: &[usize], seed: u64) -> Result<Tensor, Failure> {
    let count = shape.iter().product();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values.push((state >> 40) as f32 / (1 << 23) as f32 - 1.0);
    }
    Ok(Tensor::from_shape_vec(shape, values)?)
}

/// The middle of some samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}
