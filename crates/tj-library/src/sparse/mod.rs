//! Functions of concrete tensors that cost what they touch: entries of arguments and of results, never cells.
//!
//! They take tensors in any format, strided ones included, and any fill; they compute at once. Each lists the entries of its
//! arguments ([`Tensor::to_entries`]), which differ from the fill, moves or combines them, and builds a result. So a result
//! never depends on which elements happen to be stored.
//!
//! **Fills.** A result has the fill of its argument. Several arguments need one fill between them: the error names two that
//! differ. A strided tensor without a fill takes that of the others, 0 if no argument has one.
//!
//! **dtypes.** Several arguments are promoted to one.
//!
//! **Formats.** A matrix becomes `csr`; one of more than 2^20 rows with more than sixteen rows an entry becomes `dcsr`, since its
//! positions would be most of it. What has another rank becomes `coo`, sorted. Functions that give another format say so.
//!
//! **Cost.** Unless a function says otherwise, O(n log n) time and O(n) memory for n entries of arguments and results, and
//! O(n) where the entries come in the order of the result. What a format lists besides its entries (the rows of `csr`) is
//! counted as entries. Extents may be as large as `isize::MAX` and their product is not bounded, unless it is said.
//!
//! In reading order: `entries`, `values`; then `join` ([`concat()`], [`stack`], [`block`]), `kron`, `diagonal` ([`diag`], [`eye`], [`tril`],
//! [`triu`]), `reshape`, `select` ([`select`], [`filter`], [`nonzero`]), `outer` ([`index_outer`]), `extremes` ([`argmax`], [`argmin`]),
//! `ranks` ([`sort_rows`], [`top_k`], [`keep_top_k`]), `union`, `random`, `builder` ([`Builder`]), `triangular`
//! ([`solve_triangular`]), and, with the feature of that name, `solve` (`solve` and `factorise`).
//!
//! [`Tensor::to_entries`]: tj_tensor::Tensor::to_entries

mod entries;
mod values;

mod diagonal;
mod join;
mod kron;
pub(crate) mod moves;
mod outer;
mod reshape;
mod select;

mod extremes;
mod ranks;
mod union;

mod builder;
mod random;
#[cfg(feature = "solve")]
mod solve;
mod triangular;

pub use crate::sort::Direction;
pub use builder::Builder;
pub use diagonal::{diag, eye, tril, triu};
pub use extremes::{argmax, argmin};
pub use join::{block, concat, stack};
pub use kron::kron;
pub use outer::index_outer;
pub use random::random;
pub use ranks::{TopK, keep_top_k, sort_rows, top_k};
pub use reshape::reshape;
pub use select::{Compare, filter, nonzero, select};
#[cfg(feature = "solve")]
pub use solve::{Method, Solver, factorise, solve};
pub use triangular::{Diagonal, Triangle, solve_triangular};
pub use union::{Combine, union};
