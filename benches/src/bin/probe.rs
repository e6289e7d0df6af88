use std::time::Instant;
use tensorjit::*;
fn rnd(s: &mut u64) -> u64 {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    *s >> 11
}
fn csr(n: usize, m: usize, per: usize, seed: u64) -> Tensor {
    let mut s = seed | 1;
    let mut pos = vec![0u32];
    let mut idx: Vec<u32> = vec![];
    let mut v: Vec<f32> = vec![];
    for _ in 0..n {
        let mut row: Vec<u32> = (0..per).map(|_| (rnd(&mut s) % m as u64) as u32).collect();
        row.sort();
        row.dedup();
        for c in row {
            idx.push(c);
            v.push(((rnd(&mut s) % 1000) as f32 + 0.5) / 500.0 - 1.0);
        }
        pos.push(idx.len() as u32);
    }
    Tensor::csr([n, m], pos, idx, v).unwrap()
}
fn time(what: &str, e: &LazyTensor) {
    if std::env::var("EXPLAIN").is_ok() { println!("{}", explain(e).unwrap()); return; }
    let t = Instant::now();
    let r = compute(e).unwrap();
    let cold = t.elapsed();
    let mut best = vec![];
    for _ in 0..9 {
        let t = Instant::now();
        let r = compute(e).unwrap();
        best.push(t.elapsed());
        drop(r);
    }
    best.sort();
    println!(
        "{what}: cold {cold:.2?} median {:.3?} min {:.3?} stored {} nnz {}",
        best[4],
        best[0],
        r.stored().is_some(),
        r.stored_count()
    );
}
fn main() {
    let which: Vec<String> = std::env::args().skip(1).collect();
    let want = |n: &str| which.is_empty() || which.iter().any(|w| w == n);
    if want("s1") {
        let n = 1_000_000;
        let a = csr(n, n, 16, 1);
        let x = tj_benches::random(&[n], 3).unwrap();
        time("s1 spmv", &defer(&a).matmul(&defer(&x)));
    }
    if want("s2") {
        let n = 100_000;
        let a = csr(n, n, 16, 1);
        let x = tj_benches::random(&[n, 64], 3).unwrap();
        time("s2 spmm", &defer(&a).matmul(&defer(&x)));
    }
    if want("s3") {
        let n = 20_000;
        let s = csr(n, n, 16, 1);
        let a = tj_benches::random(&[n, 64], 3).unwrap();
        let b = tj_benches::random(&[64, n], 3).unwrap();
        time("s3 sddmm", &(defer(&s) * defer(&a).matmul(&defer(&b))));
    }
    if want("s4") {
        let n = 100_000;
        let a = csr(n, n, 8, 1);
        let b = csr(n, n, 8, 2);
        time("s4 spgemm", &defer(&a).matmul(&defer(&b)));
    }
    if want("s7") {
        let n = 200_000;
        let a = csr(n, n, 16, 1);
        let b = csr(n, n, 16, 2);
        let c = csr(n, n, 16, 5);
        time("s7 (a+b)*c", &((defer(&a) + defer(&b)) * defer(&c)));
        time("s13 a+b", &(defer(&a) + defer(&b)));
    }
    if want("s14") {
        let n = 3000;
        let a = csr(n, n, 30, 1);
        let d = tj_benches::random(&[n, n], 3).unwrap();
        time("s14 d+s", &(defer(&d) + defer(&a)));
    }
    if want("s15") {
        let n = 500_000;
        let a = csr(n, n, 16, 1);
        let x = tj_benches::random(&[n], 3).unwrap();
        time("s15 a.T x", &defer(&a).transpose().matmul(&defer(&x)));
    }
    if want("s20") {
        let n = 200_000;
        let a = csr(n, 1000, 16, 1);
        let r = defer(&a) / defer(&a).sum(axis(1).keepdims());
        time("s20", &r.var(0, 0.0));
    }
    if want("tiny") {
        let n = 10;
        let a = csr(n, n, 3, 1);
        let x = tj_benches::random(&[n], 3).unwrap();
        let e = defer(&a).matmul(&defer(&x));
        time("tiny spmv", &e);
        time("tiny a+a", &(defer(&a) + defer(&a)));
    }
}
