//! The sparse cases against kernels written by hand, in turn on the same data.
//!
//! `sparse [--quick] [--threads 1|2] [--cases s1,s4] [--repeat 7] [--backend c] [--json]`
//!
//! Columns in milliseconds: `cold`, the first computation of the program; `warm`, one after all code was forgotten; `hot`, the
//! median of calls, on one thread and on two; the same by hand. A ratio is how many times as fast ours is. `--json` adds the least of each.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tensorjit::{Backend, CompileOptions, clear_cache};
use tj_benches::data::data;
use tj_benches::hand::{Peer, compile, difference, write_inputs};
use tj_benches::sparse::{Data, Program, program};
use tj_benches::{Failure, median};

/// A row: its name, which is also that of our program; the kernel by hand; the sizes, quick and whole.
const ROWS: [(&str, &str, [usize; 2]); 23] = [
    ("s1", "s1", [100_000, 1_000_000]),
    ("s2", "s2", [20_000, 100_000]),
    ("s3", "s3", [5_000, 20_000]),
    ("s4", "s4", [20_000, 100_000]),
    ("s5", "s5", [10_000, 50_000]),
    ("s5", "s5:once", [10_000, 50_000]),
    ("s6", "s6", [500, 2_000]),
    ("s6:csf", "s6:csf", [500, 2_000]),
    ("s7", "s7", [20_000, 200_000]),
    ("s8:loop", "s8", [20_000, 200_000]),
    ("s8:program", "s8", [20_000, 200_000]),
    ("s9:factored", "s9", [20_000, 200_000]),
    ("s10:right_to_left", "s10", [1_000, 4_000]),
    ("s11", "s11", [10, 13]),
    ("s12", "s12", [13, 17]),
    ("s13", "s13", [20_000, 200_000]),
    ("s14", "s14", [500, 3_000]),
    ("s15", "s15", [50_000, 500_000]),
    ("s15", "s15:csc", [50_000, 500_000]),
    ("s16", "s16", [200_000, 5_000_000]),
    ("s18:pull", "s18", [13, 17]),
    ("s18:push", "s18", [13, 17]),
    ("s20", "s20", [20_000, 200_000]),
];

/// Results differ by less than this much of the greatest value.
const TOLERANCE: f64 = 1e-3;

/// A sample repeats the call until this much time has passed.
const SAMPLE: Duration = Duration::from_millis(5);

/// Between samples the threads of the one before fall asleep.
const PAUSE: Duration = Duration::from_millis(20);

struct Options {
    quick: bool,
    threads: Vec<usize>,
    cases: Option<Vec<String>>,
    repeat: usize,
    backend: Backend,
    json: bool,
}

fn options() -> Result<Options, Failure> {
    let mut options = Options {
        quick: false,
        threads: vec![1, 2],
        cases: None,
        repeat: 7,
        backend: Backend::Auto,
        json: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = |what: &str| words.next().ok_or(format!("{word} needs {what}"));
        match word.as_str() {
            "--quick" => options.quick = true,
            "--json" => options.json = true,
            "--threads" => options.threads = vec![value("a number")?.parse()?],
            "--cases" => options.cases = Some(value("names")?.split(',').map(str::to_string).collect()),
            "--repeat" => options.repeat = value("a number")?.parse()?,
            "--backend" => {
                options.backend = match value("`c` or `cranelift`")?.as_str() {
                    "c" => Backend::C,
                    "cranelift" => Backend::Cranelift,
                    other => return Err(format!("{other} is neither `c` nor `cranelift`").into()),
                }
            }
            _ => {
                let known = "--quick, --json, --threads, --cases, --repeat and --backend";
                return Err(format!("{word} is not an option; there are {known}").into());
            }
        }
    }
    Ok(options)
}

fn main() -> Result<(), Failure> {
    let options = options()?;
    let folder = tempfile::tempdir()?;
    let by_hand = compile(folder.path())?;
    let mut out = std::io::stdout().lock();
    let titles = ["cold", "warm", "ours 1", "ours 2", "hand 1", "hand 2", "ratio 1", "ratio 2"];
    if !options.json {
        write!(out, "{:28}", "case")?;
        titles.iter().try_for_each(|title| write!(out, "{title:>10}"))?;
        writeln!(out)?;
    }
    let mut rows = Vec::new();
    for (ours, hand, sizes) in ROWS {
        let case = ours.split(':').next().unwrap_or(ours);
        let is_asked = |name: &String| name == case || name == ours;
        if options.cases.as_ref().is_some_and(|cases| !cases.iter().any(is_asked)) {
            continue;
        }
        let size = sizes[usize::from(!options.quick)];
        let inputs = tempfile::tempdir()?;
        let data = data(case, size, CompileOptions { backend: options.backend, ..Default::default() })?;
        write_inputs(inputs.path(), &data)?;
        let mut peers = Vec::new();
        for &threads in options.threads.iter().filter(|&&threads| threads <= by_hand.max_threads) {
            peers.push((threads, by_hand.start(hand, inputs.path(), threads)?, Vec::new()));
        }
        let row = match row(ours, data, peers, inputs.path(), &options) {
            Ok(row) => row,
            Err(error) => json!({ "error": error.to_string() }),
        };
        let name = format!("{ours}[{size}]{}", hand.strip_prefix(case).unwrap_or_default());
        if options.json {
            let mut row = row;
            row["case"] = json!(ours);
            row["hand"] = json!(hand);
            row["size"] = json!(size);
            rows.push(row);
            continue;
        }
        write!(out, "{name:28}")?;
        match row.get("error") {
            Some(error) => writeln!(out, "  {error}")?,
            None => {
                for title in titles {
                    match row[title].as_f64() {
                        Some(number) => write!(out, "{number:10.3}")?,
                        None => write!(out, "{:>10}", "-")?,
                    }
                }
                writeln!(out)?;
            }
        }
        out.flush()?;
    }
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}

/// One row; values are compared before anything is timed.
fn row(
    name: &str,
    mut data: Data,
    mut peers: Vec<(usize, Peer, Vec<f64>)>,
    folder: &std::path::Path,
    options: &Options,
) -> Result<Value, Failure> {
    let program = program(name)?;
    clear_cache();
    let since = Instant::now();
    let result = program.run(&data)?;
    let cold = since.elapsed().as_secs_f64() * 1e3;
    if !peers.is_empty() {
        let error = difference(folder, &result)?;
        if error.is_nan() || error > TOLERANCE {
            return Err(format!("the result differs by {error:.2e}").into());
        }
    }
    drop(result);
    clear_cache();
    let since = Instant::now();
    program.run(&data)?;
    let warm = since.elapsed().as_secs_f64() * 1e3;
    let mut row = json!({ "cold": cold, "warm": warm });
    let mut ours: Vec<(usize, Vec<f64>)> =
        options.threads.iter().map(|&threads| (threads, Vec::new())).collect();
    for _ in 0..options.repeat {
        for (threads, samples) in &mut ours {
            std::thread::sleep(PAUSE);
            data.options.threads = *threads;
            samples.push(sample(program, &data)?);
        }
        for (_, peer, samples) in &mut peers {
            std::thread::sleep(PAUSE);
            samples.push(peer.time()?);
        }
    }
    for (threads, samples) in &ours {
        row[format!("ours {threads}")] = json!(median(samples));
        row[format!("least ours {threads}")] = json!(least(samples));
    }
    for (threads, peer, samples) in peers {
        peer.stop()?;
        let hand = median(&samples);
        row[format!("hand {threads}")] = json!(hand);
        row[format!("least hand {threads}")] = json!(least(&samples));
        let ours = row[format!("ours {threads}")].as_f64().unwrap_or(f64::NAN);
        row[format!("ratio {threads}")] = json!(hand / ours);
    }
    Ok(row)
}

/// What the machine does when nothing else runs, where other things do.
fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The milliseconds of one call. The first one on another number of threads compiles, and is not counted.
fn sample(program: Program, data: &Data) -> Result<f64, Failure> {
    program.run(data)?;
    let since = Instant::now();
    let mut calls = 0_u32;
    while calls == 0 || (since.elapsed() < SAMPLE && calls < 5000) {
        program.run(data)?;
        calls += 1;
    }
    Ok(since.elapsed().as_secs_f64() * 1e3 / f64::from(calls))
}
