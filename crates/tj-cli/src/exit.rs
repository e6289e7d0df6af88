//! What the command tells the shell.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All was done.
    Done = 0,
    /// A program, a file or an argument's value is wrong.
    Wrong = 1,
    /// The command line is wrong; `clap` ends so by itself.
    Usage = 2,
    /// The work needs more bytes than the budget holds.
    Budget = 3,
    /// We are wrong.
    Bug = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
