//! Times one case in turn with other libraries.
//!
//! Started as `serve CASE SIZE FOLDER`: reads the case's inputs from `FOLDER/NAME.npy`, computes once, prints
//! `ready FIRST_MS RESULT_FILE`, then for each line `time` the milliseconds of one call, until `stop`.
//!
//! The small one (`d12`) and the sweep over batch sizes (`d14`) are computed as lazy arrays, so that building the
//! expression and finding its code count; the sweep forgets all code before, so that compiling does, too.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tensorjit::{Backend, CompileOptions, CompiledGraph, Tensor, clear_cache, compute, defer, io};
use tj_benches::{Failure, case};

/// A sample repeats the call until this much time has passed.
const SAMPLE: Duration = Duration::from_millis(5);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, _size, folder] = arguments.as_slice() else {
        return Err("usage: serve CASE SIZE FOLDER".into());
    };
    let case = case(name)?;
    let folder = Path::new(folder);
    let backend = match std::env::var("TENSORJIT_BACKEND").as_deref() {
        Ok("c") => Backend::C,
        _ => Backend::Auto,
    };
    let options = CompileOptions { backend, ..Default::default() };
    if name.starts_with("d14") {
        return sweep(folder);
    }
    let mut inputs: Vec<(&str, Tensor)> = Vec::new();
    for name in case.inputs {
        inputs.push((name, io::read(folder.join(format!("{name}.npy")))?));
    }
    let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (*name, tensor)).collect();

    if let ("d12", [(_, a), (_, b)]) = (name.as_str(), inputs.as_slice()) {
        let run = || compute((defer(*a) + defer(*b)) / 2);
        let start = Instant::now();
        let result = run()?;
        return serve(folder, start.elapsed(), result, || run().map(drop).map_err(Failure::from));
    }

    let start = Instant::now();
    let graph = CompiledGraph::new(&[case.output], options)?;
    let result = graph.call(&inputs)?.swap_remove(0);
    let first = start.elapsed();
    serve(folder, first, result, || graph.call(&inputs).map(drop).map_err(Failure::from))
}

/// One program over many batch sizes, compilation included.
fn sweep(folder: &Path) -> Result<(), Failure> {
    let (w, bias) = (io::read(folder.join("w.npy"))?, io::read(folder.join("bias.npy"))?);
    let mut batches = Vec::new();
    while let Ok(batch) = io::read(folder.join(format!("xs_{}.npy", batches.len()))) {
        batches.push(batch);
    }
    let run = || -> Result<Vec<f32>, Failure> {
        clear_cache();
        let mut sums = Vec::new();
        for x in &batches {
            let result = compute((defer(x).matmul(&defer(&w)) + defer(&bias)).relu().sum(1))?;
            sums.extend(result.to_vec::<f32>()?);
        }
        Ok(sums)
    };
    let start = Instant::now();
    let result = Tensor::from(run()?);
    serve(folder, start.elapsed(), result, || run().map(drop))
}

/// Shows the first result, then times calls as they are asked for.
fn serve(
    folder: &Path,
    first: Duration,
    result: Tensor,
    mut call: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let file = folder.join("result.npy");
    io::write(&file, &result)?;
    drop(result);

    let mut out = std::io::stdout().lock();
    writeln!(out, "ready {} {}", first.as_secs_f64() * 1e3, file.display())?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        if line?.trim() != "time" {
            break;
        }
        let start = Instant::now();
        let mut calls = 0_u32;
        while start.elapsed() < SAMPLE && calls < 5000 {
            call()?;
            calls += 1;
        }
        writeln!(out, "{}", start.elapsed().as_secs_f64() * 1e3 / f64::from(calls.max(1)))?;
        out.flush()?;
    }
    Ok(())
}
