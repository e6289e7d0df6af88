//! Programs in which the order of sums matters, from a seed, and what they cost by a scheduler.
//!
//! Joins of matrices, vectors and dense tensors in any pattern, of uniform data and of data with hubs, tiny and large. All
//! values are small whole numbers, so that every order gives the same result.

use std::fmt::Write as _;

use tensorjit::{
    DefaultScheduler, Duplicates, Error, Format, LazyTensor, Scalar, Scheduler, Tensor, compute_as, defer,
    einop, minimum, where_,
};
use tj_plan::derive::Derivation;
use tj_plan::sparse::StoredInput;
use tj_plan::{Engine, Grouping, Plan, Sizes, Surprise};

use crate::engines::scheduled;
use crate::rng::Rng;

/// Programs that are expected to take more rounds as they are written are not made.
const MOST: f64 = 3e5;

/// The same of rounds that are cheap, of products with a vector row by row.
const MOST_BY_ROWS: f64 = 3e6;

/// The plans of a scheduler, interpreted, so that work is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted<S>(pub S);

impl<S: Scheduler> Scheduler for Counted<S> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn options_key(&self) -> u64 {
        self.0.options_key()
    }

    fn engine(&self) -> Engine {
        Engine::InterpretKernel
    }

    fn reads_data(&self) -> bool {
        self.0.reads_data()
    }

    fn asks_for_finite(&self, arguments: &[&Tensor]) -> bool {
        self.0.asks_for_finite(arguments)
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        self.0.derive(plan, inputs)
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        self.0.group(plan, sizes)
    }

    fn surprise(&self) -> Surprise {
        self.0.surprise()
    }
}

/// The work of a program by the default scheduler and by another one, whose results are equal.
///
/// # Errors
/// A program that fails.
///
/// # Panics
/// Where the results differ.
pub fn works(program: &LazyTensor, other: impl Scheduler + 'static) -> Result<[u64; 2], Error> {
    let (expected, before) = compute_as(program, &scheduled(Counted(DefaultScheduler)))?;
    let (got, after) = compute_as(program, &scheduled(Counted(other)))?;
    assert!(same(&got.to_dense()?, &expected.to_dense()?)?, "another order has another result");
    Ok([before, after].map(|report| report.work.expect("interpreted kernels count")))
}

/// Element by element; zeros have no signs here.
fn same(x: &Tensor, y: &Tensor) -> Result<bool, Error> {
    let equal = defer(x).equal(defer(y)).all(());
    Ok(x.shape() == y.shape() && compute_as(equal, &scheduled(DefaultScheduler))?.0.item::<bool>()?)
}

/// A program and what it is made of, in words.
#[derive(Clone, Debug)]
pub struct Made {
    /// In words.
    pub text: String,
    /// What is computed.
    pub program: LazyTensor,
}

/// A tensor of a program, and about how many entries it has.
#[derive(Clone, Debug)]
struct Known {
    lazy: LazyTensor,
    shape: Vec<f64>,
    count: f64,
}

struct Maker {
    rng: Rng,
    /// How far indices run.
    sizes: Vec<usize>,
    /// How many entries a tensor has for each coordinate of its longest dimension, at most.
    degree: f64,
    has_hubs: bool,
    /// How often of a hundred a tensor is dense.
    dense: usize,
    text: String,
    effort: f64,
}

/// The program of a seed.
pub fn generate(seed: u64) -> Made {
    let mut rng = Rng::new(seed);
    loop {
        let scale = rng.pick(&[10.0, 100.0, 1000.0, 1000.0, 3000.0, 20_000.0, 100_000.0]);
        let size = |rng: &mut Rng| (1.0 + scale * rng.unit().powi(2)) as usize;
        let sizes = (0..6).map(|_| size(&mut rng)).collect();
        let mut maker = Maker {
            sizes,
            degree: rng.pick(&[0.3, 1.0, 2.0, 5.0, 20.0, 100.0]),
            has_hubs: rng.chance(40),
            dense: rng.pick(&[0, 20, 50]),
            text: String::new(),
            effort: 0.0,
            rng: Rng::new(rng.bits()),
        };
        let made = match maker.rng.below(8) {
            0 | 1 => maker.chain(),
            2..5 => maker.pattern(),
            5 | 6 => maker.elementwise(),
            _ => maker.masked(),
        };
        let Some(made) = made else { continue };
        if maker.effort <= MOST && made.lazy.check().is_ok() {
            return Made { text: maker.text, program: made.lazy };
        }
    }
}

impl Maker {
    /// A tensor along some indices; none if it were too large.
    fn tensor(&mut self, indices: &[usize]) -> Option<Known> {
        let dense = if indices.len() == 1 { self.dense.max(40) } else { self.dense };
        let is_dense = self.rng.chance(dense);
        self.stored(indices, is_dense, 0.0)
    }

    fn stored(&mut self, indices: &[usize], is_dense: bool, fill: f64) -> Option<Known> {
        let shape: Vec<usize> = indices.iter().map(|&index| self.sizes[index]).collect();
        let volume: usize = shape.iter().product();
        let value = |at: usize| (at % 7) as f64 - 3.0;
        let wide = shape.iter().map(|&size| size as f64).collect();
        if is_dense {
            let made = (volume <= 100_000)
                .then(|| Tensor::from_shape_vec(&shape[..], (0..volume).map(value).collect()));
            let _ = write!(self.text, "dense{shape:?} ");
            return Some(Known {
                lazy: defer(&made?.expect("there are as many values")),
                shape: wide,
                count: volume as f64,
            });
        }
        let longest = shape.iter().copied().max().unwrap_or(1);
        let wanted =
            (longest as f64 * self.degree * self.rng.unit()).min(0.6 * volume as f64).min(1e5) as usize;
        let hubs = self.has_hubs;
        let rng = &mut self.rng;
        let coordinate = |rng: &mut Rng, size: usize| match hubs {
            true => (rng.unit().powf(2.5) * size as f64) as i64,
            false => rng.below(size) as i64,
        };
        let mut cells: Vec<Vec<i64>> =
            (0..wanted).map(|_| shape.iter().map(|&size| coordinate(rng, size)).collect()).collect();
        cells.sort_unstable();
        cells.dedup();
        let columns: Vec<Tensor> = (0..shape.len())
            .map(|axis| Tensor::from(cells.iter().map(|cell| cell[axis]).collect::<Vec<i64>>()))
            .collect();
        let values: Vec<f64> = (0..cells.len()).map(|at| 1.0 + (at % 3) as f64).collect();
        let format = match shape.len() {
            2 => rng.pick(&["csr", "csr", "csr", "csc", "coo(2)"]).parse::<Format>(),
            rank => Ok(Format::csf(rank)),
        };
        let made = Tensor::from_entries(
            &shape[..],
            &columns,
            values.into(),
            Scalar::from(fill),
            Duplicates::Refuse,
            &format.expect("formats are well formed"),
        );
        let _ = write!(self.text, "{}{shape:?} ", cells.len());
        let made = made.expect("cells are in bounds, and each is there once");
        Some(Known { lazy: defer(&made), shape: wide, count: cells.len() as f64 })
    }

    /// Counts what a join takes, in which so many ways are found.
    fn spend(&mut self, ways: f64) {
        // Hubs meet hubs.
        self.effort += if self.has_hubs { 4.0 * ways } else { ways };
    }

    fn product(&mut self, a: Known, b: Known) -> Known {
        let inner = *a.shape.last().unwrap_or(&1.0);
        let ways = a.count * b.count / inner;
        self.spend(ways + a.count + b.count);
        let mut shape = a.shape[..a.shape.len() - 1].to_vec();
        shape.extend(&b.shape[1..]);
        let volume: f64 = shape.iter().product();
        Known { lazy: a.lazy.matmul(&b.lazy), shape, count: ways.min(volume) }
    }

    /// A product of matrices, which a vector or a sum may end.
    fn chain(&mut self) -> Option<Known> {
        let count = 2 + self.rng.below(4);
        let ends = self.rng.below(4);
        self.text = format!("chain of {count}, end {ends}: ");
        let mut product = self.tensor(&[0, 1])?;
        for at in 1..count {
            let next = match at + 1 == count && ends == 0 {
                true => {
                    let vector = self.tensor(&[at % 6])?;
                    // Each row may go through all of it, and through what each of its entries meets.
                    let ways = product.shape[0] * vector.count * (1.0 + product.count / product.shape[0]);
                    self.effort += if ways > MOST_BY_ROWS { f64::INFINITY } else { 0.0 };
                    vector
                }
                false => self.tensor(&[at % 6, (at + 1) % 6])?,
            };
            product = self.product(product, next);
        }
        let volume: f64 = product.shape.iter().product();
        self.effort += if volume > 4e6 { f64::INFINITY } else { volume };
        Some(match ends {
            1 => Known { lazy: product.lazy.sum(()), ..product },
            2 => Known { lazy: product.lazy.sum(0), ..product },
            _ => product,
        })
    }

    /// A path, a star, a cycle or a tree of factors with indices that are summed or kept.
    fn pattern(&mut self) -> Option<Known> {
        let kind = self.rng.below(4);
        let edges = 2 + self.rng.below(if kind == 2 { 3 } else { 4 });
        let mut factors: Vec<Vec<usize>> = (0..edges)
            .map(|at| match kind {
                0 => vec![at, at + 1],
                1 => vec![0, at + 1],
                2 if at + 1 == edges && edges > 2 => vec![at, 0],
                2 => vec![at, at + 1],
                _ => vec![self.rng.below(at + 1), at + 1],
            })
            .collect();
        let vertices = factors.iter().flatten().max().map_or(1, |last| last + 1);
        for vertex in 0..vertices {
            if self.rng.chance(20) {
                factors.push(vec![vertex]);
            }
        }
        if self.rng.chance(10) {
            let third = self.rng.below(vertices);
            if !factors[0].contains(&third) {
                factors[0].push(third);
            }
        }
        let letters = ["i", "j", "k", "l", "m", "n"];
        // The default scheduler tries no orders of many loops.
        let is_wide = kind != 0 && vertices > 4 && self.sizes[0] > 200;
        if vertices > letters.len() || is_wide {
            return None;
        }
        let kept: Vec<usize> = match self.rng.below(4) {
            0 | 1 => Vec::new(),
            2 => vec![self.rng.below(vertices)],
            _ => {
                let (a, b) = (self.rng.below(vertices), self.rng.below(vertices));
                if a == b { vec![a] } else { vec![a, b] }
            }
        };
        // The same tensor everywhere, as in a graph, or another one for each factor.
        let is_graph = self.rng.chance(40);
        if is_graph {
            self.sizes = vec![self.sizes[0]; 6];
        }
        let is_least = self.rng.chance(15);
        let named = |indices: &[usize]| indices.iter().map(|&at| letters[at]).collect::<Vec<_>>().join(",");
        let mut terms: Vec<String> = Vec::new();
        let mut tensors: Vec<(String, Known)> = Vec::new();
        let mut by_rank: Vec<Option<Known>> = vec![None; 4];
        for (at, indices) in factors.iter().enumerate() {
            let known = match by_rank[indices.len()].clone().filter(|_| is_graph) {
                Some(known) => known,
                None if is_least => self.stored(indices, false, f64::INFINITY)?,
                None => self.tensor(indices)?,
            };
            by_rank[indices.len()] = Some(known.clone());
            terms.push(format!("T{at}[{}]", named(indices)));
            tensors.push((format!("T{at}"), known));
        }
        // What of the factors so far meets, index by index as they are written.
        let mut bound: Vec<usize> = Vec::new();
        for next in 0..vertices {
            bound.push(next);
            let cells: f64 = bound.iter().map(|&at| self.sizes[at] as f64).product();
            let whole =
                factors.iter().zip(&tensors).filter(|(own, _)| own.iter().all(|at| bound.contains(at)));
            let shares = whole.map(|(_, (_, known))| known.count / known.shape.iter().product::<f64>());
            // Hubs meet hubs.
            let each = if self.has_hubs { 4.0 } else { 1.0 };
            self.effort += shares.fold(cells, |ways, share| ways * share * each);
        }
        let cells: f64 = kept.iter().map(|&at| self.sizes[at] as f64).product();
        self.effort += if cells > 4e6 { f64::INFINITY } else { cells };
        let by = if is_least { ("min=", " + ") } else { ("+=", " * ") };
        let text = format!("R[{}] {} {}", named(&kept), by.0, terms.join(by.1));
        let _ = write!(self.text, "{text}");
        let arguments: Vec<(&str, &LazyTensor)> =
            tensors.iter().map(|(name, known)| (name.as_str(), &known.lazy)).collect();
        Some(Known { lazy: einop(&text, &arguments), shape: Vec::new(), count: cells })
    }

    /// Sums, products and differences of matrices, with vectors that are repeated.
    fn elementwise(&mut self) -> Option<Known> {
        let kind = self.rng.below(9);
        self.text = format!("elementwise {kind}: ");
        let (a, b) = (self.tensor(&[0, 1])?, self.tensor(&[0, 1])?);
        let (u, v) = (self.tensor(&[0])?, self.tensor(&[1])?);
        let (x, y) = (a.lazy.clone(), b.lazy.clone());
        let volume = a.shape[0] * a.shape[1];
        let outer = u.lazy.expand_dims(1) * &v.lazy;
        // Two of them are dense unless u and v are stored.
        self.effort += if volume > 1e6 { f64::INFINITY } else { volume };
        let lazy = match kind {
            0 => (x + y).matmul(&v.lazy),
            1 => (x * outer).sum(()),
            2 => (x - outer).square().sum(()),
            3 => (x * y).sum(1).matmul(&u.lazy),
            4 => (x.sum(1) * u.lazy + y.sum(1)).sum(()),
            5 => ((x + &y) * y).sum(0),
            6 => minimum(&x, &y).sum(()) + x.matmul(&v.lazy).sum(()),
            7 => (x * v.lazy + u.lazy.expand_dims(1) * y).sum(()),
            _ => (x * &v.lazy).matmul(&y.transpose()).sum(0),
        };
        if kind == 8 {
            self.spend(a.count * b.count / a.shape[1]);
        }
        Some(Known { lazy, shape: Vec::new(), count: 1.0 })
    }

    /// A product where a matrix has entries.
    fn masked(&mut self) -> Option<Known> {
        let kind = self.rng.below(4);
        self.text = format!("masked {kind}: ");
        let (mask, a, b) = (self.stored(&[0, 2], false, 0.0)?, self.tensor(&[0, 1])?, self.tensor(&[1, 2])?);
        self.spend(a.count * b.count / a.shape[1] + mask.shape[0] * mask.shape[1] / 8.0);
        let (m, product) = (mask.lazy, a.lazy.matmul(&b.lazy));
        let lazy = match kind {
            0 => m * product,
            1 => (m * product).sum(()),
            2 => where_(&m.not_equal(0.0), product, 0.0),
            _ => (m * product).sum(1),
        };
        Some(Known { lazy, shape: Vec::new(), count: 1.0 })
    }
}
