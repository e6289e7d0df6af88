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
