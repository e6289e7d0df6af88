//! The sparse programs of the suite, each as a user would write it.
//!
//! Inputs are tensors by the names of the suite's variables, stored as they were read. Most cases are one lazy expression;
//! building it belongs to what is timed. PageRank and the breadth-first search are loops around `compute`, and the matrix of
//! coordinates is one constructor, without a program.

use std::collections::BTreeMap;
use std::path::Path;

use tensorjit::{
    CompileOptions, DType, Duplicates, Format, LazyTensor, Scalar, Tensor, compute_as, concat, defer, einsum,
    io, where_,
};

use crate::{Failure, Tensors};

/// What a case computes on.
#[derive(Debug, Default)]
pub struct Data {
    /// Arrays by name.
    pub tensors: Tensors,
    /// Numbers by name.
    pub numbers: BTreeMap<String, f64>,
    /// How programs are compiled and run.
    pub options: CompileOptions,
}

/// How a case is computed.
#[derive(Clone, Copy, Debug)]
pub enum Program {
    /// One expression.
    Lazy(fn(&Data) -> Result<LazyTensor, Failure>),
    /// Host code around `compute`.
    Host(fn(&Data) -> Result<Tensor, Failure>),
}

/// The cases, the programs that a user may write for each (the first is the one that is served), and what they compute.
pub const CASES: [(&str, &[(&str, Program)]); 18] = [
    ("s1", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.matmul(&d.lazy("x")?))))]),
    ("s2", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.matmul(&d.lazy("x")?))))]),
    ("s3", &[("", Program::Lazy(sddmm))]),
    ("s4", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.matmul(&d.lazy("b")?))))]),
    ("s5", &[("", Program::Lazy(triangles))]),
    ("s6", &[("", Program::Host(mttkrp)), ("csf", Program::Lazy(mttkrp_of_fibers))]),
    ("s7", &[("", Program::Lazy(|d| Ok((d.lazy("a")? + d.lazy("b")?) * d.lazy("c")?)))]),
    ("s8", &[("loop", Program::Host(pagerank_loop)), ("program", Program::Lazy(pagerank))]),
    ("s9", &[("factored", Program::Lazy(join_factored)), ("join", Program::Lazy(join))]),
    ("s10", &[("left_to_right", Program::Lazy(chain)), ("right_to_left", Program::Lazy(chain_from_right))]),
    ("s11", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.matmul(&d.lazy("a")?))))]),
    ("s12", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.matmul(&d.lazy("x")?))))]),
    ("s13", &[("", Program::Lazy(|d| Ok(d.lazy("a")? + d.lazy("b")?)))]),
    ("s14", &[("", Program::Lazy(|d| Ok(d.lazy("d")? + d.lazy("s_")?)))]),
    ("s15", &[("", Program::Lazy(|d| Ok(d.lazy("a")?.transpose().matmul(&d.lazy("x")?))))]),
    ("s16", &[("", Program::Host(rows_of_coordinates))]),
    ("s18", &[("pull", Program::Host(levels_pulled)), ("push", Program::Host(levels_pushed))]),
    ("s20", &[("", Program::Lazy(variance_of_normalised))]),
];

/// The program of a case by the start of its name (`s1`, `s1_spmv`), in the form named after `:` (`s18:push`) or the first.
///
/// # Errors
/// For a case or form that is not part of the suite.
pub fn program(name: &str) -> Result<Program, Failure> {
    let (name, form) = name.split_once(':').map_or((name, None), |(name, form)| (name, Some(form)));
    let short = name.split('_').next().unwrap_or(name);
    let forms = CASES.iter().find(|(case, _)| *case == short);
    let mut forms = forms.into_iter().flat_map(|(_, forms)| forms.iter());
    let found = forms.find(|(known, _)| form.is_none_or(|form| form == *known));
    let (_, program) = found.ok_or_else(|| format!("case {name} is not part of the suite"))?;
    Ok(*program)
}

impl Program {
    /// Computes the case once.
    ///
    /// # Errors
    /// A missing input; whatever `compute` refuses.
    pub fn run(self, data: &Data) -> Result<Tensor, Failure> {
        match self {
            Program::Lazy(build) => data.compute(build(data)?),
            Program::Host(run) => run(data),
        }
    }
}

impl Data {
    /// Reads the inputs of a case: `NAME.npy`, SciPy's `NAME.npz`, and `numbers.json`.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub fn read(folder: &Path, options: CompileOptions) -> Result<Data, Failure> {
        let mut data = Data { options, ..Data::default() };
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            let end = path.extension().and_then(|end| end.to_str());
            match (name, end) {
                // Construction from coordinates is what this case times, so that they are read as arrays.
                ("coo", Some("npz")) => {
                    let mut archive = io::Npz::open(&path)?;
                    for array in ["row", "col", "data", "shape"] {
                        data.tensors.insert(array.to_string(), archive.read(array)?);
                    }
                }
                (name, Some("npy" | "npz")) if name != "result" => {
                    data.tensors.insert(name.to_string(), io::read_any(&path)?);
                }
                ("numbers", Some("json")) => {
                    data.numbers = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
                }
                _ => {}
            }
        }
        Ok(data)
    }

    /// Computes by these options.
    fn compute<C: tensorjit::Compute>(&self, what: C) -> Result<C::Output, Failure> {
        Ok(compute_as(what, &self.options)?.0)
    }

    /// An input.
    ///
    /// # Errors
    /// One that is missing.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, Failure> {
        self.tensors.get(name).ok_or_else(|| format!("the inputs lack {name}").into())
    }

    /// An input as a lazy tensor.
    ///
    /// # Errors
    /// One that is missing.
    pub fn lazy(&self, name: &str) -> Result<LazyTensor, Failure> {
        Ok(defer(self.tensor(name)?))
    }

    /// A number.
    ///
    /// # Errors
    /// One that is missing.
    pub fn number(&self, name: &str) -> Result<f64, Failure> {
        self.numbers.get(name).copied().ok_or_else(|| format!("the numbers lack {name}").into())
    }

    /// A number that is a size.
    ///
    /// # Errors
    /// One that is missing.
    pub fn size(&self, name: &str) -> Result<usize, Failure> {
        Ok(self.number(name)? as usize)
    }
}

fn sddmm(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("s")? * data.lazy("a")?.matmul(&data.lazy("bt")?.transpose()))
}

fn triangles(data: &Data) -> Result<LazyTensor, Failure> {
    let a = data.lazy("a")?;
    Ok((a.matmul(&a) * &a).sum(()).floor_divide(6))
}

/// Sorting the coordinates is part of the work, as it is for every peer.
fn mttkrp(data: &Data) -> Result<Tensor, Failure> {
    let n = data.tensor("b")?.shape()[0];
    let coordinates = [data.tensor("i")?.clone(), data.tensor("j")?.clone(), data.tensor("l")?.clone()];
    let x = Tensor::coo([n, n, n], &coordinates, data.tensor("v")?.clone(), Duplicates::Sum)?;
    data.compute(einsum("ijl,jk,lk->ik", &[&defer(&x), &data.lazy("b")?, &data.lazy("c")?]))
}

/// On a tensor that is there.
fn mttkrp_of_fibers(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(einsum("ijl,jk,lk->ik", &[&data.lazy("x")?, &data.lazy("b")?, &data.lazy("c")?]))
}

fn ranked(a: &LazyTensor, r: &LazyTensor, degrees: &LazyTensor, n: usize) -> LazyTensor {
    a.matmul(&(r / degrees)) * 0.85 + 0.15 / n as f64
}

/// Twenty calls of one compiled program.
fn pagerank_loop(data: &Data) -> Result<Tensor, Failure> {
    let (a, degrees) = (data.lazy("a")?, data.lazy("deg")?);
    let n = data.tensor("deg")?.shape()[0];
    let mut r = Tensor::full([n], 1.0_f32 / n as f32)?;
    for _ in 0..data.size("iterations")? {
        r = data.compute(ranked(&a, &defer(&r), &degrees, n))?;
    }
    Ok(r)
}

/// All iterations as one program.
fn pagerank(data: &Data) -> Result<LazyTensor, Failure> {
    let (a, degrees) = (data.lazy("a")?, data.lazy("deg")?);
    let n = data.tensor("deg")?.shape()[0];
    let start = defer(Tensor::full([n], 1.0_f32 / n as f32)?);
    let iterations = 0..data.size("iterations")?;
    Ok(iterations.fold(start, |r, _| ranked(&a, &r, &degrees, n)))
}

fn join_factored(data: &Data) -> Result<LazyTensor, Failure> {
    let of_suppliers = data.lazy("x2")?.matmul(&data.lazy("th2")?);
    Ok(data.lazy("x1")?.matmul(&data.lazy("th1")?) + of_suppliers.take(&data.lazy("key")?, 0))
}

fn join(data: &Data) -> Result<LazyTensor, Failure> {
    let joined = concat(&[data.lazy("x1")?, data.lazy("x2")?.take(&data.lazy("key")?, 0)], 1);
    Ok(joined.matmul(&concat(&[data.lazy("th1")?, data.lazy("th2")?], 0)))
}

fn chain(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("a")?.matmul(&data.lazy("b")?).matmul(&data.lazy("c")?).sum(()))
}

fn chain_from_right(data: &Data) -> Result<LazyTensor, Failure> {
    Ok(data.lazy("a")?.matmul(&data.lazy("b")?.matmul(&data.lazy("c")?.sum(1))).sum(()))
}

fn rows_of_coordinates(data: &Data) -> Result<Tensor, Failure> {
    let shape = data.tensor("shape")?.cast(DType::I64)?.to_vec::<i64>()?;
    let shape: Vec<usize> = shape.into_iter().map(|extent| extent as usize).collect();
    let coordinates = [data.tensor("row")?.clone(), data.tensor("col")?.clone()];
    let (values, zero) = (data.tensor("data")?.clone(), Scalar::zero(data.tensor("data")?.dtype()));
    Ok(Tensor::from_entries(shape, &coordinates, values, zero, Duplicates::Sum, &Format::csr())?)
}

/// Every vertex that has no level looks for a neighbour that got one in the last step.
fn levels_pulled(data: &Data) -> Result<Tensor, Failure> {
    let a = data.lazy("a")?;
    let (mut level, reached) = start(data)?;
    let mut reached = reached.cast(DType::Bool)?;
    let edges = a.not_equal(0);
    let mut step = 0_i32;
    loop {
        step += 1;
        let neighbours = edges.logical_and(defer(&reached)).any(1);
        let new = neighbours.logical_and(defer(&level).less(0));
        let levels = where_(&new, step, defer(&level));
        let any;
        (level, reached, any) = data.compute((levels, &new, new.any(())))?;
        if any.get(&[])? == Scalar::Bool(false) {
            return Ok(level);
        }
    }
}

/// What got a level in the last step, a sparse vector, tells its neighbours.
fn levels_pushed(data: &Data) -> Result<Tensor, Failure> {
    let a = data.lazy("a")?;
    let (mut level, reached) = start(data)?;
    let mut reached = reached.with_format(&Format::coo(1))?;
    let mut step = 0_i32;
    while reached.stored_count() > 0 {
        step += 1;
        let neighbours = defer(&reached).matmul(&a).greater(0);
        let new = neighbours.logical_and(defer(&level).less(0));
        let levels = where_(&new, step, defer(&level));
        (level, reached) = data.compute((levels, new.cast(DType::F32)))?;
        reached = reached.with_format(&Format::coo(1))?;
    }
    Ok(level)
}

/// Level 0 at the source and -1 elsewhere; what is reached is 1.
fn start(data: &Data) -> Result<(Tensor, Tensor), Failure> {
    let n = data.tensor("a")?.shape()[0];
    let source = data.size("source")?;
    let level: Vec<i32> = (0..n).map(|vertex| if vertex == source { 0 } else { -1 }).collect();
    let reached: Vec<f32> = level.iter().map(|&level| (level + 1) as f32).collect();
    Ok((level.into(), reached.into()))
}

/// Rows divided by their sums; then the variance of each column.
fn variance_of_normalised(data: &Data) -> Result<LazyTensor, Failure> {
    let a = data.lazy("a")?;
    let scaled = &a / a.sum(tensorjit::axis(1).keepdims());
    let mean = scaled.mean(0);
    Ok((&scaled * &scaled).mean(0) - &mean * &mean)
}
