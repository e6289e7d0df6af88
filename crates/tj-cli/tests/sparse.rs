//! Sparse programs from files to files, as a user of `tj` runs them, against what SciPy computes of the same files.
//!
//! Inputs and results are in the folder `sparse`, where `make.py` made them. A result is compared in its type, shape and
//! values, and in what the file stores: a sparse matrix of SciPy's is to be one here, with as many entries.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::path::{Path, PathBuf};
use std::process::Command;

use num_complex::Complex;
use tensorjit::{Backend, CompileOptions, CompiledGraph, DType, Tensor, input, io};

/// How a result is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// As SciPy's is.
    Alike,
    /// By all its elements, where SciPy's is sparse: most elements of a matrix of known size may have
    /// entries, what a number does to 0 is not seen, or they are complex.
    Dense,
}

/// How close values are to SciPy's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Whole numbers, and anything that is rounded once.
    Exact,
    /// Quotients, roots and exponentials, added in another order.
    Rounded,
}

/// Whether an engine has results that are sparse.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// By the program.
    Decided,
    /// It computes all elements.
    Never,
}

/// The name of the result, a program, its inputs, and what is compared.
type Case = (&'static str, &'static str, &'static str, Stored, Values);

use Stored::{Alike, Dense};
use Values::{Exact, Rounded};

/// Products and sums over what is stored.
const LINEAR: &[Case] = &[
    ("spmv", "a @ x", "a.mtx x.npy", Alike, Exact),
    ("spmv_transposed", "a.T @ y", "a.mtx y.npy", Alike, Exact),
    ("spmm", "a @ x", "a.mtx x=wide.npy", Alike, Exact),
    ("sddmm", "a * (u @ v.T)", "a.mtx u.npy v.npy", Alike, Exact),
    ("spgemm", "a @ p", "a.mtx p.mtx", Alike, Exact),
    ("gram", "a.T @ a", "a.mtx", Alike, Exact),
    ("gram_weighted", "(a * w) @ a.T", "a.mtx w=weights.npy", Alike, Exact),
    ("mttkrp", "einsum(\"ijl,jk,lk->ik\", t, u[0:5], v[0:6])", "t.tns u.npy v.npy", Alike, Exact),
    ("chain", "a @ p @ y[0:10]", "a.mtx p.mtx y.npy", Alike, Exact),
    ("chain_sum", "(a @ p @ y[0:10]).sum()", "a.mtx p.mtx y.npy", Alike, Exact),
    ("joined", "u[0:6] @ y[0:3] + (a @ x).take(key, 0)", "a.mtx u.npy x.npy y.npy key.npy", Alike, Exact),
    (
        "joined",
        "concat([u[0:6], a.take(key, 0)], 1) @ concat([y[0:3], x])",
        "a.mtx u.npy x.npy y.npy key.npy",
        Alike,
        Exact,
    ),
    ("contraction", "einsum(\"ijl,l->ij\", t, v[0:6, 0] + 4)", "t.tns v.npy", Alike, Exact),
    ("contraction_sparse", "einsum(\"ijl,jk->ilk\", t, p[1:6])", "t.tns p.mtx", Alike, Exact),
    ("contraction_sparse", "contraction_sparse.tj", "t.tns p.mtx", Alike, Exact),
    ("fiber_sums", "t.sum(2)", "t.tns", Alike, Exact),
    ("hermitian_square", "h @ h", "h=hermitian.mtx", Dense, Exact),
    ("skew_square", "s @ s", "s=skew.mtx", Alike, Exact),
    ("outer", "outer.tj", "s=skew.mtx a.mtx", Alike, Exact),
    ("norm", "linalg.vector_norm(a)", "a.mtx", Alike, Rounded),
];

/// Operators on elements and their places.
const ELEMENTWISE: &[Case] = &[
    ("union", "a + b", "a.mtx b.mtx", Alike, Exact),
    ("union", "a + b", "a.mtx b=columns.npz", Alike, Exact),
    ("union_masked", "(a + b) * c", "a.mtx b.mtx c.mtx", Alike, Exact),
    ("product", "a * b", "a.mtx b.mtx", Alike, Exact),
    ("cancelled", "a - a", "a.mtx", Alike, Exact),
    ("maximum", "maximum(a, b)", "a.mtx b.mtx", Alike, Exact),
    ("minimum", "minimum(a, b)", "a.mtx b.mtx", Alike, Exact),
    ("dense_sum", "a + u @ v.T", "a.mtx u.npy v.npy", Alike, Exact),
    ("above", "where(a > 4, a, 0)", "a.mtx", Alike, Exact),
    ("above", "a * (a > 4)", "a.mtx", Alike, Exact),
    ("is_above", "a > 4", "a.mtx", Alike, Exact),
    ("at_most", "minimum(a, 5)", "a.mtx", Alike, Exact),
    ("at_most", "clip(a, -2, 5)", "a.mtx", Alike, Exact),
    ("at_most", "where(a > 5, 5, a)", "a.mtx", Alike, Exact),
    ("at_most", "4.5 - maximum(4.5 - a, -0.5)", "a.mtx", Alike, Exact),
    ("repeated", "a * 1", "a=repeated.mtx", Alike, Exact),
    ("hermitian_real", "real(h)", "h=hermitian.mtx", Dense, Exact),
    ("skew_part", "(s - s.T) / 2", "s=skew.mtx", Alike, Exact),
    ("row_scaled", "a / maximum(a.sum(1, keepdims=True), 1)", "a.mtx", Alike, Rounded),
];

/// Elements that go elsewhere.
const MOVED: &[Case] = &[
    ("rows", "a[2:7]", "a.mtx", Alike, Exact),
    ("rows_taken", "a.take(key, 0)", "a.mtx key.npy", Alike, Exact),
    ("rows_taken", "a[key]", "a.mtx key.npy", Alike, Exact),
    ("every_other", "a[2:7, 1:9:2]", "a.mtx", Alike, Exact),
    ("lower", "tril(a, k=-1)", "a.mtx", Alike, Exact),
    ("upper", "triu(a, k=1)", "a.mtx", Alike, Exact),
    ("diagonal", "diagonal(a)", "a.mtx", Alike, Exact),
    ("kronecker", "kron(s, a[0:3, 0:4])", "s=skew.mtx a.mtx", Alike, Exact),
    ("stacked", "vstack([a, b])", "a.mtx b.mtx", Alike, Exact),
    (
        "blocks",
        "concat([concat([a, b], 1), concat([c, zeros_like(c)], 1)])",
        "a.mtx b.mtx c.mtx",
        Alike,
        Exact,
    ),
];

/// Rows and columns as wholes.
const REDUCED: &[Case] = &[
    ("row_sums", "a.sum(1)", "a.mtx", Alike, Exact),
    ("row_counts", "a.count_nonzero(1)", "a.mtx", Alike, Exact),
    ("row_argmax", "a.argmax(1)", "a.mtx", Alike, Exact),
    ("row_top", "sort(a, axis=1, descending=True)[:, 0:3]", "a.mtx", Alike, Exact),
    ("column_max", "a.max(0)", "a.mtx", Alike, Exact),
    ("variance_of_normalised", "(a / maximum(a.sum(1, keepdims=True), 1)).var(0)", "a.mtx", Alike, Rounded),
    ("row_softmax", "row_softmax.tj", "a.mtx", Alike, Rounded),
    ("cosine", "cosine.tj", "a.mtx", Alike, Rounded),
    ("jaccard", "jaccard.tj", "a.mtx", Alike, Rounded),
];

/// Graphs, of which the files have no values.
const GRAPHS: &[Case] = &[
    ("triangles", "triangles.tj", "graph.mtx", Alike, Exact),
    ("pagerank", "pagerank.tj", "graph.mtx", Alike, Rounded),
    ("step", "(links & reached).any(1)", "links.mtx reached.npy", Alike, Exact),
    ("closure", "links @ links | links", "links.mtx", Alike, Exact),
    ("normalised_adjacency", "normalised_adjacency.tj", "graph.mtx", Alike, Rounded),
    ("laplacian", "laplacian.tj", "graph.mtx", Dense, Rounded),
    ("tropical", "tropical.tj", "graph.mtx", Alike, Exact),
];

const CASES: [&[Case]; 5] = [LINEAR, ELEMENTWISE, MOVED, REDUCED, GRAPHS];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sparse")
}

/// What is not as SciPy has it, in words.
fn difference(found: &Tensor, expected: &Tensor, stored: Option<Stored>, values: Values) -> Option<String> {
    if (found.dtype(), found.shape()) != (expected.dtype(), expected.shape()) {
        let kind = |x: &Tensor| format!("{}{:?}", x.dtype(), x.shape());
        return Some(format!("{} instead of {}", kind(found), kind(expected)));
    }
    let entries = |x: &Tensor| x.stored().map(|_| x.stored_count());
    let to_be = if stored == Some(Dense) { None } else { entries(expected) };
    if stored.is_some() && entries(found) != to_be {
        return Some(format!("{:?} entries are stored instead of {to_be:?}", entries(found)));
    }
    let elements =
        |x: &Tensor| x.to_dense().unwrap().cast(DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
    let tolerance = if values == Exact { 0.0 } else { 1e-14 };
    let agree = |a: Complex<f64>, b: Complex<f64>| a == b || (a - b).norm() <= tolerance * b.norm();
    let (found, expected) = (elements(found), elements(expected));
    let pair = found.iter().zip(&expected).find(|(a, b)| !agree(**a, **b));
    pair.map(|(found, expected)| format!("{found} instead of {expected}"))
}

/// Runs a case with some options; says how it differs from SciPy.
fn run(
    &(name, program, inputs, stored, values): &Case,
    options: &[&str],
    storage: Storage,
    folder: &Path,
) -> Option<String> {
    let result = ["mtx", "tns", "npy"].map(|end| fixtures().join(format!("expected/{name}.{end}")));
    let result = result.into_iter().find(|path| path.exists()).unwrap();
    let output = folder.join(result.file_name().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tj"));
    command.current_dir(fixtures()).args(["run", program]).args(options).arg("-o").arg(&output);
    for input in inputs.split(' ') {
        let name = input.split('.').next().unwrap();
        command.arg(if input.contains('=') { input.to_string() } else { format!("{name}={input}") });
    }
    let ran = command.output().unwrap();
    let difference = if ran.status.success() {
        let [found, expected] = [&output, &result].map(|path| io::read_any(path).unwrap());
        let stored = (storage == Storage::Decided).then_some(stored);
        difference(&found, &expected, stored, values)
    } else {
        Some(String::from_utf8(ran.stderr).unwrap())
    };
    difference.map(|text| format!("{name}, {program}: {text}"))
}

/// Runs all cases, two at a time.
fn check(engine: &str, options: &[&str], storage: Storage) {
    let folder = std::env::temp_dir().join(format!("tj-sparse-{engine}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let cases: Vec<&Case> = CASES.iter().copied().flatten().collect();
    let differences: Vec<String> = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            let (cases, folder) = (&cases, folder.join(half.to_string()));
            std::fs::create_dir_all(&folder).unwrap();
            let own = move || {
                cases[half..].iter().step_by(2).filter_map(move |case| run(case, options, storage, &folder))
            };
            scope.spawn(move || own().collect::<Vec<_>>())
        });
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    std::fs::remove_dir_all(folder).unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn compiled_by_cranelift() {
    check("cranelift", &["--backend", "cranelift"], Storage::Decided);
}

/// Where there is a C compiler.
#[test]
fn compiled_by_c() {
    let options = CompileOptions { backend: Backend::C, ..Default::default() };
    if let Err(error) = CompiledGraph::new(&[input("x", DType::F32, []).unwrap() + 1], options) {
        eprintln!("skipped: {error}");
        return;
    }
    check("c", &["--backend", "c"], Storage::Decided);
}

#[test]
fn interpreted() {
    check("interpret", &["--scheduler", "interpret"], Storage::Never);
}
