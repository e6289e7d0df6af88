//! Symbols: the unknowns of sizes and index maps.
//!
//! A symbol is declared by a user and equal by name; or it stands for a number that is there already but shall not
//! become part of a program: the size of an axis of deferred data, the end of a slice. Such a *deferred* symbol is equal
//! to nothing but its copies. A *counted* one is the same of a number that values decide, which is not there yet: how many
//! elements a mask selects. In a program both become *fresh* ones, equal by a number their maker hands out. The last
//! kind is the name of a loop. Bounds and hints ride along and take no part in equality, order or hash; who merges two
//! mentions of one name checks [`Symbol::same_bounds`].

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Order};

use rustc_hash::FxHasher;

use super::DimError;

/// The upper bound of a symbol declared without one.
pub const MAX_SIZE: i64 = 1 << 62;

/// Words of the text format, which no symbol may be called.
const RESERVED: [&str; 7] = ["floordiv", "modulo", "min", "max", "overflow", "too_deep", "too_large"];

/// An unknown of a size expression.
///
/// ```
/// use tj_ir::dim::Symbol;
/// let n = Symbol::declared("N", 1..=4096)?;
/// assert_eq!(n, Symbol::declared("N", ..)?);
/// assert!(!n.same_bounds(&Symbol::declared("N", ..)?));
/// assert_eq!(n.to_string(), "N");
/// # Ok::<(), tj_ir::dim::DimError>(())
/// ```
#[derive(Clone)]
pub struct Symbol(Inner);

#[derive(Clone)]
enum Inner {
    Index(u32),
    Declared(Arc<Declared>),
    Fresh(Arc<Fresh>),
    /// In place, because every axis of deferred data makes one.
    Deferred {
        id: u64,
        value: i64,
    },
    Counted(Arc<Counted>),
}

struct Counted {
    id: u64,
    hi: i64,
    what: &'static str,
}

/// What the next deferred or counted symbol is told apart by; in no text and no key.
static NEXT: AtomicU64 = AtomicU64::new(0);

#[derive(Clone)]
struct Declared {
    name: Box<str>,
    hash: u64,
    facts: SymbolFacts,
}

#[derive(Clone)]
struct Fresh {
    id: u64,
    facts: SymbolFacts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct SymbolFacts {
    lo: i64,
    hi: i64,
    hint: Option<i64>,
}

/// What a symbol is, for matching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind<'a> {
    /// A loop index, printed `i3`.
    Index(u32),
    /// Declared by a user under this name.
    Declared(&'a str),
    /// A size that a program receives without a name, printed `s3`.
    Fresh(u64),
    /// A number that is there already, printed as that number.
    Deferred(i64),
    /// A number that values decide, printed `nonzero(..)` by what counts.
    Counted(&'static str),
}

impl Symbol {
    /// A symbol equal to every other of the same name. An open bound means 0 or [`MAX_SIZE`].
    pub fn declared(name: &str, bounds: impl RangeBounds<i64>) -> Result<Symbol, DimError> {
        check_name(name)?;
        let (lo, hi) = inclusive(name, bounds)?;
        let mut hasher = FxHasher::default();
        name.hash(&mut hasher);
        let facts = SymbolFacts { lo, hi, hint: None };
        Ok(Symbol(Inner::Declared(Arc::new(Declared { name: name.into(), hash: hasher.finish(), facts }))))
    }

    /// A symbol equal to every other of the same `id`; the caller numbers them.
    pub fn fresh(id: u64, bounds: impl RangeBounds<i64>) -> Result<Symbol, DimError> {
        let (lo, hi) = inclusive(&format!("s{id}"), bounds)?;
        Ok(Symbol(Inner::Fresh(Arc::new(Fresh { id, facts: SymbolFacts { lo, hi, hint: None } }))))
    }

    /// A symbol that is equal to its copies alone and stands for a number that is there already, not negative.
    #[must_use]
    pub fn deferred(value: i64) -> Symbol {
        Symbol(Inner::Deferred { id: NEXT.fetch_add(1, Order::Relaxed), value })
    }

    /// A symbol that is equal to its copies alone and stands for a number in `0..=hi` that `what` finds out.
    #[must_use]
    pub fn counted(what: &'static str, hi: i64) -> Symbol {
        Symbol(Inner::Counted(Arc::new(Counted { id: NEXT.fetch_add(1, Order::Relaxed), hi, what })))
    }

    /// Whether values decide the number it stands for.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        matches!(self.0, Inner::Counted(_))
    }

    /// The number that a deferred symbol stands for.
    #[must_use]
    pub fn deferred_value(&self) -> Option<i64> {
        match self.0 {
            Inner::Deferred { value, .. } => Some(value),
            Inner::Index(_) | Inner::Declared(_) | Inner::Fresh(_) | Inner::Counted(_) => None,
        }
    }

    /// The loop index with this number. It has no bounds of its own: see [`Ranges`](super::Ranges).
    #[must_use]
    pub fn index(number: u32) -> Symbol {
        Symbol(Inner::Index(number))
    }

    /// The same symbol with a hint: the value it had where it was made. A loop index takes none, nor does what is counted.
    #[must_use]
    pub fn with_hint(&self, hint: i64) -> Symbol {
        let mut symbol = self.clone();
        match &mut symbol.0 {
            Inner::Index(_) | Inner::Counted(_) => {}
            Inner::Declared(data) => Arc::make_mut(data).facts.hint = Some(hint),
            Inner::Fresh(data) => Arc::make_mut(data).facts.hint = Some(hint),
            Inner::Deferred { value, .. } => *value = hint,
        }
        symbol
    }

    /// What this symbol is.
    #[must_use]
    pub fn kind(&self) -> SymbolKind<'_> {
        match &self.0 {
            Inner::Index(number) => SymbolKind::Index(*number),
            Inner::Declared(data) => SymbolKind::Declared(&data.name),
            Inner::Fresh(data) => SymbolKind::Fresh(data.id),
            Inner::Deferred { value, .. } => SymbolKind::Deferred(*value),
            Inner::Counted(data) => SymbolKind::Counted(data.what),
        }
    }

    /// The number of a loop index.
    #[must_use]
    pub fn as_index(&self) -> Option<u32> {
        match self.0 {
            Inner::Index(number) => Some(number),
            Inner::Declared(_) | Inner::Fresh(_) | Inner::Deferred { .. } | Inner::Counted(_) => None,
        }
    }

    /// The least and the greatest value; of a loop index, those of `i64`.
    #[must_use]
    pub fn bounds(&self) -> (i64, i64) {
        self.facts().map_or((i64::MIN, i64::MAX), |facts| (facts.lo, facts.hi))
    }

    /// The value this symbol had where it was made.
    #[must_use]
    pub fn hint(&self) -> Option<i64> {
        self.facts().and_then(|facts| facts.hint)
    }

    /// Whether two mentions of a symbol agree on its bounds.
    #[must_use]
    pub fn same_bounds(&self, other: &Symbol) -> bool {
        self.bounds() == other.bounds()
    }

    fn facts(&self) -> Option<SymbolFacts> {
        match &self.0 {
            Inner::Index(_) => None,
            Inner::Declared(data) => Some(data.facts),
            Inner::Fresh(data) => Some(data.facts),
            Inner::Deferred { value, .. } => Some(SymbolFacts { lo: 0, hi: MAX_SIZE, hint: Some(*value) }),
            Inner::Counted(data) => Some(SymbolFacts { lo: 0, hi: data.hi, hint: None }),
        }
    }

    pub(super) fn hash_code(&self) -> u64 {
        match &self.0 {
            Inner::Index(number) => mix(1, u64::from(*number)),
            Inner::Declared(data) => data.hash,
            Inner::Fresh(data) => mix(2, data.id),
            Inner::Deferred { id, .. } => mix(3, *id),
            Inner::Counted(data) => mix(4, data.id),
        }
    }
}

/// One step of the hash that sizes carry with them.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn check_name(name: &str) -> Result<(), DimError> {
    let invalid = |reason| Err(DimError::InvalidName { name: name.to_owned(), reason });
    let mut chars = name.chars();
    let first = chars.next();
    if !first.is_some_and(|c| c == '_' || c.is_alphabetic())
        || !chars.all(|c| c == '_' || c.is_alphanumeric())
    {
        return invalid("a name is a letter or _ followed by letters, digits or _");
    }
    if RESERVED.contains(&name) {
        return invalid("the word is reserved");
    }
    if let Some(digits) = name.strip_prefix(['i', 's'])
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
    {
        return invalid("i or s followed by digits only names loop indices and undeclared axes");
    }
    Ok(())
}

fn inclusive(name: &str, bounds: impl RangeBounds<i64>) -> Result<(i64, i64), DimError> {
    let lo = match bounds.start_bound() {
        Bound::Included(&lo) => i128::from(lo),
        Bound::Excluded(&lo) => i128::from(lo) + 1,
        Bound::Unbounded => 0,
    };
    let hi = match bounds.end_bound() {
        Bound::Included(&hi) => i128::from(hi),
        Bound::Excluded(&hi) => i128::from(hi) - 1,
        Bound::Unbounded => i128::from(MAX_SIZE).max(lo),
    };
    match (i64::try_from(lo), i64::try_from(hi)) {
        (Ok(small_lo), Ok(small_hi)) if 0 <= lo && lo <= hi => Ok((small_lo, small_hi)),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(DimError::InvalidBounds { name: name.to_owned(), lo, hi }),
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Symbol) -> bool {
        match (&self.0, &other.0) {
            (Inner::Index(a), Inner::Index(b)) => a == b,
            (Inner::Declared(a), Inner::Declared(b)) => Arc::ptr_eq(a, b) || a.name == b.name,
            (Inner::Fresh(a), Inner::Fresh(b)) => a.id == b.id,
            (Inner::Deferred { id: a, .. }, Inner::Deferred { id: b, .. }) => a == b,
            (Inner::Counted(a), Inner::Counted(b)) => a.id == b.id,
            (
                Inner::Index(_)
                | Inner::Declared(_)
                | Inner::Fresh(_)
                | Inner::Deferred { .. }
                | Inner::Counted(_),
                _,
            ) => false,
        }
    }
}

impl Eq for Symbol {}

impl Ord for Symbol {
    /// Loop indices by number, then declared symbols by name, then fresh ones by id, then deferred and counted ones by age.
    fn cmp(&self, other: &Symbol) -> Ordering {
        let kind = |inner: &Inner| match inner {
            Inner::Index(_) => 0,
            Inner::Declared(_) => 1,
            Inner::Fresh(_) => 2,
            Inner::Deferred { .. } => 3,
            Inner::Counted(_) => 4,
        };
        match (&self.0, &other.0) {
            (Inner::Index(a), Inner::Index(b)) => a.cmp(b),
            (Inner::Declared(a), Inner::Declared(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Inner::Declared(a), Inner::Declared(b)) => a.name.cmp(&b.name),
            (Inner::Fresh(a), Inner::Fresh(b)) => a.id.cmp(&b.id),
            (Inner::Deferred { id: a, .. }, Inner::Deferred { id: b, .. }) => a.cmp(b),
            (Inner::Counted(a), Inner::Counted(b)) => a.id.cmp(&b.id),
            (a, b) => kind(a).cmp(&kind(b)),
        }
    }
}

impl PartialOrd for Symbol {
    fn partial_cmp(&self, other: &Symbol) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash_code());
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Index(number) => write!(f, "i{number}"),
            Inner::Declared(data) => f.write_str(&data.name),
            Inner::Fresh(data) => write!(f, "s{}", data.id),
            Inner::Deferred { value, .. } => write!(f, "{value}"),
            Inner::Counted(data) => write!(f, "{}(..)", data.what),
        }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
