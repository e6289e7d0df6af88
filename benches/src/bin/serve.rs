//! Times one case in turn with other libraries.
//!
//! Started as `serve CASE SIZE FOLDER`: reads the case's inputs from `FOLDER/NAME.npy`, computes once, prints
//! `ready FIRST_MS RESULT_FILE`, then for each line `time` the milliseconds of one call, until `stop`.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tensorjit::{Backend, CompileOptions, CompiledGraph, Tensor, io};
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
    let read = |name: &&'static str| -> Result<(&'static str, Tensor), Failure> {
        Ok((*name, io::read(folder.join(format!("{name}.npy")))?))
    };
    let inputs: Vec<(&str, Tensor)> = case.inputs.iter().map(read).collect::<Result<_, _>>()?;
    let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (*name, tensor)).collect();
    let backend = match std::env::var("TENSORJIT_BACKEND").as_deref() {
        Ok("c") => Backend::C,
        _ => Backend::Auto,
    };

    let start = Instant::now();
    let graph = CompiledGraph::new(&[case.output], CompileOptions { backend, ..Default::default() })?;
    let result = graph.call(&inputs)?;
    let first = start.elapsed();
    let file = folder.join("result.npy");
    io::write(&file, &result[0])?;
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
            graph.call(&inputs)?;
            calls += 1;
        }
        writeln!(out, "{}", start.elapsed().as_secs_f64() * 1e3 / f64::from(calls.max(1)))?;
        out.flush()?;
    }
    Ok(())
}
