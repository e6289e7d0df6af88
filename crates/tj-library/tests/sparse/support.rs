//! Random tensors in random formats beside dense arrays of the same elements.

use proptest::prelude::*;
use tj_tensor::{Format, Scalar, Tensor};

/// Formats by rank that hold any elements.
const FORMATS: [&[&str]; 4] = [
    &["{}"],
    &[
        "coo(1)",
        "dense(1)",
        "{d0: hash}",
        "{d0: runs}",
        "{d0: steps(u8)}",
        "{d0: band}",
        "{d0: bitmap}",
        "{d0/3: compressed, d0%3: dense}",
    ],
    &[
        "csr",
        "csc",
        "dcsr",
        "coo(2)",
        "dia",
        "dense(2)",
        "bcsr(2, 3)",
        "{d0: dense, d1: compressed(unordered, u64, u64)}",
        "{d0: dense, d1: bytemap}",
        "{d0: hash, d1: hash}",
        "{d0: dense, d1: runs}",
        "{d1: blocks, d0: blocks}",
    ],
    &[
        "csf(3)",
        "coo(3)",
        "dense(3)",
        "{d2: dense, d0: compressed, d1: hash}",
        "{d1: hash, d0: hash, d2: runs}",
    ],
];

/// Elements in two forms.
#[derive(Clone, Debug)]
pub struct Case {
    /// In some format, with a fill.
    pub x: Tensor,
    /// The same, strided, without a fill.
    pub dense: Tensor,
}

/// A tensor of a shape with few different values, many of which are the fill.
pub fn cases(shape: Vec<usize>, fill: f64) -> impl Strategy<Value = Case> {
    let count = shape.iter().product::<usize>();
    let value =
        prop_oneof![4 => Just(fill), 4 => (-2..3).prop_map(f64::from), 1 => Just(-0.0), 1 => Just(f64::NAN)];
    let formats = FORMATS[shape.len()];
    (prop::collection::vec(value, count), 0..formats.len()).prop_map(move |(values, format)| {
        let dense = Tensor::from_shape_vec(&shape, values).unwrap();
        let x = dense.clone().with_fill(Some(Scalar::from(fill))).unwrap();
        let x = x.with_format(&formats[format].parse::<Format>().unwrap()).unwrap();
        Case { x, dense }
    })
}

/// Extents for a rank.
pub fn shapes(rank: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<usize>> {
    rank.prop_flat_map(|rank| prop::collection::vec(0..5usize, rank))
}

/// A fill of those that functions meet.
pub fn fills() -> impl Strategy<Value = f64> {
    prop_oneof![4 => Just(0.0), 1 => Just(1.0), 1 => Just(-1.0), 1 => Just(f64::INFINITY), 1 => Just(f64::NAN)]
}

/// A tensor of any shape of some ranks and any fill.
pub fn any_case(rank: impl Strategy<Value = usize>) -> impl Strategy<Value = Case> {
    (shapes(rank), fills()).prop_flat_map(|(shape, fill)| cases(shape, fill))
}

impl Case {
    pub fn fill(&self) -> f64 {
        self.x.fill().unwrap().to_f64()
    }

    /// An element.
    pub fn at(&self, indices: &[usize]) -> f64 {
        self.dense.get(indices).unwrap().to_f64()
    }
}

/// The coordinates of all cells, row-major.
pub fn all_cells(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut cells = vec![vec![]];
    for &extent in shape {
        cells = cells
            .into_iter()
            .flat_map(|cell| (0..extent).map(move |i| cell.iter().copied().chain([i]).collect()))
            .collect();
    }
    cells
}

/// A dense array of a function of coordinates.
pub fn dense(shape: &[usize], f: impl Fn(&[usize]) -> f64) -> Tensor {
    let values: Vec<f64> = all_cells(shape).iter().map(|cell| f(cell)).collect();
    Tensor::from_shape_vec(shape, values).unwrap()
}

/// The elements are those expected, the fill is as said, nothing is stored that equals it, and the format is that of results.
#[track_caller]
pub fn same(found: &Tensor, expected: &Tensor, fill: f64) {
    assert_eq!(found.shape(), expected.shape());
    assert_eq!(found.dtype(), expected.dtype());
    assert!(found.bit_eq(expected), "{found}\nis not\n{expected}");
    let found_fill = found.fill().unwrap().to_f64();
    assert!(found_fill == fill || (found_fill.is_nan() && fill.is_nan()), "{found_fill} is not {fill}");
    if found.rank() > 0 {
        assert_eq!(found.nnz().unwrap(), found.stored_count());
        let format = if found.rank() == 2 { Format::csr() } else { Format::coo(found.rank()) };
        assert_eq!(found.format().to_string(), format.to_string());
    }
}
