//! Sizes that a user gives.
//!
//! A [`Dim`] may be negative, as `N - 5` is where `N` is 3; the size of an axis may not. Whoever takes a size from a
//! user asks here, so that every size of every shape is proven, guarded or refused where it came in.

use std::panic::Location;

use crate::dim::Dim;
use crate::error::Cause;
use crate::guard::{Condition, Guard};

/// A tensor has at most this many axes. Kernels nest a loop for each axis, and some passes recurse into loops.
pub const MAX_RANK: usize = 32;

/// Proves that the size of an axis is not negative, or records a guard, or fails.
pub(super) fn require_size(
    what: &str,
    axis: usize,
    size: &Dim,
    guards: &mut Vec<Guard>,
    location: &'static Location<'static>,
) -> Result<(), Cause> {
    size.check()?;
    match size.known_ge_zero() {
        Some(true) => {}
        Some(false) => {
            return Err(Cause::NegativeSize { what: what.to_string(), axis, size: size.clone() });
        }
        None => guards.push(Guard {
            condition: Condition::LessEqual(Dim::ZERO, size.clone()),
            reason: format!("{what}: {size} is the size of axis {axis}"),
            location,
        }),
    }
    Ok(())
}
