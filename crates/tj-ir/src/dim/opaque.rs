//! The operations polynomials cannot express, kept as atoms.

use std::cmp::Ordering;

use super::Dim;
use super::interval::Interval;
use super::symbol::mix;

/// Which operation an opaque atom stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpaqueKind {
    FloorDiv,
    Modulo,
    Min,
    Max,
}

/// An operation on two canonical sizes that no rule could simplify.
pub(super) struct Opaque {
    pub kind: OpaqueKind,
    pub lhs: Dim,
    pub rhs: Dim,
    pub hash: u64,
    pub depth: u32,
    pub weight: u32,
    /// By the bounds of the symbols inside.
    pub interval: Interval,
}

impl OpaqueKind {
    pub const ALL: [OpaqueKind; 4] =
        [OpaqueKind::FloorDiv, OpaqueKind::Modulo, OpaqueKind::Min, OpaqueKind::Max];

    /// The word of the text format.
    pub fn name(self) -> &'static str {
        match self {
            OpaqueKind::FloorDiv => "floordiv",
            OpaqueKind::Modulo => "modulo",
            OpaqueKind::Min => "min",
            OpaqueKind::Max => "max",
        }
    }

    pub fn interval(self, lhs: Interval, rhs: Interval) -> Interval {
        match self {
            OpaqueKind::FloorDiv => lhs.floordiv(rhs),
            OpaqueKind::Modulo => lhs.modulo(rhs),
            OpaqueKind::Min => lhs.min(rhs),
            OpaqueKind::Max => lhs.max(rhs),
        }
    }

    /// The value; `None` if it does not fit.
    pub fn apply(self, lhs: i128, rhs: i128) -> Option<i128> {
        match self {
            OpaqueKind::FloorDiv => floordiv(lhs, rhs),
            OpaqueKind::Modulo => Some(modulo(lhs, rhs)),
            OpaqueKind::Min => Some(lhs.min(rhs)),
            OpaqueKind::Max => Some(lhs.max(rhs)),
        }
    }
}

impl Opaque {
    pub fn new(kind: OpaqueKind, lhs: Dim, rhs: Dim) -> Opaque {
        let hash = mix(mix(mix(11, kind as u64), lhs.hash_code()), rhs.hash_code());
        let depth = 1 + lhs.depth().max(rhs.depth());
        let weight = 1 + lhs.weight().saturating_add(rhs.weight());
        let interval = kind.interval(lhs.interval(), rhs.interval());
        Opaque { kind, lhs, rhs, hash, depth, weight, interval }
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Opaque) -> bool {
        self.hash == other.hash && self.kind == other.kind && self.lhs == other.lhs && self.rhs == other.rhs
    }
}

impl Eq for Opaque {}

impl Ord for Opaque {
    fn cmp(&self, other: &Opaque) -> Ordering {
        let by_lhs = || self.lhs.structural_cmp(&other.lhs);
        self.kind.cmp(&other.kind).then_with(by_lhs).then_with(|| self.rhs.structural_cmp(&other.rhs))
    }
}

impl PartialOrd for Opaque {
    fn partial_cmp(&self, other: &Opaque) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The quotient rounded down, 0 for a divisor of 0; `None` if it does not fit.
fn floordiv(a: i128, b: i128) -> Option<i128> {
    if b == 0 {
        return Some(0);
    }
    let quotient = a.checked_div(b)?;
    let inexact = a % b != 0 && (a < 0) != (b < 0);
    Some(if inexact { quotient - 1 } else { quotient })
}

/// The remainder that follows the sign of the divisor, 0 for a divisor of 0.
fn modulo(a: i128, b: i128) -> i128 {
    if b == 0 {
        return 0;
    }
    // The one remainder the machine cannot form, `i128::MIN % -1`, is 0.
    let remainder = a.checked_rem(b).unwrap_or(0);
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}
