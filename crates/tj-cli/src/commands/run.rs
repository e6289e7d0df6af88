//! `tj run`.
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever is not of the wanted kind is treated alike")]

use std::collections::BTreeMap;

use num_complex::Complex;
use serde_json::{Value as Json, json};
use tensorjit::{CompiledGraph, DType, Error, RunReport, Tensor};

use super::save::Destination;
use super::{Failure, Text, Work, given_sizes, print, remark, staged};
use crate::args::RunArgs;
use crate::progress::Progress;
use crate::values::Sweep;

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let text = Text::read(&args.work.program)?;
    let sizes = given_sizes(&args.work)?;
    match &args.sweep {
        Some(sweep) => run_sweep(args, &text, &sizes, sweep),
        None => run_once(args, &text, &sizes),
    }
}

fn run_once(args: &RunArgs, text: &Text, sizes: &BTreeMap<String, i64>) -> Result<(), Failure> {
    let work = Work::read(text, &args.work, sizes)?;
    let names: Vec<&str> = work.evaluated.outputs.iter().map(|(name, _)| name.as_str()).collect();
    let destinations = Destination::find(&args.outputs, &names)?;
    let mut progress = Progress::new(None);
    progress.say("compiling");
    let (outputs, report) = if staged::is_stored(&work) {
        staged::run(text, &work, sizes)?
    } else {
        match CompiledGraph::observed(&work.outputs(), work.options.clone(), &mut progress) {
            Ok(graph) => call(&graph, &work, sizes)?,
            Err(error) if staged::is_staged(&error) => staged::run(text, &work, sizes)?,
            Err(error) => return Err(error.into()),
        }
    };
    drop(progress);
    let is_sparse = work.inputs.iter().any(|(_, tensor)| tensor.stored().is_some());
    let mut saved = vec![false; outputs.len()];
    for destination in &destinations {
        if is_sparse && let Some(note) = destination.note(&names, &outputs) {
            remark(&note);
        }
        for &at in destination.write(&names, &outputs)? {
            saved[at] = true;
        }
    }
    if args.report.is_some() {
        let runs = [run_json(&report, &names, &outputs, None)?];
        return print(&format!("{:#}\n", json!({ "compilations": report.compilations, "runs": runs })));
    }
    let mut shown = String::new();
    let mut values = serde_json::Map::new();
    for ((name, output), saved) in names.iter().zip(&outputs).zip(saved) {
        if saved {
            continue;
        }
        if args.json {
            values.insert((*name).to_string(), tensor_json(output)?);
        } else if names.len() == 1 {
            shown.push_str(&format!("{output}\n"));
        } else {
            shown.push_str(&format!("{name} = {output}\n"));
        }
    }
    if args.json && !values.is_empty() {
        shown = format!("{:#}\n", Json::Object(values));
    }
    print(&shown)
}

/// One program, every size, one process.
fn run_sweep(
    args: &RunArgs,
    text: &Text,
    sizes: &BTreeMap<String, i64>,
    sweep: &Sweep,
) -> Result<(), Failure> {
    let mut graph: Option<CompiledGraph> = None;
    let mut runs = Vec::new();
    let mut shown = String::new();
    let progress = Progress::new(Some(sweep.values.len() as u64));
    for &value in &sweep.values {
        progress.say(format!("{} = {value}", sweep.name));
        let value = i64::try_from(value).map_err(|_| Failure::wrong(format!("size {value} is too large")))?;
        let mut sizes = sizes.clone();
        if sizes.insert(sweep.name.clone(), value).is_some() {
            let message = format!("size {} is given by both --sweep and --dim", sweep.name);
            return Err(Failure::wrong(message));
        }
        let work = Work::read(text, &args.work, &sizes)?;
        if !work.evaluated.sizes.iter().any(|(name, _)| *name == sweep.name) {
            return Err(Failure::wrong(format!("the program declares no size {}", sweep.name)));
        }
        let (outputs, report) = if staged::is_stored(&work) {
            staged::run(text, &work, &sizes)?
        } else {
            let graph = match &mut graph {
                Some(graph) => graph,
                none => none.insert(CompiledGraph::new(&work.outputs(), work.options.clone())?),
            };
            call(graph, &work, &sizes)?
        };
        let names: Vec<&str> = work.evaluated.outputs.iter().map(|(name, _)| name.as_str()).collect();
        runs.push(run_json(&report, &names, &outputs, Some((&sweep.name, value)))?);
        for (name, output) in names.iter().zip(&outputs) {
            shown.push_str(&format!("{} = {value}: {name} = {output}\n", sweep.name));
        }
        progress.step();
    }
    drop(progress);
    let compilations = graph.as_ref().map_or(0, |graph| graph.report().compilations);
    if args.report.is_some() || args.json {
        return print(&format!("{:#}\n", json!({ "compilations": compilations, "runs": runs })));
    }
    print(&shown)
}

fn call(
    graph: &CompiledGraph,
    work: &Work,
    sizes: &BTreeMap<String, i64>,
) -> Result<(Vec<Tensor>, RunReport), Failure> {
    call_by(CompiledGraph::call_reported, graph, work, sizes)
}

/// How a graph is called.
type Call = fn(&CompiledGraph, &[(&str, i64)], &[(&str, &Tensor)]) -> Result<(Vec<Tensor>, RunReport), Error>;

/// A call with the inputs and sizes of the command line.
pub(super) fn call_by(
    call: Call,
    graph: &CompiledGraph,
    work: &Work,
    sizes: &BTreeMap<String, i64>,
) -> Result<(Vec<Tensor>, RunReport), Failure> {
    let known: Vec<String> = graph.size_names().collect();
    // A value that only made data is no business of the program.
    let bindings: Vec<(&str, i64)> = sizes
        .iter()
        .filter(|(name, _)| known.contains(name))
        .map(|(name, &value)| (name.as_str(), value))
        .collect();
    let inputs: Vec<(&str, &Tensor)> =
        work.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    Ok(call(graph, &bindings, &inputs)?)
}

fn run_json(
    report: &RunReport,
    names: &[&str],
    outputs: &[Tensor],
    sweep: Option<(&str, i64)>,
) -> Result<Json, Failure> {
    let bindings: serde_json::Map<String, Json> =
        report.bindings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut values = serde_json::Map::new();
    for (name, output) in names.iter().zip(outputs) {
        values.insert((*name).to_string(), tensor_json(output)?);
    }
    Ok(json!({
        "sweep": sweep.map(|(name, value)| json!({ name: value })),
        "bindings": bindings,
        "kernels": report.kernels,
        "input_bytes": report.input_bytes,
        "temporary_bytes": report.temporary_bytes,
        "unreused_temporary_bytes": report.unreused_temporary_bytes,
        "output_bytes": report.output_bytes,
        "peak_bytes": report.peak_bytes,
        "bound_bytes": report.bound_bytes,
        "allocations": report.allocations,
        "copied_inputs": report.copied_inputs,
        "outputs": values,
    }))
}

/// Elements of a sparse tensor that are written one by one, fill or not.
const DENSE: usize = 1 << 20;

/// A tensor as JSON; one that is stored by levels and has very many elements by its entries.
fn tensor_json(tensor: &Tensor) -> Result<Json, Failure> {
    if tensor.stored().is_none() || tensor.count().is_ok_and(|count| count <= DENSE) {
        return Ok(elements_json(tensor));
    }
    let (columns, values) = tensor.to_entries()?;
    let columns: Vec<Vec<i64>> =
        columns.iter().map(|column| column.cast(DType::I64)?.to_vec()).collect::<Result<_, _>>()?;
    let fill = tensor.fill().map(|fill| elements_json(&Tensor::scalar(fill))["data"][0].clone());
    let mut json = elements_json(&values);
    json["shape"] = json!(tensor.shape());
    json["fill"] = json!(fill);
    json["coordinates"] = json!(columns);
    Ok(json)
}

/// A tensor as JSON: its dtype, shape and elements in row-major order. What JSON cannot write as a number is a
/// string, and a complex number is a pair.
fn elements_json(tensor: &Tensor) -> Json {
    let number = |x: f64| serde_json::Number::from_f64(x).map_or_else(|| json!(x.to_string()), Json::Number);
    let elements: Vec<Json> = match tensor.dtype() {
        DType::Bool => tensor.to_vec::<bool>().unwrap_or_default().into_iter().map(Json::from).collect(),
        DType::F32 => {
            tensor.to_vec::<f32>().unwrap_or_default().into_iter().map(|x| number(x.into())).collect()
        }
        dtype if dtype.is_complex() => {
            let wide = tensor.cast(DType::C128).and_then(|t| t.to_vec::<Complex<f64>>());
            wide.unwrap_or_default().into_iter().map(|z| json!([number(z.re), number(z.im)])).collect()
        }
        DType::U64 => tensor.to_vec::<u64>().unwrap_or_default().into_iter().map(Json::from).collect(),
        dtype if dtype.is_int() => {
            let wide = tensor.cast(DType::I64).and_then(|t| t.to_vec::<i64>());
            wide.unwrap_or_default().into_iter().map(Json::from).collect()
        }
        _ => {
            let wide = tensor.cast(DType::F64).and_then(|t| t.to_vec::<f64>());
            wide.unwrap_or_default().into_iter().map(number).collect()
        }
    };
    json!({ "dtype": tensor.dtype().to_string(), "shape": tensor.shape(), "data": elements })
}
