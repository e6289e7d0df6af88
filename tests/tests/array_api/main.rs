//! What there is of the Python array API standard, 2024.12: one table, from which `crates/tensorjit/ARRAY_API.md` is made.
//!
//! A function is listed as there only with a call and what it must give, which is checked here. Scalar functions are rows of
//! the operator table; operators that the standard does not have are listed after it, and bounds on errors are those that
//! `tj_ir::elementary` states. `cargo xtask docs` writes the file anew.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

mod arrays;
mod extensions;
mod scalars;

use std::fmt::Write;

use tensorjit::op::TABLE;
use tensorjit::{DType, Error, Op, Tensor, compute, defer};

/// A call and what it gives, as f64.
type Check = (fn() -> Result<Tensor, Error>, &'static [f64]);

/// How much of a function there is.
enum Status {
    /// All of it.
    There(Check),
    /// What Rust or its types have.
    Language,
    /// Nothing; the remark says why.
    Missing,
}

struct Row {
    name: &'static str,
    ours: &'static str,
    status: Status,
    remark: &'static str,
}

/// The title of a section, and its functions.
type Section = (&'static str, Vec<Row>);

fn there(name: &'static str, ours: &'static str, check: Check) -> Row {
    Row { name, ours, status: Status::There(check), remark: "" }
}

fn noted(name: &'static str, ours: &'static str, remark: &'static str, check: Check) -> Row {
    Row { name, ours, status: Status::There(check), remark }
}

fn language(name: &'static str, ours: &'static str) -> Row {
    Row { name, ours, status: Status::Language, remark: "" }
}

fn missing(name: &'static str, remark: &'static str) -> Row {
    Row { name, ours: "", status: Status::Missing, remark }
}

fn sections() -> Vec<Section> {
    arrays::sections().into_iter().chain(extensions::sections()).chain([extensions::numpy()]).collect()
}

/// Values as f64; all results are real, though some are of a complex dtype.
fn values(tensor: &Tensor) -> Vec<f64> {
    compute(defer(tensor).real().cast(DType::F64)).unwrap().to_vec().unwrap()
}

fn close(got: &[f64], want: &[f64]) -> bool {
    let one = |(g, w): (&f64, &f64)| g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= 1e-12 * w.abs();
    got.len() == want.len() && got.iter().zip(want).all(one)
}

#[test]
fn what_is_listed_as_there_gives_what_it_should() {
    for (title, rows) in sections() {
        for row in rows {
            let Status::There((call, want)) = row.status else { continue };
            let got = values(&call().unwrap_or_else(|error| panic!("{}: {error}", row.name)));
            assert!(close(&got, want), "{title}: {} gives {got:?}, not {want:?}", row.name);
        }
    }
    for &(name, op, args, want) in scalars::STANDARD {
        let got = values(&scalars::apply(op, args).unwrap_or_else(|error| panic!("{name}: {error}")));
        assert!(close(&got, &[want]), "{name}{args:?} gives {got:?}, not {want}");
    }
}

#[test]
fn the_table_is_current() {
    let mut text = String::from(
        "# The array API standard, 2024.12\n\nMade by `cargo xtask docs` from `tests/tests/array_api`, where each function that \
         is listed as there is called and its\nresult compared. Names are those of `tensorjit`: functions, methods of \
         `LazyTensor`, and the twins of both in `eager`.\n",
    );
    for (title, rows) in sections() {
        head(&mut text, title);
        for Row { name, ours, status, remark } in rows {
            let status = match status {
                Status::There(_) => "yes",
                Status::Language => "Rust",
                Status::Missing => "no",
            };
            let ours = if ours.is_empty() { String::new() } else { format!("`{ours}`") };
            line(&mut text, &[&format!("`{name}`"), &ours, status, remark]);
        }
        if title == "Data type functions" {
            head(&mut text, "Elementwise functions");
            scalars::lines(&mut text);
        }
    }
    text.push_str("\n## Scalar operators beyond the standard\n\n");
    let standard = |op: Op| scalars::STANDARD.iter().any(|(_, known, _, _)| *known == op);
    let beyond: Vec<String> = TABLE
        .iter()
        .filter(|info| !standard(info.op) && info.op != Op::RandomBits)
        .map(|info| format!("`{}`", info.name))
        .collect();
    writeln!(text, "{}", beyond.join(", ")).unwrap();
    text.push_str(
        "\n## Errors of elementary functions\n\nIn units in the last place of the exact result.\n\n",
    );
    let source = include_str!("../../../crates/tj-ir/src/elementary.rs");
    for row in source.lines().filter_map(|line| line.strip_prefix("//! |")) {
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        line(&mut text, &[cells[0], cells[1], cells[3]]);
    }
    expect_test::expect_file!["../../../crates/tensorjit/ARRAY_API.md"].assert_eq(&text);
}

fn head(text: &mut String, title: &str) {
    write!(text, "\n## {title}\n\n| standard | ours | there | remark |\n|---|---|---|---|\n").unwrap();
}

fn line(text: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    writeln!(text, "| {} |", cells.join(" | ").replace("  ", " ")).unwrap();
}
