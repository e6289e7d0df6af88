//! Random programs over random data, every step of which is computed element by element: no bound is below what is there.

use tj_ir::expand::expand;
use tj_ir::expr::Source;
use tj_ir::prim::Evaluator;
use tj_ir::trace::trace;
use tj_ir::{Dim, LazyTensor, Op, ReduceOp, Symbol, defer, number, where_};
use tj_plan::derive::form::{Form, Kind, Leaf, NodeId, members};
use tj_plan::derive::{Shape, Step, fill_decision, fill_of, form_of, roots};
use tj_plan::{Plan, Produces, interpret};
use tj_tensor::{DType, Format, Scalar, Tensor};

use super::super::{Bounds, is_zero, result_fill};
use crate::tests::{Random, plan_of};

/// Loops of more rounds are not run.
const MOST_ROUNDS: usize = 3000;

/// Values of a step, row-major by its axes.
struct Values {
    axes: Vec<u8>,
    items: Vec<Scalar>,
}

/// A form and what it reads.
struct Truth<'t> {
    form: &'t Form,
    sizes: Vec<usize>,
    inputs: &'t [Tensor],
    queries: &'t [Tensor],
    numbers: &'t [Scalar],
}

/// Whether two values are the same, of which zeros and NaN are one each.
fn same(a: Scalar, b: Scalar) -> bool {
    let both_nan = || a.to_f64().is_nan() && b.to_f64().is_nan() && a.dtype().is_float();
    a == b || (is_zero(a) && is_zero(b)) || both_nan()
}

fn is_free(op: Op) -> bool {
    let algebra = op.info().algebra;
    algebra.associative.is_some() && algebra.commutative.is_some() && op.info().arity == 2
}

/// An operator on values with fills, which decide.
fn apply(op: Op, args: &[(Scalar, Option<Scalar>)]) -> (Scalar, Option<Scalar>) {
    if is_free(op) && args.len() > 2 {
        let first = apply(op, &args[..2]);
        return args[2..].iter().fold(first, |all, next| apply(op, &[all, *next]));
    }
    let values: Vec<Scalar> = args.iter().map(|arg| arg.0).collect();
    let decision = |at: usize| args[at].1.and_then(|fill| fill_decision(op, at, fill));
    let mut result = expand(&mut Evaluator, op, &values);
    for at in (0..args.len()).rev() {
        if let Some(decided) = decision(at).filter(|_| args[at].1.is_some_and(|fill| same(fill, args[at].0)))
        {
            result = decided;
        }
    }
    let fills: Option<Vec<Scalar>> = args.iter().map(|arg| arg.1).collect();
    let fill = (0..args.len()).find_map(decision);
    (result, fill.or_else(|| fills.map(|fills| expand(&mut Evaluator, op, &fills))))
}

impl Truth<'_> {
    fn dim(&self, dim: &Dim, at: &[usize]) -> i64 {
        let value = |symbol: &Symbol| match symbol.as_index() {
            Some(index) => Some(at[index as usize] as i64),
            None => symbol.hint(),
        };
        dim.eval(&value).unwrap()
    }

    fn value(&self, id: NodeId, at: &[usize], steps: &[Values]) -> Scalar {
        let node = self.form.node(id);
        match &node.kind {
            Kind::Const(value) => *value,
            Kind::Number(number) => self.numbers[*number as usize],
            Kind::Size(dim) => Scalar::I64(self.dim(dim, at)),
            Kind::Read(leaf) => match &self.form.leaves[*leaf as usize] {
                Leaf::Source(source, own) => {
                    let own: Vec<usize> = own.iter().map(|dim| self.dim(dim, at) as usize).collect();
                    match source {
                        Source::Input(i) => self.inputs[*i as usize].get(&own).unwrap(),
                        Source::Def(q) => self.queries[*q as usize].get(&own).unwrap(),
                    }
                }
                Leaf::Step(step) => {
                    let step = &steps[*step as usize];
                    let place = step.axes.iter().fold(0, |place, &axis| {
                        place * self.sizes[usize::from(axis)] + at[usize::from(axis)]
                    });
                    step.items[place]
                }
            },
            Kind::Map(op, args) => {
                let args: Vec<(Scalar, Option<Scalar>)> =
                    args.iter().map(|&arg| (self.value(arg, at, steps), self.form.node(arg).fill)).collect();
                apply(*op, &args).0
            }
        }
    }

    /// All assignments of some indices, in order.
    fn each(&self, indices: &[u8], at: &mut [usize], f: &mut dyn FnMut(&mut [usize])) {
        let Some((&first, rest)) = indices.split_first() else { return f(at) };
        for position in 0..self.sizes[usize::from(first)] {
            at[usize::from(first)] = position;
            self.each(rest, at, f);
        }
    }

    /// The result of a step, and where its body is anything but its fill.
    fn run(&self, step: &Step, steps: &[Values]) -> (Values, usize) {
        let mut at = vec![0; self.sizes.len()];
        let (mut items, mut ways) = (Vec::new(), 0);
        let body = self.form.node(step.body);
        self.each(&step.axes, &mut at, &mut |at| {
            let mut all: Option<Scalar> = None;
            self.each(&step.reduced, at, &mut |at| {
                let next = self.value(step.body, at, steps);
                ways += usize::from(body.fill.is_none_or(|fill| !same(fill, next)));
                all = Some(match all {
                    Some(all) => expand(&mut Evaluator, step.op.op(), &[all, next]),
                    None => next,
                });
            });
            items.push(all.or(step.op.empty(body.dtype)).unwrap_or(Scalar::zero(body.dtype)));
        });
        (Values { axes: step.axes.to_vec(), items }, ways)
    }
}

fn tensor(random: &mut Random, dtype: DType) -> LazyTensor {
    let rank = 1 + random.below(3);
    let shape: Vec<usize> = (0..rank).map(|_| [0, 1, 2, 3, 3, 3, 4, 4][random.below(8)]).collect();
    let fills = [0.0, 0.0, 0.0, 0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let fill = if dtype.is_bool() {
        Scalar::Bool(random.below(3) == 0)
    } else if dtype.is_float() {
        Scalar::F64(fills[random.below(fills.len())]).cast(dtype)
    } else {
        [Scalar::zero(dtype), Scalar::one(dtype), Scalar::lowest(dtype).unwrap()][random.below(3)]
    };
    let kept = random.below(4);
    let item = |random: &mut Random| match random.below(4) < kept {
        true => Scalar::I64([1, 2, 3, -1, 0][random.below(5)]).cast(dtype),
        false => fill,
    };
    let count = shape.iter().product();
    let items: Vec<Scalar> = (0..count).map(|_| item(random)).collect();
    let integer = |item: &Scalar| if let Scalar::I64(x) = item.cast(DType::I64) { x } else { 0 };
    let floats: Vec<f64> = items.iter().map(|item| item.to_f64()).collect();
    let integers: Vec<i64> = items.iter().map(integer).collect();
    let dense = if dtype.is_int() {
        Tensor::from_shape_vec(&shape, integers).unwrap().cast(dtype)
    } else {
        Tensor::from_shape_vec(&shape, floats).unwrap().cast(dtype)
    };
    let dense = dense.unwrap();
    if random.below(4) == 0 {
        return defer(&dense);
    }
    let formats = [Format::csf(rank), Format::coo(rank), Format::csf(rank)];
    let mut format = formats[random.below(3)].clone();
    if rank == 2 {
        let two = ["csr", "csc", "dcsr", "{d0: dense, d1: bitmap}", "{d0: dense, d1: runs}"];
        format = two[random.below(5)].parse().unwrap();
    }
    defer(&dense.with_fill(Some(fill)).unwrap().with_format(&format).unwrap())
}

fn operator(random: &mut Random, a: &LazyTensor, b: &LazyTensor, c: &LazyTensor) -> LazyTensor {
    let binary = [
        Op::Mul,
        Op::Mul,
        Op::Mul,
        Op::Add,
        Op::Add,
        Op::Sub,
        Op::Maximum,
        Op::Minimum,
        Op::And,
        Op::Or,
        Op::Xor,
        Op::LogicalAnd,
        Op::LogicalOr,
        Op::Div,
        Op::Remainder,
        Op::Less,
        Op::Equal,
        Op::Pow,
    ];
    let unary = [Op::Neg, Op::Abs, Op::Relu, Op::Square, Op::Not, Op::Exp, Op::Sqrt, Op::LogicalNot];
    match random.below(9) {
        0..=4 => LazyTensor::map(binary[random.below(binary.len())], [a.into(), b.into()]),
        5 => LazyTensor::map(unary[random.below(unary.len())], [a.into()]),
        6 => {
            let values = [0, 1, 2, -1];
            let scalar = number(Scalar::I64(values[random.below(4)]).cast(a.dtype()));
            LazyTensor::map(binary[random.below(binary.len())], [a.into(), scalar.into()])
        }
        7 => where_(&a.not_equal(random.below(2) as i64), b, c),
        _ => where_(&a.greater(0), b, 0),
    }
}

fn moved(random: &mut Random, a: &LazyTensor) -> LazyTensor {
    let axis = random.below(a.rank().max(1)) as i64;
    match random.below(7) {
        0 => a.transpose(),
        1 => a.flip(axis),
        2 => a.index([tj_ir::at(None, None, 2)]),
        3 => a.index([tj_ir::At::Index(0)]),
        4 => a.expand_dims(axis),
        5 => a.reshape(&[None]),
        _ if a.rank() == 2 => tj_ir::einop("d[i] = A[i,i]", &[("A", a)]),
        _ => a.clone(),
    }
}

fn reduced(random: &mut Random, a: &LazyTensor, b: &LazyTensor) -> LazyTensor {
    let axis = random.below(a.rank().max(1)) as i64;
    let ops = [ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod, ReduceOp::Or, ReduceOp::And, ReduceOp::Xor];
    match random.below(6) {
        0..=1 => a.sum(axis),
        2 => a.sum(()),
        3 | 4 => a.matmul(b),
        _ => a.reduce(ops[random.below(ops.len())], axis),
    }
}

fn program(random: &mut Random) -> Option<LazyTensor> {
    let dtype = [DType::F64, DType::F64, DType::I64, DType::U8, DType::Bool][random.below(5)];
    let mut pool: Vec<LazyTensor> = (0..4).map(|_| tensor(random, dtype)).collect();
    for _ in 0..4 + random.below(10) {
        let [a, b, c] = [(); 3].map(|()| pool[random.below(pool.len())].clone());
        let new = match random.below(8) {
            0..=3 => operator(random, &a, &b, &c),
            4 => moved(random, &a),
            _ => reduced(random, &a, &b),
        };
        if new.rank() <= 4 && new.check().is_ok() && trace(&[], std::slice::from_ref(&new)).is_ok() {
            pool.push(new);
        }
    }
    // What was made last is made of most.
    pool.into_iter().rev().find(|new| trace(&[], std::slice::from_ref(new)).is_ok())
}

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    steps: usize,
    /// Steps of which anything is known, and of which bounds are exact.
    bounded: usize,
    exact: usize,
}

fn check(
    random: &mut Random,
    plan: &Plan,
    inputs: &[Option<tj_plan::sparse::StoredInput>],
    tried: &mut Tried,
) {
    let data: Vec<Tensor> = plan.inputs.iter().map(|input| input.data.clone().unwrap()).collect();
    let all = roots(plan);
    let mut whole = plan.clone();
    whole.produces = Produces((0..plan.queries.len() as u32).map(Source::Def).collect());
    let Ok(queries) = interpret(&whole, &data, &|symbol| symbol.hint()) else { return };
    let bounds = Bounds::new(plan, inputs);
    for root in &all.roots {
        let shape = [Shape::Written, Shape::Split, Shape::Expanded][random.below(3)];
        let Some(mut form) = form_of(plan, &fill_of(inputs), &all, root.query, shape, &[]) else { continue };
        let (mut known, mut steps): (Vec<_>, Vec<Values>) = (Vec::new(), Vec::new());
        while !form.reductions.is_empty() {
            let choices = form.choices();
            let mut choice = choices[random.below(choices.len())].to_vec();
            if random.below(3) == 0 {
                choice.truncate(1);
            }
            let factors: Vec<NodeId> = {
                let nodes = form.below(form.root);
                form.args(nodes[random.below(nodes.len())])
                    .iter()
                    .copied()
                    .filter(|_| random.below(2) == 0)
                    .collect()
            };
            let kept =
                if random.below(4) == 0 && form.nodes.len() < 100 { form.keep(&factors) } else { None };
            let step = match kept.cloned() {
                Some(step) => step,
                None => form.eliminate(&choice).unwrap().clone(),
            };
            let truth = Truth {
                form: &form,
                sizes: form.extents.iter().map(|dim| dim.hint().unwrap() as usize).collect(),
                inputs: &data,
                queries: &queries,
                numbers: &plan.numbers,
            };
            let rounds: usize =
                members(step.indices()).map(|index| truth.sizes[usize::from(index)]).product();
            if rounds > MOST_ROUNDS {
                break;
            }
            let (values, ways) = truth.run(&step, &steps);
            let bound = bounds.step(&form, &step, &known);
            let differs = |fill: Scalar| values.items.iter().filter(|&&item| !same(item, fill)).count();
            let entries = result_fill(&form, known.len()).map_or(values.items.len(), differs);
            assert!(
                bound.entries() >= entries as f64,
                "{entries} entries of {bound:?}, {step:?} of {form:?}"
            );
            assert!(bound.ways() >= ways as f64, "{ways} ways of {bound:?}, {step:?} of {form:?}");
            assert!(bound.entries() <= values.items.len() as f64);
            tried.steps += 1;
            tried.bounded += usize::from(bound.ways() < rounds as f64);
            tried.exact += usize::from(bound.ways() == ways as f64 && ways < rounds);
            if random.below(6) == 0 {
                form.keep_dense();
            }
            known.push(bound);
            steps.push(values);
        }
    }
}

#[test]
fn no_bound_is_below_the_truth() {
    let mut tried = Tried::default();
    for seed in 0..1200 {
        let mut random = Random(seed);
        let Some(output) = program(&mut random) else { continue };
        let (plan, inputs) = plan_of(&output);
        check(&mut random, &plan, &inputs, &mut tried);
    }
    // Of so many something is known that what was shown is not about dense tensors.
    assert!(tried.steps > 700 && tried.bounded > 300 && tried.exact > 100, "{tried:?}");
}

/// Where both decide, and differently, the first one does: what the second one decides is not the fill.
#[test]
fn of_fills_that_disagree_one_decides() {
    let stored = |items: Vec<f64>, fill: f64| {
        let dense = Tensor::from_shape_vec([2, 3], items).unwrap();
        defer(&dense.with_fill(Some(fill.into())).unwrap().with_format(&Format::csr()).unwrap())
    };
    let (far, low) = (f64::INFINITY, f64::NEG_INFINITY);
    let x = stored(vec![1.0, 2.0, far, 3.0, far, far], far);
    let y = stored(vec![low, low, low, 5.0, low, low], low);
    let mut tried = Tried::default();
    for sum in [&x + &y, &y + &x] {
        let (plan, inputs) = plan_of(&sum.min(1));
        check(&mut Random(1), &plan, &inputs, &mut tried);
    }
    assert_eq!((tried.steps, tried.bounded), (2, 2));
}
