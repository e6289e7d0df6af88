//! Turns kernels into C text.
//!
//! What this layer knows: the kernel language, and C with the extensions that gcc and clang share. What it must never
//! know: files, processes, which compiler will read the text or on which machine; what depends on those is decided by
//! the preprocessor, in the text.
//!
//! The text is deterministic, includes no header, and has the bits of the kernel interpreter when it is compiled with
//! the options its first comment names. It is also meant for reading: one statement a value, types and operations by
//! their names in the kernel language.
//!
//! Modules in reading order: `unit` (what surrounds kernels), `kernel` (statements), `lanes` and `blocks` (how
//! lanes loops are cut up and written), `scalar` (one operation as an
//! expression), `helpers` (functions for what C leaves undefined), `types` (names and literals), `text` (lines), `header` (for programs that embed kernels).

#![forbid(unsafe_code)]

mod blocks;
mod error;
mod header;
mod helpers;
mod kernel;
mod lanes;
mod scalar;
mod text;
mod types;
mod unit;

pub use error::CodegenError;
pub use header::emit_header;
pub use unit::emit;
