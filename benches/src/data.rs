//! Inputs of the sparse cases, made from a seed: the shapes, sizes and kinds of distribution that the suite has.

use std::collections::BTreeMap;

use tensorjit::{CompileOptions, Duplicates, Element, Format, Tensor};

use crate::Failure;
use crate::sparse::Data;

/// Pseudo-random numbers, the same for every run.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed, which is not 0.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// In -1..1, never 0.
    fn value(&mut self) -> f32 {
        ((self.next() >> 40) as f32 + 0.5) / (1 << 23) as f32 - 1.0
    }

    /// A dense tensor of values up to `scale`.
    ///
    /// # Errors
    /// No memory.
    pub fn dense(&mut self, shape: &[usize], scale: f32) -> Result<Tensor, Failure> {
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| self.value() * scale).collect();
        Ok(Tensor::from_shape_vec(shape, values)?)
    }

    fn pairs(&mut self, rows: usize, columns: usize, count: usize) -> Vec<[u32; 2]> {
        (0..count).map(|_| [self.below(rows) as u32, self.below(columns) as u32]).collect()
    }

    fn matrix(&mut self, rows: usize, columns: usize, per_row: usize) -> Result<Tensor, Failure> {
        let pairs = self.pairs(rows, columns, rows * per_row);
        by_rows([rows, columns], &pairs, || self.value())
    }

    /// A square one of half of the entries of another, and new ones.
    fn overlapping(&mut self, other: &Tensor, n: usize, per_row: usize) -> Result<Tensor, Failure> {
        let (coordinates, _) = other.to_entries()?;
        let (rows, columns) = (coordinates[0].to_vec::<i64>()?, coordinates[1].to_vec::<i64>()?);
        let mut pairs = self.pairs(n, n, n * per_row);
        let kept = rows.into_iter().zip(columns).filter(|_| self.unit() < 0.5);
        pairs.extend(kept.map(|(row, column)| [row as u32, column as u32]));
        by_rows([n, n], &pairs, || self.value())
    }

    /// A matrix with about this part of its elements.
    ///
    /// # Errors
    /// No memory.
    pub fn sparse(&mut self, rows: usize, columns: usize, density: f64) -> Result<Tensor, Failure> {
        let mut pairs = Vec::new();
        for row in 0..rows as u32 {
            for column in 0..columns as u32 {
                if self.unit() < density {
                    pairs.push([row, column]);
                }
            }
        }
        by_rows([rows, columns], &pairs, || self.value())
    }

    /// A 1 in each row, at any column.
    ///
    /// # Errors
    /// No memory.
    pub fn keys(&mut self, rows: usize, columns: usize) -> Result<Tensor, Failure> {
        let pairs: Vec<[u32; 2]> = (0..rows).map(|row| [row as u32, self.below(columns) as u32]).collect();
        by_rows([rows, columns], &pairs, || 1.0_f32)
    }

    /// A matrix with some entries a row, all within some of its columns.
    ///
    /// # Errors
    /// No memory.
    pub fn block(
        &mut self,
        rows: usize,
        columns: usize,
        within: std::ops::Range<usize>,
        per_row: usize,
    ) -> Result<Tensor, Failure> {
        let (first, width) = (within.start, within.len());
        let pairs: Vec<[u32; 2]> = (0..rows * per_row)
            .map(|at| [(at / per_row) as u32, (first + self.below(width)) as u32])
            .collect();
        by_rows([rows, columns], &pairs, || self.value())
    }

    /// Some entries of a tensor of rank 3, in fibers.
    ///
    /// # Errors
    /// No memory.
    pub fn cube(&mut self, shape: [usize; 3], count: usize) -> Result<Tensor, Failure> {
        let coordinates = shape.map(|extent| -> Tensor {
            let column: Vec<i64> = (0..count).map(|_| self.below(extent) as i64).collect();
            column.into()
        });
        let values = self.dense(&[count], 1.0)?;
        let all = Tensor::coo(shape, &coordinates, values, Duplicates::Sum)?;
        Ok(all.with_format(&Format::csf(3))?)
    }

    /// About this part of all, as ones in a sparse vector.
    ///
    /// # Errors
    /// No memory.
    pub fn subset(&mut self, n: usize, share: f64) -> Result<Tensor, Failure> {
        let chosen: Vec<i64> = (0..n as i64).filter(|_| self.unit() < share).collect();
        let ones = Tensor::full([chosen.len()], 1_i64)?;
        Ok(Tensor::coo([n], &[chosen.into()], ones, Duplicates::Refuse)?)
    }

    /// An undirected simple graph whose degrees have a heavy tail.
    ///
    /// # Errors
    /// No memory.
    pub fn power_law<T: Element>(&mut self, n: usize, edges: usize, one: T) -> Result<Tensor, Failure> {
        let edge = |_| [(self.unit().powf(2.5) * n as f64) as u32, self.below(n) as u32];
        undirected(n, (0..edges).map(edge).collect(), one)
    }

    /// An undirected simple graph of edges between any two vertices.
    ///
    /// # Errors
    /// No memory.
    pub fn uniform<T: Element>(&mut self, n: usize, edges: usize, one: T) -> Result<Tensor, Failure> {
        let edges = self.pairs(n, n, edges);
        undirected(n, edges, one)
    }

    /// A Kronecker graph, permuted and undirected.
    fn kronecker(&mut self, scale: usize) -> Result<Tensor, Failure> {
        let n = 1 << scale;
        let mut names: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            names.swap(last, self.below(last + 1));
        }
        let mut edge = |_| {
            let (mut i, mut j) = (0, 0);
            for bit in 0..scale {
                let drawn = self.unit();
                let quadrant = [0.57, 0.76, 0.95].iter().filter(|&&bound| drawn >= bound).count();
                i |= (quadrant >> 1) << bit;
                j |= (quadrant & 1) << bit;
            }
            [names[i], names[j]]
        };
        undirected(n, (0..16 << scale).map(&mut edge).collect(), 1.0_f32)
    }
}

fn undirected<T: Element>(n: usize, mut edges: Vec<[u32; 2]>, one: T) -> Result<Tensor, Failure> {
    edges.retain(|[u, v]| u != v);
    let back: Vec<[u32; 2]> = edges.iter().map(|&[u, v]| [v, u]).collect();
    edges.extend(back);
    by_rows([n, n], &edges, || one)
}

/// Compressed rows with a value for each different pair.
fn by_rows<T: Element>(
    shape: [usize; 2],
    pairs: &[[u32; 2]],
    mut value: impl FnMut() -> T,
) -> Result<Tensor, Failure> {
    let mut starts = vec![0_usize; shape[0] + 2];
    pairs.iter().for_each(|[row, _]| starts[*row as usize + 2] += 1);
    (1..starts.len()).for_each(|row| starts[row] += starts[row - 1]);
    let mut columns = vec![0_u32; pairs.len()];
    for [row, column] in pairs {
        let next = &mut starts[*row as usize + 1];
        columns[*next] = *column;
        *next += 1;
    }
    let (mut positions, mut kept, mut values) = (vec![0_i32], Vec::new(), Vec::new());
    for row in 0..shape[0] {
        let row = &mut columns[starts[row]..starts[row + 1]];
        row.sort_unstable();
        for (at, &column) in row.iter().enumerate() {
            if at == 0 || row[at - 1] != column {
                kept.push(column as i32);
                values.push(value());
            }
        }
        positions.push(kept.len() as i32);
    }
    let len = values.len();
    Ok(Tensor::csr(shape, positions, kept, Tensor::from_shape_vec([len], values)?)?)
}

/// The inputs of a case at a size. Those of `s6` hold the tensor in fibers, too.
///
/// # Errors
/// A case that is not part of the suite; no memory.
pub fn data(case: &str, size: usize, options: CompileOptions) -> Result<Data, Failure> {
    let random = &mut Random(0x9E37_79B9_7F4A_7C15);
    let n = size;
    let mut numbers = BTreeMap::new();
    let tensors: Vec<(&str, Tensor)> = match case {
        "s1" => vec![("a", random.matrix(n, n, 16)?), ("x", random.dense(&[n], 1.0)?)],
        "s2" => vec![("a", random.matrix(n, n, 16)?), ("x", random.dense(&[n, 64], 1.0)?)],
        "s3" => vec![
            ("s", random.matrix(n, n, 16)?),
            ("a", random.dense(&[n, 64], 1.0)?),
            ("bt", random.dense(&[n, 64], 1.0)?),
        ],
        "s4" => vec![("a", random.matrix(n, n, 8)?), ("b", random.matrix(n, n, 8)?)],
        "s5" => vec![("a", random.power_law(n, 10 * n, 1_i64)?)],
        "s6" => {
            let mut column = || -> Tensor {
                let column: Vec<i64> = (0..n * 200).map(|_| random.below(n) as i64).collect();
                column.into()
            };
            let coordinates = [column(), column(), column()];
            let v = random.dense(&[n * 200], 1.0)?;
            let x = Tensor::coo([n, n, n], &coordinates, v.clone(), Duplicates::Sum)?;
            let x = x.with_format(&Format::csf(3))?;
            let [i, j, l] = coordinates;
            let (b, c) = (random.dense(&[n, 32], 1.0)?, random.dense(&[n, 32], 1.0)?);
            vec![("i", i), ("j", j), ("l", l), ("v", v), ("b", b), ("c", c), ("x", x)]
        }
        "s7" => {
            vec![
                ("a", random.matrix(n, n, 16)?),
                ("b", random.matrix(n, n, 16)?),
                ("c", random.matrix(n, n, 16)?),
            ]
        }
        "s8" => {
            numbers.insert("iterations".to_string(), 20.0);
            let a = random.power_law(n, 8 * n, 1.0_f32)?;
            let (coordinates, _) = a.to_entries()?;
            let mut degrees = vec![0.0_f32; n];
            coordinates[1].to_vec::<i64>()?.into_iter().for_each(|column| degrees[column as usize] += 1.0);
            degrees.iter_mut().for_each(|degree| *degree = degree.max(1.0));
            vec![("a", a), ("deg", degrees.into())]
        }
        "s9" => {
            let key: Vec<i64> = (0..n).map(|_| random.below(10_000) as i64).collect();
            vec![
                ("x1", random.dense(&[n, 20], 1.0)?),
                ("x2", random.dense(&[10_000, 40], 1.0)?),
                ("key", key.into()),
                ("th1", random.dense(&[20], 1.0)?),
                ("th2", random.dense(&[40], 1.0)?),
            ]
        }
        "s10" => {
            let scale = (n as f32).powf(-0.5);
            let pairs = random.pairs(n, n, (n * n) / 100_000);
            let c = by_rows([n, n], &pairs, || random.value())?;
            vec![("a", random.dense(&[n, n], scale)?), ("b", random.dense(&[n, n], scale)?), ("c", c)]
        }
        "s11" => vec![("a", random.kronecker(n)?)],
        "s12" => vec![("a", random.kronecker(n)?), ("x", random.dense(&[1 << n], 1.0)?)],
        "s13" => {
            let a = random.matrix(n, n, 16)?;
            let b = random.overlapping(&a, n, 8)?;
            vec![("a", a), ("b", b)]
        }
        "s14" => vec![("d", random.dense(&[n, n], 1.0)?), ("s_", random.matrix(n, n, n / 100)?)],
        "s15" => vec![("a", random.matrix(n, n, 16)?), ("x", random.dense(&[n], 1.0)?)],
        "s16" => {
            let extent = n / 10;
            let mut column = || -> Tensor {
                let column: Vec<i32> = (0..n).map(|_| random.below(extent) as i32).collect();
                column.into()
            };
            let (row, col) = (column(), column());
            let shape = Tensor::from(vec![extent as i64; 2]);
            vec![("row", row), ("col", col), ("data", random.dense(&[n], 1.0)?), ("shape", shape)]
        }
        "s18" => {
            let a = random.kronecker(n)?;
            let (coordinates, _) = a.to_entries()?;
            let mut degrees = vec![0; 1 << n];
            coordinates[0].to_vec::<i64>()?.into_iter().for_each(|row| degrees[row as usize] += 1);
            let source = (0..degrees.len()).max_by_key(|&vertex| degrees[vertex]).unwrap_or(0);
            numbers.insert("source".to_string(), source as f64);
            vec![("a", a)]
        }
        "s20" => {
            let pairs = random.pairs(n, 1000, 16 * n);
            vec![("a", by_rows([n, 1000], &pairs, || random.value().abs())?)]
        }
        other => return Err(format!("case {other} is not part of the suite").into()),
    };
    let tensors = tensors.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect();
    Ok(Data { tensors, numbers, options })
}
