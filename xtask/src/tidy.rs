//! House rules that a compiler does not check.
//!
//! * Imports point down: each crate depends on exactly the crates of ours that [`LAYERS`] allows.
//! * No file of source is longer than [`MAX_LINES`] lines.
//! * Files that hold unsafe code are the ones in [`UNSAFE_FILES`].

use std::fs;
use std::path::{Path, PathBuf};

/// Crates, bottom up, and the crates of ours that each may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("tj-tensor", &[]),
    ("tj-ir", &["tj-tensor"]),
    ("tj-library", &["tj-tensor", "tj-ir"]),
    ("tj-memory", &[]),
    ("tj-plan", &["tj-tensor", "tj-ir", "tj-library"]),
    ("tj-galley", &["tj-tensor", "tj-ir", "tj-plan"]),
    ("tj-kernel", &["tj-tensor", "tj-ir", "tj-library", "tj-plan"]),
    ("tj-codegen-c", &["tj-tensor", "tj-ir", "tj-kernel"]),
    ("tj-codegen-cranelift", &["tj-tensor", "tj-ir", "tj-kernel"]),
    (
        "tj-runtime",
        &[
            "tj-tensor",
            "tj-ir",
            "tj-library",
            "tj-plan",
            "tj-galley",
            "tj-kernel",
            "tj-memory",
            "tj-codegen-c",
            "tj-codegen-cranelift",
        ],
    ),
    ("tj-io", &["tj-tensor"]),
    ("tj-macros", &[]),
    (
        "tensorjit",
        &[
            "tj-macros",
            "tj-tensor",
            "tj-ir",
            "tj-library",
            "tj-plan",
            "tj-kernel",
            "tj-memory",
            "tj-runtime",
            "tj-io",
        ],
    ),
    ("tj-cli", &["tensorjit"]),
];

/// A file longer than this holds more than one idea.
const MAX_LINES: usize = 800;

/// Where code is loaded and called, or memory crosses into it.
const UNSAFE_FILES: &[&str] = &[
    "crates/tj-codegen-cranelift/src/executable.rs",
    "crates/tj-runtime/src/crew.rs",
    "crates/tj-runtime/src/host.rs",
    "crates/tj-runtime/src/host/call.rs",
    "crates/tj-runtime/src/host/small.rs",
    "crates/tj-runtime/src/place.rs",
    "crates/tj-runtime/src/run.rs",
    "crates/tj-runtime/src/toolchain/load.rs",
];

/// Checks every rule and reports every finding.
pub fn tidy(root: &Path) -> Result<(), String> {
    let mut findings = Vec::new();
    layers(root, &mut findings)?;
    for file in sources(&root.join("crates"))? {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let lines = text.lines().count();
        if lines > MAX_LINES {
            findings.push(format!("{name} has {lines} lines, more than {MAX_LINES}"));
        }
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs") || name.contains("/examples/");
        let unsafe_code = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or("");
            code.contains("unsafe {") || code.contains("unsafe impl") || code.contains("unsafe fn")
        });
        if unsafe_code && !is_test && !UNSAFE_FILES.contains(&name.as_str()) {
            findings.push(format!("{name} holds unsafe code, but is not one of the files that may"));
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
}

fn layers(root: &Path, findings: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join("crates");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
            findings.push(format!("crate {name} is not in the table of layers"));
            continue;
        };
        let manifest = folder.join(&name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
        let table: toml::Table = text.parse().map_err(|e| format!("{}: {e}", manifest.display()))?;
        let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
        for dependency in dependencies.into_iter().flat_map(toml::Table::keys) {
            let ours = dependency.starts_with("tj-") || dependency == "tensorjit";
            if ours && !allowed.contains(&dependency.as_str()) {
                findings.push(format!("crate {name} must not know {dependency}"));
            }
        }
    }
    Ok(())
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
