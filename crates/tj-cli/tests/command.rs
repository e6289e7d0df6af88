//! The `tj` command as a user runs it, in an empty environment.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `tj` at the root of the repository, with no compiler to be found.
fn tj(arguments: &[&str]) -> Output {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_tj")).args(arguments).current_dir(root).env_clear().output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&tj(arguments))).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value["data"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

const LAYER: &str = "relu(x @ w + b).sum(1)";
const FILES: [&str; 3] = ["x=examples/x.npy", "w=examples/w.npy", "b=examples/b.npy"];
const DOUBLES: [&str; 3] = ["x=examples/f64/x.npy", "w=examples/f64/w.npy", "b=examples/f64/b.npy"];

/// `np.maximum(x @ w + b, 0).sum(1)` of the files as f64, in NumPy 2.
const OF_FILES: [f64; 6] = [
    12.952733002370348,
    6.311794874954418,
    5.60670225131606,
    2.4049335364375293,
    5.075279456719008,
    4.745599644603692,
];
const OF_DOUBLES: [f64; 6] = [
    3.4142076877429632,
    1.1919189083796433,
    1.4166957721502929,
    4.831428161973682,
    8.613636891864097,
    8.410771371238042,
];

#[test]
fn a_layer_agrees_with_numpy() {
    let folder = std::env::temp_dir().join(format!("tj-command-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("y.npy");
    for (files, expected, relative) in [(FILES, OF_FILES, 3e-5), (DOUBLES, OF_DOUBLES, 1e-12)] {
        let mut arguments = vec!["run", LAYER];
        arguments.extend(files);
        arguments.extend(["-o", file.to_str().unwrap()]);
        stdout(&tj(&arguments));
        let read = format!("y={}", file.display());
        let found = numbers(&json(&["run", "y * 1", &read, "--json"])["result"]);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn explain_shows_every_stage_in_order() {
    let mut arguments = vec!["explain", LAYER];
    arguments.extend(FILES);
    let text = stdout(&tj(&arguments));
    let stages = ["trace:", "plan:", "fuse:", "kernel:", "code:", "memory:"];
    let at: Vec<usize> = stages
        .iter()
        .map(|stage| text.find(&format!("{stage}\n")).unwrap_or_else(|| panic!("no {stage}")))
        .collect();
    assert!(at.is_sorted(), "{at:?}");
}

#[test]
fn a_sweep_compiles_once_and_is_right_at_each_size() {
    let sizes = [0, 1, 2, 7, 1000];
    let run = |scheduler: &str| {
        json(&[
            "run",
            "examples/mlp.tj",
            "x=rand:1",
            FILES[1],
            FILES[2],
            "--sweep",
            "N=0,1,2,7,1000",
            "--report",
            "json",
            "--scheduler",
            scheduler,
        ])
    };
    let compiled = run("default");
    let oracle = run("interpret");
    assert_eq!(compiled["compilations"], 1);
    for (number, size) in sizes.into_iter().enumerate() {
        let (run, expected) = (&compiled["runs"][number], &oracle["runs"][number]);
        assert_eq!(run["bindings"]["N"], size);
        assert_eq!(numbers(&run["outputs"]["y"]).len(), size);
        assert_eq!(numbers(&run["outputs"]["p"]).len(), 5 * size);
        assert_eq!(run["outputs"], expected["outputs"]);
    }
}

#[test]
fn mistakes_are_underlined_and_have_exit_codes() {
    let output = tj(&["run", "relu(x @ w + c)", FILES[0], FILES[1]]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("error: `c` is not defined\n --> expression:1:14\n"), "{text}");
    assert!(text.contains("\n1 | relu(x @ w + c)\n  |              ^\n"), "{text}");

    let output = tj(&["run", "x + 1", "x=examples/missing.npy"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().contains("examples/missing.npy"));
    assert_eq!(tj(&["fly"]).status.code(), Some(2));
}

/// A folder of its own for a test, which is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tj-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An array file of version 1.0.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn check_error(arguments: &[&str], code: i32, expected: &str) {
    let output = tj(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.contains(expected), "{arguments:?}: {text}");
}

#[test]
fn complex_numbers_are_pairs_in_json() {
    let folder = Folder::new("complex");
    for (descr, parts) in [("<c8", 4), ("<c16", 8)] {
        let data: Vec<u8> = [1.5, -2.0, 0.0, f64::NAN]
            .into_iter()
            .flat_map(
                |x| if parts == 4 { (x as f32).to_le_bytes().to_vec() } else { x.to_le_bytes().to_vec() },
            )
            .collect();
        let input = format!("x={}", folder.file("c.npy", &npy(descr, "(2,)", &data)));
        let found = json(&["run", "x", &input, "--json"]);
        assert_eq!(found["result"]["data"], serde_json::json!([[1.5, -2.0], [0.0, "NaN"]]), "{descr}");
    }
}

#[test]
fn numbers_of_programs_are_those_of_python() {
    let least = "(-9223372036854775807 - 1)";
    for (expression, expected) in [
        ("7 // 2", 3.0),
        ("-7 // 2", -4.0),
        ("7 // -2", -4.0),
        ("-7 // -2", 3.0),
        ("7 % -2", -1.0),
        ("-7 % 2", 1.0),
        ("-7 % -2", -1.0),
        ("LEAST % -1", 0.0),
        ("9223372036854775806 % 9223372036854775807", 9223372036854775806.0),
        ("LEAST % 9223372036854775807", 9223372036854775806.0),
        ("LEAST // 9223372036854775807", -2.0),
        ("2 ** 10", 1024.0),
        ("2 ** -1", 0.5),
        ("(-1) ** 4294967297", -1.0),
        ("5.5 % 2", 1.5),
        ("-5.5 % 2", 0.5),
        ("5 % -1.5", -1.0),
        ("max(2, 3)", 3.0),
    ] {
        let expression = expression.replace("LEAST", least);
        let found = json(&["run", "--json", "--", &expression]);
        assert_eq!(numbers(&found["result"]), [expected], "{expression}");
    }
    for (expression, expected) in [
        ("LEAST // -1", "`//` overflows 64 bits"),
        ("-LEAST", "`-` overflows 64 bits"),
        ("LEAST - 1", "`-` overflows 64 bits"),
        ("2 ** 63", "`**` overflows 64 bits"),
        ("2 ** 4294967296", "`**` overflows 64 bits"),
        ("0 ** -1", "division by zero"),
        ("1 // 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("max(2-5, axis=0)", "axis"),
        ("min(5, axis=0)", "axis"),
    ] {
        check_error(&["run", "--", &expression.replace("LEAST", least)], 1, expected);
    }
}

#[test]
fn sizes_are_numbers_where_no_size_comes_of_them() {
    let folder = Folder::new("sizes");
    for (expression, expected) in [
        ("N / 2", 2.5),
        ("1.5 * N - 0.5", 7.0),
        ("2 ** N", 32.0),
        ("1 / (N - 3)", 0.5),
        ("cast(N > 4.5, i64)", 1.0),
        ("x.sum() / N + 0.5 / x.shape[0]", 1.1),
    ] {
        let text = format!("size N\ninput x: f64[N]\noutput y = {expression}\n");
        let program = folder.file("p.tj", text.as_bytes());
        let found = json(&["run", &program, "x=ones", "--dim", "N=5", "--json"]);
        assert_eq!(numbers(&found["y"]), [expected], "{expression}");
    }
    // They give way to what they meet, in every storage.
    let program =
        folder.file("p.tj", b"size N\ninput x: f32[N]\noutput y = maximum(x, -(2 / N)) + 0.5 / N\n");
    let stored = format!("x={}", folder.file("x.tns", b"# tensorjit dtype f32 shape 4\n2 -1.0\n4 1.5\n"));
    for (data, sizes, expected) in
        [("x=ones", "N=4", [1.125; 4]), (&stored, "N=4", [0.125, -0.375, 0.125, 1.625])]
    {
        let found = json(&["run", &program, data, "--dim", sizes, "--json"]);
        assert_eq!((numbers(&found["y"]).as_slice(), &found["y"]["dtype"]), (&expected[..], &"f32".into()));
    }
    assert_eq!(numbers(&json(&["run", "x[x.shape[0] - 1]", &stored, "--json"])["result"]), [1.5]);
    let program = folder.file("p.tj", b"size N\ninput x: f64[N]\noutput y = x + N @ 2\n");
    check_error(&["check", &program], 1, "`@` is not defined on a size and an integer");
}

#[test]
fn operators_of_tensors_by_sign_and_by_name() {
    for (expression, expected) in [
        ("(-x ** 2)", -9.0),
        ("2 ** x ** 2", 512.0),
        ("2 ** -x", 0.125),
        ("power(x, 3)", 27.0),
        ("x // 2 + x % 2", 2.0),
        ("1 << cast(x, \"i32\")", 8.0),
        ("bitwise_invert(cast(x, \"i32\") >> 1)", -2.0),
        ("positive(x).square().ceil()", 9.0),
        ("hypot(x, 4)", 5.0),
        ("cbrt(x * 9)", 3.0),
        ("atan2(0, x)", 0.0),
        ("copysign(x, -0.0)", -3.0),
        ("lgamma(x - 1)", 0.0),
    ] {
        let found = json(&["run", "--json", expression, "x=3.0"]);
        assert_eq!(numbers(&found["result"]), [expected], "{expression}");
    }
}

#[test]
fn functions_of_whole_tensors() {
    for (expression, expected) in [
        ("arange(6).reshape(2, 3).sum(axis=0)", &[3.0, 5.0, 7.0][..]),
        ("sum(reshape(arange(6), (2, -1)), axis=(0, 1), keepdims=True)", &[15.0]),
        ("sum(arange(3), dtype=f32)", &[3.0]),
        ("any(arange(3) > 1) * 1", &[1.0]),
        ("var(arange(4), correction=1) * 3", &[5.0]),
        ("argmax(arange(6).reshape(2, 3), axis=1)", &[2.0, 2.0]),
        ("(nansum(concat([arange(2) / 0, arange(3)]), axis=-1) > 1) * 1", &[1.0]),
        ("softmax(zeros((2, 2)), axis=1)", &[0.5; 4]),
        ("concat([arange(2), ones(1, dtype=i64)], axis=0)", &[0.0, 1.0, 1.0]),
        ("stack([arange(2), arange(2)], axis=1)", &[0.0, 0.0, 1.0, 1.0]),
        ("roll(arange(4), 1)", &[3.0, 0.0, 1.0, 2.0]),
        ("repeat(arange(2), 2)", &[0.0, 0.0, 1.0, 1.0]),
        ("tile(arange(2), 2)", &[0.0, 1.0, 0.0, 1.0]),
        ("pad(arange(1, 2), [(1, 2)], value=7)", &[7.0, 1.0, 7.0, 7.0]),
        ("tril(ones((2, 2)))", &[1.0, 0.0, 1.0, 1.0]),
        ("triu(ones((2, 2)), k=1)", &[0.0, 1.0, 0.0, 0.0]),
        ("flip(arange(3))", &[2.0, 1.0, 0.0]),
        ("sort(flip(arange(3)), axis=0)", &[0.0, 1.0, 2.0]),
        ("argsort(arange(3), descending=True)", &[2.0, 1.0, 0.0]),
        ("take(arange(3, 9), arange(0, 6, 4))", &[3.0, 7.0]),
        ("cumulative_sum(arange(4), include_initial=True)", &[0.0, 0.0, 1.0, 3.0, 6.0]),
        ("einsum(\"ij,jk->ik\", eye(2), ones((2, 1)))", &[1.0, 1.0]),
        ("tensordot(eye(2), ones((2, 2)), axes=1).sum()", &[4.0]),
        ("linalg.det(2 * eye(3))", &[8.0]),
        ("linalg.solve(2 * eye(2), ones(2))", &[0.5, 0.5]),
        ("linalg.eigh(3 * eye(2))[0]", &[3.0, 3.0]),
        ("linalg.vector_norm(arange(2) * 5)", &[5.0]),
        ("random.integers(7, 3, 4, (2,))", &[3.0, 3.0]),
        ("full((2,), 1.5)", &[1.5, 1.5]),
        ("linspace(0, 1, 3)", &[0.0, 0.5, 1.0]),
        ("zeros(x.shape).mT.sum(axis=1) + x.ndim", &[2.0, 2.0, 2.0]),
        ("unstack(arange(4).reshape(2, 2))[1]", &[2.0, 3.0]),
        ("median(arange(4))", &[1.5]),
        ("clip(arange(4), 1, 2)", &[1.0, 1.0, 2.0, 2.0]),
        ("clip(arange(4), max=2)", &[0.0, 1.0, 2.0, 2.0]),
        ("arange(0.0, 1.0, 0.25, dtype=f32)", &[0.0, 0.25, 0.5, 0.75]),
        ("linspace(0, 1, 2, endpoint=False)", &[0.0, 0.5]),
        ("geomspace(1, 4, 3) + logspace(0, 2, 3, base=2.0)", &[2.0, 4.0, 8.0]),
        ("roll(arange(4).reshape(2, 2), (1, 1), axis=(0, 1))", &[3.0, 2.0, 1.0, 0.0]),
        ("diff(arange(3), prepend=5)", &[-5.0, 1.0, 1.0]),
        ("arange(4).reshape(2, 2)[arange(2), arange(1, -1, -1)]", &[1.0, 2.0]),
        ("arange(3, 9)[arange(0, 6, 4)]", &[3.0, 7.0]),
        ("arange(4)[arange(4) > 1]", &[2.0, 3.0]),
        ("abs(fft.ifft(fft.fft(arange(2))))", &[0.0, 1.0]),
        ("real(conj(complex(arange(2), 1)) ** 2)", &[-1.0, 0.0]),
        ("fft.fftfreq(2, d=0.5)", &[0.0, -1.0]),
        ("hstack([arange(2), arange(1)])", &[0.0, 1.0, 0.0]),
        ("split(arange(4), 2)[1] * 1", &[2.0, 3.0]),
        ("allclose(arange(2), arange(2) + 1e-9) * 1", &[1.0]),
        ("bincount(arange(2), 3)", &[1.0, 1.0, 0.0]),
        ("trapezoid(arange(3), 2)", &[4.0]),
        ("interp(arange(2), arange(3), arange(3) * 2)", &[0.0, 2.0]),
        ("linalg.matrix_norm(eye(2), ord=1, keepdims=True)", &[1.0]),
    ] {
        let mut arguments = vec!["run", "--json", expression];
        if expression.contains("x.") {
            arguments.push("x=rand:1:f64:2,3");
        }
        let found = json(&arguments);
        assert_eq!(numbers(&found["result"]), expected, "{expression}");
    }
}

#[test]
fn mistakes_in_calls_are_underlined() {
    for (expression, expected) in [
        ("linalg.dett(x)", "`linalg.dett` is not a function"),
        ("linalg.det(x, 1)", "`linalg.det` takes 1 arguments"),
        ("sum(arange(x.ndim, type=f32))", "`arange` has no argument `type`"),
        ("sum(x, axes=1)", "`sum` has no argument `axes`"),
        ("concat([x, x[0]])", "have different ranks"),
        ("einsum(\"ij\", x, x)", "einsum"),
        ("softmx(x)", "did you mean `softmax`?"),
        ("Relu(x)", "did you mean `relu`?"),
        ("linalg.slove(x, x)", "did you mean `linalg.solve`?"),
        ("slove(x, x)", "did you mean `linalg.solve`?"),
        ("linalg.frobnicate(x)", "linalg has cholesky, det"),
        ("take(x)", "`take` needs `indices`"),
        ("searchsorted(x[0], x[0], side=\"up\")", "`side` is \"left\" or \"right\""),
        ("reshape(x, 4, 2)", "reshape"),
    ] {
        let text = String::from_utf8(tj(&["run", expression, "x=rand:1:f64:2,3"]).stderr).unwrap();
        assert!(text.contains(expected) && text.contains("^"), "{expression}: {text}");
    }
}

#[test]
fn statements_in_index_notation_run() {
    let folder = Folder::new("einop");
    let program = folder.file(
        "p.tj",
        b"size N\ninput A: f64[N, 2]\nB = arange(4).reshape(2, 2)\nC[i, j] += A[i, k] * B[k, j]\n\
          D[i] max= exp(0 * C[i, j]) + C[i, j]\noutput C, D\n",
    );
    let found = json(&["run", &program, "A=ones", "--dim", "N=2", "--json"]);
    assert_eq!(numbers(&found["C"]), [2.0, 4.0, 2.0, 4.0]);
    assert_eq!(numbers(&found["D"]), [5.0, 5.0]);
    let found = json(&["run", "s += x[i, i]", "x=rand:1:f64:3,3", "--json"]);
    let trace = json(&["run", "trace(x)", "x=rand:1:f64:3,3", "--json"]);
    assert_eq!(found["s"]["data"], trace["result"]["data"]);

    let twice = folder.file("q.tj", b"input A: f64[2, 2]\nC = A\nC[i] += A[i, k]\noutput C\n");
    check_error(&["check", &twice], 1, "`C` has a value, which `+=` would leave out");
    let wrong = folder.file("w.tj", b"input A: f64[2, 2]\nC[i] += A[i]\noutput C\n");
    check_error(&["check", &wrong], 1, "w.tj:2:1");
}

#[test]
fn what_the_program_does_not_take_is_refused() {
    let folder = Folder::new("given");
    let program = folder.file(
        "p.tj",
        b"size N in 0..=8\nsize M in 0..=4\ninput x: f32[N]\ninput i: i8[]\ninput u: u8[]\ninput b: bool[]\n\
          output y = x * i\noutput z = u\noutput w = b\n",
    );
    let fit = ["x=ones", "--dim=N=2", "i=-128", "u=255", "b=1"];
    let with = |more: &[&'static str]| {
        let replaced = |given: &&str| given.starts_with("--") || more.iter().all(|m| m[..2] != given[..2]);
        let kept = fit.into_iter().filter(replaced);
        ["run", program.as_str()]
            .into_iter()
            .chain(kept)
            .chain(more.iter().copied())
            .map(str::to_string)
            .collect()
    };
    let run = |arguments: Vec<String>| tj(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(stdout(&run(with(&[]))).contains("y = "));
    for (more, code, expected) in [
        (&["i=300"][..], 1, "input i: 300 is not i8, which is an integer from -128 to 127"),
        (&["i=1.7"], 1, "input i: 1.7 is not i8"),
        (&["i=nan"], 1, "input i: NaN is not i8"),
        (&["u=-1"], 1, "input u: -1 is not u8"),
        (&["b=7"], 1, "input b: 7 is not bool"),
        (&["q=7"], 1, "the program has no input q; its inputs are x, i, u, b"),
        (&["N=7"], 1, "N is a size, not an input; give it by --dim N=7"),
        (&["i=1", "i=2"], 1, "input i is given twice"),
        (&["--dim", "Q=9"], 1, "the program has no size Q; its sizes are N, M"),
        (&["--dim", "M=99"], 1, "size M is 99 (given), but its bounds are 0..=4"),
        (&["--sweep", "N=1,2"], 1, "size N is given by both --sweep and --dim"),
        (&["--max-bytes", "7B"], 3, "the call needs 8 bytes, but 7 are allowed"),
    ] {
        let output = run(with(more));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {text}");
        assert!(text.contains(expected), "{more:?}: {text}");
    }
    stdout(&tj(&["run", "x + 1", "x=rand:1:f32:K", "--dim", "K=3"]));
    check_error(&["run", "x", "x=1", "y=examples/x.npy"], 1, "no input y; its inputs are x");
    check_error(&["run", "x", "x=rand:1:f32:99999999999", "--max-bytes", "1MB"], 3, "1000000 are allowed");
}

#[test]
fn outputs_are_checked_before_the_run_and_archives_are_written() {
    let folder = Folder::new("outputs");
    let program = folder.file("p.tj", b"input x: f32[3]\noutput y = x\noutput z = x + 1\n");
    let to = |name: &str| folder.path(name);
    for (files, expected) in [
        (vec![format!("q={}", to("a.npy"))], "no output q; its outputs are y, z"),
        (vec![to("a.npy")], "the program has several outputs: y, z;"),
        (
            vec![format!("y={}", to("a.txt"))],
            "files that end in .txt are not known; supported are .npy, .npz",
        ),
        (vec![format!("y={}", to("a"))], "the name has no extension; supported are .npy, .npz"),
        (vec![format!("y={}", to("a.npy")), format!("z={}", to("./a.npy"))], "two outputs go to"),
    ] {
        let mut arguments = vec!["run", &program, "x=ones"];
        files.iter().for_each(|file| arguments.extend(["-o", file]));
        check_error(&arguments, 1, expected);
    }
    let (all, one) = (to("all.npz"), format!("z={}", to("one.npz")));
    stdout(&tj(&["run", &program, "x=ones", "-o", &all, "-o", &one]));
    assert_eq!(stdout(&tj(&["info", &all])).lines().count(), 2);
    assert!(stdout(&tj(&["info", &to("one.npz")])).starts_with("z: f32[3]"));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);
    let of_archive = |part: &str| format!("a={all}{part}");
    assert_eq!(numbers(&json(&["run", "a", &of_archive(":z"), "--json"])["result"]), [2.0; 3]);
    let expected = "one array was expected, and there are 2: [\"y\", \"z\"]; choose one, as in a=";
    check_error(&["run", "a", &of_archive("")], 1, expected);
    check_error(&["run", "a", &of_archive("")], 1, "all.npz:y");
    check_error(&["run", "a", &of_archive(":q")], 1, "all.npz has no array q; its arrays are y, z");
}

#[test]
fn inputs_are_stored_as_programs_declare() {
    let folder = Folder::new("declared");
    let program = b"size N\nsize M\ninput A: f64[N, M] csr\ninput x: f64[M]\n\
                    output y = A @ x\noutput B = (2 * A).with_format(\"csc\")\noutput C = to_dense(2 * A)\n";
    let program = folder.file("p.tj", program);
    let text = b"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 4\n2 1 -0.5\n";
    let matrix = format!("A={}", folder.file("a.mtx", text));
    assert_eq!(
        stdout(&tj(&["check", &program])),
        "input A: f64[N, M] csr fill 0.0\ninput x: f64[M]\noutput y: f64[N]\noutput B: f64[N, M] csc fill 0.0\n\
         output C: f64[N, M] dense(2)\n"
    );
    let b = format!("B={}", folder.path("b.npz"));
    let found = json(&["run", &program, &matrix, "x=ones", "--dim", "M=3", "-o", &b, "--json"]);
    assert_eq!(numbers(&found["y"]), [4.0, -0.5]);
    assert_eq!(numbers(&found["C"]), [0.0, 0.0, 8.0, -1.0, 0.0, 0.0]);
    assert!(stdout(&tj(&["info", &folder.path("b.npz")])).contains("csc, fill 0.0f64, 2 stored"));
    // Made data are dense, and converted.
    let swept = json(&[
        "run", &program, "A=ones", "x=ones", "--dim", "M=3", "--sweep", "N=1,2,5", "--report", "json",
    ]);
    assert_eq!((swept["compilations"].as_u64(), swept["runs"].as_array().map(Vec::len)), (Some(1), Some(3)));
    assert_eq!(numbers(&swept["runs"][1]["outputs"]["y"]), [3.0, 3.0]);
    let explained = stdout(&tj(&["explain", &program]));
    assert!(explained.contains("reads argument 0 as csr"), "{explained}");
    let kernels = stdout(&tj(&["explain", &program, "--stage", "kernel"]));
    assert!(kernels.matches("kernel ").count() >= 2, "{kernels}");
    let object = folder.path("p.o");
    check_error(
        &["build", &program, "-o", &object],
        1,
        "takes dense arrays, but `A` is stored by levels\n --> ",
    );
    check_error(&["build", &program, "-o", &object], 1, ":3:20\n");

    let other = b"input m: bool[4] {d0: compressed(u64)} fill True\noutput y = m";
    let other = folder.file("m.tj", other);
    assert_eq!(
        stdout(&tj(&["check", &other])),
        "input m: bool[4] {d0: compressed(u64)} fill True\noutput y: bool[4] {d0: compressed(u64)} fill True\n"
    );
    assert_eq!(
        stdout(&tj(&["run", &other, "m=ones:bool:4"])),
        "0 of 4 elements differ from true, stored as {d0: compressed(u64)}\n"
    );
    let of_fill = folder.file("f.tj", b"input A: f64[2, 3] coo(2) fill 1\noutput y = A");
    check_error(&["run", &of_fill, &matrix], 1, "input A has fill 0.0f64, declared 1.0f64");
    let cases = [
        ("input A: f64[2, 2] csrr", "csrr", "1:20"),
        ("input A: f64[2, 2] {d0: dense, d0: compressed}", "d0", "1:20"),
        ("input A: f64[2] csr", "with_format: csr has 2 dimensions, the tensor 1", "1:17"),
        ("input A: i32[2, 2] csr fill 0.5", "with_fill: 0.5f64 is no value of i32", "1:29"),
        ("input A: i32[2, 2] csr fill x", "`x` is not defined", "1:29"),
        ("input A: i32[2, 2] csr = 3", "expected the end of the line", "1:24"),
        ("input A: i32[2, 2]\noutput y = A.with_format(\"cssr\")", "cssr", "2:26"),
    ];
    for (source, message, place) in cases {
        let file = folder.file("wrong.tj", source.as_bytes());
        let output = tj(&["check", &file]);
        let found = String::from_utf8(output.stderr).unwrap();
        assert!(found.contains(message) && found.contains(&format!("wrong.tj:{place}\n")), "{found}");
    }
}

#[test]
fn sparse_files_are_read_written_converted_and_described() {
    let folder = Folder::new("sparse");
    let text = b"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 4\n2 1 -0.5\n";
    let (matrix, to) = (folder.file("x.mtx", text), |name: &str| folder.path(name));
    let input = format!("x={matrix}");
    assert_eq!(
        numbers(&json(&["run", "x * 2", &input, "--json"])["result"]),
        [0.0, 0.0, 8.0, -1.0, 0.0, 0.0]
    );
    stdout(&tj(&["run", "x.sum(0)", &input, "-o", &to("sum.tns")]));
    assert_eq!(std::fs::read_to_string(to("sum.tns")).unwrap(), "1 -0.5\n3 4.0\n");
    stdout(&tj(&["run", "x + 0", &input, "-o", &to("y.mtx")]));
    assert_eq!(
        std::fs::read_to_string(to("y.mtx")).unwrap(),
        "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 4.0\n2 1 -0.5\n"
    );
    let dense = tj(&["run", "x + 1", &input, "-o", &to("y.mtx")]);
    assert_eq!(stdout(&dense), "");
    let note = String::from_utf8(dense.stderr).unwrap();
    assert!(
        note.starts_with("note: result has ") && note.contains("y.mtx is dense: it lists all 2 x 3 elements"),
        "{note}"
    );
    assert_eq!(tj(&["run", "x * 2", &input, "-o", &to("twice.mtx")]).stderr, b"");
    assert_eq!(
        std::fs::read_to_string(to("y.mtx")).unwrap(),
        "%%MatrixMarket matrix array real general\n2 3\n1.0\n0.5\n1.0\n1.0\n5.0\n1.0\n"
    );
    stdout(&tj(&["run", "x * 2", &input, "-o", &to("twice.npy")]));
    assert!(stdout(&tj(&["info", &to("twice.npy")])).starts_with("f64[2, 3], RowMajor order"));
    let described = "f64[2, 3], coo(2), fill 0.0f64, 2 stored, 2 other than the fill, 16 + 8 bytes of levels, 16 bytes of \
                     values\n";
    assert_eq!(stdout(&tj(&["info", &matrix])), described);
    stdout(&tj(&["convert", &matrix, &to("x.npz"), "--format", "csr"]));
    assert!(stdout(&tj(&["info", &to("x.npz")])).starts_with("f64[2, 3], csr, fill 0.0f64, 2 stored"));
    let again = format!("x={}", to("x.npz"));
    assert_eq!(numbers(&json(&["run", "x.sum()", &again, "--json"])["result"]), [3.5]);
    check_error(
        &["convert", &matrix, &to("x.npy")],
        1,
        "a .npy file cannot hold the format coo(2); give --format dense to write every element",
    );
    stdout(&tj(&["convert", &matrix, &to("x.npy"), "--format", "dense"]));
    assert_eq!(stdout(&tj(&["info", &to("x.npy")])), "f64[2, 3], RowMajor order, 48 bytes\n");
    stdout(&tj(&["convert", &to("x.npz"), &to("z.mtx.gz")]));
    assert_eq!(stdout(&tj(&["info", &to("z.mtx.gz")])), described);
    check_error(&["run", "sort(x)", &input, "--max-bytes", "40B"], 3, "40 are allowed");
    let far =
        b"%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 2\n1 1 5\n4000000000 3 7\n";
    let far = format!("x={}", folder.file("far.mtx", far));
    let twice = json(&["run", "x * 2", &far, "--json"]);
    assert_eq!(numbers(&twice["result"]), [10.0, 14.0]);
    assert_eq!(twice["result"]["coordinates"].to_string(), "[[0,3999999999],[0,2]]");
    // Dense lists of positions would take 32 GB.
    assert_eq!(numbers(&json(&["run", "x.T[0, 0] + x.sum()", &far, "--json"])["result"]), [17.0]);
    let explained = stdout(&tj(&["explain", "x @ y", &input, "y=rand:1:f64:3"]));
    assert!(explained.contains("step 0: q0 from argument 0, argument 1: walks i0"), "{explained}");
    for name in ["x.h5", "x.unknown"] {
        let supported = "supported are .npy, .npz, .safetensors, .mtx, .mtx.gz, .tns, .tns.gz";
        check_error(&["run", "x", &format!("x={}", to(name))], 1, supported);
        check_error(&["info", &to(name)], 1, supported);
        check_error(&["convert", &matrix, &to(name)], 1, supported);
    }
}

#[test]
fn a_build_overwrites_neither_its_program_nor_itself() {
    let folder = Folder::new("build");
    let text = b"input x: f32[3]\noutput y = x\n";
    let program = folder.file("p.tj", text);
    let to = |name: &str| folder.path(name);
    for (output, header, expected) in [
        (to("p.tj"), None, "the object file would overwrite the program"),
        (to("./p.tj"), None, "the object file would overwrite the program"),
        (to("p.o"), Some(to("p.tj")), "the header would overwrite the program"),
        (to("p.h"), None, "the header would overwrite the object file"),
        (to("p.o"), Some(to("./p.o")), "the header would overwrite the object file"),
        (to("p.so"), None, "then `cc -shared -o"),
        (to("p.a"), None, "then `ar rcs"),
    ] {
        let mut arguments = vec!["build", &program, "-o", &output];
        arguments.extend(header.iter().flat_map(|header| ["--header", header]));
        check_error(&arguments, 1, expected);
        assert_eq!(std::fs::read(&program).unwrap(), text);
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}

#[test]
fn messages_name_places_that_the_user_knows() {
    let folder = Folder::new("messages");
    let guard = folder.file("g.tj", b"size N\ninput x: f32[N]\noutput y = x.reshape((2, N // 2))\n");
    let output = tj(&["run", &guard, "x=ones", "--dim", "N=5"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.ends_with("needed by reshape of [N] to [2, floordiv(N, 2)]\n"), "{text}");
    let latin = folder.file("l.tj", b"input x: f32[3]\n# caf\xe9\noutput x\n");
    check_error(&["check", &latin], 1, "l.tj:2:6: the text is not UTF-8: byte 0xe9");
    let start = folder.file("s.npy", b"\x93NUMPY");
    check_error(&["info", &start], 1, "found the beginning of one, cut off after 6 bytes");
    let output = tj(&["run", "x.T()", "x=1"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("write `.T` without parentheses") && !text.contains("did you mean"), "{text}");
}

#[cfg(unix)]
#[test]
fn devices_and_directories_are_not_read() {
    check_error(&["info", "/dev/zero"], 1, "/dev/zero: cannot read: neither a regular file nor a pipe");
    check_error(&["run", "x", "x=/dev/zero"], 1, "/dev/zero: cannot read: neither a regular file nor a pipe");
    check_error(&["info", "/"], 1, "/: cannot read: is a directory");
}

#[test]
fn sizes_may_depend_on_values() {
    let shown = |arguments: &[&str]| stdout(&tj(arguments));
    let x = "x=ones:f64:2,3";
    assert_eq!(shown(&["run", "x[x > 0].sum()", x]), "6.0\n");
    assert_eq!(shown(&["run", "nonzero(x)[1]", x]), "[0 1 2 0 1 2]\n");
    assert_eq!(shown(&["run", "unique_counts(x)", x]), "result_0 = [1.]\nresult_1 = [6]\n");
    assert!(
        shown(&["explain", "x[x > 0] * 2", x])
            .contains("select:\n  masked(bool[2, 3], f64[2, 3]) -> f64[masked(..)]")
    );
}
