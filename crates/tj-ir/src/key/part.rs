//! What the words of a structure are about, for whoever is told why two programs differ.

use std::fmt;

/// What words of a node say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What it is.
    Operator,
    DType,
    Constant,
    Argument,
    /// How sizes of an argument meet those of the result.
    Pattern,
    Rank,
    Size,
    Axis,
    Guard,
    /// What it is where nothing is stored, with the numbers of the program.
    Fill,
    /// Which nodes are results; belongs to no node.
    Outputs,
    /// What the caller has added.
    Caller,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Operator => "the operator",
            Part::DType => "the dtype",
            Part::Constant => "the constant",
            Part::Argument => "an argument",
            Part::Pattern => "the broadcast pattern",
            Part::Rank => "the rank",
            Part::Size => "a size",
            Part::Axis => "the axis",
            Part::Guard => "a guard",
            Part::Fill => "the fill that numbers give",
            Part::Outputs => "the outputs",
            Part::Caller => "what is not in the program",
        })
    }
}

/// Where parts and nodes begin, in order.
#[derive(Debug, Default)]
pub(super) struct Marks {
    parts: Vec<(usize, Part)>,
    nodes: Vec<(usize, String)>,
}

impl Marks {
    pub fn node(&mut self, at: usize, name: String) {
        self.nodes.push((at, name));
        self.parts.push((at, Part::Operator));
    }

    pub fn part(&mut self, at: usize, part: Part) {
        self.parts.push((at, part));
    }

    /// `None` for a word of the caller's.
    pub fn describe(&self, at: usize) -> Option<String> {
        let (_, part) = self.parts.iter().rfind(|(start, _)| *start <= at)?;
        let node = self.nodes.iter().rfind(|(start, _)| *start <= at);
        match (part, node) {
            (Part::Caller, _) => None,
            (Part::Outputs, _) | (_, None) => Some(part.to_string()),
            (_, Some((_, node))) => Some(format!("{part} of {node}")),
        }
    }
}
