//! Which deferred sizes are one size of a program.
//!
//! Two deferred sizes that meet in an operator were found equal when it was built, or one was found to be 1 and is
//! read at 0. A program takes that for granted: the first time, by putting one symbol for both, or a 1; every other
//! time because whoever builds it again on other data either finds the same or has another program.
//!
//! Linear in the meetings of different sizes; those of equal ones cost a comparison.

use rustc_hash::FxHashMap;

use super::real_shape;
use crate::dim::{Dim, Symbol};
use crate::lazy::{BROADCAST, Fit, Kind, LazyTensor, Node, Shape};
use crate::stage::Known;

/// Deferred symbols that stand for other sizes.
#[derive(Default)]
pub(super) struct Merged(FxHashMap<Symbol, Dim>);

/// Merges the sizes that meet in the nodes of a program. What is `known` was computed by another.
pub(super) fn merge(nodes: &[&Node], known: &Known) -> Merged {
    let mut merged = Merged::default();
    for node in nodes.iter().filter(|node| !known.has(node)) {
        match &node.kind {
            Kind::Parts { args, .. } => args.iter().for_each(|arg| merged.meet(arg.shape(), &node.shape)),
            Kind::Map { args, .. } => args.iter().for_each(|arg| merged.meet(arg.shape(), &node.shape)),
            Kind::Matmul { args: [a, b] } => {
                let batch = |shape: &[Dim]| shape.len().saturating_sub(2);
                let (sa, sb) = (a.shape(), b.shape());
                let kept = usize::from(sa.len() > 1) + usize::from(sb.len() > 1);
                let result = &node.shape[..node.shape.len() - kept];
                merged.meet(&sa[..batch(sa)], result);
                merged.meet(&sb[..batch(sb)], result);
                merged.unify(&sb[batch(sb)], &sa[sa.len() - 1]);
            }
            Kind::Call { call, .. } => {
                let real = |arg: &LazyTensor| real_shape(arg.dtype(), arg.0.shape.clone());
                let shapes: Vec<Shape> = call.args.iter().map(real).collect();
                let shapes: Vec<&[Dim]> = shapes.iter().map(|shape| &**shape).collect();
                for (a, b) in call.function.equal_axes(&shapes) {
                    merged.unify(b, a);
                }
            }
            Kind::Move { name: BROADCAST, arg, .. } => merged.meet(arg.shape(), &node.shape),
            Kind::Failed(_)
            | Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Move { .. }
            | Kind::Format { .. }
            | Kind::Reduce { .. }
            | Kind::Select { .. } => {}
        }
    }
    merged
}

impl Merged {
    /// What a deferred symbol stands for: a size that no other stands for.
    pub(super) fn resolve(&self, symbol: &Symbol) -> Dim {
        let mut symbol = symbol.clone();
        loop {
            match self.0.get(&symbol) {
                None => return Dim::symbol(&symbol),
                Some(dim) => match dim.as_symbol() {
                    Some(next) => symbol = next.clone(),
                    None => return dim.substitute(&|s| s.deferred_value().map(|_| self.resolve(s))),
                },
            }
        }
    }

    fn meet(&mut self, arg: &[Dim], result: &[Dim]) {
        let lead = result.len() - arg.len();
        for (a, r) in arg.iter().zip(&result[lead..]) {
            match Fit::of(a, r) {
                Fit::Same | Fit::One => {}
                Fit::OneNow => self.unify(a, &Dim::ONE),
                Fit::EqualNow => self.unify(a, r),
            }
        }
    }

    /// Makes `a` stand for `b`, or the other way round. Sizes that a guard compares are left alone.
    fn unify(&mut self, a: &Dim, b: &Dim) {
        if a == b || a.actual().is_none() || b.actual().is_none() {
            return;
        }
        let whole = |dim: &Dim| dim.substitute(&|s| s.deferred_value().map(|_| self.resolve(s)));
        let (a, b) = (whole(a), whole(b));
        if a == b {
            return;
        }
        let (from, to) = match (a.as_symbol(), b.as_symbol()) {
            (Some(from), _) => (from, &b),
            (None, Some(from)) => (from, &a),
            (None, None) => return,
        };
        if !to.mentions(from) {
            self.0.insert(from.clone(), to.clone());
        }
    }
}
