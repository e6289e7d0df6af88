//! The structure of a program as words: what must be equal for two programs to share compiled code.
//!
//! **Problem.** A user who computes the same expression on other data builds all its nodes anew. To find the compiled
//! program must cost little beside running it. **Idea.** One walk in program order writes down what each node is, with
//! arguments and sizes named by their first appearance, and sets aside what a program only receives: data, numbers,
//! and the values of deferred sizes. Equal words, equal program; the rest are its arguments in order.
//!
//! **What is in the words.** Operators, dtypes, constants by class, index maps, and for each meeting of two sizes how
//! they met (`Fit`): one program a broadcast pattern. Over data with fills, also what the fill of an operator comes to with the
//! numbers of the program ([`crate::fill`]). Not in them: values of deferred sizes, strides, alignment,
//! counts, locations, the order in which nodes were made.
//!
//! **Invariant.** Whatever [`trace`](crate::trace) makes of a program follows from these words, up to locations and
//! hints; inputs and numbers are in the order in which it gives them.
//!
//! **Cost.** Some 30 ns a node; memory is kept from one program to the next.

mod part;

use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tj_tensor::{Scalar, Tensor};

use crate::dim::{Dim, Factor, Symbol};
use crate::error::{Cause, IrError};
use crate::fill::{Fills, code};
use crate::guard::Condition;
use crate::key::part::{Marks, Part};
use crate::lazy::{BROADCAST, Fit, Kind, LazyTensor, Node, OwnFill, Owned};
use crate::stage::Known;
use crate::trace::{is_constant, number_parts};
use crate::walk::post_order;

/// The word before the outputs: no node and no guard begins with it.
const OUTPUTS: u64 = 1000;

/// The structure of a program, and its arguments.
#[derive(Debug, Default)]
pub struct Structure {
    words: Words,
    /// Data, in the order of the program's inputs.
    inputs: Vec<Arc<Tensor>>,
    /// Which of these the program is given for good, and the calls that gave them.
    owned: Vec<(usize, Owned, &'static Location<'static>)>,
    numbers: Vec<Scalar>,
    symbols: Vec<Symbol>,
    /// Values of the symbols.
    values: Vec<i64>,
    numbered: FxHashMap<Symbol, u64>,
    done: FxHashMap<*const Node, u64>,
    /// Whether some data has a fill.
    has_fills: bool,
    /// What the words are about, if somebody wants to know.
    marks: Option<Marks>,
}

impl Structure {
    /// Nothing yet.
    pub fn new() -> Structure {
        Structure::default()
    }

    /// Reads the program that computes `outputs`; what was read before is forgotten, but not its memory.
    ///
    /// # Errors
    /// The first mistake that an output carries; an input without data; [`Cause::Counted`] if a size depends on values.
    pub fn read(&mut self, outputs: &[LazyTensor]) -> Result<(), IrError> {
        self.read_stage(outputs, &Known::new())
    }

    /// As [`Structure::read`], where what earlier stages have computed is data.
    ///
    /// # Errors
    /// As there.
    pub fn read_stage(&mut self, outputs: &[LazyTensor], known: &Known) -> Result<(), IrError> {
        self.clear();
        for output in outputs {
            output.check()?;
        }
        for output in outputs {
            self.visit(output, known)?;
        }
        self.outcomes(outputs, known);
        self.mark(Part::Outputs);
        self.words.0.extend([OUTPUTS, outputs.len() as u64]);
        for output in outputs {
            let id = self.id(output);
            self.words.0.push(id);
        }
        self.mark(Part::Caller);
        self.done.clear();
        Ok(())
    }

    /// As [`Structure::read_stage`], and notes what each word is about, for [`Structure::describe`].
    ///
    /// # Errors
    /// As there.
    pub fn read_described(&mut self, outputs: &[LazyTensor], known: &Known) -> Result<(), IrError> {
        let mut described = Structure { marks: Some(Marks::default()), ..Structure::default() };
        described.read_stage(outputs, known)?;
        *self = described;
        Ok(())
    }

    /// What the word at this position is about, if the program was read by [`Structure::read_described`] and the word is
    /// part of it: `the dtype of data (src/main.rs:3:9)`.
    pub fn describe(&self, at: usize) -> Option<String> {
        self.marks.as_ref()?.describe(at)
    }

    fn mark(&mut self, part: Part) {
        if let Some(marks) = &mut self.marks {
            marks.part(self.words.0.len(), part);
        }
    }

    /// Whether some data of the program has a fill.
    pub fn has_fills(&self) -> bool {
        self.has_fills
    }

    /// Forgets the program, so that no data is held.
    pub fn clear(&mut self) {
        self.has_fills = false;
        self.words.0.clear();
        self.inputs.clear();
        self.owned.clear();
        self.numbers.clear();
        self.symbols.clear();
        self.values.clear();
        self.numbered.clear();
        self.done.clear();
    }

    /// What must be equal.
    pub fn words(&self) -> &[u64] {
        &self.words.0
    }

    /// Adds a word that is no part of the program but must be equal, too.
    pub fn add_word(&mut self, word: u64) {
        self.words.0.push(word);
    }

    /// Adds a text that must be equal, too.
    pub fn add_text(&mut self, text: &str) {
        self.words.write(text.as_bytes());
    }

    /// The value of a deferred or counted size, by first appearance.
    pub fn value(&self, at: usize) -> i64 {
        self.values[at]
    }

    /// Data, in the order of the program's inputs.
    pub fn inputs(&self) -> &[Arc<Tensor>] {
        &self.inputs
    }

    /// Whether the program is given some data for good.
    pub fn has_owned(&self) -> bool {
        !self.owned.is_empty()
    }

    /// Takes what the program is given for good out of its nodes, so that this holds it, and nobody else who does not hold
    /// the data themselves. Gives the positions of the inputs.
    ///
    /// # Errors
    /// Data that another computation has taken meanwhile.
    pub fn take_owned(&mut self) -> Result<Vec<usize>, IrError> {
        let owned = std::mem::take(&mut self.owned);
        let take = |(at, owned, location): (usize, Owned, _)| match owned.take() {
            Some(_) => Ok(at),
            None => Err(Owned::gone(location)),
        };
        owned.into_iter().map(take).collect()
    }

    /// Takes an input that nobody else holds.
    pub fn take_input(&mut self, at: usize) -> Option<Tensor> {
        let nothing = Arc::new(Tensor::scalar(false));
        Arc::into_inner(std::mem::replace(&mut self.inputs[at], nothing))
    }

    /// Numbers, in the order of the program's.
    pub fn numbers(&self) -> &[Scalar] {
        &self.numbers
    }

    /// Deferred and counted sizes, in the order of first appearance.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The order is that of `walk::post_order`, which is the order of `trace`.
    fn visit(&mut self, root: &LazyTensor, known: &Known) -> Result<(), IrError> {
        let mut todo: Vec<(&Node, bool)> = vec![(&root.0, false)];
        while let Some((node, args_done)) = todo.pop() {
            let args = if known.has(node) { &[] } else { node.args() };
            if args_done || args.is_empty() {
                let next = self.done.len() as u64;
                if let std::collections::hash_map::Entry::Vacant(entry) = self.done.entry(node) {
                    entry.insert(next);
                    self.add(node, known)?;
                    self.value_symbols(node, known)?;
                }
            } else if !self.done.contains_key(&(node as *const Node)) {
                todo.push((node, true));
                todo.extend(args.iter().rev().map(|arg| (&*arg.0, false)));
            }
        }
        Ok(())
    }

    fn id(&self, tensor: &LazyTensor) -> u64 {
        self.done[&Arc::as_ptr(&tensor.0)]
    }

    fn arg(&mut self, tensor: &LazyTensor) {
        self.mark(Part::Argument);
        let id = self.id(tensor);
        self.words.0.push(id);
    }

    /// Every arm writes a word of its own first, and then a number of words that follows from those before.
    fn add(&mut self, node: &Node, known: &Known) -> Result<(), IrError> {
        if let Some(marks) = &mut self.marks {
            marks.node(self.words.0.len(), named(node));
        }
        if let Some(data) = known.tensor(node) {
            let data = data.clone().ok_or_else(|| Known::needed(node))?;
            self.words.0.push(0);
            node.dtype.hash(&mut self.words);
            self.sizes(&node.shape);
            self.fill(&data);
            self.inputs.push(data);
            return Ok(());
        }
        match &node.kind {
            Kind::Failed(error) => return Err(error.clone()),
            Kind::Input { name, .. } => {
                let cause = Cause::NoData { name: name.to_string() };
                return Err(IrError::new(cause, node.location));
            }
            Kind::Data(tensor) => {
                self.inputs.push(tensor.clone());
                self.words.0.push(0);
                self.mark(Part::DType);
                node.dtype.hash(&mut self.words);
                self.sizes(&node.shape);
                self.fill(tensor);
            }
            Kind::Owned(data) => {
                let tensor = data.owned.look(node.location)?;
                self.owned.push((self.inputs.len(), data.owned.clone(), node.location));
                self.words.0.push(13);
                self.mark(Part::DType);
                node.dtype.hash(&mut self.words);
                self.sizes(&node.shape);
                self.fill(&tensor);
                self.inputs.push(tensor);
            }
            Kind::Const(value) => {
                self.words.0.push(1);
                self.mark(Part::DType);
                node.dtype.hash(&mut self.words);
                self.mark(Part::Constant);
                for part in number_parts(*value) {
                    if is_constant(part) {
                        self.words.0.extend([1, part.bits() as u64]);
                    } else {
                        self.numbers.push(part);
                        self.words.0.push(2);
                    }
                }
            }
            Kind::Size(dim) => {
                self.words.0.push(3);
                self.size(dim);
            }
            Kind::Positions => {
                self.words.0.push(9);
                self.sizes(&node.shape);
            }
            Kind::Map { op, args } => {
                self.words.0.push(4);
                op.hash(&mut self.words);
                for arg in args {
                    self.arg(arg);
                    self.fits(arg.shape(), &node.shape);
                }
            }
            Kind::Parts { op, args } => {
                self.words.0.push(10);
                op.hash(&mut self.words);
                for arg in args {
                    self.arg(arg);
                    self.fits(arg.shape(), &node.shape);
                }
            }
            Kind::Move { name, arg, at } => {
                let broadcasts = *name == BROADCAST;
                self.words.0.push(if broadcasts { 11 } else { 5 });
                self.arg(arg);
                self.sizes(at);
                self.sizes(&node.shape);
                if broadcasts {
                    self.fits(arg.shape(), &node.shape);
                }
            }
            // What a result is converted to is no part of the program, but for the fill that follows from it.
            Kind::Format { arg, format, fill } => {
                let is_stored = !format.is_strided();
                self.has_fills |= is_stored;
                let is_plain = *fill == OwnFill::Dropped;
                self.words.0.extend([12, u64::from(is_stored) + 2 * u64::from(is_plain)]);
                self.arg(arg);
            }
            Kind::Reduce { op, arg, axis } => {
                self.words.0.push(6);
                op.hash(&mut self.words);
                self.arg(arg);
                self.mark(Part::Axis);
                self.words.0.push(*axis as u64);
            }
            Kind::Call { call, output } => {
                self.words.0.push(8);
                self.words.0.extend(call.function.words().map(i64::cast_unsigned));
                call.args.iter().for_each(|arg| self.arg(arg));
                self.words.0.push(*output as u64);
                self.sizes(&node.shape);
            }
            Kind::Select { .. } => return Err(Known::needed(node)),
            Kind::Matmul { args: [a, b] } => {
                self.words.0.push(7);
                self.arg(a);
                self.arg(b);
                let (sa, sb) = (a.shape(), b.shape());
                let batch = |shape: &[Dim]| shape.len().saturating_sub(2);
                let kept = usize::from(sa.len() > 1) + usize::from(sb.len() > 1);
                let result = &node.shape[..node.shape.len() - kept];
                self.fits(&sa[..batch(sa)], result);
                self.fits(&sb[..batch(sb)], result);
                self.fits(&sb[batch(sb)..=batch(sb)], &sa[sa.len() - 1..]);
            }
        }
        for guard in &node.guards {
            let (kind, a, b) = match &guard.condition {
                Condition::Equal(a, b) => (0, a, b),
                Condition::LessEqual(a, b) => (1, a, b),
                Condition::Divides(a, b) => (2, a, b),
            };
            self.mark(Part::Guard);
            self.words.0.push(100 + kind);
            self.size(a);
            self.size(b);
        }
        Ok(())
    }

    /// What fills come to with the numbers: which operators have such a word follows from the words before it.
    fn outcomes(&mut self, outputs: &[LazyTensor], known: &Known) {
        if !self.has_fills || self.numbers.is_empty() {
            return;
        }
        let nodes = post_order(outputs.iter(), known);
        let fills = Fills::of(&nodes, known);
        for node in nodes {
            let Some(outcome) = fills.outcome(node) else { continue };
            if let Some(marks) = &mut self.marks {
                marks.node(self.words.0.len(), named(node));
                marks.part(self.words.0.len(), Part::Fill);
            }
            self.words.0.push(outcome.value.map_or(0, code));
        }
    }

    /// Laws follow from fills that are named; any other is an argument.
    fn fill(&mut self, data: &Tensor) {
        let fill = data.fill();
        self.has_fills |= fill.is_some();
        self.words.0.push(fill.map_or(0, code));
    }

    /// Gives values to the symbols that the node has brought.
    fn value_symbols(&mut self, node: &Node, known: &Known) -> Result<(), IrError> {
        for symbol in &self.symbols[self.values.len()..] {
            let value = known.size(symbol).ok_or_else(|| Known::needed(node))?;
            self.values.push(value);
        }
        Ok(())
    }

    /// How the axes of an argument meet those of a result, two bits each.
    fn fits(&mut self, arg: &[Dim], result: &[Dim]) {
        self.mark(Part::Pattern);
        let lead = result.len() - arg.len();
        let fit = |(a, r): (&Dim, &Dim)| match Fit::of(a, r) {
            Fit::Same => 0,
            Fit::One => 1,
            Fit::OneNow => 2,
            Fit::EqualNow => 3,
        };
        let word = arg.iter().zip(&result[lead..]).map(fit).fold(0_u64, |word, fit| word << 2 | fit);
        self.words.0.push(word);
    }

    fn sizes(&mut self, dims: &[Dim]) {
        self.mark(Part::Rank);
        self.words.0.push(dims.len() as u64);
        self.mark(Part::Size);
        dims.iter().for_each(|dim| self.size(dim));
    }

    fn size(&mut self, dim: &Dim) {
        if let Some(value) = dim.is_const() {
            self.words.0.extend([0, value.cast_unsigned()]);
        } else if let Some(symbol) = dim.as_symbol() {
            self.symbol(symbol);
        } else {
            self.compound(dim);
        }
    }

    fn symbol(&mut self, symbol: &Symbol) {
        let counted = symbol.is_counted();
        if counted || symbol.deferred_value().is_some() {
            let next = self.symbols.len() as u64;
            let number = *self.numbered.entry(symbol.clone()).or_insert(next);
            if number == next {
                self.symbols.push(symbol.clone());
            }
            self.words.0.extend([if counted { 10 } else { 1 }, number]);
            if counted {
                self.words.0.push(symbol.bounds().1.cast_unsigned());
            }
        } else if let Some(index) = symbol.as_index() {
            self.words.0.extend([2, u64::from(index)]);
        } else {
            let text = symbol.to_string();
            let (lo, hi) = symbol.bounds();
            self.words.0.extend([3, lo.cast_unsigned(), hi.cast_unsigned(), text.len() as u64]);
            self.words.0.extend(text.bytes().map(u64::from));
        }
    }

    /// A sum of products. Its terms are ordered by the age of symbols, which is not part of a program's structure; so
    /// they are written in the order of their own words.
    fn compound(&mut self, dim: &Dim) {
        let Ok(summands) = dim.summands() else {
            self.words.0.push(4);
            return;
        };
        let mut terms: Vec<Vec<u64>> = Vec::with_capacity(summands.len());
        for summand in &summands {
            let mut factors: Vec<Vec<u64>> = Vec::with_capacity(summand.factors.len());
            for &(factor, exponent) in &summand.factors {
                let start = self.words.0.len();
                self.words.0.push(u64::from(exponent));
                match factor {
                    Factor::Symbol(symbol) => self.symbol(symbol),
                    Factor::FloorDiv(a, b) => self.opaque(6, a, b),
                    Factor::Modulo(a, b) => self.opaque(7, a, b),
                    Factor::Min(a, b) => self.opaque(8, a, b),
                    Factor::Max(a, b) => self.opaque(9, a, b),
                }
                factors.push(self.words.0.split_off(start));
            }
            factors.sort_unstable();
            let mut term = vec![summand.coeff.cast_unsigned(), factors.len() as u64];
            term.extend(factors.into_iter().flatten());
            terms.push(term);
        }
        terms.sort_unstable();
        self.words.0.extend([5, terms.len() as u64]);
        self.words.0.extend(terms.into_iter().flatten());
    }

    fn opaque(&mut self, word: u64, a: &Dim, b: &Dim) {
        self.words.0.push(word);
        self.size(a);
        self.size(b);
    }
}

/// A node, for whoever is told of it.
fn named(node: &Node) -> String {
    format!("{} ({})", node.origin(), node.location)
}

/// Words, as a hasher: what a derived `Hash` writes tells values apart, so that it serves to write down operators and
/// dtypes.
#[derive(Debug, Default)]
struct Words(Vec<u64>);

impl Hasher for Words {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.push(bytes.len() as u64);
        self.0.extend(bytes.iter().map(|&byte| u64::from(byte)));
    }

    fn write_u8(&mut self, i: u8) {
        self.0.push(i.into());
    }

    fn write_u32(&mut self, i: u32) {
        self.0.push(i.into());
    }

    fn write_u64(&mut self, i: u64) {
        self.0.push(i);
    }

    fn write_usize(&mut self, i: usize) {
        self.0.push(i as u64);
    }

    fn write_isize(&mut self, i: isize) {
        self.0.push(i as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lazy::{at, defer};

    fn tensor(shape: &[usize]) -> Tensor {
        Tensor::full(shape, 1.0_f64).unwrap()
    }

    fn words(outputs: &[LazyTensor]) -> Vec<u64> {
        let mut structure = Structure::new();
        structure.read(outputs).unwrap();
        structure.words().to_vec()
    }

    fn mean(a: &[usize], b: &[usize], number: f64) -> LazyTensor {
        (defer(&tensor(a)) + defer(&tensor(b))) * number
    }

    #[test]
    fn sizes_and_numbers_are_arguments() {
        let first = words(&[mean(&[3, 4], &[3, 4], 0.5)]);
        assert_eq!(first, words(&[mean(&[0, 1], &[0, 1], 0.25)]));
        assert_ne!(first, words(&[mean(&[3, 4], &[3, 4], 2.0)]), "2 is a constant");
        assert_ne!(first, words(&[mean(&[3, 4], &[1, 4], 0.5)]), "one axis is read at 0");
        assert_eq!(words(&[mean(&[3, 4], &[1, 4], 0.5)]), words(&[mean(&[7, 2], &[1, 2], 0.7)]));
        assert_ne!(first, words(&[mean(&[3, 4], &[4], 0.5)]));
    }

    #[test]
    fn slices_are_arguments_but_for_their_steps() {
        let slice =
            |n: usize, start, stop, step| words(&[defer(&tensor(&[n])).index([at(start, stop, step)])]);
        assert_eq!(slice(9, Some(1), None, 1), slice(5, Some(-2), Some(4), 1));
        assert_ne!(slice(9, Some(1), None, 1), slice(9, Some(1), None, 2));
    }

    #[test]
    fn the_order_of_definition_does_not_matter() {
        let (a, b) = (tensor(&[2]), tensor(&[3]));
        let forth = {
            let (x, y) = (defer(&a), defer(&b));
            x.reshape(&[Some(1.into()), None]) * y.reshape(&[None, Some(1.into())])
        };
        let back = {
            let y = defer(&b);
            let y = y.reshape(&[None, Some(1.into())]);
            defer(&a).reshape(&[Some(1.into()), None]) * y
        };
        assert_eq!(words(&[forth.reshape(&[None])]), words(&[back.reshape(&[None])]));
    }

    /// A broadcast with nothing else, and two outputs without one.
    #[test]
    fn outputs_are_told_from_what_is_before_them() {
        let x = defer(&tensor(&[3]));
        let spread = x.broadcast_to(&[3.into(), x.shape()[0].clone()]);
        assert_ne!(words(&[x.broadcast_to(x.shape())]), words(&[x.clone(), x.permute(&[0])]));
        assert_ne!(words(&[spread]), words(&[x.clone(), x.tile([3, 1])]));
        assert_ne!(words(&[x.clone(), x.clone()]), words(&[x]));
    }

    #[test]
    fn sharing_is_structure() {
        let x = defer(&tensor(&[2]));
        let twice = words(&[&x + &x]);
        assert_ne!(twice, words(&[&x + defer(&tensor(&[2]))]));
        assert_eq!(
            twice,
            words(&[{
                let y = defer(&tensor(&[7]));
                &y + &y
            }])
        );
    }
}
