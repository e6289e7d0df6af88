//! Random programs for the tests of this crate: what a seed says, the same on every machine.
//!
//! A sample has sizes of 0 and 1, several types, special numbers, moves of moves, reductions of every tree, shared
//! parts, several outputs. Its guards hold for its sizes.

use tj_ir::trace::trace;
use tj_ir::{At, Dim, LazyTensor, Op, Symbol, at, constant, input, number, size, where_};
use tj_tensor::{DType, Scalar, Tensor};

use crate::plan::Plan;

/// A program with values for all that it needs.
pub struct Sample {
    pub plan: Plan,
    /// In the order of the plan's inputs.
    pub inputs: Vec<Tensor>,
    values: [i64; 3],
}

impl Sample {
    /// The value of a size.
    pub fn value(&self) -> impl Fn(&Symbol) -> Option<i64> {
        valuation(self.values)
    }
}

fn valuation(values: [i64; 3]) -> impl Fn(&Symbol) -> Option<i64> {
    move |symbol| {
        let position = ["N", "M", "s7"].iter().position(|&name| symbol.to_string() == name)?;
        Some(values[position])
    }
}

/// A small generator of numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// Numbers, among them those that break careless rules.
fn scalar(random: &mut Random, dtype: DType) -> Scalar {
    let special = [0.0, -0.0, 1.0, -1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let x = match random.below(3) {
        0 => random.pick(&special),
        1 => random.below(7) as f64 - 3.0,
        _ => (random.below(2001) as f64 - 1000.0) / 64.0,
    };
    Scalar::F64(x).cast(dtype)
}

fn tensor(random: &mut Random, dtype: DType, shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    let items: Vec<Scalar> = (0..count).map(|_| scalar(random, dtype)).collect();
    crate::interpret::tensor_of(dtype, shape, &items).unwrap()
}

/// A program of at most `steps` operators.
pub fn sample(seed: u64, steps: usize) -> Sample {
    let mut random = Random(seed);
    let random = &mut random;
    let values = [random.pick(&[0, 1, 2, 3, 3, 5]), random.pick(&[1, 2, 3, 3, 4]), random.pick(&[0, 1, 3])];
    let value = valuation(values);
    let sizes = [
        Dim::new("N", 0..=5).unwrap(),
        Dim::new("M", 1..=40).unwrap(),
        Dim::symbol(&Symbol::fresh(7, ..).unwrap()),
        Dim::from(3),
        Dim::from(1),
    ];
    let mut pool: Vec<LazyTensor> = Vec::new();
    for name in ["x", "y", "q0", "in1"].into_iter().take(1 + random.below(4)) {
        let rank = random.below(4);
        let shape: Vec<Dim> = (0..rank).map(|_| random.pick(&sizes)).collect();
        pool.push(input(name, random.pick(&DTYPES), shape).unwrap());
    }
    if random.below(3) == 0 {
        let dtype = random.pick(&DTYPES);
        pool.push(constant(&tensor(random, dtype, &[3])));
    }
    for _ in 0..steps {
        let new = step(random, &pool, &sizes);
        let fits = |plan: &Plan| plan.guards.iter().all(|guard| guard.condition.holds(&value) == Ok(true));
        // What does not fit is an error of the tensor, or a guard that these sizes break.
        if trace(&[], std::slice::from_ref(&new)).is_ok_and(|trace| fits(&Plan::from_trace(trace))) {
            pool.push(new);
        }
    }
    let outputs: Vec<LazyTensor> = (0..1 + random.below(3))
        .map(|n| pool[pool.len() - 1 - random.below(pool.len()) / (n + 1)].clone())
        .collect();
    let plan = Plan::from_trace(trace(&[], &outputs).unwrap());
    let inputs = plan.inputs.iter().map(|decl| {
        let shape: Vec<usize> = decl.shape.iter().map(|dim| dim.eval(&value).unwrap() as usize).collect();
        decl.data.clone().unwrap_or_else(|| tensor(random, decl.dtype, &shape))
    });
    let inputs = inputs.collect();
    Sample { plan, inputs, values }
}

fn step(random: &mut Random, pool: &[LazyTensor], sizes: &[Dim]) -> LazyTensor {
    let a = random.pick(pool);
    let b = random.pick(pool);
    let axis = random.below(a.rank().max(1)) as i64;
    match random.below(16) {
        0 | 1 => {
            let op = random.pick(&[Op::Neg, Op::Abs, Op::Relu, Op::Not, Op::Sqrt, Op::Exp, Op::Positive]);
            LazyTensor::map(op, [a.into()])
        }
        2..=4 => {
            let ops = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Maximum, Op::Fmin, Op::Less, Op::And];
            let op = random.pick(&ops);
            LazyTensor::map(op, [a.into(), b.into()])
        }
        5 | 6 => {
            let op = random.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Maximum, Op::Remainder, Op::Or]);
            let c = number(scalar(random, a.dtype()));
            if random.below(2) == 0 {
                LazyTensor::map(op, [a.into(), c.into()])
            } else {
                LazyTensor::map(op, [c.into(), a.into()])
            }
        }
        7 => a.cast(random.pick(&DTYPES)),
        8 => where_(&a.not_equal(0), &a, &b),
        9 => match random.below(4) {
            0 => a.sum(axis),
            1 => a.max(axis),
            2 => a.prod(axis),
            _ => a.mean(axis),
        },
        10 => a.matmul(&b),
        11 => a.transpose(),
        12 => a.flip(axis),
        13 => {
            let part = match random.below(4) {
                0 => At::Index(random.pick(&[0, -1])),
                1 => at(1, None, 1),
                2 => at(None, None, random.pick(&[2, -1, -2])),
                _ => At::NewAxis,
            };
            a.index([part])
        }
        14 => match random.below(3) {
            0 => a.reshape(&[None]),
            1 => a.reshape(&[None, Some(Dim::from(3))]),
            _ => a.reshape(&a.transpose().shape().iter().cloned().map(Some).collect::<Vec<_>>()),
        },
        _ => match random.below(3) {
            0 => LazyTensor::map(Op::Add, [a.into(), size(&random.pick(sizes)).into()]),
            1 => a.broadcast_to(&[std::slice::from_ref(&random.pick(sizes)), a.shape()].concat()),
            _ => number(scalar(random, a.dtype())).broadcast_to(a.shape()),
        },
    }
}
