//! The `tj` command: run, explain and check tensor programs.
//!
//! This layer knows the program language, the command line and how to show a mistake under the guilty words. It
//! must never know how a program is compiled: it hands expressions to `tensorjit` and prints what comes back.
//!
//! Modules in reading order:
//!
//! - [`ast`]: the tree of a program, an arena with a span on every node
//! - [`lex`]: text to tokens
//! - [`parse`]: tokens to tree
//! - [`mod@print`]: tree to text; parsing what was printed gives the tree again
//! - [`syntax`]: everything that can be wrong with a text
//! - [`diagnostic`]: messages that underline the place
//! - [`eval`]: tree to lazy tensors
//! - [`args`]: the command line; [`values`] and [`bytes`] read its arguments
//! - `commands`: what each command does; `data` reads or makes inputs
//! - [`exit`]: what the command tells the shell
#![forbid(unsafe_code)]

pub mod args;
pub mod ast;
pub mod bytes;
mod commands;
mod data;
pub mod diagnostic;
pub mod eval;
pub mod exit;
pub mod lex;
pub mod parse;
pub mod print;
pub mod progress;
pub mod syntax;
pub mod values;

pub use args::{Cli, Command};
pub use ast::{Expr, ExprId, Ident, Program, Span, Stmt, StmtKind};
pub use commands::run;
pub use diagnostic::{Diagnostic, Style};
pub use exit::Exit;
pub use parse::{parse_expression, parse_program};
pub use syntax::{SyntaxError, SyntaxErrorKind};
