//! What is told of programs: stages, decisions, the arena, times.
#![cfg(feature = "cranelift")]
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use tj_ir::{Dim, LazyTensor, defer, input};
use tj_runtime::{CompileOptions, CompiledGraph, Stage, compute_timed, explain, explain_with};
use tj_tensor::{DType, Tensor};

fn full(shape: &[usize]) -> Tensor {
    Tensor::full(shape, 1.0).unwrap()
}

/// `sum(x / 2 + x.max(1))`: an inlined query, and others that are numbered anew.
fn program(n: usize) -> LazyTensor {
    let x = defer(&full(&[n, 3]));
    ((&x / 2).exp() + x.sum(()).exp()).sum(1)
}

/// Every tag that opens closes, in order; quotes come in pairs; no text has a bare `&`.
fn check_well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "{}", &rest[..at]);
        for entity in rest[..at].split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known));
            assert!(known, "&{entity}");
        }
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_page_has_every_stage() {
    let n = Dim::new("N", 1..=4096).unwrap();
    let x = input("x", DType::F32, [n.clone(), n]).unwrap();
    let y = x.matmul(&x).matmul(&x).matmul(&x).relu().sum(1);
    let (graph, mut explanation) = CompiledGraph::explained(&[y], CompileOptions::default()).unwrap();
    let arena = explanation.arena.clone().unwrap();
    assert_eq!(arena.sizes, [("N".to_string(), 64)]);
    assert!(arena.bytes > 0 && arena.bytes <= arena.unreused_bytes && arena.bound_bytes <= arena.bytes);
    let ends = arena.pieces.iter().map(|piece| piece.offset + piece.bytes);
    assert_eq!(ends.max(), Some(arena.bytes));

    let data = Tensor::full([7, 7], 0.5_f32).unwrap();
    let (_, report) = graph.call_timed(&[], &[("x", &data)]).unwrap();
    graph.explain_run(&mut explanation, &report);
    assert_eq!(explanation.arena.as_ref().unwrap().sizes, [("N".to_string(), 7)]);
    assert_eq!(explanation.times.len() as u64, report.kernels);

    let page = explanation.to_html();
    check_well_formed(&page);
    for stage in Stage::ALL {
        assert!(page.contains(&format!("<section id=\"{}\">", stage.name())), "{}", stage.name());
    }
    for wanted in ["<svg", "<section id=\"run\">", "function ", "void", "<details>"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("<script") && explanation.decisions.iter().all(|d| page.contains(d.rule)));
}

#[test]
fn decisions_name_queries_as_the_plan_does() {
    let text = explain(program(4)).unwrap().stage("fuse").unwrap();
    let anew = text.lines().find(|line| line.starts_with("numbered anew: ")).unwrap();
    let plan = explain(program(4)).unwrap().stage("plan").unwrap();
    for word in anew["numbered anew: ".len()..].split(", ") {
        let (old, new) = word.split_once(" is now ").unwrap();
        assert!(plan.contains(&format!("{old} ")), "{plan}");
        assert!(text.contains(&format!("{new} ")), "{text}");
    }
    assert!(text.lines().take_while(|line| line.starts_with("because q")).count() > 0, "{text}");
}

#[test]
fn times_are_measured_on_demand() {
    let (values, report) = compute_timed((program(4), 7)).unwrap();
    assert_eq!((values.0.shape(), values.1), (&[4][..], 7));
    assert_eq!(report.kernel_times.len() as u64, report.kernels);
}

/// The same without data, and by other schedulers.
#[test]
fn symbolic_programs_are_explained() {
    let x = input("x", DType::F64, [3.into()]).unwrap();
    let both = (x.exp(), x.sum(()));
    let explained = explain(&both.0).unwrap();
    assert!(explained.cache.is_none() && explained.stage("plan").unwrap().contains("exp"));
    let options = CompileOptions { fuse: false, ..CompileOptions::default() };
    let explained = explain_with(&[both.0, both.1], options).unwrap();
    assert_eq!((explained.kernels.len(), explained.stage("nothing")), (2, None));
}
