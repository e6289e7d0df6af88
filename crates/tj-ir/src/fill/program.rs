//! The fills of a program: of each of its nodes, in order, and what literals make of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_tensor::Scalar;

use super::{By, Fill, Filled, is_static, of_operator, of_product, of_reduce};
use crate::function::Function;
use crate::lazy::{Kind, LazyTensor, Node, OwnFill};
use crate::stage::Known;
use crate::trace::is_constant;
use crate::walk::post_order;

/// The fill of a tensor, all of whose arguments are data.
pub(crate) fn of_lazy(tensor: &LazyTensor) -> Option<Fill> {
    let known = Known::new();
    Fills::of(&post_order(std::iter::once(tensor), &known), &known).fill(tensor)
}

/// The fills of all nodes of a program.
#[derive(Default)]
pub(crate) struct Fills {
    of: FxHashMap<*const Node, Filled>,
    /// The operators whose fills follow from literals.
    outcomes: FxHashMap<*const Node, Outcome>,
}

/// What the fill of an operator comes to with the literals of the program.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The named value that it is, if it is one.
    pub value: Option<Scalar>,
    /// Arguments that have their fills almost everywhere, and these: only where they do, the result has the value.
    pub if_filled: SmallVec<[(usize, Scalar); 2]>,
}

impl Fills {
    /// Those of nodes in the order of the program.
    pub fn of(nodes: &[&Node], known: &Known) -> Fills {
        let mut fills = Fills::default();
        for &node in nodes {
            let mut filled = match known.tensor(node) {
                Some(data) => Filled::Tensor(data.as_ref().and_then(|data| Fill::of_data(data))),
                None => of_node(node, &|arg| fills.filled(arg)),
            };
            if let Kind::Map { args, .. } = &node.kind
                && let Some(outcome) = fills.decide(&mut filled, args)
            {
                fills.outcomes.insert(node, outcome);
            }
            fills.of.insert(node, filled);
        }
        fills
    }

    /// What the fill of an operator comes to, if it depends on literals.
    pub fn outcome(&self, node: &Node) -> Option<&Outcome> {
        self.outcomes.get(&(node as *const Node))
    }

    /// What an operator on these is once its outcome is known, if it has one.
    fn decide(&self, result: &mut Filled, args: &[LazyTensor]) -> Option<Outcome> {
        let (Filled::Tensor(Some(fill)) | Filled::Pattern(fill)) = *result else { return None };
        let by = match fill.by {
            By::Numbers => By::Program,
            By::Both => By::Places,
            By::Program | By::Places | By::Arguments => return None,
        };
        let value = named(fill.value);
        let decided = value.map(|value| Fill { value, by });
        *result = match (*result, decided, by) {
            (_, None, By::Program) => *result,
            (Filled::Pattern(_), decided, _) => decided.map_or(Filled::Places, Filled::Pattern),
            (_, Some(decided), _) => Filled::Tensor(Some(decided)),
            // Only an argument's own fill can be asked for, and this one has no name.
            (_, None, _) => Filled::Tensor(Some(Fill { by: By::Arguments, ..fill })),
        };
        let almost = |(at, arg): (usize, &LazyTensor)| match self.filled(arg) {
            Filled::Tensor(Some(fill)) | Filled::Pattern(fill) if fill.by == By::Places => {
                Some((at, fill.value))
            }
            Filled::Tensor(_) | Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places => None,
        };
        let if_filled = args.iter().enumerate().filter_map(almost).collect();
        Some(Outcome { value, if_filled: if by == By::Places { if_filled } else { SmallVec::new() } })
    }

    /// What a node is, as far as fills go.
    fn filled(&self, tensor: &LazyTensor) -> Filled {
        self.of.get(&Arc::as_ptr(&tensor.0)).copied().unwrap_or(Filled::Tensor(None))
    }

    /// The fill of a tensor.
    pub fn fill(&self, tensor: &LazyTensor) -> Option<Fill> {
        match self.filled(tensor) {
            Filled::Tensor(fill) => fill,
            Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places => None,
        }
    }
}

/// A value as code may hold it, if it is a named one: there is one NaN.
fn named(value: Scalar) -> Option<Scalar> {
    let (dtype, is_nan) = (value.dtype(), value.to_f64().is_nan());
    let is_named = !dtype.is_complex() && is_static(value);
    is_named.then(|| if is_nan { Scalar::F64(f64::NAN).cast(dtype) } else { value })
}

/// What a node is, as far as fills go.
fn of_node(node: &Node, known: &dyn Fn(&LazyTensor) -> Filled) -> Filled {
    let fill_of = |arg: &LazyTensor| match known(arg) {
        Filled::Tensor(fill) => fill,
        Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places => None,
    };
    let fill = match &node.kind {
        Kind::Data(tensor) if tensor.rank() == 0 => {
            let value = tensor.get(&[]).ok();
            return Filled::Scalar(value.map(|value| Fill { value, by: By::Arguments }));
        }
        Kind::Const(value) => {
            let by = if is_constant(*value) { By::Program } else { By::Numbers };
            return Filled::Scalar(Some(Fill { value: *value, by }));
        }
        Kind::Size(_) => return Filled::Scalar(None),
        Kind::Data(tensor) => Fill::of_data(tensor),
        Kind::Owned(_) if node.shape.is_empty() => return Filled::Scalar(None),
        Kind::Owned(data) => data.fill.map(Fill::of_value),
        Kind::Map { op, args } => {
            let args: Vec<Filled> = args.iter().map(known).collect();
            return of_operator(*op, &args);
        }
        Kind::Move { arg, .. } => match known(arg) {
            Filled::Scalar(_) if node.shape.is_empty() => return known(arg),
            // A number everywhere is a pattern without exceptions, a literal too.
            Filled::Scalar(Some(fill)) if fill.is_decided() => return Filled::Pattern(fill),
            Filled::Scalar(_) => None,
            Filled::Tensor(fill) => fill,
            Filled::Pattern(_) | Filled::Places => return known(arg),
        },
        // What is stored by levels has a fill; but what it is computed by, as part of something else, need not be that anywhere.
        Kind::Format { fill: OwnFill::Dropped, .. } => None,
        Kind::Format { arg, format, .. } if !format.is_strided() && !node.shape.is_empty() => {
            Some(fill_of(arg).unwrap_or_else(|| Fill { value: Scalar::zero(node.dtype), by: By::Places }))
        }
        Kind::Format { arg, .. } => return known(arg),
        Kind::Input { storage, .. } => storage.fill.map(Fill::of_value),
        Kind::Reduce { op, arg, .. } => match known(arg) {
            // Whether a literal stays what it is, no key would say.
            Filled::Pattern(fill) => {
                let named = Some(fill).filter(|fill| fill.is_static());
                return of_reduce(*op, named).map_or(Filled::Places, Filled::Pattern);
            }
            Filled::Tensor(fill) => of_reduce(*op, fill),
            Filled::Scalar(_) | Filled::Places => None,
        },
        Kind::Matmul { args: [a, b] } => of_product(fill_of(a), fill_of(b)),
        Kind::Positions => return Filled::Places,
        // Elements that are taken by a list have the fill of what they are taken from.
        Kind::Call { call, .. } if matches!(call.function, Function::Take | Function::TakeAlong) => {
            fill_of(&call.args[0])
        }
        Kind::Parts { .. } | Kind::Call { .. } | Kind::Select { .. } | Kind::Failed(_) => None,
    };
    Filled::Tensor(fill)
}
