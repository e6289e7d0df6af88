//! What became of a program: every stage as text, decisions with their numbers, memory, code, and whether the cache has it.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use smallvec::SmallVec;
use tj_ir::{Cause, IrError, Known, LazyTensor, Structure};
use tj_plan::{Reason, Scheduler, Sizes};

use crate::bind::Values;
use crate::cache;
use crate::chain::{self, Chain};
use crate::compile::compile;
use crate::compute::{add_storage, add_words};
use crate::error::Error;
use crate::explain::{c, clif};
use crate::graph::CompiledGraph;
use crate::observe::{Observer, Stage};
use crate::options::CompileOptions;
use crate::outputs::{Compute, Lazies};
use crate::page::page;
use crate::program::Program;
use crate::reason::reason;
use crate::report::{Kept, RunReport};
use crate::select::Taken;
use crate::stages;

/// What became of a program. As text by `Display`, as a page by [`Explanation::to_html`], piece by piece by its fields.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// Stage, time and text, in order.
    pub stages: Vec<(Stage, Duration, String)>,
    /// What the scheduler decided, with the numbers it looked at; by the queries of the plan before fusion.
    pub decisions: Vec<Reason>,
    /// Name and text of each kernel, in the order in which they run.
    pub kernels: Vec<(String, String)>,
    /// What must hold of the sizes of a run.
    pub guards: Vec<String>,
    /// The kernels in C.
    pub c: String,
    /// The kernels in the language of Cranelift.
    pub clif: String,
    /// Where temporaries are.
    pub arena: Option<ArenaPlan>,
    /// Whether the cache has the program, or why not; of lazy arrays only.
    pub cache: Option<String>,
    /// How long each kernel took, if it was measured.
    pub times: Vec<(String, Duration)>,
    /// Intermediate results of the run that a scheduler expected something of.
    pub kept: Vec<Kept>,
}

/// The memory of temporaries for some sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArenaPlan {
    /// Sizes by name.
    pub sizes: Vec<(String, i64)>,
    /// Bytes of the arena.
    pub bytes: u64,
    /// Bytes without which no placement can do.
    pub bound_bytes: u64,
    /// Bytes of all pieces side by side.
    pub unreused_bytes: u64,
    /// What lies in it.
    pub pieces: Vec<ArenaPiece>,
}

/// A temporary in the arena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaPiece {
    /// The query that it holds, or what it is for.
    pub name: String,
    /// First step that needs it.
    pub first: u64,
    /// Last step that needs it.
    pub last: u64,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// What [`compute`](crate::compute()) makes of lazy tensors, by the scheduler that applies to this thread: every stage, and
/// whether the cache has the program. Nothing is run, and the cache stays as it is.
///
/// ```
/// use tj_ir::defer;
/// use tj_runtime::{compute, explain};
/// use tj_tensor::Tensor;
///
/// # if cfg!(not(any(feature = "cranelift", feature = "c"))) {
/// #     return Ok(()); // this build has no back end
/// # }
/// let a = Tensor::full([2, 3], 1.0)?;
/// let e = (defer(&a) / 2).sum(1);
/// let explanation = explain(&e)?;
/// assert!(explanation.to_string().contains("because q0: inlined"));
/// assert!(explanation.to_html().starts_with("<!DOCTYPE html>"));
/// compute(&e)?;
/// assert!(explain(&e)?.stage("cache").is_some_and(|text| text.starts_with("found")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compute`](crate::compute()), but inputs may lack data.
pub fn explain<C: Compute>(what: C) -> Result<Explanation, Error> {
    let current = Taken::take();
    let scheduler = current.scheduler();
    let options = CompileOptions { scheduler: Some(scheduler.clone()), ..CompileOptions::default() };
    let mut lazies = Lazies::new();
    what.lazies(&mut lazies);
    let mut structure = Structure::new();
    let read = structure.read(&lazies);
    if read.as_ref().is_err_and(is_counted) {
        return by_stages(&lazies, &options, &*scheduler);
    }
    let mut explanation = Explanation::default();
    if read.is_ok() {
        add_words(&mut structure, &options, &*scheduler);
        if add_storage(&mut structure, &lazies, &options, &*scheduler) {
            let compiled = chain::compile(&lazies, &Known::new(), &options, &*scheduler, &mut explanation)?;
            explanation.add_chain(&compiled.chain);
            explanation.look_up(&structure, &lazies, &options, &*scheduler)?;
            return Ok(explanation);
        }
    }
    match read {
        // A program without data is a graph.
        Err(error) if matches!(*error.cause, Cause::NoData { .. }) => {
            return Ok(CompiledGraph::explained(&lazies, options)?.1);
        }
        read => read?,
    }
    let compiled = compile(&lazies, &Known::new(), &options, &*scheduler, &mut explanation)?;
    explanation.add_program(&compiled.program);
    let values = compiled.deferred.iter().map(|symbol| symbol.as_ref().and_then(|s| s.deferred_value()));
    if let Some(values) = values.collect::<Option<Values>>() {
        explanation.add_arena(&compiled.program, values);
    }
    explanation.look_up(&structure, &lazies, &options, &*scheduler)?;
    Ok(explanation)
}

/// What becomes of a program with these options. Where sizes depend on values, there is a program for each stage of the
/// computation, one after the other.
///
/// # Errors
/// As [`CompiledGraph::new`].
pub fn explain_with(outputs: &[LazyTensor], options: CompileOptions) -> Result<Explanation, Error> {
    match CompiledGraph::explained(outputs, options.clone()) {
        Err(Error::Program(error)) if is_counted(&error) => {
            let current = Taken::take();
            let scheduler = options.scheduler(&current);
            by_stages(outputs, &options, &*scheduler)
        }
        explained => Ok(explained?.1),
    }
}

fn is_counted(error: &IrError) -> bool {
    matches!(*error.cause, Cause::Counted { .. })
}

fn by_stages(
    outputs: &[LazyTensor],
    options: &CompileOptions,
    scheduler: &dyn Scheduler,
) -> Result<Explanation, Error> {
    let mut explanation = Explanation::default();
    stages::explain(outputs, options, scheduler, &mut explanation)?;
    Ok(explanation)
}

impl Observer for Explanation {
    fn stage(&mut self, stage: Stage, elapsed: Duration, text: &dyn Fn() -> String) {
        self.stages.push((stage, elapsed, text()));
    }
}

impl Explanation {
    /// The text of one stage.
    pub fn text(&self, stage: Stage) -> &str {
        self.stages.iter().find(|(s, _, _)| *s == stage).map_or("", |(_, _, text)| text)
    }

    /// How long a stage took; nothing if there was none.
    pub fn elapsed(&self, stage: Stage) -> Duration {
        self.stages.iter().filter(|(known, _, _)| *known == stage).map(|(_, elapsed, _)| *elapsed).sum()
    }

    /// The text of a section by its name: that of a [`Stage`], or `c`, `clif`, `arena`, `cache`, `run`.
    pub fn stage(&self, name: &str) -> Option<String> {
        match name {
            "c" => Some(self.c.clone()),
            "clif" => Some(self.clif.clone()),
            _ => self.sections().into_iter().find(|(known, _)| *known == name).map(|(_, text)| text),
        }
    }

    /// Says whether the cache has a program.
    fn look_up(
        &mut self,
        structure: &Structure,
        lazies: &[LazyTensor],
        options: &CompileOptions,
        scheduler: &dyn Scheduler,
    ) -> Result<(), Error> {
        self.cache = Some(match cache::peek(structure.words()) {
            Some(cached) => cached.facts.to_string(),
            None => format!("not found: {}", reason(lazies, &Known::new(), options, scheduler)?),
        });
        Ok(())
    }

    /// One page that needs nothing else: no script, no file, no network.
    pub fn to_html(&self) -> String {
        page(self)
    }

    /// Adds how long each kernel of a run took, and how many entries intermediate results had that a scheduler expected
    /// something of.
    pub fn add_run(&mut self, report: &RunReport) {
        self.times.clone_from(&report.kernel_times);
        self.kept.clone_from(&report.kept);
    }

    /// Name and text of what is shown, in order.
    fn sections(&self) -> Vec<(&'static str, String)> {
        let mut sections: Vec<_> =
            self.stages.iter().map(|(stage, _, text)| (stage.name(), text.clone())).collect();
        sections.extend(self.arena.as_ref().map(|arena| ("arena", arena.to_string())));
        sections.extend(self.cache.as_ref().map(|cache| ("cache", format!("{cache}\n"))));
        if !self.times.is_empty() || !self.kept.is_empty() {
            let time = |(name, time): &(String, Duration)| format!("{name}: {time:?}\n");
            let kept = |Kept { step, expected, found }: &Kept| {
                format!("{step}: {expected} entries expected, {found} found\n")
            };
            let lines = self.times.iter().map(time).chain(self.kept.iter().map(kept));
            sections.push(("run", lines.collect()));
        }
        sections
    }

    /// Adds what a compiled program knows, with the arena for guessed sizes.
    pub(crate) fn add_program(&mut self, program: &Program) {
        self.add_code(program);
        let guess = |symbol| Sizes.guess(&tj_ir::Dim::from(symbol)) as i64;
        self.add_arena(program, program.binder.symbols().iter().map(guess).collect());
    }

    /// Adds what the programs of a chain know. Each has an arena of its own.
    pub(crate) fn add_chain(&mut self, chain: &Chain) {
        chain.executables().into_iter().for_each(|executable| self.add_code(&executable.program));
    }

    /// Adds what a compiled program knows, but for its arena.
    fn add_code(&mut self, program: &Program) {
        self.decisions.extend(program.fused.reasons.iter().cloned());
        let kernels = program.kernels.iter().map(|l| (l.kernel.name.clone(), l.kernel.to_string()));
        self.kernels.extend(kernels);
        self.guards.extend(program.guards());
        self.c.push_str(&c(&program.kernels));
        self.clif.push_str(&clif(&program.kernels));
    }

    /// Adds the arena for these sizes, if they are possible.
    pub(crate) fn add_arena(&mut self, program: &Program, values: Values) {
        let Ok(bound) = program.bind(values, &[]) else { return };
        let symbols = program.binder.symbols().iter().zip(&bound.values);
        let places = program.intervals().iter().zip(bound.offsets.iter().zip(&bound.pieces));
        let pieces = places.map(|(interval, (&offset, &piece))| {
            let workers = interval.scratch_of.map_or(1, |kernel| bound.kernels[kernel].workers as u64);
            let (first, last) = (interval.first, interval.last);
            ArenaPiece { name: interval.name.clone(), first, last, offset, bytes: piece * workers }
        });
        self.arena = Some(ArenaPlan {
            sizes: symbols.map(|(symbol, &value)| (symbol.to_string(), value)).collect(),
            bytes: bound.arena_bytes,
            bound_bytes: bound.bound_bytes,
            unreused_bytes: bound.unreused_bytes,
            pieces: pieces.collect(),
        });
    }
}

impl ArenaPlan {
    /// `N = 64, M = 3`.
    pub(crate) fn sizes_text(&self) -> String {
        let sizes: SmallVec<[String; 8]> =
            self.sizes.iter().map(|(name, n)| format!("{name} = {n}")).collect();
        sizes.join(", ")
    }
}

impl fmt::Display for ArenaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.sizes.is_empty() { String::new() } else { format!(" at {}", self.sizes_text()) };
        writeln!(
            f,
            "{} bytes{at}; {} without reuse, at least {}",
            self.bytes, self.unreused_bytes, self.bound_bytes
        )?;
        for ArenaPiece { name, first, last, offset, bytes } in &self.pieces {
            writeln!(f, "{name}: steps {first}..={last}, bytes {offset}..{}", offset + bytes)?;
        }
        Ok(())
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in self.sections() {
            let mut body = String::new();
            for line in text.lines() {
                writeln!(body, "  {line}")?;
            }
            writeln!(f, "{name}:\n{body}")?;
        }
        Ok(())
    }
}
