//! The matrix chain at several sizes, fused and unfused, as JSON.
//!
//! `seed --sizes 16 32 64 --repeat 10 --output out.json`

use std::time::Instant;

use serde_json::{Value, json};
use tensorjit::{CompileOptions, CompiledGraph, Tensor};
use tj_benches::{Failure, matmul_chain, median, random};

struct Options {
    sizes: Vec<usize>,
    repeat: usize,
    output: Option<String>,
}

fn options() -> Result<Options, Failure> {
    let mut options = Options { sizes: vec![16, 32, 64], repeat: 10, output: None };
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next() {
        let mut value = |what: &str| words.next().ok_or(format!("{word} needs {what}"));
        match word.as_str() {
            "--sizes" => {
                options.sizes = vec![value("sizes")?.parse()?];
                while let Some(size) = words.next_if(|word| !word.starts_with("--")) {
                    options.sizes.push(size.parse()?);
                }
            }
            "--repeat" => options.repeat = value("a number")?.parse()?,
            "--output" => options.output = Some(value("a file")?),
            _ => {
                return Err(
                    format!("{word} is not an option; there are --sizes, --repeat and --output").into()
                );
            }
        }
    }
    Ok(options)
}

fn main() -> Result<(), Failure> {
    let options = options()?;
    let program = matmul_chain()?;
    let start = Instant::now();
    let fused = CompiledGraph::new(std::slice::from_ref(&program), CompileOptions::default())?;
    let compile_ms = start.elapsed().as_secs_f64() * 1e3;
    let unfused = CompiledGraph::new(&[program], CompileOptions { fuse: false, ..Default::default() })?;
    let mut cases = Vec::new();
    for &n in &options.sizes {
        let scale = 1.0 / (n.max(1) as f32).sqrt();
        let names = ["x", "a", "b", "c", "bias"];
        let mut inputs = Vec::new();
        for (seed, name) in names.into_iter().enumerate() {
            let shape = if name == "bias" { vec![n] } else { vec![n, n] };
            let values: Vec<f32> = random(&shape, seed as u64 + 1)?.to_vec::<f32>()?;
            let scaled =
                values.iter().map(|v| if name == "bias" { *v } else { v * scale }).collect::<Vec<f32>>();
            inputs.push((name, Tensor::from_shape_vec(shape, scaled)?));
        }
        let expected = reference(&inputs, n)?;
        let measure = |graph: &CompiledGraph| measure(graph, &inputs, &expected, options.repeat);
        cases.push(json!({ "shape": [n, n], "fused": measure(&fused)?, "unfused": measure(&unfused)? }));
    }
    let report = json!({
        "platform": format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
        "processor": processor(),
        "compiler": "cranelift",
        "thread_environment": { "RAYON_NUM_THREADS": std::env::var("RAYON_NUM_THREADS").ok() },
        "compile_ms": compile_ms,
        "cases": cases,
    });
    let text = serde_json::to_string_pretty(&report)?;
    match options.output {
        Some(file) => std::fs::write(file, text + "\n")?,
        None => {
            use std::io::Write;
            writeln!(std::io::stdout(), "{text}")?;
        }
    }
    Ok(())
}

fn measure(
    graph: &CompiledGraph,
    inputs: &[(&str, Tensor)],
    expected: &[f64],
    repeat: usize,
) -> Result<Value, Failure> {
    let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let (result, report) = graph.call_reported(&[], &inputs)?;
    let result = result[0].to_vec::<f32>()?;
    let error = result.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
    let mut samples = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        graph.call(&inputs)?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(json!({
        "samples_ms": samples,
        "median_ms": median(&samples),
        "kernels": report.kernels,
        "temporary_bytes": report.temporary_bytes,
        "unreused_temporary_bytes": report.unreused_temporary_bytes,
        "max_absolute_error": error,
    }))
}

/// The chain in f64, plainly.
fn reference(inputs: &[(&str, Tensor)], n: usize) -> Result<Vec<f64>, Failure> {
    let all: Vec<Vec<f32>> = inputs.iter().map(|(_, t)| t.to_vec::<f32>()).collect::<Result<_, _>>()?;
    let mut left: Vec<f64> = all[0].iter().map(|&v| v.into()).collect();
    for right in &all[1..4] {
        let mut product = vec![0.0; n * n];
        for i in 0..n {
            for k in 0..n {
                for j in 0..n {
                    product[i * n + j] += left[i * n + k] * f64::from(right[k * n + j]);
                }
            }
        }
        left = product;
    }
    let row = |i: usize| (0..n).map(|j| (left[i * n + j] + f64::from(all[4][j])).max(0.0)).sum();
    Ok((0..n).map(row).collect())
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.map_or("unknown", |line| line.trim_start_matches(['\t', ' ', ':'])).to_string()
}
