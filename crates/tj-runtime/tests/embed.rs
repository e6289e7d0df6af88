//! A C program embeds a compiled program through its object file and header.
#![cfg(all(feature = "cranelift", feature = "c"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use tj_ir::{Dim, input};
use tj_runtime::toolchain::Toolchain;
use tj_runtime::{CompileOptions, CompiledGraph};
use tj_tensor::{DType, Tensor};

const MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "net.h"

int main(void) {
  for (int64_t n = 0; n <= 5; n += 5) {
    net_sizes sizes = {.N = n, .K = 1000 * n};
    if (net_check(&sizes) != 0) return 1;
    float x[15], w[6] = {1, -1, 2, -2, 3, -3}, y[5];
    static float v[5000];
    float total[1];
    for (int k = 0; k < 15; k++) x[k] = (float)k;
    for (int k = 0; k < 5000; k++) v[k] = (float)(k % 7);
    size_t bytes = net_workspace(&sizes);
    void *workspace = aligned_alloc(64, bytes + 64);
    net_arrays arrays = {.in_x = x, .in_w = w, .in_v = v, .out_y = y, .out_total = total};
    if (net_run(&sizes, &arrays, workspace) != 0) return 2;
    for (int64_t k = 0; k < n; k++) printf("%.1f\n", (double)y[k]);
    printf("%.1f\n", (double)total[0]);
    free(workspace);
  }
  net_sizes wrong = {.N = 9};
  return net_check(&wrong) == 0 ? 3 : 0;
}
"#;

/// Compiles a C program and links it with objects.
fn build(folder: &Path, source: &str, objects: &[&str]) {
    fs::write(folder.join("main.c"), source).expect("the folder is ours");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = compiler.split_whitespace();
    let status = Command::new(words.next().unwrap_or("cc"))
        .args(words)
        .args(["-std=c11", "-Wall", "-Werror", "-ffp-contract=off", "-o", "main", "main.c"])
        .args(objects)
        .arg("-lm")
        .current_dir(folder)
        .status()
        .expect("there is a compiler");
    assert!(status.success());
}

#[test]
fn a_c_program_calls_an_exported_one() {
    if let Err(error) = Toolchain::from_env() {
        eprintln!("skipped: no C compiler to embed with ({error})");
        return;
    }
    let n = Dim::new("N", 0..=8).unwrap();
    let x = input("x", DType::F32, [n, 3.into()]).unwrap();
    let w = input("w", DType::F32, [3.into(), 2.into()]).unwrap();
    let y = (x.matmul(&w) * 0.5).relu().sum(1);
    let v = input("v", DType::F32, [Dim::new("K", 0..=8192).unwrap()]).unwrap();
    let graph = CompiledGraph::new(&[y, v.sum(())], CompileOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    graph.export_object(path("net.o"), path("net.h"), &["y", "total"]).unwrap();
    build(folder.path(), MAIN, &["net.o"]);
    let output = Command::new(path("main")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let x = Tensor::from_shape_vec([5, 3], (0..15).map(|k| k as f32).collect::<Vec<_>>()).unwrap();
    let w = Tensor::from_shape_vec([3, 2], vec![1.0_f32, -1.0, 2.0, -2.0, 3.0, -3.0]).unwrap();
    let v = Tensor::from_shape_vec([5000], (0..5000).map(|k| (k % 7) as f32).collect::<Vec<_>>()).unwrap();
    let here = graph.call(&[("x", &x), ("w", &w), ("v", &v)]).unwrap();
    let here: Vec<f32> = here.iter().flat_map(|y| y.to_vec::<f32>().unwrap()).collect();
    let expected: String = [0.0].iter().chain(&here).map(|v| format!("{v:.1}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!(here[0], 4.0);
}

#[test]
fn object_names_are_c_names() {
    let x = input("x", DType::F32, [Dim::from(2)]).unwrap();
    let graph = CompiledGraph::new(&[x.exp()], CompileOptions::default()).unwrap();
    let error = graph.export_object("no-name.o", "no-name.h", &[]).unwrap_err();
    assert_eq!(error.to_string(), "no-name.o: the name before the extension must be a C identifier");
}

fn doubled() -> CompiledGraph {
    let x = input("x", DType::F32, [Dim::from(2)]).expect("the program is right");
    CompiledGraph::new(&[x * 2.0], CompileOptions::default()).expect("the program is right")
}

const TWO: &str = r#"
#include "one.h"
#include "two.h"

int main(void) {
  one_sizes s1 = {0};
  two_sizes s2 = {0};
  float x[2] = {1, 2}, y[2], z[2];
  one_arrays a1 = {.in_x = x, .out_int = y};
  two_arrays a2 = {.in_x = y, .out_0 = z};
  if (one_check(&s1) || two_check(&s2) || one_run(&s1, &a1, 0) || two_run(&s2, &a2, 0)) return 1;
  return z[0] == 4 && z[1] == 8 ? 0 : 2;
}
"#;

#[test]
fn two_programs_are_linked_into_one() {
    if let Err(error) = Toolchain::from_env() {
        eprintln!("skipped: no C compiler to embed with ({error})");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, outputs) in [("one", &["int"][..]), ("two", &[])] {
        let path = |extension: &str| folder.path().join(name).with_extension(extension);
        doubled().export_object(path("o"), path("h"), outputs).unwrap();
    }
    build(folder.path(), TWO, &["one.o", "two.o"]);
    assert!(Command::new(folder.path().join("main")).status().unwrap().success());
}

#[test]
fn both_files_are_written_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("folder")).unwrap();
    for (header, problem) in [
        ("net.o", "net.o: the object and its header need two files"),
        ("folder/../net.o", "net.o: the object and its header need two files"),
        ("folder", "folder: is a directory"),
        ("missing/net.h", "No such file or directory (os error 2)"),
    ] {
        let error = doubled().export_object(path("net.o"), path(header), &[]).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{header}");
    }
    doubled().export_object(path("net.o"), path("net.h"), &[]).unwrap();
    doubled().export_object(path("net.o"), path("net.h"), &["again"]).unwrap();
    assert!(fs::read_to_string(path("net.h")).unwrap().contains("*out_again;"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
