//! Programs in which the order of sums matters, written as mathematics, and their inputs.
//!
//! Each is what a user would write without thinking of cost; the scheduler finds the way. Counts of patterns are those of
//! homomorphisms: every assignment of vertices, in order.

use tensorjit::{CompileOptions, LazyTensor, einop};

use crate::Failure;
use crate::data::Random;
use crate::sparse::Data;

/// A program by its name.
pub type Build = fn(&Data) -> Result<LazyTensor, Failure>;

/// The workloads: a name and the program.
pub const WORKLOADS: [(&str, Build); 15] = [
    ("regression", regression),
    ("chain_left", chain),
    ("chain_right", chain),
    ("chain_sum", chain_sum),
    ("chain_mul", chain_mul),
    ("chain_dense", chain_six),
    ("path3", |d| pattern(d, "p[] += A[i,j] * A[j,k] * A[k,l]")),
    ("star3", |d| pattern(d, "p[] += A[i,j] * A[i,k] * A[i,l]")),
    ("tree5", |d| pattern(d, "p[] += A[i,j] * A[j,k] * A[j,l] * A[i,m]")),
    ("labelled4", labelled),
    ("triangle", |d| pattern(d, "p[] += A[i,j] * A[j,k] * A[i,k]")),
    ("cycle4", |d| pattern(d, "p[] += A[i,j] * A[j,k] * A[k,l] * A[l,i]")),
    ("sddmm", sddmm),
    ("mttkrp", |d| {
        let (b, c, e) = (d.lazy("b")?, d.lazy("c")?, d.lazy("d")?);
        Ok(einop("M[i,j] += B[i,k,l] * C[k,j] * D[l,j]", &[("B", &b), ("C", &c), ("D", &e)]))
    }),
    ("loss", loss),
];

fn pattern(data: &Data, text: &str) -> Result<LazyTensor, Failure> {
    Ok(einop(text, &[("A", &data.lazy("a")?)]))
}

fn labelled(data: &Data) -> Result<LazyTensor, Failure> {
    let text = "p[] += U[i] * A[i,j] * V[j] * A[j,k] * W[k] * A[k,l] * U[l] * A[l,m] * V[m]";
    let (a, u, v, w) = (data.lazy("a")?, data.lazy("u")?, data.lazy("v")?, data.lazy("w")?);
    Ok(einop(text, &[("A", &a), ("U", &u), ("V", &v), ("W", &w)]))
}

/// A linear model over the rows of a join of orders, customers, suppliers and parts.
fn regression(data: &Data) -> Result<LazyTensor, Failure> {
    let key = |name: &str| data.lazy(name);
    let orders = key("ko")?.matmul(&(data.lazy("so")? + key("kc")?.matmul(&data.lazy("sc")?)));
    let features = orders + key("ks")?.matmul(&data.lazy("ss")?) + key("kp")?.matmul(&data.lazy("sp")?);
    Ok(features.matmul(&data.lazy("theta")?))
}

fn chain(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("a")?.matmul(&data.lazy("b")?).matmul(&data.lazy("c")?))
}

fn chain_sum(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(chain(data)?.sum(()))
}

fn chain_mul(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("a")? * data.lazy("b")? * data.lazy("c")?)
}

fn chain_six(data: &Data) -> Result<LazyTensor, Failure> {
    let mut product = data.lazy("m0")?;
    for number in 1..6 {
        product = product.matmul(&data.lazy(&format!("m{number}"))?);
    }
    Ok(product)
}

fn sddmm(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("s")? * data.lazy("a")?.matmul(&data.lazy("b")?))
}

/// The squared distance of a sparse matrix from an outer product, which is never there.
fn loss(data: &Data) -> Result<LazyTensor, Failure> {
    let difference = data.lazy("x")? - data.lazy("u")?.expand_dims(1) * data.lazy("v")?;
    Ok(difference.square().sum(()))
}

/// The inputs of a workload.
///
/// # Errors
/// A name that is no workload; no memory.
pub fn inputs(name: &str, quick: bool, options: CompileOptions) -> Result<Data, Failure> {
    let random = &mut Random::new(0x51_7CC1_B727_220A);
    let size = |small: usize, large: usize| if quick { small } else { large };
    let n = size(300, 1000);
    let tensors = match name {
        "regression" => {
            let (lines, orders, customers, parts, suppliers) = (
                size(60_000, 300_000),
                size(15_000, 75_000),
                size(1500, 7500),
                size(2000, 10_000),
                size(100, 500),
            );
            vec![
                ("ko", random.keys(lines, orders)?),
                ("kc", random.keys(orders, customers)?),
                ("ks", random.keys(lines, suppliers)?),
                ("kp", random.keys(lines, parts)?),
                ("so", random.block(orders, 139, 0..10, 4)?),
                ("sc", random.block(customers, 139, 10..41, 3)?),
                ("ss", random.block(suppliers, 139, 41..67, 2)?),
                ("sp", random.block(parts, 139, 67..139, 5)?),
                ("theta", random.dense(&[139], 1.0)?),
            ]
        }
        "chain_left" | "chain_sum" | "chain_mul" => vec![
            ("a", random.sparse(n, n, 0.5)?),
            ("b", random.sparse(n, n, 0.5)?),
            ("c", random.sparse(n, n, 1e-3)?),
        ],
        "chain_right" => vec![
            ("a", random.sparse(n, n, 1e-3)?),
            ("b", random.sparse(n, n, 0.5)?),
            ("c", random.sparse(n, n, 0.5)?),
        ],
        "chain_dense" => {
            let sizes = [size(300, 1200), 20, size(200, 900), 10, size(250, 1000), 8, 300];
            let mut all = Vec::new();
            for (number, name) in ["m0", "m1", "m2", "m3", "m4", "m5"].into_iter().enumerate() {
                all.push((name, random.dense(&[sizes[number], sizes[number + 1]], 1.0)?));
            }
            all
        }
        "sddmm" => {
            let n = size(500, 2000);
            vec![
                ("s", random.sparse(n, n, 1e-3)?),
                ("a", random.dense(&[n, 100], 1.0)?),
                ("b", random.dense(&[100, n], 1.0)?),
            ]
        }
        "mttkrp" => {
            let (i, k, l) = (size(200, 1000), size(50, 100), size(50, 100));
            vec![
                ("b", random.cube([i, k, l], i * k * l / 1000)?),
                ("c", random.dense(&[k, 25], 1.0)?),
                ("d", random.dense(&[l, 25], 1.0)?),
            ]
        }
        "loss" => {
            let n = size(500, 4000);
            vec![
                ("x", random.sparse(n, n, 1e-3)?),
                ("u", random.dense(&[n], 1.0)?),
                ("v", random.dense(&[n], 1.0)?),
            ]
        }
        "path3" | "star3" | "tree5" | "labelled4" | "triangle" | "cycle4" => {
            let n = size(1000, 3112);
            let a = random.power_law(n, 4 * n, 1_i64)?;
            let mut label = |share: f64| random.subset(n, share);
            vec![("a", a), ("u", label(0.3)?), ("v", label(0.1)?), ("w", label(0.05)?)]
        }
        other => return Err(format!("{other} is no workload").into()),
    };
    let tensors = tensors.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect();
    Ok(Data { tensors, options, ..Data::default() })
}
