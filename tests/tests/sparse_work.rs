//! Kernels over stored levels do work that follows what is stored, by closed forms.
//!
//! Work is what the kernel interpreter counts: elements computed, steps along lists, cells initialised. Each program runs on
//! data whose entries grow while its sizes stay, and whose sizes grow while its entries stay, so that work which follows the
//! wrong one exceeds its form. A product of sparse matrices takes its loops twice: they count its entries first.
#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

use std::collections::BTreeSet;

use tensorjit::{
    At, CompileOptions, DType, Duplicates, Format, GalleyScheduler, Indices, InterpretKernel, InterpretPlan,
    LazyTensor, Leaf, Level, Scalar, Tensor, compute, compute_as, concat, defer, defer_owned, einop, maximum,
    minimum, where_,
};
use tj_tests::engines::scheduled;
use tj_tests::rng::Rng;

/// How far work may be above its form: loops may be written otherwise, and may not grow otherwise.
const SLACK: f64 = 1.5;

/// Steps that no data change.
const CONSTANT: usize = 8;

/// Columns of dense factors.
const K: usize = 8;

/// Bits of a word, as a power of two: rows that are collected have three layers of words, each a bit for a word below.
const WORD: usize = 6;

type Entries = BTreeSet<(i64, i64)>;

fn entries(seed: u64, rows: usize, columns: usize, nnz: usize) -> Entries {
    let mut rng = Rng::new(seed);
    let mut entries = Entries::new();
    while entries.len() < nnz {
        entries.insert((rng.below(rows) as i64, rng.below(columns) as i64));
    }
    entries
}

fn tensor(entries: &Entries, shape: [usize; 2], format: &str) -> Tensor {
    let column = |of: fn(&(i64, i64)) -> i64| Tensor::from(entries.iter().map(of).collect::<Vec<i64>>());
    let columns = [column(|at| at.0), column(|at| at.1)];
    let values = Tensor::from((0..entries.len()).map(|at| (at % 5) as f64 + 1.0).collect::<Vec<f64>>());
    let format: Format = format.parse().unwrap();
    Tensor::from_entries(shape, &columns, values, 0.0.into(), Duplicates::Refuse, &format).unwrap()
}

fn dense(shape: &[usize]) -> LazyTensor {
    let n = shape.iter().product::<usize>();
    defer(Tensor::from_shape_vec(shape, (0..n).map(|i| (i % 7) as f64 - 3.0).collect()).unwrap())
}

fn rows_of(list: &Entries) -> BTreeSet<i64> {
    list.iter().map(|at| at.0).collect()
}

/// Steps along lists that wait for each other: coordinates until one of them ends.
fn steps(lists: impl Iterator<Item = BTreeSet<i64>>) -> usize {
    let lists: Vec<BTreeSet<i64>> = lists.collect();
    // None comes before all others.
    let Some(end) = lists.iter().map(|list| list.last().copied()).min().flatten() else { return 0 };
    lists.iter().flatten().filter(|&&at| at <= end).collect::<BTreeSet<&i64>>().len()
}

/// Matrices of one shape with equally many entries.
struct Data {
    rows: usize,
    columns: usize,
    nnz: usize,
    /// Columns of `right`.
    wide: usize,
    format: &'static str,
    /// A, B, C and D; then the same with entries in even rows only (A and C), or in odd ones (B and D).
    lists: [Entries; 8],
    tensors: [Tensor; 8],
    /// A matrix that A can be multiplied by.
    right_list: Entries,
    right: Tensor,
}

/// Rows, columns, entries, columns of another factor.
const SIZES: [[usize; 4]; 6] = [
    [64, 48, 200, 64],
    [64, 48, 400, 64],
    [256, 192, 200, 256],
    [256, 192, 1600, 256],
    [16, 1000, 200, 100_000],
    [1000, 16, 200, 1000],
];

impl Data {
    fn new([rows, columns, nnz, wide]: [usize; 4], format: &'static str) -> Data {
        let lists: [Entries; 8] = std::array::from_fn(|at| match at {
            0..4 => entries(at as u64, rows, columns, nnz),
            _ => {
                let halves = entries(at as u64, rows / 2, columns, nnz).into_iter();
                halves.map(|(i, j)| (2 * i + (at % 2) as i64, j)).collect()
            }
        });
        let tensors = std::array::from_fn(|at| tensor(&lists[at], [rows, columns], format));
        let right_list = entries(8, columns, wide, nnz);
        let right = tensor(&right_list, [columns, wide], format);
        Data { rows, columns, nnz, wide, format, lists, tensors, right_list, right }
    }

    fn abcd(&self) -> [LazyTensor; 4] {
        [0, 1, 2, 3].map(|at| defer(&self.tensors[at]))
    }

    fn rows_apart(&self) -> [LazyTensor; 4] {
        [4, 5, 6, 7].map(|at| defer(&self.tensors[at]))
    }

    fn a(&self) -> LazyTensor {
        defer(&self.tensors[0])
    }

    /// Where A has entries.
    fn mask(&self) -> LazyTensor {
        self.a().not_equal(0.0)
    }

    fn full(&self) -> LazyTensor {
        dense(&[self.rows, self.columns])
    }

    fn thin_product(&self) -> LazyTensor {
        dense(&[self.rows, K]).matmul(&dense(&[K, self.columns]))
    }

    fn is_csr(&self) -> bool {
        self.format == "csr"
    }

    /// Entries of the lists of rows of the first matrices; a dense level has none.
    fn listed(&self, matrices: usize) -> usize {
        if self.is_csr() { 0 } else { self.lists[..matrices].iter().map(|list| rows_of(list).len()).sum() }
    }

    /// Steps along rows.
    fn outer(&self, matrices: usize) -> usize {
        if self.is_csr() { self.rows } else { self.listed(matrices) }
    }

    /// Steps along rows where each row of a dense result is initialised.
    fn all_rows(&self) -> usize {
        self.rows + self.listed(1)
    }

    fn union(&self) -> usize {
        self.outer(2) + self.lists[0].union(&self.lists[1]).count()
    }

    /// Steps where some lists wait for each other, and others do.
    fn waited(&self, groups: &[&[&Entries]]) -> usize {
        let outer: usize = groups.iter().map(|lists| steps(lists.iter().map(|list| rows_of(list)))).sum();
        let row = |i: i64| -> usize {
            let of = |list: &&Entries| list.range((i, 0)..(i + 1, 0)).map(|at| at.1).collect();
            groups.iter().map(|lists| steps(lists.iter().map(of))).sum()
        };
        let inner: usize = (0..self.rows as i64).map(row).sum();
        if self.is_csr() { self.rows + inner } else { outer + inner }
    }

    /// A product of sparse matrices: rows are collected under bits, which are cleared first, once to count and once to write.
    fn sparse_product(&self) -> usize {
        let (mut terms, mut found) = (0, Entries::new());
        for &(i, k) in &self.lists[0] {
            let row: Vec<i64> = self.right_list.range((k, 0)..(k + 1, 0)).map(|at| at.1).collect();
            terms += row.len();
            found.extend(row.into_iter().map(|j| (i, j)));
        }
        let words = |bits: usize| found.iter().map(|&(i, j)| (i, j >> bits)).collect::<Entries>().len();
        let [bottom, middle, top] = [1, 2, 3].map(|layer| self.wide.div_ceil(1 << (WORD * layer)));
        let collected = self.rows * (1 + top) + self.nnz + terms + words(WORD) + words(2 * WORD);
        2 * (bottom + middle + top + collected) + found.len()
    }
}

struct Case {
    name: &'static str,
    program: fn(&Data) -> LazyTensor,
    work: fn(&Data) -> usize,
    /// Dense arguments that are put into another order of axes, which work does not count.
    copies: u64,
}

/// Programs that read each argument in the format that it has.
const CASES: &[Case] = &[
    Case {
        name: "A x",
        program: |d| d.a().matmul(&dense(&[d.columns])),
        work: |d| d.all_rows() + d.nnz,
        copies: 0,
    },
    Case {
        name: "A X",
        program: |d| d.a().matmul(&dense(&[d.columns, K])),
        work: |d| (d.all_rows() + d.nnz) * (K + 1),
        copies: 0,
    },
    Case { name: "sums of rows", program: |d| d.a().sum(1), work: |d| d.all_rows() + d.nnz, copies: 0 },
    // One walk for both.
    Case {
        name: "sums of rows of squares less squares of sums",
        program: |d| {
            let a = d.a();
            (&a * &a).sum(1) - a.sum(1) * a.sum(1)
        },
        // Lists of rows give two results, of which the difference is dense.
        work: |d| d.all_rows() + d.nnz + if d.is_csr() { 0 } else { 2 * d.rows },
        copies: 0,
    },
    // What is not stored is computed once a row, and counted.
    Case {
        name: "variances of rows",
        program: |d| d.a().var(1, 0.0),
        work: |d| 2 * (d.all_rows() + d.nnz),
        copies: 0,
    },
    Case {
        name: "sums of rows of |A - x|",
        program: |d| (d.a() - dense(&[d.rows, 1])).abs().sum(1),
        work: |d| d.all_rows() + d.nnz,
        copies: 0,
    },
    Case {
        name: "sums of rows under two conditions",
        program: |d| {
            let (sums, y) = (d.a().sum(1), dense(&[d.rows]));
            where_(&y.greater(-4.0), &sums, 0.0) + where_(&y.less(4.0), &sums, 1.0)
        },
        work: |d| d.all_rows() + d.rows + d.nnz,
        copies: 0,
    },
    Case {
        name: "rows with an entry where y is true",
        program: |d| d.mask().logical_and(dense(&[d.columns]).greater(-4.0)).any(1),
        work: |d| d.columns + d.all_rows() + d.rows,
        copies: 0,
    },
    Case { name: "2 A", program: |d| d.a() * 2.0, work: |d| d.outer(1) + d.nnz, copies: 0 },
    // Numbers decide what these are where A has no entry: 0, or false.
    Case { name: "A > 4", program: |d| d.a().greater(4.0), work: |d| d.outer(1) + d.nnz, copies: 0 },
    Case {
        name: "minimum(A, 2.5)",
        program: |d| minimum(d.a(), 2.5),
        work: |d| d.outer(1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "clip(A, -3, 4)",
        program: |d| d.a().clip(-3.0, 4.0),
        work: |d| d.outer(1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "where(A > 4, 4, A)",
        program: |d| where_(&d.a().greater(4.0), 4.0, d.a()),
        work: |d| d.outer(1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "maximum(A, 2.5) - 2.5",
        program: |d| maximum(d.a(), 2.5) - 2.5,
        work: |d| d.outer(1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "where(A > 3, X, 0)",
        program: |d| where_(&d.a().greater(3.0), d.full(), 0.0),
        work: |d| d.outer(1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "(A > 3) & (B > 3)",
        program: |d| {
            let [a, b, ..] = d.abcd();
            a.greater(3.0) & b.greater(3.0)
        },
        work: |d| {
            let [a, b, ..] = &d.lists;
            d.waited(&[&[a, b]])
        },
        copies: 0,
    },
    Case {
        name: "counts of rows of A > 3",
        program: |d| d.a().greater(3.0).cast(DType::F64).sum(1),
        work: |d| d.all_rows() + d.nnz,
        copies: 0,
    },
    // Dense: 2.5 has no name.
    Case { name: "A + 2.5", program: |d| d.a() + 2.5, work: |d| d.rows * (d.columns + 1) + d.nnz, copies: 0 },
    Case {
        name: "A * (X Y)",
        program: |d| d.a() * d.thin_product(),
        work: |d| d.outer(1) + d.nnz * (K + 1),
        copies: 1,
    },
    Case {
        name: "mask * (X Y)",
        program: |d| d.mask().cast(DType::F64) * d.thin_product(),
        work: |d| d.outer(1) + d.nnz * (K + 1),
        copies: 1,
    },
    Case {
        name: "sums of rows of where(mask, X Y, 0)",
        program: |d| where_(&d.mask(), d.thin_product(), 0.0).sum(1),
        work: |d| d.all_rows() + d.nnz * (K + 1),
        copies: 1,
    },
    Case {
        name: "sums of rows of where(mask, X, 0)",
        program: |d| where_(&d.mask(), d.full(), 0.0).sum(1),
        work: |d| d.all_rows() + d.nnz,
        copies: 0,
    },
    // Dense, as Y is.
    Case {
        name: "where(mask, X, Y)",
        program: |d| where_(&d.mask(), d.full(), d.full() + 1.0),
        work: |d| d.rows * (d.columns + 1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "A + X",
        program: |d| d.a() + d.full(),
        work: |d| d.rows * (d.columns + 1) + d.nnz,
        copies: 0,
    },
    Case {
        name: "A + B",
        program: |d| {
            let [a, b, ..] = d.abcd();
            a + b
        },
        work: |d| d.union(),
        copies: 0,
    },
    Case {
        name: "A * X + B * Y",
        program: |d| {
            let [a, b, ..] = d.abcd();
            a * d.full() + b * (d.full() + 1.0)
        },
        work: |d| d.union(),
        copies: 0,
    },
    Case {
        name: "A * B",
        program: |d| {
            let [a, b, ..] = d.abcd();
            a * b
        },
        work: |d| {
            let [a, b, ..] = &d.lists;
            d.waited(&[&[a, b]])
        },
        copies: 0,
    },
    Case {
        name: "A * B * C",
        program: |d| {
            let [a, b, c, _] = d.abcd();
            a * b * c
        },
        work: |d| {
            let [a, b, c, ..] = &d.lists;
            d.waited(&[&[a, b, c]])
        },
        copies: 0,
    },
    Case {
        name: "A * B + C * D",
        program: |d| {
            let [a, b, c, d] = d.abcd();
            a * b + c * d
        },
        work: |d| {
            let [a, b, c, e, ..] = &d.lists;
            d.waited(&[&[a, b], &[c, e]])
        },
        copies: 0,
    },
    Case {
        name: "(A + B) * (C + D)",
        program: |d| {
            let [a, b, c, d] = d.abcd();
            (a + b) * (c + d)
        },
        work: |d| {
            let [a, b, c, e, ..] = &d.lists;
            d.waited(&[&[&(a | b), &(c | e)]])
        },
        copies: 0,
    },
    // Where no list waits for one of its own row, none is gone along, however long it is.
    Case {
        name: "A * B + C * D, in different rows",
        program: |d| {
            let [a, b, c, d] = d.rows_apart();
            a * b + c * d
        },
        work: |d| {
            let [.., a, b, c, e] = &d.lists;
            d.waited(&[&[a, b], &[c, e]])
        },
        copies: 0,
    },
    Case {
        name: "(A + C) * (B + D), in different rows",
        program: |d| {
            let [a, b, c, d] = d.rows_apart();
            (a + c) * (b + d)
        },
        work: |d| {
            let [.., a, b, c, e] = &d.lists;
            d.waited(&[&[&(a | c), &(b | e)]])
        },
        copies: 0,
    },
];

/// A program whose work exceeds its form, in words.
fn excess(case: &Case, data: &Data) -> Option<String> {
    let (result, report) = compute_as((case.program)(data), &scheduled(InterpretKernel)).unwrap();
    let (work, form) = (report.work.unwrap(), (case.work)(data));
    let computed = if result.stored().is_some() { result.stored_count() } else { result.count().unwrap() };
    let text = || {
        format!(
            "{} of {}, {} x {} with {}: {work}, by its form {form}; {} copies",
            case.name, data.format, data.rows, data.columns, data.nnz, report.copied_inputs
        )
    };
    let is_right = work as f64 <= SLACK * (form + CONSTANT) as f64
        && work as usize >= computed
        && report.copied_inputs == case.copies;
    (!is_right).then(text)
}

fn check(cases: &[Case], formats: &[&'static str]) -> Vec<Data> {
    let mut found = Vec::new();
    let of_format = |&format: &&'static str| SIZES.map(|sizes| Data::new(sizes, format));
    let all: Vec<Data> = formats.iter().flat_map(of_format).collect();
    for data in &all {
        found.extend(cases.iter().filter_map(|case| excess(case, data)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    all
}

fn converted(data: &Data) -> bool {
    data.tensors.iter().chain([&data.right]).any(|tensor| tensor.remembered_bytes() > 0)
}

#[test]
fn work_follows_entries() {
    let all = check(CASES, &["csr", "csf(2)"]);
    assert!(!all.iter().any(converted), "work does not count conversions");
}

/// Programs that read what is moved do work for its entries; moves are done before, and are no work of kernels.
#[test]
fn work_on_what_is_moved_follows_entries() {
    let cases = [
        Case {
            name: "A reversed, x",
            program: |d| d.a().flip([0, 1]).matmul(&dense(&[d.columns])),
            work: |d| d.rows + d.nnz,
            copies: 0,
        },
        Case {
            name: "A over B, x",
            program: |d| {
                let [a, b, ..] = d.abcd();
                concat(&[a, b], 0).matmul(&dense(&[d.columns]))
            },
            work: |d| 2 * (d.rows + d.nnz),
            copies: 0,
        },
        Case {
            name: "A in another shape, x",
            program: |d| {
                d.a().reshape([2 * d.rows as i64, d.columns as i64 / 2]).matmul(&dense(&[d.columns / 2]))
            },
            work: |d| 2 * d.rows + d.nnz,
            copies: 0,
        },
        Case {
            name: "lower A x",
            program: |d| d.a().tril(0).matmul(&dense(&[d.columns])),
            work: |d| d.all_rows() + d.nnz,
            copies: 0,
        },
        Case {
            name: "rows of A x",
            program: |d| {
                let rows: Vec<i64> = (0..d.rows as i64).rev().collect();
                d.a().take(&defer(&Tensor::from(rows)), 0).matmul(&dense(&[d.columns]))
            },
            work: |d| d.rows + d.nnz,
            copies: 0,
        },
    ];
    check(&cases, &["csr", "csf(2)"]);
}

/// A row is counted and written, and nothing else is looked at.
#[test]
fn work_on_a_row_follows_its_entries() {
    let cases = [Case {
        name: "a row of A",
        program: |d| d.a().index([At::Index(1)]) * 2.0,
        work: |d| 2 * d.lists[0].iter().filter(|at| at.0 == 1).count(),
        copies: 0,
    }];
    check(&cases, &["csr"]);
}

/// Rows that are dense are converted to columns, and lists of rows are scattered.
#[test]
fn work_across_rows_follows_entries() {
    let cases = [
        Case {
            name: "A' x",
            program: |d| d.a().transpose().matmul(&dense(&[d.rows])),
            work: |d| d.columns + d.listed(1) + d.nnz,
            copies: 0,
        },
        Case {
            name: "sums of columns",
            program: |d| d.a().sum(0),
            work: |d| d.columns + d.listed(1) + d.nnz,
            copies: 0,
        },
    ];
    let all = check(&cases, &["csr", "csf(2)"]);
    assert!(all.iter().all(|data| converted(data) == data.is_csr()));
}

#[test]
fn work_of_products_follows_terms_and_entries() {
    let case = Case {
        name: "A B",
        program: |d| d.a().matmul(&defer(&d.right)),
        work: Data::sparse_product,
        copies: 0,
    };
    let all = check(&[case], &["csr"]);
    assert!(!all.iter().any(converted), "work does not count conversions");
}

/// Two vectors of runs with gaps between them.
fn runs(n: usize, runs: usize) -> [LazyTensor; 2] {
    let indices = |list: Vec<usize>| Indices::new(&list, None).unwrap();
    let vector = |shift: usize| {
        let start = |run: usize| run * (n / runs) + shift;
        let starts = indices((0..runs).map(start).collect());
        let ends = indices((0..runs).map(|run| start(run) + n / runs / 2).collect());
        let level = Level::Runs { positions: indices(vec![0, runs]), starts, ends };
        let values = Leaf::Values(Tensor::from((1..=runs).map(|run| run as f64).collect::<Vec<f64>>()));
        defer(
            Tensor::from_levels("{d0: runs}".parse().unwrap(), [n], vec![level], values, 0.0.into()).unwrap(),
        )
    };
    [vector(0), vector(n / runs / 4)]
}

#[test]
fn work_on_runs_follows_runs() {
    for n_runs in [10, 100] {
        let of_size = |n: usize| {
            let [x, y] = runs(n, n_runs);
            let (sum, report) = compute_as(x + y, &scheduled(InterpretKernel)).unwrap();
            (sum.stored_count(), report.work.unwrap())
        };
        let found = of_size(1000);
        assert_eq!(found, of_size(10_000_000));
        let (stored, work) = found;
        assert!(
            stored >= 2 * n_runs && work as usize <= 3 * n_runs + CONSTANT,
            "{stored} stored, work {work}"
        );
    }
}

#[test]
fn only_interpreted_kernels_count() {
    let x = dense(&[2, 3]);
    let work = |program: &LazyTensor, options| compute_as(program, &options).unwrap().1.work;
    let (sum, product) = (&x + &x, (&x + &x).matmul(&x.transpose()));
    assert_eq!(work(&sum, scheduled(InterpretKernel)), Some(6));
    assert_eq!(work(&product, scheduled(InterpretKernel)), Some(6 + 2 * 2 * 3));
    assert_eq!(work(&sum, scheduled(InterpretPlan)), None);
}

#[test]
fn updates_under_a_mask_follow_the_mask() {
    let options = scheduled(InterpretKernel);
    for (size, nnz) in [(1000, 0), (1000, 10), (1000, 200), (100_000, 200)] {
        let at: BTreeSet<i64> = entries(3, size, 1, nnz).into_iter().map(|(row, _)| row).collect();
        let column = Tensor::from(at.iter().copied().collect::<Vec<i64>>());
        for format in ["csf(1)", "coo(1)"] {
            let values = Tensor::from(vec![1.0; nnz]);
            let format: Format = format.parse().unwrap();
            let stored = |values: Tensor| {
                let fill = Scalar::zero(values.dtype());
                let columns = [column.clone()];
                Tensor::from_entries([size], &columns, values, fill, Duplicates::Refuse, &format).unwrap()
            };
            let mask = defer(&stored(Tensor::from(vec![true; nnz])));
            let weights = defer(&stored(values));
            let base = Tensor::full([size], 3.0).unwrap();
            let memory = base.data_ptr();
            let x = defer_owned(base);
            // Twice, with what is read of the tensor itself.
            let next = where_(&mask, &x * 2.0, &x);
            let (found, report) = compute_as(&next, &options).unwrap();
            assert_eq!((found.data_ptr(), report.donated_inputs), (memory, 1));
            let x = defer_owned(found);
            let next = where_(&weights.equal(0.0), &x, &x + &weights);
            let (found, again) = compute_as(&next, &options).unwrap();
            assert_eq!(found.data_ptr(), memory);
            for work in [report.work, again.work] {
                let allowed = (SLACK * (2 * nnz) as f64) as u64 + CONSTANT as u64;
                assert!(work.unwrap() <= allowed, "{work:?} for {nnz} of {size}");
            }
            let expected = |row: i64| if at.contains(&row) { 7.0 } else { 3.0 };
            assert_eq!(found.to_vec::<f64>().unwrap(), (0..size as i64).map(expected).collect::<Vec<_>>());
        }
    }
    // Rows of a matrix are walked, too, and its other elements are not.
    for format in ["csr", "csc", "coo(2)", "dcsr"] {
        let data = Data::new([64, 4000, 200, 8], format);
        let mask = defer(&data.tensors[0]).not_equal(0.0);
        let base = dense(&[64, 4000]);
        let (expected, _) = compute_as(where_(&mask, 5.0, &base), &options).unwrap();
        let owned = defer_owned(compute(&base + 0.0).unwrap());
        let (found, report) = compute_as(where_(&mask, 5.0, &owned), &options).unwrap();
        assert_eq!(found.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap());
        assert!(report.work.unwrap() <= 2 * (4000 + 2 * 200), "{format}: {:?}", report.work);
    }
}

fn stored_bytes(tensor: &Tensor) -> usize {
    let levels = tensor.stored().unwrap().levels().iter().map(Level::bytes).sum::<usize>();
    levels + tensor.stored_count() * tensor.dtype().size()
}

/// A sum has room for the entries of both operands before it knows its own; a product counts its entries first, and collects a
/// row at a time on each thread.
#[test]
fn memory_follows_what_is_stored() {
    for n in [2000, 4000] {
        let [a, b] = [0, 1].map(|seed| tensor(&entries(seed, n, n, 16 * n), [n, n], "csr"));
        for threads in [1, 2] {
            let options = CompileOptions { threads, ..Default::default() };
            for (name, program, row) in
                [("A B", defer(&a).matmul(&defer(&b)), 16 * n), ("A + B", defer(&a) + defer(&b), 0)]
            {
                let (result, report) = compute_as(program, &options).unwrap();
                let held: usize = [&a, &b, &result].map(stored_bytes).into_iter().sum();
                let most = held + held / 10 + threads * row;
                let peak = usize::try_from(report.peak_bytes).unwrap();
                assert!((held..=most).contains(&peak), "{name} on {threads}: {peak} is not {held} to {most}");
            }
        }
    }
}

/// Breadth-first levels: what is reached next is found by the levels themselves, which are then written to where they are.
#[test]
fn what_is_updated_is_read_by_all_others_first() {
    let n = 5000;
    let edges: Entries = (0..n as i64 - 1).map(|vertex| (vertex, vertex + 1)).collect();
    let a = defer(tensor(&edges, [n, n], "csr")).not_equal(0.0).cast(DType::I64);
    let a = defer(compute(&a).unwrap());
    let start = vec![Tensor::from(vec![0_i64])];
    let one = Tensor::from(vec![1_i64]);
    let mut reached = Tensor::coo([n], &start, one, Duplicates::Refuse).unwrap();
    let mut levels = Tensor::from((0..n).map(|at| if at == 0 { 0 } else { -1 }).collect::<Vec<i64>>());
    let memory = levels.data_ptr();
    for step in 1..4_i64 {
        let known = defer_owned(levels);
        let new = defer(&reached).matmul(&a).greater(0).logical_and(known.less(0));
        let program = (where_(&new, step, known), new.cast(DType::I64));
        let (next, report) = compute_as(program, &CompileOptions::default()).unwrap();
        (levels, reached) = next;
        assert_eq!((levels.data_ptr(), report.donated_inputs), (memory, 1), "{step}");
    }
    let expected = (0..n as i64).map(|at| if at < 4 { at } else { -1 });
    assert_eq!(levels.to_vec::<i64>().unwrap(), expected.collect::<Vec<_>>());
}

/// Triangles whose corners have labels, which are dense: only lists of vertices with labels are gone along.
#[test]
fn loops_below_a_factor_of_zero_are_left_out() {
    let n = 60;
    let edges = entries(8, n, n, 700);
    let a = tensor(&edges, [n, n], "csr");
    let has = |step: usize| (0..n).map(|at| at % step == 0).collect::<Vec<bool>>();
    let (few, some) = (has(10), has(3));
    let of = |label: &[bool], dtype: DType| Tensor::from(label.to_vec()).cast(dtype).unwrap();
    let truth = edges.iter().filter(|(i, j)| few[*i as usize] && some[*j as usize]);
    let truth = truth
        .map(|&(i, j)| (0..n as i64).filter(|&k| edges.contains(&(j, k)) && edges.contains(&(k, i))).count());
    let truth = truth.sum::<usize>() as f64;
    assert!(truth > 20.0);
    for dtype in [DType::I64, DType::F64] {
        let a = defer(a.cast(DType::Bool).unwrap().cast(dtype).unwrap());
        let run = |x: Tensor, y: Tensor| {
            let operands = [("A", &a), ("X", &defer(&x)), ("Y", &defer(&y))];
            let program = einop("t[] += X[i] * A[i,j] * Y[j] * A[j,k] * A[k,i]", &operands);
            let (found, report) = compute_as(&program, &scheduled(InterpretKernel)).unwrap();
            (found.get(&[]).unwrap().to_f64(), report.work.unwrap())
        };
        let (found, work) = run(of(&few, dtype), of(&some, dtype));
        let (_, all) = run(of(&vec![true; n], dtype), of(&vec![true; n], dtype));
        assert_eq!(found, truth, "{dtype}");
        // A product of floats may be anything where a dense factor is 0.
        let bound = if dtype == DType::I64 { 7 } else { 1 };
        assert!(bound * work <= all, "{dtype}: {work} of {all}");
    }
}

/// A list that all rows meet is spread over memory once, and not for each block of rows.
#[test]
fn lists_are_spread_once_for_all_rows() {
    let (n, nnz, labels) = (6000, 9000, 3000);
    let a = tensor(&entries(5, n, n, nnz), [n, n], "csr");
    let list = |seed: u64| {
        let places: BTreeSet<i64> = entries(seed, n, 1, labels).into_iter().map(|(row, _)| row).collect();
        let values = Tensor::from(vec![2.0; places.len()]);
        let columns = [Tensor::from(places.into_iter().collect::<Vec<i64>>())];
        Tensor::coo([n], &columns, values, Duplicates::Refuse).unwrap()
    };
    let (x, y) = (list(6), list(7));
    let operands = [("X", &defer(&x)), ("A", &defer(&a)), ("Y", &defer(&y))];
    let program = einop("r[i] += X[i] * A[i,j] * Y[j]", &operands);
    let (found, report) = compute_as(&program, &scheduled(InterpretKernel)).unwrap();
    let [x, a, y] = [&x, &a, &y].map(|tensor| tensor.to_dense().unwrap().to_vec::<f64>().unwrap());
    let row = |i: usize| (0..n).map(|j| x[i] * a[i * n + j] * y[j]).sum::<f64>();
    assert_eq!(found.to_dense().unwrap().to_vec::<f64>().unwrap(), (0..n).map(row).collect::<Vec<_>>());
    let form = n + 2 * labels + 2 * labels + nnz;
    assert!(report.work.unwrap() <= (SLACK * form as f64) as u64, "{:?} for {form}", report.work);
}

#[test]
fn factors_are_asked_for_where_they_may_be_read() {
    let places: Entries = [(0, 1), (2, 0)].into_iter().collect();
    let a = defer(&tensor(&places, [3, 2], "csr")).cast(DType::I64);
    let a = defer(&compute(&a).unwrap());
    let none = defer(&Tensor::full([0], 1_i64).unwrap());
    // One node, which two to the power of thirty ways lead to.
    let squared = (0..30).fold(defer(&Tensor::full([2], 1_i64).unwrap()), |y, _| &y * &y);
    let programs =
        [((&a * none.pad([(0_i64, 2_i64)], 0_i64)).sum(1), [0, 0, 0]), ((&a * squared).sum(1), [1, 0, 2])];
    let options =
        [scheduled(InterpretKernel), CompileOptions::default(), scheduled(GalleyScheduler::default())];
    for (program, expected) in &programs {
        for options in &options {
            let found = compute_as(program, options).unwrap().0;
            assert_eq!(found.to_dense().unwrap().to_vec::<i64>().unwrap(), expected);
        }
    }
}
