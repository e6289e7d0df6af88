//! How long compiling takes.

use criterion::{Criterion, criterion_group, criterion_main};
use tensorjit::{CompileOptions, CompiledGraph, DType, Dim, input};
use tj_benches::matmul_chain;

fn compile(c: &mut Criterion) {
    let chain = matmul_chain().expect("the program is valid");
    c.bench_function("compile/matmul_chain", |b| {
        b.iter(|| CompiledGraph::new(std::slice::from_ref(&chain), CompileOptions::default()));
    });
    let n = Dim::new("N", ..).expect("N is a name");
    let mut long = input("x", DType::F32, [n]).expect("x is a name");
    for _ in 0..5000 {
        long = long * 0.5 + 1.0;
    }
    c.bench_function("compile/10000_operations", |b| {
        b.iter(|| CompiledGraph::new(std::slice::from_ref(&long), CompileOptions::default()));
    });
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = compile }
criterion_main!(benches);
