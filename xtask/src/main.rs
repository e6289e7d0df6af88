//! Repository chores: `cargo xtask ci|tidy|bless|docs|bench|soak`.

#![forbid(unsafe_code)]

mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask COMMAND
  ci                     everything that must pass before a change lands
  tidy                   layering and house rules that a compiler does not check
  bless                  accept the current output of golden tests; read the diff afterwards
  docs                   write crates/tensorjit/ARRAY_API.md anew
  bench seed [OPTIONS]   the matrix chain, fused and unfused, as JSON
  bench serve CASE SIZE FOLDER   times one case in turn with other libraries
  bench sparse [OPTIONS] sparse programs in turn with kernels by hand: --quick --json --threads N --cases s1,s4
  bench galley [OPTIONS] the scheduler that reads data beside the default one: --quick --json --threads N --cases path3
                         --estimates: what it expects of graphs beside what there is
  bench                  the criterion benchmarks
  soak [CASES]           property tests with many more cases (default 20000), chains of a million operations";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let result = match words.first().map(String::as_str) {
        Some("ci") => ci(),
        Some("tidy") => tidy::tidy(&root()),
        Some("bless") => bless(),
        Some("docs") => docs(),
        Some("bench") => bench(&rest),
        Some("soak") => soak(rest.first().copied().unwrap_or("20000")),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.to_path_buf(), Path::to_path_buf)
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments).envs(environment.iter().copied());
    let status = command.status().map_err(|e| format!("cargo {}: {e}", arguments.join(" ")))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}

fn ci() -> Result<(), String> {
    tidy::tidy(&root())?;
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo(&["test", "--workspace"], &[])
}

fn bless() -> Result<(), String> {
    cargo(&["test", "--workspace"], &[("UPDATE_EXPECT", "1")])
}

fn docs() -> Result<(), String> {
    cargo(&["test", "--package", "tj-tests", "--test", "array_api"], &[("UPDATE_EXPECT", "1")])
}

fn bench(words: &[&str]) -> Result<(), String> {
    match words.split_first() {
        Some((&name @ ("seed" | "serve" | "sparse" | "galley"), rest)) => {
            let mut arguments =
                vec!["run", "--quiet", "--release", "--package", "tj-benches", "--bin", name, "--"];
            arguments.extend_from_slice(rest);
            cargo(&arguments, &[])
        }
        Some((other, _)) => Err(format!("bench {other} is unknown\n{USAGE}")),
        None => cargo(&["bench", "--package", "tj-benches"], &[]),
    }
}

fn soak(cases: &str) -> Result<(), String> {
    let environment = [("PROPTEST_CASES", cases), ("TENSORJIT_CHAIN", "1000000")];
    cargo(&["test", "--release", "--package", "tj-tests"], &environment)
}
