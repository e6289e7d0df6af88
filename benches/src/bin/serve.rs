//! Times one case in turn with other libraries.
//!
//! Started as `serve CASE SIZE FOLDER`: reads the case's inputs from `FOLDER/NAME.npy` (sparse ones from SciPy's
//! `FOLDER/NAME.npz`), computes once, prints `ready FIRST_MS RESULT_FILE`, then for each line `time` the milliseconds of one
//! call, until `stop`. `TENSORJIT_BACKEND=c` compiles with the C compiler; `BENCH_THREADS=1` stays on one thread.
//! `TENSORJIT_EXPLAIN=STAGE` prints that stage of a sparse case's program instead. Cases whose names begin with `g` are for the
//! scheduler that reads data; `TENSORJIT_SCHEDULER=default` has the default one compute them.
//!
//! The small one (`d12`) and the sweep over batch sizes (`d14`) are computed as lazy arrays, so that building the
//! expression and finding its code count; the sweep forgets all code before, so that compiling does, too. So are all sparse
//! ones.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tensorjit::{
    Backend, CompileOptions, CompiledGraph, Tensor, clear_cache, compute, defer, explain_with, io,
};
use tj_benches::sparse::{Data, Program, program};
use tj_benches::{Failure, case, galley_cases};

/// A sample repeats the call until this much time has passed.
const SAMPLE: Duration = Duration::from_millis(5);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, size, folder] = arguments.as_slice() else {
        return Err("usage: serve CASE SIZE FOLDER".into());
    };
    let folder = Path::new(folder);
    let backend = match std::env::var("TENSORJIT_BACKEND").as_deref() {
        Ok("c") => Backend::C,
        _ => Backend::Auto,
    };
    let threads = std::env::var("BENCH_THREADS").map_or(Ok(0), |threads| threads.parse())?;
    let options = CompileOptions { backend, threads, ..Default::default() };
    if name.starts_with('s') {
        let data = Data::read(folder, options)?;
        return sparse(program(name)?, &data, folder);
    }
    if name.starts_with('g') {
        let options = match std::env::var("TENSORJIT_SCHEDULER").as_deref() {
            Ok("default") => options,
            _ => galley_cases::planned(options),
        };
        let mut data = Data::read(folder, options)?;
        galley_cases::prepare(name, size, &mut data)?;
        return sparse(galley_cases::program(name, size)?, &data, folder);
    }
    let case = case(name)?;
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

/// A case over sparse tensors.
fn sparse(program: Program, data: &Data, folder: &Path) -> Result<(), Failure> {
    if let (Ok(stage), Program::Lazy(build)) = (std::env::var("TENSORJIT_EXPLAIN"), program) {
        let explanation = explain_with(&[build(data)?], data.options.clone())?;
        let text = explanation.stage(&stage).unwrap_or_default();
        writeln!(std::io::stdout(), "{text}")?;
        return Ok(());
    }
    let start = Instant::now();
    let result = program.run(data)?;
    serve(folder, start.elapsed(), result, || program.run(data).map(drop))
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
    let is_sparse = result.stored().is_some() && result.rank() == 2;
    let file = folder.join(if is_sparse { "result.npz" } else { "result.npy" });
    io::write_any(&file, &if is_sparse { result.clone() } else { result.to_dense()? })?;
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
