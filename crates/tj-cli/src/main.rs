//! The `tj` command.

use std::process::ExitCode;

use clap::Parser;
use tj_cli::{Cli, run};

fn main() -> ExitCode {
    run(Cli::parse()).into()
}
