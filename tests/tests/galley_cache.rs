//! The scheduler that reads data plans for statistics, and programs that differ share kernels.
//!
//! The counters are those of the process, so that this is one test.

use tensorjit::{
    CompileOptions, Format, GalleyScheduler, LazyTensor, Scalar, Surprise, Tensor, cache_report, clear_cache,
    compute_as, defer, einop, set_kept_bytes,
};
use tj_tests::engines::scheduled;
use tj_tests::rng::Rng;
use tj_tests::whole::{matrix, values};

#[test]
fn plans_and_kernels_are_kept() {
    plans_are_kept_for_statistics();
    what_is_left_is_decided_once();
    labelled_patterns_share_kernels();
}

/// Other data of about as many entries is the same code; much more of it is planned anew.
fn plans_are_kept_for_statistics() {
    let rng = &mut Rng::new(3);
    let run = |a: &Tensor, b: &Tensor| {
        let program = defer(a).matmul(&defer(b)).sum(());
        let before = cache_report().compilations;
        let (result, _) =
            compute_as(&program, &scheduled(GalleyScheduler::default())).expect("the program is right");
        let compilations = cache_report().compilations - before;
        let (expected, _) = compute_as(&program, &CompileOptions::default()).expect("the program is right");
        assert_eq!(values(&result), values(&expected));
        compilations
    };
    let b = matrix(rng, 40, 40, 300);
    assert_eq!(run(&matrix(rng, 40, 40, 300), &b), 1);
    assert_eq!(run(&matrix(rng, 40, 40, 310), &b), 0);
    assert_eq!(run(&matrix(rng, 40, 40, 20), &b), 1);
}

fn what_is_left_is_decided_once() {
    let n = 500;
    let rng = &mut Rng::new(41);
    let a = matrix(rng, n, n, 1500);
    // Equal where something is stored, so that the product has more entries than counts let one expect.
    let (b, _) = compute_as(defer(&a) * defer(&a), &CompileOptions::default()).expect("the program is right");
    let (c, d) = (matrix(rng, n, n, 15_000), matrix(rng, n, n, 15_000));
    let e = matrix(rng, n, 50, 10_000);
    let run = |surprise: Surprise| {
        let product = (defer(&a) * defer(&b)).matmul(&defer(&c)).matmul(&defer(&d)).matmul(&defer(&e));
        let before = cache_report().kernels_compiled;
        let options = scheduled(GalleyScheduler::default().surprised_by(surprise));
        let (_, report) = compute_as(product, &options).expect("the program is right");
        (report.decided_again, cache_report().kernels_compiled > before)
    };
    let stubborn = Surprise { times: u64::MAX, ..Surprise::default() };
    clear_cache();
    assert_eq!(run(stubborn), (0, true));
    let bytes = cache_report().bytes;
    clear_cache();
    assert_eq!(run(Surprise::default()), (1, true));
    assert_eq!(run(Surprise::default()), (1, false));
    // What was decided on is part of the program: of what it takes, and of what it keeps and gives back.
    assert!(cache_report().bytes > bytes, "{} and {bytes}", cache_report().bytes);
    assert!(cache_report().kept_bytes > 0);
    set_kept_bytes(0);
    compute_as(defer(&a).sum(()), &CompileOptions::default()).expect("the program is right");
    assert_eq!(cache_report().kept_bytes, 0);
    set_kept_bytes(1 << 30);
}

/// Sixty patterns of up to five vertices, each of which has one of four labels, take two hundred steps and need eighty kernels:
/// vectors come spread or as lists, whichever takes less.
fn labelled_patterns_share_kernels() {
    clear_cache();
    let rng = &mut Rng::new(5);
    let graph = defer(&matrix(rng, 600, 600, 5000));
    let label = |rng: &mut Rng, percent: usize| {
        let marks: Vec<f64> = (0..600).map(|_| f64::from(u8::from(rng.chance(percent)))).collect();
        let marks = Tensor::from(marks).with_fill(Some(Scalar::from(0.0))).expect("the fill is a float");
        defer(&marks.with_format(&Format::coo(1)).expect("a list of one dimension"))
    };
    let labels = [30, 10, 5, 2].map(|percent| label(rng, percent));
    let names = ["U", "V", "W", "X"];
    let patterns = [
        ("ijk", "A[i,j] * A[j,k]"),
        ("ijkl", "A[i,j] * A[j,k] * A[k,l]"),
        ("ijklm", "A[i,j] * A[j,k] * A[k,l] * A[l,m]"),
        ("ijkl", "A[i,j] * A[i,k] * A[i,l]"),
        ("ijklm", "A[i,j] * A[j,k] * A[j,l] * A[i,m]"),
        ("ijk", "A[i,j] * A[j,k] * A[i,k]"),
        ("ijkl", "A[i,j] * A[j,k] * A[k,l] * A[i,l]"),
        ("ijkl", "A[i,j] * A[j,k] * A[i,k] * A[k,l]"),
    ];
    let program = |rng: &mut Rng, number: usize| {
        let (vertices, edges) = patterns[number % patterns.len()];
        let mut text = format!("p[] += {edges}");
        for vertex in vertices.chars() {
            text += &format!(" * {}[{vertex}]", names[rng.below(4)]);
        }
        let mut arguments = vec![("A", &graph)];
        let is_named = |(name, _): &(&str, _)| text.contains(&format!("{name}["));
        arguments.extend(names.into_iter().zip(&labels).filter(is_named));
        (einop(&text, &arguments), text)
    };
    let programs: Vec<(LazyTensor, String)> = (0..60).map(|number| program(rng, number)).collect();
    let before = cache_report().kernels_compiled;
    let run = |(program, _): &(LazyTensor, String)| {
        let options = scheduled(GalleyScheduler::default());
        compute_as(program, &options).expect("the program is right").0
    };
    let counts: Vec<Tensor> = programs.iter().map(run).collect();
    let compiled = cache_report().kernels_compiled - before;
    assert!(compiled <= 80, "{compiled} kernels");
    for ((program, text), count) in programs.iter().zip(&counts) {
        let (expected, _) = compute_as(program, &CompileOptions::default()).expect("the program is right");
        assert_eq!(values(count), values(&expected), "{text}");
    }
}
