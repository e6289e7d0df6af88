//! Programs in stages, where sizes depend on values.
//!
//! **Problem.** A [`Selection`] has a result whose size is not known before its arguments are computed. **Idea.** Whoever
//! computes a program asks [`Stage::next`] what can be computed now, computes that, runs the selections, notes all of it
//! in a [`Known`] and asks again. Once there is no selection left, the rest is an ordinary program, to which what is known
//! are arguments and counts are sizes. So all selections that do not depend on each other share a stage, and nothing below
//! this module knows of stages.
//!
//! **What is computed twice.** A node that a stage computes on the way, and that is needed later, too, is kept if it is a
//! reduction, a product or a function of whole tensors. Elementwise operators on leaves and on what is kept are computed
//! again, because that is cheaper than writing and reading them; but not more than [`AGAIN`] of them for one node.
//!
//! **Cost.** One walk over the program for each stage, and none for programs without a selection.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tj_tensor::Tensor;

use crate::dim::Symbol;
use crate::error::{Cause, IrError};
use crate::guard::Guard;
use crate::lazy::{Kind, LazyTensor, Node, Selected};
use crate::selection::Selection;
use crate::walk::post_order;

/// How many elementwise operators a later stage may compute again for one node, counting shared ones each time.
const AGAIN: u32 = 8;

/// What earlier stages of a program have computed.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The tensor holds its node, so that the address stays its own. Without data where only the program is of interest.
    nodes: FxHashMap<*const Node, (LazyTensor, Option<Arc<Tensor>>)>,
    counts: FxHashMap<Symbol, Option<i64>>,
}

impl Known {
    /// Nothing.
    pub fn new() -> Known {
        Known::default()
    }

    /// The value of a lazy tensor, or that it will be known.
    pub fn insert(&mut self, tensor: &LazyTensor, value: Option<Tensor>) {
        self.nodes.insert(Arc::as_ptr(&tensor.0), (tensor.clone(), value.map(Arc::new)));
    }

    /// How many elements a selection found, or that it will be known.
    pub fn count(&mut self, symbol: &Symbol, count: Option<i64>) {
        self.counts.insert(symbol.clone(), count);
    }

    /// The value of a lazy tensor.
    pub fn value(&self, tensor: &LazyTensor) -> Option<&Tensor> {
        self.nodes.get(&Arc::as_ptr(&tensor.0))?.1.as_deref()
    }

    /// Whether a lazy tensor is known, with or without its value.
    pub fn contains(&self, tensor: &LazyTensor) -> bool {
        self.has(&tensor.0)
    }

    /// The value of a size that is there already.
    pub fn size(&self, symbol: &Symbol) -> Option<i64> {
        symbol.deferred_value().or_else(|| self.counts.get(symbol).copied().flatten())
    }

    /// Forgets what only what is known needs.
    pub fn forget_below(&mut self, outputs: &[LazyTensor]) {
        let needed: FxHashSet<*const Node> =
            post_order(outputs.iter(), self).into_iter().map(|node| node as *const Node).collect();
        self.nodes.retain(|node, _| needed.contains(node));
    }

    pub(crate) fn has(&self, node: &Node) -> bool {
        !self.nodes.is_empty() && self.nodes.contains_key(&(node as *const Node))
    }

    pub(crate) fn tensor(&self, node: &Node) -> Option<&Option<Arc<Tensor>>> {
        if self.nodes.is_empty() {
            return None;
        }
        self.nodes.get(&(node as *const Node)).map(|(_, value)| value)
    }

    /// The error about a selection of which a program without stages cannot know how much it selects.
    pub(crate) fn needed(node: &Node) -> IrError {
        IrError::new(Cause::Counted { op: node.word().to_string() }, node.location)
    }

    fn uncounted(&self, node: &Node) -> Option<Symbol> {
        let known = |symbol: &Symbol| self.counts.contains_key(symbol);
        let at: &[_] = match &node.kind {
            Kind::Move { at, .. } => at,
            Kind::Size(dim) => std::slice::from_ref(dim),
            Kind::Failed(_)
            | Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Positions
            | Kind::Map { .. }
            | Kind::Format { .. }
            | Kind::Reduce { .. }
            | Kind::Parts { .. }
            | Kind::Matmul { .. }
            | Kind::Call { .. }
            | Kind::Select { .. } => &[],
        };
        node.shape.iter().chain(at).find_map(|dim| dim.first_uncounted(&known))
    }
}

/// The first condition on sizes of a program that does not hold, by the sizes that are known. Code that was compiled for an earlier
/// program has that one's words for its conditions; these are the program's own.
pub fn broken_guard<'t>(outputs: &'t [LazyTensor], known: &Known) -> Option<&'t Guard> {
    let value = |symbol: &Symbol| known.size(symbol);
    let broken = |guard: &&Guard| guard.condition.holds(&value) == Ok(false);
    post_order(outputs.iter(), known).into_iter().flat_map(|node| &node.guards).find(broken)
}

/// A selection that can run once its arguments are computed.
#[derive(Debug)]
pub struct Ready {
    /// What selects.
    pub selection: Selection,
    /// From what.
    pub args: Vec<LazyTensor>,
    /// The lazy tensors that it gives values, with the position of the result.
    pub outputs: Vec<(LazyTensor, usize)>,
    /// What it counts.
    pub count: Symbol,
    /// What must hold of sizes.
    pub guards: Vec<Guard>,
    /// The call that asked for it.
    pub location: &'static std::panic::Location<'static>,
}

/// What can be computed before the first sizes that are not known yet.
#[derive(Debug)]
pub struct Stage {
    /// What one program computes.
    pub program: Vec<LazyTensor>,
    /// The selections that run then.
    pub selections: Vec<Ready>,
}

impl Stage {
    /// The next stage of the program that computes `outputs`, unless no selection is left in it.
    ///
    /// # Errors
    /// A size that something counts which is no part of the program.
    pub fn next(outputs: &[LazyTensor], known: &Known) -> Result<Option<Stage>, IrError> {
        let nodes = post_order(outputs.iter(), known);
        let mut late: FxHashSet<*const Node> = FxHashSet::default();
        let mut ready: Vec<&Node> = Vec::new();
        for &node in &nodes {
            if known.has(node) {
                continue;
            }
            let waits = node.args().iter().any(|arg| late.contains(&Arc::as_ptr(&arg.0)));
            let selects = matches!(node.kind, Kind::Select { .. });
            if selects && !waits {
                ready.push(node);
            }
            // The size of a selection is its own.
            if selects || waits || known.uncounted(node).is_some() {
                late.insert(node);
            }
        }
        if ready.is_empty() {
            let waiting = nodes.iter().find_map(|node| Some((node, known.uncounted(node)?)));
            return match waiting {
                Some((node, symbol)) if !known.has(node) => {
                    let cause = Cause::NotCounted { what: node.word().to_string(), size: symbol.to_string() };
                    Err(IrError::new(cause, node.location))
                }
                Some(_) | None => Ok(None),
            };
        }
        let selections = gather(&ready, outputs, &nodes);
        let program = Cut::new(&nodes, &ready, known).program(outputs);
        Ok(Some(Stage { program, selections }))
    }
}

/// The lazy tensor of each node that some node or output refers to.
fn handles<'t>(outputs: &'t [LazyTensor], nodes: &[&'t Node]) -> FxHashMap<*const Node, &'t LazyTensor> {
    let args = nodes.iter().flat_map(|node| node.args());
    outputs.iter().chain(args).map(|tensor| (Arc::as_ptr(&tensor.0), tensor)).collect()
}

/// Selections with all their results, in the order of the program.
fn gather(ready: &[&Node], outputs: &[LazyTensor], nodes: &[&Node]) -> Vec<Ready> {
    let handles = handles(outputs, nodes);
    let mut found: Vec<Ready> = Vec::new();
    let mut places: FxHashMap<*const Selected, usize> = FxHashMap::default();
    for &node in ready {
        let Kind::Select { selected, output } = &node.kind else { continue };
        let place = *places.entry(Arc::as_ptr(selected)).or_insert_with(|| {
            found.push(Ready {
                selection: selected.selection,
                args: selected.args.clone(),
                outputs: Vec::new(),
                count: selected.count.clone(),
                guards: node.guards.to_vec(),
                location: node.location,
            });
            found.len() - 1
        });
        let handle = handles[&(node as *const Node)];
        found[place].outputs.push((handle.clone(), *output));
    }
    found
}

/// The border between what a stage computes and what comes later.
struct Cut<'t> {
    nodes: &'t [&'t Node],
    known: &'t Known,
    ready: FxHashSet<*const Node>,
    /// What the selections of the stage need, directly or not.
    early: FxHashSet<*const Node>,
    /// What the program of the stage gives, in order.
    program: Vec<LazyTensor>,
    given: FxHashSet<*const Node>,
}

impl<'t> Cut<'t> {
    fn new(nodes: &'t [&'t Node], ready: &[&'t Node], known: &'t Known) -> Cut<'t> {
        let ready: FxHashSet<*const Node> = ready.iter().map(|&node| node as *const Node).collect();
        let mut early: FxHashSet<*const Node> = FxHashSet::default();
        for &node in nodes.iter().rev() {
            let key: *const Node = node;
            if !known.has(node) && (ready.contains(&key) || early.contains(&key)) {
                early.extend(node.args().iter().map(|arg| Arc::as_ptr(&arg.0)));
            }
        }
        Cut { nodes, known, ready, early, program: Vec::new(), given: FxHashSet::default() }
    }

    fn program(mut self, outputs: &[LazyTensor]) -> Vec<LazyTensor> {
        let nodes = self.nodes;
        for &node in nodes {
            if self.ready.contains(&(node as *const Node)) {
                node.args().iter().for_each(|arg| self.give(arg));
            }
        }
        let again = self.work();
        let mut border: Vec<&LazyTensor> = outputs.iter().collect();
        for &node in nodes {
            let key: *const Node = node;
            if !self.known.has(node) && !self.ready.contains(&key) && !self.early.contains(&key) {
                border.extend(node.args());
            }
        }
        let mut seen: FxHashSet<*const Node> = FxHashSet::default();
        while let Some(tensor) = border.pop() {
            let key = Arc::as_ptr(&tensor.0);
            if !self.early.contains(&key) || self.given.contains(&key) || !seen.insert(key) {
                continue;
            }
            if is_work(&tensor.0) || again[&key] > AGAIN {
                self.give(tensor);
            } else {
                border.extend(tensor.0.args());
            }
        }
        self.program
    }

    /// Elementwise operators that computing a node again takes.
    fn work(&self) -> FxHashMap<*const Node, u32> {
        let mut work: FxHashMap<*const Node, u32> = FxHashMap::default();
        for &node in self.nodes {
            let own = match &node.kind {
                Kind::Map { .. } | Kind::Parts { .. } => 1,
                Kind::Move { .. } | Kind::Format { .. } => 0,
                Kind::Failed(_)
                | Kind::Input { .. }
                | Kind::Data(_)
                | Kind::Owned(_)
                | Kind::Const(_)
                | Kind::Size(_)
                | Kind::Positions
                | Kind::Reduce { .. }
                | Kind::Matmul { .. }
                | Kind::Call { .. }
                | Kind::Select { .. } => {
                    work.insert(node, 0);
                    continue;
                }
            };
            let of = |arg: &LazyTensor| work[&Arc::as_ptr(&arg.0)];
            let below: u32 = node.args().iter().map(of).fold(own, u32::saturating_add);
            work.insert(node, if self.known.has(node) { 0 } else { below });
        }
        work
    }

    /// Makes it a result of the stage, unless it is there already.
    fn give(&mut self, tensor: &LazyTensor) {
        let is_there = matches!(tensor.0.kind, Kind::Data(_)) || self.known.has(&tensor.0);
        if self.given.insert(Arc::as_ptr(&tensor.0)) && !is_there {
            self.program.push(tensor.clone());
        }
    }
}

/// Whether computing a node costs more than reading its result.
fn is_work(node: &Node) -> bool {
    match &node.kind {
        Kind::Reduce { .. } | Kind::Matmul { .. } | Kind::Call { .. } => true,
        Kind::Failed(_)
        | Kind::Input { .. }
        | Kind::Data(_)
        | Kind::Owned(_)
        | Kind::Const(_)
        | Kind::Size(_)
        | Kind::Positions
        | Kind::Map { .. }
        | Kind::Move { .. }
        | Kind::Format { .. }
        | Kind::Parts { .. }
        | Kind::Select { .. } => false,
    }
}

impl LazyTensor {
    /// The tensor, if it is data that is there already.
    pub fn data(&self) -> Option<&Tensor> {
        if let Kind::Data(tensor) = &self.0.kind { Some(tensor) } else { None }
    }
}
