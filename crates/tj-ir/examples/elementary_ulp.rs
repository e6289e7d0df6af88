//! The long form of the test of the same name: every 97th `f32` and ten million `f64` a function, against the bounds of
//! the table. Less of both, and of one function only, on demand.
//!
//! ```text
//! cargo run --release -p tj-ir --example elementary_ulp [N_F64 [STRIDE_F32 [NAME]]]
//! ```

#[path = "../tests/elementary_ulp/measure.rs"]
mod measure;

use std::io::{self, Write};

use measure::{TABLE, TABLE2};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| args.get(at).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (n, stride) = (number(0, 10_000_000), number(1, 97));
    let wanted = |name: &str| args.get(2).is_none_or(|only| only == name);
    let mut failed = false;
    let mut report = |name: &str, width: &str, (error, at): measure::Worst, bound: f64| {
        let verdict = if error > bound { "FAILED" } else { "ok" };
        failed |= error > bound;
        writeln!(io::stdout(), "{name:12} {width} {error:.4} of {bound} at {at:?} {verdict}")
    };
    for &(function, single, double, ..) in TABLE.iter().filter(|row| wanted(row.0.name())) {
        report(function.name(), "f32", measure::worst32(function, stride), single)?;
        report(function.name(), "f64", measure::worst64(function, n), double)?;
    }
    for &(function, single, double, ..) in TABLE2.iter().filter(|row| wanted(row.0.name())) {
        report(function.name(), "f32", measure::worst32_of_pairs(function, n), single)?;
        report(function.name(), "f64", measure::worst64_of_pairs(function, n), double)?;
    }
    assert!(!failed, "a bound does not hold");
    Ok(())
}
