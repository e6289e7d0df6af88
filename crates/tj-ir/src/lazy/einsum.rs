//! Sums over products by letters: `einsum("ij,jk->ik", [a, b])`.
//!
//! **Reading.** [`terms`] splits the subscripts into one list an operand and one for the output; [`label`] finds
//! the size of each letter. An axis whose size is a concrete 1 gives way to another size of its letter, as in
//! NumPy, by being dropped; after that each operand is a tensor with one axis for each of its distinct letters.
//!
//! **Contracting.** Operands are taken from left to right and never reordered, so that bits do not depend on sizes.
//! Letters that only one operand has and nothing later needs are summed out of it first. Two operands that share a
//! letter which nothing needs any more become one matrix product: letters are grouped into those of both that stay
//! (batch), those of either alone, and those summed over. Two that share no such letter are multiplied element by
//! element. Dtypes promote; sums stay in the promoted dtype and wrap.

mod contract;

use std::panic::Location;

use smallvec::SmallVec;
use tj_tensor::DType;

use super::create::built;
use super::elementwise::{Fit, attach, map};
use super::movement::{moved, position};
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expr::Indices;
use crate::guard::{Condition, Guard};
use crate::op::Op;
use crate::text::counted;

pub(super) use contract::{contract_all, spread};

/// What an axis is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Label {
    /// An axis that an ellipsis stands for, counted from its last one.
    Dots(usize),
    /// A letter.
    Letter(char),
    /// An index that is counted, not named.
    Index(usize),
}

impl Label {
    fn text(self) -> String {
        match self {
            Label::Dots(_) => "...".to_string(),
            Label::Letter(letter) => letter.to_string(),
            Label::Index(number) => number.to_string(),
        }
    }
}

/// The axes of an operand by name.
pub(super) type Labels = SmallVec<[Label; 6]>;

/// A tensor whose axes are distinct labels.
#[derive(Clone)]
pub(super) struct Labelled {
    pub tensor: LazyTensor,
    pub labels: Labels,
}

/// Sums over products of elements at positions that letters name: each operand has a list of letters, one an axis, and
/// so has the output after `->`. Letters that the output lacks are summed over; without `->` the output has the
/// letters that occur once, in alphabetical order. A letter twice in one operand is its diagonal. `...` stands for all
/// axes that letters do not name; those broadcast. Spaces are ignored.
///
/// ```
/// use tj_ir::{einsum, input, Dim};
/// use tj_tensor::DType;
///
/// let n = Dim::new("N", ..)?;
/// let a = input("a", DType::F32, [n.clone(), 3.into()])?;
/// let b = input("b", DType::F32, [3.into(), 4.into()])?;
/// assert_eq!(einsum("ik,kj->ij", &[&a, &b]).shape(), [n, 4.into()]);
/// let wrong = einsum("k,kj->kj", &[&b, &b]).check().unwrap_err();
/// let text = "einsum: operand 0: subscript \"k\" has 1 index, but the array has rank 2\n  k,kj->kj\n  ^";
/// assert_eq!(wrong.cause.to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Subscripts that are no such lists; not one list an operand; a list that does not fit the rank of its operand; sizes
/// of one letter that differ; an output letter that no operand has, or twice.
#[track_caller]
pub fn einsum(subscripts: &str, operands: &[&LazyTensor]) -> LazyTensor {
    let location = Location::caller();
    if let Some(failed) = operands.iter().find(|operand| operand.check().is_err()) {
        return (*failed).clone();
    }
    built(location, || {
        let parsed = Parsed::new(subscripts, operands)?;
        let (labelled, guards) = parsed.label(operands, location)?;
        contract_all("einsum", labelled, &parsed.output, guards, location)
    })
}

/// A mistake in the text, with the place of it.
fn wrong(text: &str, at: usize, problem: impl Into<String>) -> Cause {
    Cause::Text { op: "einsum", problem: problem.into(), text: text.to_string(), at }
}

/// One list of letters, and where each stands in the text.
#[derive(Default)]
struct Term {
    /// `None` is the ellipsis.
    names: Vec<(Option<char>, usize)>,
    /// Where it starts.
    start: usize,
    text: String,
}

impl Term {
    fn dots(&self) -> Option<usize> {
        self.names.iter().find(|(name, _)| name.is_none()).map(|(_, at)| *at)
    }

    fn letters(&self) -> usize {
        self.names.iter().filter(|(name, _)| name.is_some()).count()
    }

    /// Labels when the ellipsis stands for this many axes, and where each stands.
    fn labels(&self, dots: usize) -> Vec<(Label, usize)> {
        let mut labels = Vec::new();
        for &(name, at) in &self.names {
            match name {
                Some(letter) => labels.push((Label::Letter(letter), at)),
                None => labels.extend((0..dots).rev().map(|k| (Label::Dots(k), at))),
            }
        }
        labels
    }
}

struct Parsed<'t> {
    text: &'t str,
    /// Labels of each operand, with their places in the text.
    inputs: Vec<Vec<(Label, usize)>>,
    output: Labels,
}

/// Splits the text into the lists of the operands and that of the output, if it is there.
fn terms(text: &str) -> Result<(Vec<Term>, Option<Term>), Cause> {
    let letters: Vec<char> = text.chars().collect();
    let (mut done, mut term) = (Vec::new(), Term::default());
    let mut arrow = false;
    let mut at = 0;
    while at < letters.len() {
        let mut width = 1;
        match letters[at] {
            c if c.is_ascii_alphabetic() => {
                term.text.push(c);
                term.names.push((Some(c), at));
            }
            ' ' => {}
            '.' if letters[at..].starts_with(&['.', '.', '.']) => {
                if term.dots().is_some() {
                    return Err(wrong(text, at, "a second ellipsis"));
                }
                term.text.push_str("...");
                term.names.push((None, at));
                width = 3;
            }
            ',' if !arrow => {
                done.push(std::mem::take(&mut term));
                term.start = at + 1;
            }
            '-' if !arrow && letters.get(at + 1) == Some(&'>') => {
                done.push(std::mem::take(&mut term));
                (arrow, width) = (true, 2);
                term.start = at + 2;
            }
            ',' => return Err(wrong(text, at, "a \",\" after \"->\": there is one list for the output")),
            '-' if letters.get(at + 1) == Some(&'>') => return Err(wrong(text, at, "a second \"->\"")),
            c => {
                return Err(wrong(
                    text,
                    at,
                    format!("{c:?} is neither a letter nor \"...\" nor \",\" nor \"->\""),
                ));
            }
        }
        at += width;
    }
    if arrow {
        return Ok((done, Some(term)));
    }
    done.push(term);
    Ok((done, None))
}

impl<'t> Parsed<'t> {
    fn new(text: &'t str, operands: &[&LazyTensor]) -> Result<Parsed<'t>, Cause> {
        // A lone scalar has the empty list.
        if text.trim().is_empty() && (operands.len() != 1 || operands[0].rank() > 0) {
            let problem =
                "the subscripts are empty; they are a list of letters for each operand, as in \"ij,jk->ik\"";
            return Err(wrong(text, 0, problem));
        }
        let (terms, output) = terms(text)?;
        if terms.len() != operands.len() {
            let lists = counted(terms.len(), "list", "lists");
            let problem =
                format!("{lists} of subscripts for {}", counted(operands.len(), "operand", "operands"));
            return Err(wrong(text, 0, problem));
        }
        let mut inputs = Vec::new();
        let mut widest = 0;
        for (k, (term, operand)) in terms.iter().zip(operands).enumerate() {
            let (letters, rank) = (term.letters(), operand.rank());
            let fits = if term.dots().is_some() { letters <= rank } else { letters == rank };
            if !fits {
                let count = counted(letters, "index", "indices");
                let problem = format!(
                    "operand {k}: subscript {:?} has {count}, but the array has rank {rank}",
                    term.text
                );
                return Err(wrong(text, term.names.first().map_or(term.start, |(_, at)| *at), problem));
            }
            let dots = rank - letters;
            widest = widest.max(dots);
            inputs.push(term.labels(dots));
        }
        let output = match output {
            Some(term) => explicit(text, &term, &inputs, widest)?,
            None => implicit(&inputs, widest),
        };
        Ok(Parsed { text, inputs, output })
    }

    /// Operands with one axis for each of their letters, in the promoted dtype.
    fn label(
        &self,
        operands: &[&LazyTensor],
        location: &'static Location<'static>,
    ) -> Result<(Vec<Labelled>, Vec<Guard>), Cause> {
        let promoted = operands.iter().map(|t| t.dtype()).reduce(DType::promote);
        let Some(dtype) = promoted else { return Err(wrong(self.text, 0, "needs an operand at least")) };
        let cast = |tensor: &&LazyTensor| map(Op::Cast(dtype), [(*tensor).into()], location);
        let cast: Vec<LazyTensor> = operands.iter().map(cast).collect();
        let names: Vec<String> = (0..operands.len()).map(|k| format!("operand {k}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let naming = Naming { op: "einsum", text: self.text, label: &Label::text, operands: &names };
        label(&naming, &self.inputs, &cast, location)
    }
}

/// What messages call things.
pub(super) struct Naming<'n> {
    pub op: &'static str,
    pub text: &'n str,
    pub label: &'n dyn Fn(Label) -> String,
    pub operands: &'n [&'n str],
}

/// Operands with one axis for each of their distinct labels, and what must hold of sizes. An axis of a concrete size 1
/// whose label has another size elsewhere is dropped.
pub(super) fn label(
    naming: &Naming<'_>,
    axes: &[Vec<(Label, usize)>],
    operands: &[LazyTensor],
    location: &'static Location<'static>,
) -> Result<(Vec<Labelled>, Vec<Guard>), Cause> {
    let mut guards = Vec::new();
    // The size of each label, and the operand that has it.
    let mut sizes: Vec<(Label, Dim, usize)> = Vec::new();
    for (k, (labels, operand)) in axes.iter().zip(operands).enumerate() {
        for ((label, at), size) in labels.iter().zip(operand.shape()) {
            let Some((_, known, owner)) = sizes.iter_mut().find(|(other, ..)| other == label) else {
                sizes.push((*label, size.clone(), k));
                continue;
            };
            if *owner != k && (*known == 1 || gives_way(known, size)) {
                (*known, *owner) = (size.clone(), k);
            } else if *owner == k || !(*size == 1 || gives_way(size, known)) {
                naming.same((*label, *at), (known, *owner), (size, k), &mut guards, location)?;
            }
        }
    }
    let size_of = |label: Label| sizes.iter().find(|(other, ..)| *other == label).map(|(_, size, _)| size);
    let labelled = axes.iter().zip(operands).map(|(labels, operand)| {
        let mut kept = Labels::new();
        let (mut shape, mut at) = (Shape::new(), Indices::new());
        for ((label, _), size) in labels.iter().zip(operand.shape()) {
            if size_of(*label).is_some_and(|whole| gives_way(size, whole)) {
                at.push(Dim::ZERO);
            } else if let Some(d) = kept.iter().position(|other| other == label) {
                at.push(position(d));
            } else {
                at.push(position(kept.len()));
                kept.push(*label);
                shape.push(size.clone());
            }
        }
        Labelled { tensor: moved(naming.op, operand, shape, at, location), labels: kept }
    });
    Ok((labelled.collect(), guards))
}

/// Whether an axis of this size is read at 0 where the others with its label have another.
fn gives_way(size: &Dim, whole: &Dim) -> bool {
    matches!(Fit::of(size, whole), Fit::OneNow) || (*size == 1 && *whole != 1)
}

impl Naming<'_> {
    /// Proves that two sizes of one label are equal, or records a guard, or says which they are.
    fn same(
        &self,
        (label, at): (Label, usize),
        (known, owner): (&Dim, usize),
        (size, k): (&Dim, usize),
        guards: &mut Vec<Guard>,
        location: &'static Location<'static>,
    ) -> Result<(), Cause> {
        let (op, name) = (self.op, (self.label)(label));
        let (first, second) = (self.operands[owner], self.operands[k]);
        let equal = match (known.actual(), size.actual()) {
            (Some(x), Some(y)) => Some(x == y),
            (_, None) | (None, _) => known.known_eq(size),
        };
        match equal {
            Some(true) => Ok(()),
            Some(false) => {
                let problem = format!("index {name} has size {known} in {first} and size {size} in {second}");
                Err(Cause::Text { op, problem, text: self.text.to_string(), at })
            }
            None => {
                guards.push(Guard {
                    condition: Condition::Equal(known.clone(), size.clone()),
                    reason: format!("{op} {:?}: index {name} of {first} and {second}", self.text),
                    location,
                });
                Ok(())
            }
        }
    }
}

fn explicit(text: &str, term: &Term, inputs: &[Vec<(Label, usize)>], dots: usize) -> Result<Labels, Cause> {
    let mut output = Labels::new();
    for (label, at) in term.labels(dots) {
        if !inputs.iter().flatten().any(|(known, _)| *known == label) {
            return Err(wrong(text, at, format!("no operand has the index {} of the output", label.text())));
        }
        if output.contains(&label) {
            return Err(wrong(text, at, format!("the output has the index {} twice", label.text())));
        }
        output.push(label);
    }
    if term.dots().is_none() && dots > 0 {
        let problem = "the output lacks the ellipsis of the operands";
        return Err(wrong(text, term.start.min(text.chars().count().saturating_sub(1)), problem));
    }
    Ok(output)
}

fn implicit(inputs: &[Vec<(Label, usize)>], dots: usize) -> Labels {
    let all = || inputs.iter().flatten().map(|(label, _)| *label);
    let mut letters: Vec<Label> = all()
        .filter(|label| {
            matches!(label, Label::Letter(_)) && all().filter(|other| other == label).count() == 1
        })
        .collect();
    letters.sort_unstable();
    (0..dots).rev().map(Label::Dots).chain(letters).collect()
}

/// Puts guards into a node that moves nothing.
pub(super) fn guarded(
    tensor: &LazyTensor,
    guards: Vec<Guard>,
    location: &'static Location<'static>,
) -> LazyTensor {
    if guards.is_empty() {
        return tensor.clone();
    }
    let at = (0..tensor.rank()).map(position).collect();
    let mut held = moved("einsum", tensor, tensor.0.shape.clone(), at, location);
    attach(&mut held, guards);
    held
}
