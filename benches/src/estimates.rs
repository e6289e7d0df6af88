//! How far what the scheduler that reads data expects is from what there is, over patterns in graphs.
//!
//! For each step of the way that is chosen for a pattern: the ways in which its factors meet and the entries that are kept of them,
//! expected, bounded, and counted by computing the step. A q-error is how many times too large or too small an estimate is.

use std::collections::BTreeMap;

use tensorjit::{CompileOptions, DType, Format, Scalar, Tensor, compute_as, defer, einop};
use tj_galley::bound::Bounds;
use tj_galley::cost::Facts;
use tj_galley::sample::Samples;
use tj_galley::search::{Seen, search};
use tj_galley::statistics::{Loops, Statistics};
use tj_ir::trace::trace;
use tj_ir::{InputDecl, Source};
use tj_plan::derive::form::{Form, Kind, Leaf, NodeId};
use tj_plan::derive::{Shape, Step, fill_of, form_of, roots};
use tj_plan::sparse::StoredInput;
use tj_plan::{Plan, canonicalise};

use crate::Failure;
use crate::data::Random;

/// Patterns: a name, the vertices, and the edges between them.
const PATTERNS: [(&str, &str, &[&str]); 11] = [
    ("path2", "ijk", &["ij", "jk"]),
    ("path3", "ijkl", &["ij", "jk", "kl"]),
    ("path4", "ijklm", &["ij", "jk", "kl", "lm"]),
    ("star3", "ijkl", &["ij", "ik", "il"]),
    ("star4", "ijklm", &["ij", "ik", "il", "im"]),
    ("tree5", "ijklm", &["ij", "jk", "jl", "im"]),
    ("tree6", "ijklmn", &["ij", "jk", "jl", "im", "in"]),
    ("triangle", "ijk", &["ij", "jk", "ik"]),
    ("cycle4", "ijkl", &["ij", "jk", "kl", "il"]),
    ("tailed", "ijkl", &["ij", "jk", "ik", "kl"]),
    ("clique4", "ijkl", &["ij", "ik", "il", "jk", "jl", "kl"]),
];

/// The share of all vertices that each label has.
const LABELS: [(&str, f64); 3] = [("U", 0.3), ("V", 0.1), ("W", 0.05)];

/// A number that was expected, one that is not exceeded, and what there is.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// What was expected.
    pub expected: f64,
    /// What is certain.
    pub most: f64,
    /// What there is.
    pub found: f64,
}

/// A step of the way to count a pattern.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The graph, the pattern, how many of its vertices have labels.
    pub case: String,
    /// Which step of it.
    pub step: usize,
    /// Whether the pattern has a circle, and the step joins one.
    pub is_circle: bool,
    /// How factors meet.
    pub ways: Number,
    /// The same, expected by looking at some, where that is a circle.
    pub sampled: Option<Number>,
    /// What is kept, unless it is one number.
    pub entries: Option<Number>,
}

impl Number {
    /// How many times too large or too small the estimate is.
    pub fn error(&self) -> f64 {
        q(self.expected, self.found)
    }

    /// How many times too large the bound is.
    pub fn slack(&self) -> f64 {
        q(self.most, self.found)
    }
}

fn q(a: f64, b: f64) -> f64 {
    let (a, b) = (a.max(1.0), b.max(1.0));
    (a / b).max(b / a)
}

/// The median and the 95th percentile of some errors.
pub fn summary(errors: &mut [f64]) -> [f64; 2] {
    errors.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = (part * errors.len() as f64).ceil() as usize;
        errors.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    };
    [at(0.5), at(0.95)]
}

/// The steps of all patterns in graphs of both kinds.
///
/// # Errors
/// No memory; whatever `compute` refuses.
pub fn estimates(quick: bool) -> Result<Vec<Estimate>, Failure> {
    let random = &mut Random::new(0x2545_F491_4F6C_DD1D);
    let mut graphs = Vec::new();
    for (n, edges) in if quick { vec![(300, 1200)] } else { vec![(500, 2000), (1500, 4500)] } {
        graphs.push((format!("power law {n}"), n, random.power_law(n, edges, 1_i64)?));
        graphs.push((format!("uniform {n}"), n, random.uniform(n, edges, 1_i64)?));
    }
    let mut all = Vec::new();
    for (graph, n, adjacent) in graphs {
        let mut tensors: BTreeMap<&str, Tensor> = BTreeMap::new();
        tensors.insert("A", adjacent);
        for (label, share) in LABELS {
            tensors.insert(label, random.subset(n, share)?);
        }
        for (name, vertices, edges) in PATTERNS {
            for labels in 0..=LABELS.len() {
                let case = format!("{graph} {name} {labels}");
                all.extend(pattern(case, vertices, edges, labels, &tensors)?);
            }
        }
    }
    Ok(all)
}

fn listed(indices: &str) -> String {
    indices.chars().map(String::from).collect::<Vec<_>>().join(",")
}

/// The steps of the way for one pattern.
fn pattern(
    case: String,
    vertices: &str,
    edges: &[&str],
    labels: usize,
    tensors: &BTreeMap<&str, Tensor>,
) -> Result<Vec<Estimate>, Failure> {
    let mut factors: Vec<String> = edges.iter().map(|edge| format!("A[{}]", listed(edge))).collect();
    let labelled = vertices.chars().zip(LABELS).take(labels);
    factors.extend(labelled.map(|(vertex, (label, _))| format!("{label}[{vertex}]")));
    let text = format!("t[{}] = {}", listed(vertices), factors.join(" * "));
    let lazy: Vec<(&str, tensorjit::LazyTensor)> =
        tensors.iter().map(|(name, tensor)| (*name, defer(tensor))).collect();
    let used = lazy.iter().filter(|(name, _)| text.contains(&format!("{name}[")));
    let operands: Vec<(&str, &tensorjit::LazyTensor)> = used.map(|(name, lazy)| (*name, lazy)).collect();
    let count = einop(&text, &operands).sum(());
    let plan = canonicalise(&Plan::from_trace(trace(&[], std::slice::from_ref(&count))?));
    let inputs: Vec<Option<StoredInput>> = plan.inputs.iter().map(stored).collect();
    let all = roots(&plan);
    let root = all.roots.last().ok_or("a plan without queries")?.query;
    let form = form_of(&plan, &fill_of(&inputs), &all, root, Shape::Written, &[]);
    let start = form.ok_or_else(|| format!("{case} has no form"))?;
    let statistics = Statistics::new(&plan, &inputs, Loops::Guessed);
    let facts = Facts::new(&statistics, &start, false);
    let way = search(&facts, &start, &mut Seen::default()).ok_or_else(|| format!("{case} has no way"))?;
    let bounds = Bounds::new(&plan, &inputs).way(&start, &way.steps);
    let samples = Samples::new(&plan);
    let mut form = start;
    let mut results: Vec<Tensor> = Vec::new();
    let mut estimates = Vec::new();
    for (at, ((done, priced), bound)) in way.steps.iter().zip(&way.priced).zip(&bounds).enumerate() {
        let made = match done.reduced.as_slice() {
            [] => form.keep(&done.factors),
            reduced => form.eliminate(reduced),
        };
        let step = made.cloned().ok_or_else(|| format!("{case}: a step is not possible"))?;
        form.keep_in_order(&done.order);
        let kept = form.steps.last().cloned().unwrap_or_else(|| step.clone());
        let (ways, result) = counted(&form, &Step { axes: kept.axes, ..step.clone() }, &plan, &results)?;
        let cells: f64 = step.axes.iter().map(|&axis| facts.size(axis)).product();
        let entries = (!step.axes.is_empty())
            .then(|| -> Result<Number, Failure> {
                let expected = (priced.density * cells).min(bound.entries());
                Ok(Number { expected, most: bound.entries(), found: result.nnz()? as f64 })
            })
            .transpose()?;
        let ways = Number { expected: priced.rounds.min(bound.ways()), most: bound.ways(), found: ways };
        let sampled = samples.ways(&form, &step).map(|expected| Number { expected, ..ways });
        estimates.push(Estimate {
            case: case.clone(),
            step: at,
            is_circle: is_circle(&form, &step),
            ways,
            sampled,
            entries,
        });
        results.push(result);
    }
    Ok(estimates)
}

fn stored(input: &InputDecl) -> Option<StoredInput> {
    let stored = input.data.as_ref()?.stored()?;
    Some(StoredInput {
        format: stored.format().clone(),
        fill: stored.fill(),
        is_hypersparse: false,
        width: tensorjit::sparse::Width::U32,
        may_store_fill: false,
        entries: None,
    })
}

/// What is read by a step, a product.
fn reads(form: &Form, step: &Step) -> Vec<NodeId> {
    match &form.node(step.body).kind {
        Kind::Map(_, args) => args.to_vec(),
        Kind::Read(_) | Kind::Const(_) | Kind::Number(_) | Kind::Size(_) => vec![step.body],
    }
}

/// Whether the factors of a step of several indices go round in a circle: there are as many as indices, or more.
fn is_circle(form: &Form, step: &Step) -> bool {
    let several = reads(form, step).into_iter().filter(|&read| form.node(read).indices.count_ones() > 1);
    several.count() as u32 >= step.indices().count_ones()
}

/// Computes a step: the ways in which its factors meet, and where it has an entry, as ones.
fn counted(form: &Form, step: &Step, plan: &Plan, results: &[Tensor]) -> Result<(f64, Tensor), Failure> {
    let letter = |index: u8| char::from(b'a' + index);
    let mut operands: Vec<(String, tensorjit::LazyTensor)> = Vec::new();
    let mut factors = Vec::new();
    for read in reads(form, step) {
        let Kind::Read(leaf) = form.node(read).kind else {
            return Err("a step is no product of reads".into());
        };
        let (tensor, at): (&Tensor, String) = match &form.leaves[leaf as usize] {
            Leaf::Source(Source::Input(input), at) => {
                let data = plan.inputs[*input as usize].data.as_ref().ok_or("an input without data")?;
                let index = |dim: &tj_ir::Dim| tj_plan::sparse::plain(dim).map(|index| letter(index as u8));
                (data, at.iter().map(index).collect::<Option<String>>().ok_or("an input is moved")?)
            }
            Leaf::Source(Source::Def(_), _) => return Err("a step reads another query".into()),
            Leaf::Step(earlier) => {
                let axes = form.steps[*earlier as usize].axes.iter();
                (&results[*earlier as usize], axes.map(|&axis| letter(axis)).collect())
            }
        };
        let name = format!("F{}", operands.len());
        factors.push(format!("{name}[{}]", listed(&at)));
        operands.push((name, defer(tensor)));
    }
    let axes: String = step.axes.iter().map(|&axis| letter(axis)).collect();
    let operands: Vec<(&str, &tensorjit::LazyTensor)> =
        operands.iter().map(|(name, lazy)| (name.as_str(), lazy)).collect();
    let sums = einop(&format!("r[{}] += {}", listed(&axes), factors.join(" * ")), &operands);
    let options = CompileOptions::default();
    let sums: Tensor = compute_as(sums, &options)?.0;
    let ways = compute_as(defer(&sums).sum(()), &options)?.0.get(&[])?.to_f64();
    let ones = compute_as(defer(&sums).greater(0).cast(DType::I64), &options)?.0;
    let rank = ones.rank();
    if rank == 0 {
        return Ok((ways, ones));
    }
    let filled = ones.to_dense()?.with_fill(Some(Scalar::zero(DType::I64)))?;
    Ok((ways, filled.with_format(&Format::csf(rank))?))
}
