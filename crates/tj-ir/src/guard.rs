//! Facts about sizes that the compiler could not prove and that are checked when sizes are known.

use std::fmt;
use std::panic::Location;

use crate::dim::{Dim, DimError, Symbol};

/// What must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Both are equal.
    Equal(Dim, Dim),
    /// The first is not more than the second.
    LessEqual(Dim, Dim),
    /// The second is a multiple of the first.
    Divides(Dim, Dim),
}

/// A condition and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// What must hold.
    pub condition: Condition,
    /// The operator that needs it, and for what.
    pub reason: String,
    /// The call that needs it.
    pub location: &'static Location<'static>,
}

impl Condition {
    /// Whether it holds for these values of the symbols.
    ///
    /// # Errors
    /// When a symbol has no value, or a size overflows.
    pub fn holds(&self, value: &dyn Fn(&Symbol) -> Option<i64>) -> Result<bool, DimError> {
        Ok(match self {
            Condition::Equal(a, b) => a.eval(value)? == b.eval(value)?,
            Condition::LessEqual(a, b) => a.eval(value)? <= b.eval(value)?,
            Condition::Divides(d, n) => {
                let (d, n) = (d.eval(value)?, n.eval(value)?);
                if d == 0 { n == 0 } else { n % d == 0 }
            }
        })
    }

    /// Whether it holds, if all its sizes are there already.
    pub fn holds_now(&self) -> Option<bool> {
        let (a, b) = self.sides();
        match (a.actual(), b.actual()) {
            (Some(_), Some(_)) => self.holds(&Symbol::deferred_value).ok(),
            (None, _) | (_, None) => None,
        }
    }

    /// Whether it holds for all values in bounds, if that can be told.
    pub fn known(&self) -> Option<bool> {
        match self {
            Condition::Equal(a, b) => a.known_eq(b),
            Condition::LessEqual(a, b) => a.known_le(b),
            Condition::Divides(d, n) => n.div_exact(d).map(|_| true),
        }
    }

    /// The same about other sizes.
    ///
    /// # Errors
    /// The first that `f` gives.
    pub fn try_map<E>(&self, mut f: impl FnMut(&Dim) -> Result<Dim, E>) -> Result<Condition, E> {
        let (a, b) = self.sides();
        let (a, b) = (f(a)?, f(b)?);
        Ok(match self {
            Condition::Equal(..) => Condition::Equal(a, b),
            Condition::LessEqual(..) => Condition::LessEqual(a, b),
            Condition::Divides(..) => Condition::Divides(a, b),
        })
    }

    /// Both sides.
    pub fn sides(&self) -> (&Dim, &Dim) {
        match self {
            Condition::Equal(a, b) | Condition::LessEqual(a, b) | Condition::Divides(a, b) => (a, b),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Equal(a, b) => write!(f, "{a} == {b}"),
            Condition::LessEqual(a, b) => write!(f, "{a} <= {b}"),
            Condition::Divides(a, b) => write!(f, "{b} is a multiple of {a}"),
        }
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} because of {}", self.condition, self.reason)
    }
}
