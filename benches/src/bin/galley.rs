//! The workloads of the scheduler that reads data, beside the default one on the same data.
//!
//! `galley [--quick] [--threads 2] [--cases path3,triangle] [--repeat 7] [--json]`
//!
//! `galley --estimates [--quick] [--json]`
//!
//! Columns in milliseconds: `plan`, deciding how the program is computed, statistics being there; `cold`, the first computation of
//! the program, planned and compiled; `hot`, the median of calls; `default`, the same by the default scheduler; and how many times
//! as fast the first is. With `--json`, also how many entries were expected of intermediate results, and how many there were.
//!
//! With `--estimates`, what is expected, bounded and found of each step of patterns in graphs, and how far these are apart.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tensorjit::{
    CompileOptions, GalleyScheduler, Kept, LazyTensor, Reassociate, Stage, Tensor, clear_cache, compute_as,
};
use tj_benches::estimates::{Estimate, Number, estimates, summary};
use tj_benches::galley::{WORKLOADS, inputs};
use tj_benches::sparse::Data;
use tj_benches::{Failure, median};

/// Results differ by less than this much of the greatest value.
const TOLERANCE: f64 = 1e-3;

/// A program that takes longer than this is run once.
const LONG: Duration = Duration::from_secs(2);

struct Options {
    quick: bool,
    threads: usize,
    cases: Option<Vec<String>>,
    repeat: usize,
    json: bool,
    estimates: bool,
}

fn options() -> Result<Options, Failure> {
    let mut options =
        Options { quick: false, threads: 0, cases: None, repeat: 7, json: false, estimates: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = |what: &str| words.next().ok_or(format!("{word} needs {what}"));
        match word.as_str() {
            "--quick" => options.quick = true,
            "--json" => options.json = true,
            "--estimates" => options.estimates = true,
            "--threads" => options.threads = value("a number")?.parse()?,
            "--cases" => options.cases = Some(value("names")?.split(',').map(str::to_string).collect()),
            "--repeat" => options.repeat = value("a number")?.parse()?,
            _ => {
                let known = "--quick, --json, --estimates, --threads, --cases and --repeat";
                return Err(format!("{word} is not an option; there are {known}").into());
            }
        }
    }
    Ok(options)
}

/// The first call, and the median of later ones.
struct Timed {
    result: Tensor,
    kept: Vec<Kept>,
    cold: f64,
    hot: f64,
}

fn timed(
    build: fn(&Data) -> Result<LazyTensor, Failure>,
    data: &Data,
    options: &CompileOptions,
    repeat: usize,
) -> Result<Timed, Failure> {
    clear_cache();
    let since = Instant::now();
    let (result, report) = compute_as(build(data)?, options)?;
    let first = since.elapsed();
    let mut samples = Vec::new();
    for _ in 0..if first > LONG { 1 } else { repeat } {
        let since = Instant::now();
        compute_as(build(data)?, options)?;
        samples.push(since.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Timed { result, kept: report.kept, cold: first.as_secs_f64() * 1e3, hot: median(&samples) })
}

/// The greatest difference, as a part of the greatest value.
fn difference(a: &Tensor, b: &Tensor) -> Result<f64, Failure> {
    let values = |tensor: &Tensor| -> Result<Vec<f64>, Failure> {
        Ok(tensor.to_dense()?.cast(tensorjit::DType::F64)?.to_vec::<f64>()?)
    };
    let (a, b) = (values(a)?, values(b)?);
    let scale = b.iter().fold(1e-300_f64, |most, x| most.max(x.abs()));
    Ok(a.iter().zip(&b).map(|(x, y)| (x - y).abs() / scale).fold(0.0, f64::max))
}

/// Prints what was expected of each step and what was found, and how far these are apart.
fn report(all: &[Estimate], json: bool, out: &mut impl Write) -> Result<(), Failure> {
    let number = |of: &Number| json!({ "expected": of.expected, "most": of.most, "found": of.found });
    if json {
        let rows = all.iter().map(|step| {
            let entries = step.entries.as_ref().map(number);
            json!({ "case": step.case, "step": step.step, "ways": number(&step.ways), "entries": entries })
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&rows.collect::<Vec<_>>())?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{:32}{:>12}{:>12}{:>12}{:>8}{:>8}",
        "step", "expected", "at most", "found", "error", "slack"
    )?;
    let row = |name: String, of: &Number, out: &mut dyn Write| {
        let (error, slack) = (of.error(), of.slack());
        let Number { expected, most, found } = of;
        writeln!(out, "{name:32}{expected:12.0}{most:12.0}{found:12.0}{error:8.2}{slack:8.2}")
    };
    for step in all {
        row(format!("{} {} ways", step.case, step.step), &step.ways, out)?;
        if let Some(sampled) = &step.sampled {
            row(format!("{} {} sampled", step.case, step.step), sampled, out)?;
        }
        if let Some(entries) = &step.entries {
            row(format!("{} {} entries", step.case, step.step), entries, out)?;
        }
    }
    let ways = || all.iter().map(|step| &step.ways);
    let within = |is_circle: bool| all.iter().filter(move |step| step.is_circle == is_circle);
    let groups: [(&str, Vec<&Number>); 5] = [
        ("entries kept", all.iter().filter_map(|step| step.entries.as_ref()).collect()),
        ("ways", ways().collect()),
        ("ways of trees", within(false).map(|step| &step.ways).collect()),
        ("ways of circles", within(true).map(|step| &step.ways).collect()),
        ("ways of circles, sampled", all.iter().filter_map(|step| step.sampled.as_ref()).collect()),
    ];
    writeln!(
        out,
        "{:26}{:>8}{:>10}{:>10}{:>10}{:>14}",
        "", "steps", "median", "95 %", "worst", "bound median"
    )?;
    for (name, numbers) in groups {
        let mut errors: Vec<f64> = numbers.iter().map(|of| of.error()).collect();
        let mut slacks: Vec<f64> = numbers.iter().map(|of| of.slack()).collect();
        let ([median, most], [slack, _]) = (summary(&mut errors), summary(&mut slacks));
        let worst = errors.last().copied().unwrap_or(f64::NAN);
        let count = numbers.len();
        writeln!(out, "{name:26}{count:8}{median:10.2}{most:10.2}{worst:10.2}{slack:14.2}")?;
    }
    let is_wrong = |of: &&Number| of.found > of.most;
    let wrong = ways().chain(all.iter().filter_map(|step| step.entries.as_ref())).filter(is_wrong).count();
    if wrong > 0 {
        return Err(format!("{wrong} bounds are below what was found").into());
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let options = options()?;
    let mut out = std::io::stdout().lock();
    if options.estimates {
        return report(&estimates(options.quick)?, options.json, &mut out);
    }
    if !options.json {
        let titles = ["plan", "cold", "hot", "default", "ratio"];
        write!(out, "{:16}", "workload")?;
        titles.iter().try_for_each(|title| write!(out, "{title:>12}"))?;
        writeln!(out)?;
    }
    let mut rows = Vec::new();
    for (name, build) in WORKLOADS {
        if options.cases.as_ref().is_some_and(|cases| !cases.iter().any(|case| case == name)) {
            continue;
        }
        let plain = CompileOptions { threads: options.threads, ..Default::default() };
        let data = inputs(name, options.quick, plain.clone())?;
        let scheduler = GalleyScheduler::new(Reassociate::Expand);
        let planned = CompileOptions { scheduler: Some(Arc::new(scheduler)), ..plain.clone() };
        if let Ok(stage) = std::env::var("TENSORJIT_EXPLAIN") {
            let explanation = tensorjit::explain_with(&[build(&data)?], planned.clone())?;
            writeln!(out, "{name}\n{}", explanation.stage(&stage).unwrap_or_default())?;
        }
        let mut plan = f64::INFINITY;
        for _ in 0..3 {
            let explanation = tensorjit::explain_with(&[build(&data)?], planned.clone())?;
            plan = plan.min(explanation.elapsed(Stage::Derive).as_secs_f64() * 1e3);
        }
        let ours = timed(build, &data, &planned, options.repeat)?;
        let default = timed(build, &data, &plain, options.repeat)?;
        let error = difference(&ours.result, &default.result)?;
        if error.is_nan() || error > TOLERANCE {
            return Err(format!("{name}: results differ by {error:.2e}").into());
        }
        let ratio = default.hot / ours.hot;
        if options.json {
            let kept = ours.kept.iter().map(|Kept { step, expected, found }| {
                json!({ "step": step, "expected": expected, "found": found })
            });
            rows.push(json!({
                "workload": name, "plan": plan, "cold": ours.cold, "hot": ours.hot, "default": default.hot,
                "ratio": ratio, "kept": kept.collect::<Vec<_>>(),
            }));
            continue;
        }
        let times = [plan, ours.cold, ours.hot, default.hot];
        write!(out, "{name:16}")?;
        times.iter().try_for_each(|time| write!(out, "{time:12.3}"))?;
        writeln!(out, "{ratio:12.2}")?;
        out.flush()?;
    }
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}
