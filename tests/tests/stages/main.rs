//! Sizes that depend on values: results are those of NumPy, on every engine, with code of other counts and with fresh code;
//! what is compiled, and what is computed twice.
//!
//! `expected.py` says what each case gives for some pairs of sizes, 0 and 1 among them.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use tensorjit::{
    CompileOptions, CompiledGraph, Complex, DType, Duplicates, Error, Indexing, InterpretKernel,
    InterpretPlan, LazyTensor, MaxBytes, Order, Scheduler, Stage, Tensor, Unfused, arange, at, cache_report,
    clear_cache, complex, compute, compute_as, compute_reported, compute_with, concat, defer, eager, explain,
    input, meshgrid, size, where_,
};
use tj_tests::chaos::engines;

/// The cache is one: what counts compilations, or clears it, runs alone.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Data as in `expected.py`.
#[derive(Clone, Copy)]
struct Data {
    n: usize,
    m: usize,
}

impl Data {
    fn of(self, name: &str, shape: &str, dtype: DType) -> LazyTensor {
        let extent = |letter: char| match letter {
            'n' => self.n,
            'm' => self.m,
            digit => digit.to_digit(10).unwrap() as usize,
        };
        let shape: Vec<usize> = shape.chars().map(extent).collect();
        let seed = i64::from(name.as_bytes()[0]);
        let value = |i: i64| {
            let v = (i * 37 + seed * 11 + 5).rem_euclid(7) - 3;
            match v {
                _ if dtype.is_bool() => f64::from(u8::from(v % 3 == 0)),
                _ if !dtype.is_float() => v as f64,
                3 => f64::NAN,
                0 if i % 2 == 1 => -0.0,
                v => v as f64 / 2.0,
            }
        };
        let count: usize = shape.iter().product();
        let values: Vec<f64> = (0..count as i64).map(value).collect();
        let whole = if dtype.is_int() { DType::I64 } else { DType::F64 };
        let values = Tensor::from_shape_vec(shape, values).unwrap().cast(whole).unwrap();
        defer(values.cast(dtype).unwrap())
    }

    fn f(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::F64)
    }

    fn g(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::F32)
    }

    fn i(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::I64)
    }

    fn w(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::I8)
    }

    fn u(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::U16)
    }

    fn b(self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::Bool)
    }

    fn z(self, name: &str, shape: &str) -> LazyTensor {
        complex(self.i(name, shape).cast(DType::F64), self.i(&name.to_uppercase(), shape).cast(DType::F64))
    }
}

type Case = (&'static str, fn(Data) -> Vec<LazyTensor>);

const CASES: &[Case] = &[
    ("nonzero", |d| d.i("a", "nm").nonzero()),
    ("nonzero_float", |d| d.f("a", "nm2").nonzero()),
    ("nonzero_bool", |d| d.b("a", "n").nonzero()),
    ("nonzero_complex", |d| d.z("a", "nm").nonzero()),
    ("argwhere", |d| vec![d.i("a", "nm").greater(0).argwhere()]),
    ("argwhere_of_one", |d| vec![d.i("a", "nm").sum(()).argwhere()]),
    ("masked", |d| vec![d.f("a", "nm").masked(&d.b("b", "nm"))]),
    ("masked_rows", |d| vec![d.i("a", "nm").masked(&d.b("b", "n"))]),
    ("masked_slices", |d| vec![d.w("a", "nm3").masked(&d.b("b", "nm"))]),
    ("masked_complex", |d| vec![d.z("a", "nm").masked(&d.b("b", "nm"))]),
    ("masked_bool", |d| vec![d.b("a", "nm").masked(&d.b("b", "nm"))]),
    ("masked_u16", |d| vec![d.u("a", "nm").masked(&d.b("b", "nm"))]),
    ("masked_f32", |d| vec![d.g("a", "nm").masked(&d.g("a", "nm").greater(0))]),
    ("masked_whole", |d| vec![d.i("a", "nm").masked(&d.i("b", "nm").sum(()).greater(0))]),
    ("masked_computed", |d| {
        let a = d.f("a", "nm");
        vec![(&a * 2 + 1).masked(&a.less(d.f("b", "m")))]
    }),
    ("masked_transposed", |d| vec![d.i("a", "nm").transpose().masked(&d.b("b", "mn"))]),
    ("compress", |d| vec![d.i("a", "nm").compress(&d.i("b", "m"), 1)]),
    ("compress_first", |d| vec![d.i("a", "nm2").compress(&d.b("b", "n"), 0)]),
    ("compress_flat", |d| vec![d.i("a", "nm").compress(&d.b("b", "nm").flatten(), None)]),
    ("repeat", |d| vec![d.i("a", "nm").repeat(d.i("b", "m").abs(), 1)]),
    ("repeat_first", |d| vec![d.f("a", "nm").repeat(d.w("b", "n").abs(), 0)]),
    ("repeat_flat", |d| vec![d.w("a", "nm").repeat(d.i("b", "nm").abs().flatten(), None)]),
    ("repeat_one", |d| vec![d.i("a", "nm").repeat(d.i("b", "1").abs(), 0)]),
    ("repeat_complex", |d| vec![d.z("a", "nm").repeat(d.i("b", "n").abs(), 0)]),
    ("repeat_negative", |d| vec![d.i("a", "nm").repeat(d.i("b", "m") - 9, 1)]),
    ("unique_values", |d| vec![d.i("a", "nm").unique_values()]),
    ("unique_float", |d| vec![d.f("a", "nm").unique_values()]),
    ("unique_f32", |d| vec![d.g("a", "nm3").unique_values()]),
    ("unique_bool", |d| two(d.b("a", "nm").unique_counts())),
    ("unique_i8", |d| two(d.w("a", "nm").unique_counts())),
    ("unique_u16", |d| two(d.u("a", "nm").unique_counts())),
    ("unique_inverse", |d| two(d.i("a", "nm").unique_inverse())),
    ("unique_inverse_float", |d| {
        let a = d.f("a", "nm");
        two(where_(&a.isnan(), 7.0, &a).unique_inverse())
    }),
    ("unique_all", |d| all(&d.i("a", "nm2"))),
    ("unique_complex", |d| all(&d.z("a", "nm"))),
    ("unique_of_one", |d| all(&d.i("a", "nm").sum(()))),
    ("mask_of_mask", |d| {
        let x = d.i("a", "nm").masked(&d.b("b", "nm"));
        vec![x.masked(&x.greater(0))]
    }),
    ("mask_of_mask_of_mask", |d| {
        let x = d.i("a", "nm").masked(&d.b("b", "nm"));
        let y = x.masked(&x.greater(-2)) * 3;
        vec![y.masked(&y.less(6)) + 1]
    }),
    ("unique_of_mask", |d| two(d.i("a", "nm").masked(&d.b("b", "nm")).unique_counts())),
    ("sum_of_mask", |d| vec![d.i("a", "nm").masked(&d.b("b", "nm")).sum(())]),
    ("rows_of_mask", |d| vec![(d.i("a", "nm").masked(&d.b("b", "n")) * d.i("c", "m")).sum(0)]),
    ("nonzero_take", |d| vec![d.i("a", "nm").take(&d.b("b", "n").nonzero()[0], 0)]),
    ("two_masks", |d| {
        let mask = d.b("b", "nm");
        vec![d.i("a", "nm").masked(&mask) - d.i("c", "nm").masked(&mask) * 2]
    }),
    ("outer_of_masks", |d| {
        let (rows, columns) = (d.i("a", "n").masked(&d.b("b", "n")), d.i("c", "m").masked(&d.b("e", "m")));
        vec![rows.expand_dims(1) + columns]
    }),
    ("product_of_mask", |d| vec![d.i("a", "nm").masked(&d.b("b", "n")).matmul(&d.i("c", "m3"))]),
    ("sorted_mask", |d| vec![d.i("a", "nm").masked(&d.b("b", "nm")).sort(0, Order::Ascending).flip(0)]),
    ("slice_of_mask", |d| vec![d.i("a", "nm").masked(&d.b("b", "nm")).index([at(1, None, 1)])]),
    ("joined_masks", |d| vec![concat(&[d.i("a", "nm").masked(&d.b("b", "nm")), d.i("c", "n")], 0)]),
    ("count_of_mask", |d| {
        let x = d.i("a", "nm").masked(&d.b("b", "nm"));
        vec![&x * size(&x.shape()[0])]
    }),
    ("greatest_of_mask", |d| {
        let a = d.i("a", "nm");
        vec![a.masked(&a.greater(0)).max(())]
    }),
    ("mask_and_rest", |d| {
        let a = d.i("a", "nm");
        vec![a.masked(&d.b("b", "nm")), &a + 1, a.sum(0)]
    }),
    ("wrong_mask", |d| vec![d.i("a", "nm").masked(&d.b("b", "mn"))]),
    ("wrong_counts", |d| vec![d.i("a", "nm").repeat(d.i("b", "m").abs(), 0)]),
];

fn two((first, second): (LazyTensor, LazyTensor)) -> Vec<LazyTensor> {
    vec![first, second]
}

fn all(x: &LazyTensor) -> Vec<LazyTensor> {
    let (values, indices, inverse, counts) = x.unique_all();
    vec![values, indices, inverse, counts]
}

/// A result as a line of `expected.txt` says it: dtype and shape, and the elements.
fn shown(tensor: &Tensor) -> (String, Vec<f64>) {
    let shape: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
    let numbers = match tensor.dtype().is_complex() {
        true => {
            let wide = tensor.cast(DType::C128).unwrap().to_vec::<Complex<f64>>().unwrap();
            wide.iter().flat_map(|z| [z.re, z.im]).collect()
        }
        false => tensor.cast(DType::F64).unwrap().to_vec::<f64>().unwrap(),
    };
    (format!("{} [{}]", tensor.dtype(), shape.join(",")), numbers)
}

fn same(got: &[f64], want: &[f64]) -> bool {
    got.len() == want.len() && got.iter().zip(want).all(|(g, w)| g == w || g.is_nan() && w.is_nan())
}

/// Dtype and shape of each result, and its elements.
type Wanted = Option<Vec<(String, Vec<f64>)>>;

/// The results of each case and pair of sizes; none where NumPy fails.
fn expected() -> Vec<(&'static str, Data, Wanted)> {
    let mut found: Vec<(&str, Data, Wanted)> = Vec::new();
    for line in include_str!("expected.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, n, m) = (words[0], words[1].parse().unwrap(), words[2].parse().unwrap());
        let numbers = || words[5..].iter().map(|number| number.parse().unwrap()).collect();
        let result = (words[3] != "error").then(|| (format!("{} {}", words[3], words[4]), numbers()));
        match found.last_mut() {
            Some((last, data, Some(results))) if (*last, data.n, data.m) == (name, n, m) => {
                results.extend(result)
            }
            _ => found.push((name, Data { n, m }, result.map(|result| vec![result]))),
        }
    }
    found
}

#[test]
fn results_are_those_of_numpy() {
    let _alone = alone();
    clear_cache();
    let (mut compared, mut refused) = (0, 0);
    for (name, data, want) in expected() {
        let (_, case) = CASES.iter().find(|(known, _)| *known == name).unwrap();
        let place = format!("{name} of {} and {}", data.n, data.m);
        match (compute(case(data)), want) {
            (Ok(got), Some(want)) => {
                assert_eq!(got.len(), want.len(), "{place}");
                for (got, (head, numbers)) in got.iter().zip(&want) {
                    let (found, values) = shown(got);
                    assert_eq!(found, *head, "{place}");
                    assert!(same(&values, numbers), "{place}: {values:?} is not {numbers:?}");
                }
                compared += 1;
            }
            (Err(_), None) => refused += 1,
            (got, want) => panic!("{place}: {got:?} is not {want:?}"),
        }
    }
    assert_eq!((compared + refused, refused), (6 * CASES.len(), 18));
}

/// A case whose code was made for other counts, on each engine: bit for bit what fresh code gives, in words what fails.
#[test]
fn engines_and_code_of_other_counts_agree() {
    let _alone = alone();
    clear_cache();
    let schedulers: Vec<Box<dyn Scheduler>> =
        vec![Box::new(Unfused), Box::new(InterpretPlan), Box::new(InterpretKernel)];
    let texts = |outcome: &Result<Vec<Tensor>, Error>| outcome.as_ref().map_err(ToString::to_string).cloned();
    for (name, case) in CASES {
        let sizes = [(3, 4), (5, 2), (1, 1), (2, 7), (0, 4)].map(|(n, m)| Data { n, m });
        let reused = sizes.map(|data| texts(&compute(case(data))));
        for (data, reused) in sizes.into_iter().zip(reused) {
            for scheduler in &schedulers {
                let found = texts(&compute_with(case(data), &**scheduler));
                let place = format!("{name} of {} and {} by {}", data.n, data.m, scheduler.name());
                match (&found, &reused) {
                    (Ok(found), Ok(reused)) => {
                        assert!(
                            found.iter().zip(reused).all(|(f, r)| f.bit_eq(r)),
                            "{place}: {found:?} {reused:?}"
                        );
                    }
                    (found, reused) => assert_eq!(found.as_ref().err(), reused.as_ref().err(), "{place}"),
                }
            }
        }
    }
}

/// Compilations and hits of what `f` does.
fn counted(f: impl FnOnce()) -> (u64, u64) {
    let before = cache_report();
    f();
    let after = cache_report();
    (after.compilations - before.compilations, after.cache_hits - before.cache_hits)
}

fn ramp(n: usize) -> Tensor {
    Tensor::from_shape_vec([n], (0..n).map(|i| i as f64).collect()).unwrap()
}

#[test]
fn counts_are_arguments() {
    let _alone = alone();
    clear_cache();
    let scaled = |limit: f64| {
        let x = defer(ramp(10));
        let found = compute(x.masked(&x.greater(limit)) * 0.5 + 3.5).unwrap();
        let want: Vec<f64> = (0..10).map(f64::from).filter(|x| *x > limit).map(|x| x * 0.5 + 3.5).collect();
        assert_eq!(found.to_vec::<f64>().unwrap(), want);
    };
    // One program for the mask, one for what follows: for none, one and all elements.
    assert_eq!(counted(|| [4.5, 8.5, 9.5, -1.5, 3.5].into_iter().for_each(scaled)), (2, 8));
    // What is there is not computed, and a selection that is asked for alone needs no program after it.
    let mask = Tensor::from_shape_vec([3], vec![true, false, true]).unwrap();
    assert_eq!(counted(|| drop(compute(defer(ramp(3)).masked(&defer(&mask))).unwrap())), (0, 0));
    // Selections that do not depend on each other share a stage, those of a selection have the next.
    let chain = |n: usize| {
        let (x, y) = (defer(ramp(n)), defer(ramp(n + 1)));
        let (a, b) = (x.masked(&x.greater(1.5)), y.masked(&y.less(3.5)));
        let c = a.masked(&a.less(4.5));
        compute((a * 2.0, b.sum(()), c + 0.5)).unwrap();
    };
    assert_eq!(counted(|| [8, 3, 2, 0, 20].into_iter().for_each(chain)), (3, 12));
}

#[test]
fn one_selected_element_is_not_a_broadcast() {
    let _alone = alone();
    clear_cache();
    let sum = |limit: f64, other: usize| {
        let x = defer(ramp(5));
        compute(x.masked(&x.greater(limit)) + defer(ramp(other)))
    };
    assert_eq!(sum(2.5, 2).unwrap().to_vec::<f64>().unwrap(), [3.0, 5.0]);
    for (limit, other) in [(3.5, 2), (2.5, 3), (3.5, 0)] {
        let error = sum(limit, other).unwrap_err().to_string();
        let count = if limit == 2.5 { 2 } else { 1 };
        let want = format!(
            "masked(..) == {other} does not hold: masked(..) = {count}; needed by add of [masked(..)] and [{other}] ("
        );
        assert!(error.starts_with(&want) && error.contains("stages/main.rs"), "{error} is not {want}");
    }
    // Data of size 1, and a literal 1, give way to what is selected, also to one element and to none.
    for (limit, want) in [(2.5, vec![3.0, 4.0]), (3.5, vec![4.0]), (4.5, vec![])] {
        assert_eq!(sum(limit, 1).unwrap().to_vec::<f64>().unwrap(), want);
    }
}

/// Which stages sum, where the mask needs a product or a mean that the rest needs, too.
#[test]
fn work_is_done_once() {
    let _alone = alone();
    let a = Tensor::full([6, 6], 0.5).unwrap();
    let sums = |outputs: &[LazyTensor]| -> Vec<bool> {
        let stages = explain(outputs).unwrap().stages;
        let plans = stages.iter().filter(|(stage, _, _)| *stage == Stage::Plan);
        plans.map(|(_, _, text)| text.contains("sum")).collect()
    };
    let x = defer(&a);
    let product = x.matmul(&x);
    assert_eq!(sums(&[&product * 2.0, product.masked(&product.greater(1.0)) + 1.0]), [true, false]);
    let centred = &x - x.mean(());
    assert_eq!(sums(&[centred.exp(), centred.masked(&centred.is_positive())]), [true, false]);
    // Elementwise work is done again: the first stage gives what is selected from, and the mask.
    let scaled = &x * 3.0 + 1.0;
    let outputs = [scaled.exp(), scaled.masked(&x.is_positive())];
    let text = explain(&outputs).unwrap().to_string();
    assert!(text.contains("masked(bool[6, 6], f64[6, 6]) -> f64[masked(..)]"), "{text}");
    let (results, report) = compute_reported(outputs.to_vec()).unwrap();
    assert_eq!((results[1].shape(), results[0].shape()), (&[36][..], &[6, 6][..]));
    assert_eq!(report.compilations, 2, "two programs, of which the second needs no result of the first");
}

#[test]
fn mistakes_are_taught() {
    let x = defer(ramp(3));
    let mask = Tensor::from_shape_vec([2], vec![true, false]).unwrap();
    let message = |tensor: &LazyTensor| tensor.check().unwrap_err().to_string();
    let wrong = message(&x.masked(&defer(&mask)));
    assert!(wrong.starts_with("masked: shapes [3] and [2] do not fit: 3 is not 2 ("), "{wrong}");
    assert!(wrong.contains("stages/main.rs"), "{wrong}");
    assert!(message(&x.masked(&x)).contains("a mask is bool, not f64"));
    assert!(message(&x.sum(()).masked(&defer(&mask))).contains("no more axes than the tensor"));
    assert!(message(&x.sum(()).nonzero()[0]).contains("a scalar has no coordinates"));
    assert!(message(&x.repeat(&x, 0)).contains("repeat is not defined on f64"));
    let negative = eager::repeat(ramp(2), &Tensor::from(vec![1_i64, -3]), 0).unwrap_err().to_string();
    assert!(negative.starts_with("repeat: the count -3 at position 1 is negative ("), "{negative}");
    let y = input("y", DType::F64, [3.into()]).unwrap();
    let error =
        CompiledGraph::new(&[y.masked(&y.greater(0))], CompileOptions::default()).unwrap_err().to_string();
    assert!(error.contains("masked: how many elements") && error.contains("compute or fuse"), "{error}");
    let error = compute(y.masked(&y.greater(0))).unwrap_err().to_string();
    assert!(error.contains("input y has no data"), "{error}");
    let selected = x.masked(&x.greater(0));
    let error = compute(arange(0, selected.shape()[0].clone(), 1)).unwrap_err().to_string();
    assert!(error.contains("nothing in the program counts the size masked(..)"), "{error}");
    let both = compute((arange(0, selected.shape()[0].clone(), 1), &selected)).unwrap();
    assert_eq!(both.0.to_vec::<i64>().unwrap(), [0, 1]);
    // Sizes that only the run can compare, in a selection itself.
    let (p, q) = (x.masked(&x.greater(0)), x.masked(&x.greater(1)));
    let error = compute(p.masked(&q.greater(0))).unwrap_err().to_string();
    assert!(error.contains("masked(..) = 2, masked(..) = 1"), "{error}");
}

#[test]
fn selections_are_bounded() {
    let options = CompileOptions { max_bytes: MaxBytes::Bytes(1 << 20), ..Default::default() };
    let (x, flags) = (defer(ramp(2)), defer(Tensor::full([1 << 18], true).unwrap()));
    // One element, but a thousand million in all.
    let at = [Tensor::from(vec![5_i64]), Tensor::from(vec![7_i64])];
    let sparse = Tensor::coo([1 << 15, 1 << 15], &at, vec![true], Duplicates::Refuse).unwrap();
    let sparse = defer(&sparse);
    let wrong = [
        x.repeat(&Tensor::from(vec![1_i64 << 40, 1]), 0),
        flags.argwhere(),
        flags.nonzero().remove(0),
        sparse.argwhere(),
    ];
    for tensor in wrong {
        let error = compute_as(vec![tensor], &options).unwrap_err();
        assert!(matches!(error, Error::Budget { allowed: 0x10_0000, .. }), "{error}");
    }
    let (found, _) = compute_as(vec![x.repeat(&Tensor::from(vec![3_i64, 1]), 0)], &options).unwrap();
    assert_eq!(found[0].to_vec::<f64>().unwrap(), [0.0, 0.0, 0.0, 1.0]);
}

/// Where there is nothing, other sizes may be so large that their product is none.
#[test]
fn nothing_of_great_sizes() {
    let shape = [0, 1 << 40, 1 << 40];
    let (x, flags) =
        (defer(Tensor::zeros(DType::F64, shape).unwrap()), Tensor::zeros(DType::Bool, shape).unwrap());
    let (none, counts) = (Tensor::zeros(DType::Bool, [0]).unwrap(), Tensor::zeros(DType::I64, [0]).unwrap());
    let kept = compute((x.masked(&defer(&none)), x.repeat(&counts, 0))).unwrap();
    assert_eq!((kept.0.shape(), kept.1.shape()), (&shape[..], &shape[..]));
    let found = compute((defer(&flags).nonzero(), defer(&flags).argwhere())).unwrap();
    assert_eq!((found.0[2].shape(), found.1.shape()), (&[0][..], &[0, 3][..]));
}

#[test]
fn foolish_schedulers_change_nothing() {
    let _alone = alone();
    let data = Data { n: 5, m: 4 };
    for (name, case) in
        CASES.iter().filter(|(name, _)| !name.starts_with("wrong") && *name != "repeat_negative")
    {
        let want = compute_with(case(data), &InterpretPlan).unwrap();
        for (_, options) in engines(7) {
            let Some(scheduler) = options.scheduler else { continue };
            let got = compute_with(case(data), &*scheduler).unwrap();
            assert!(got.iter().zip(&want).all(|(g, w)| g.bit_eq(w)), "{name} by {}", scheduler.name());
        }
    }
}

#[test]
fn twins_are_there() {
    let x = Tensor::from_shape_vec([2, 2], vec![3, 0, 3, 1]).unwrap();
    let at = eager::nonzero(&x).unwrap();
    assert_eq!(at.iter().map(|at| at.to_vec::<i64>().unwrap()).collect::<Vec<_>>(), [[0, 1, 1], [0, 0, 1]]);
    assert_eq!(eager::argwhere(&x).unwrap().shape(), [3, 2]);
    assert_eq!(eager::compress(&x, [1_i64, 0].as_slice(), 1).unwrap().to_vec::<i32>().unwrap(), [3, 3]);
    let (values, counts) = eager::unique_counts(&x).unwrap();
    assert_eq!(
        (values.to_vec::<i32>().unwrap(), counts.to_vec::<i64>().unwrap()),
        (vec![0, 1, 3], vec![1, 1, 2])
    );
    let grid = meshgrid(&[defer(&x).masked(&defer(&x).greater(1)), defer(ramp(2))], Indexing::Ij);
    assert_eq!(compute(grid[0].clone()).unwrap().shape(), [2, 2]);
}
