//! The order of a program: every node after what it is built on.

use rustc_hash::FxHashSet;

use crate::lazy::{LazyTensor, Node};
use crate::stage::Known;

/// All nodes below `roots`, arguments first and in the order of roots and arguments, each once. What is `known` has
/// no arguments. Keeps its own stack.
pub(crate) fn post_order<'t>(roots: impl Iterator<Item = &'t LazyTensor>, known: &Known) -> Vec<&'t Node> {
    let mut found: Vec<&Node> = Vec::new();
    let mut done: FxHashSet<*const Node> = FxHashSet::default();
    let mut todo: Vec<(&Node, bool)> = Vec::new();
    for root in roots {
        todo.push((&root.0, false));
        while let Some((node, args_done)) = todo.pop() {
            if args_done {
                if done.insert(node) {
                    found.push(node);
                }
            } else if !done.contains(&(node as *const Node)) {
                todo.push((node, true));
                if known.has(node) {
                    continue;
                }
                todo.extend(node.args().iter().rev().map(|arg| (&*arg.0, false)));
            }
        }
    }
    found
}
