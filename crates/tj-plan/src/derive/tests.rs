//! Every way to eliminate reductions gives the values of the program as it stands, and known programs give known ways.

use expect_test::{Expect, expect};
use tj_ir::trace::trace;
use tj_ir::{Dim, LazyTensor, Op, ReduceOp, Symbol, input};
use tj_tensor::{DType, Format, Scalar, Tensor, Width};

use super::{Derivation, Derived, Elimination, Shape, fill_of, form_of, rearrange, roots};
use crate::plan::Plan;
use crate::sample::Random;
use crate::sparse::StoredInput;
use crate::{Form as PlanForm, canonicalise, interpret, verify};

const SHAPES: [Shape; 3] = [Shape::Written, Shape::Split, Shape::Expanded];

fn sizes() -> [Dim; 3] {
    ["N", "M", "K"].map(|name| Dim::new(name, 0..=64).unwrap())
}

fn value(values: [i64; 3]) -> impl Fn(&Symbol) -> Option<i64> {
    move |symbol| Some(values[["N", "M", "K"].iter().position(|&name| symbol.to_string() == name)?])
}

/// Inputs of these names that start with `s` have the fill 0.
fn stored(plan: &Plan) -> Vec<Option<StoredInput>> {
    let of = |input: &tj_ir::InputDecl| {
        let is_stored = input.name.as_deref().is_some_and(|name| name.starts_with('s'));
        is_stored.then(|| StoredInput {
            format: Format::csf(input.shape.len()),
            fill: Scalar::zero(input.dtype),
            is_hypersparse: false,
            width: Width::U32,
            may_store_fill: true,
            entries: None,
        })
    };
    plan.inputs.iter().map(of).collect()
}

fn plan_of(outputs: &[LazyTensor]) -> Plan {
    canonicalise(&Plan::from_trace(trace(&[], outputs).unwrap()))
}

/// Small whole numbers, whose sums and products are exact in any order.
fn data(random: &mut Random, dtype: DType, shape: &[usize]) -> Tensor {
    let count = shape.iter().product();
    let items: Vec<Scalar> =
        (0..count).map(|_| Scalar::I64(random.pick(&[0, 0, 1, -1, 2, 3])).cast(dtype)).collect();
    interpret::tensor_of(dtype, shape, &items).unwrap()
}

/// A derivation by chance, of all that has a form.
fn chance(random: &mut Random, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
    let all = roots(plan);
    let mut derivation = Derivation::default();
    for root in &all.roots {
        let shape = random.pick(&SHAPES);
        let Some(mut form) = form_of(plan, &fill_of(inputs), &all, root.query, shape, &[]) else { continue };
        let (mut steps, is_closed) = (Vec::new(), form.is_closed());
        while !form.reductions.is_empty() {
            let choices = form.choices();
            assert!(!choices.is_empty(), "nothing can be eliminated from {form:?}");
            if random.below(4) == 0 && form.nodes.len() < 200 {
                let nodes = form.below(form.root);
                let some = form.args(random.pick(&nodes)).to_vec();
                let factors: Vec<u32> = some.into_iter().filter(|_| random.below(2) == 0).collect();
                if form.keep(&factors).is_some() {
                    steps.push(Elimination { factors, ..Elimination::default() });
                    continue;
                }
            }
            let mut step = random.pick(&choices).to_vec();
            if random.below(3) == 0 {
                step.truncate(1 + random.below(step.len()));
            }
            form.eliminate(&step).expect("what was chosen can be eliminated");
            let mut order: Vec<u8> = (0..form.extents.len() as u8).collect();
            for at in 1..order.len() {
                order.swap(at, random.below(at + 1));
            }
            form.keep_in_order(&order);
            let is_dense = is_closed && random.below(4) == 0;
            if is_dense {
                form.keep_dense();
            }
            steps.push(Elimination { reduced: step, order, is_dense, ..Elimination::default() });
        }
        derivation.queries.push(Derived { query: root.query, shape, steps });
    }
    derivation
}

fn program(random: &mut Random) -> Vec<LazyTensor> {
    let sizes = sizes();
    let dtype = random.pick(&[DType::F64, DType::I64, DType::U8, DType::Bool]);
    let mut pool: Vec<LazyTensor> = Vec::new();
    for name in ["s0", "s1", "x2", "x3"] {
        let rank = random.below(3);
        let shape: Vec<Dim> = (0..rank).map(|_| random.pick(&sizes)).collect();
        let new = input(name, dtype, shape).unwrap();
        let is_filled = name.starts_with('s') && rank > 0;
        pool.push(if is_filled { new.with_fill(Scalar::zero(dtype)) } else { new });
    }
    for _ in 0..3 + random.below(8) {
        let (a, b) = (random.pick(&pool), random.pick(&pool));
        let axis = random.below(a.rank().max(1)) as i64;
        let new = match random.below(12) {
            0..=2 => LazyTensor::map(Op::Mul, [a.into(), b.into()]),
            3 => LazyTensor::map(Op::Add, [a.into(), b.into()]),
            4 => LazyTensor::map(
                random.pick(&[Op::Sub, Op::Maximum, Op::Minimum, Op::And, Op::Or]),
                [a.into(), b.into()],
            ),
            5 => LazyTensor::map(random.pick(&[Op::Neg, Op::Square, Op::Relu]), [a.into()]),
            6 | 7 => a.sum(axis),
            8 => a.sum(()),
            9 => a.reduce(random.pick(&[ReduceOp::Max, ReduceOp::Min, ReduceOp::Or, ReduceOp::And]), axis),
            10 => a.transpose(),
            _ => a.matmul(&b),
        };
        if new.check().is_ok() && trace(&[], std::slice::from_ref(&new)).is_ok() {
            pool.push(new);
        }
    }
    let last = pool.len() - 1;
    vec![pool[last].clone(), pool[last - random.below(2)].clone()]
}

#[test]
fn every_derivation_computes_the_same() {
    let mut derived = 0;
    for seed in 0..600 {
        let mut random = Random(seed);
        let outputs = program(&mut random);
        let plan = plan_of(&outputs);
        let inputs = stored(&plan);
        let values = [random.pick(&[0, 1, 2, 3]), random.pick(&[1, 2, 4]), random.pick(&[0, 1, 3])];
        let value = value(values);
        if !plan.guards.iter().all(|guard| guard.condition.holds(&value) == Ok(true)) {
            continue;
        }
        let arguments: Vec<Tensor> = plan
            .inputs
            .iter()
            .map(|input| {
                let shape: Vec<usize> =
                    input.shape.iter().map(|dim| dim.eval(&value).unwrap() as usize).collect();
                data(&mut random, input.dtype, &shape)
            })
            .collect();
        let expected = interpret(&plan, &arguments, &value).unwrap();
        for _ in 0..3 {
            let derivation = chance(&mut random, &plan, &inputs);
            derived += derivation.queries.len();
            let new = rearrange(&plan, &inputs, &derivation, true).unwrap();
            let findings = verify(&new.plan, PlanForm::Traced);
            assert!(findings.is_ok(), "seed {seed}: {findings:?}\n{plan}\n{derivation:?}\n{}", new.plan);
            let found = interpret(&new.plan, &arguments, &value).unwrap();
            for (expected, found) in expected.iter().zip(&found) {
                let same = |(a, b): (f64, f64)| a == b;
                let text = |t: &Tensor| t.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                assert!(
                    text(expected).into_iter().zip(text(found)).all(same),
                    "seed {seed}: {expected:?} became {found:?}\n{plan}\n{derivation:?}\n{}",
                    new.plan
                );
            }
        }
    }
    assert!(derived > 500, "only {derived} queries had a form");
}

/// All steps of a program, by always taking the first choice.
#[track_caller]
fn check(outputs: &[LazyTensor], shape: Shape, expected: Expect) {
    let plan = plan_of(outputs);
    let inputs = stored(&plan);
    let all = roots(&plan);
    let mut derivation = Derivation::default();
    for root in &all.roots {
        let Some(mut form) = form_of(&plan, &fill_of(&inputs), &all, root.query, shape, &[]) else {
            continue;
        };
        let mut steps = Vec::new();
        while let Some(choice) = form.choices().into_iter().next() {
            form.eliminate(&choice).unwrap();
            steps.push(Elimination { reduced: choice.to_vec(), ..Elimination::default() });
        }
        derivation.queries.push(Derived { query: root.query, shape, steps });
    }
    let new = rearrange(&plan, &inputs, &derivation, true).unwrap().plan.to_string();
    let queries: Vec<&str> = new.lines().filter(|line| line.starts_with('q')).collect();
    expected.assert_eq(&(queries.join("\n") + "\n"));
}

/// The distances after one more edge, whose least is taken of sums and of what was there.
#[test]
fn what_one_operator_combines_is_split_once() {
    let [n, m, _] = sizes();
    let a = input("x0", DType::F64, [n.clone(), m.clone()]).unwrap();
    let d = input("x1", DType::F64, [n.clone()]).unwrap();
    let before = input("x2", DType::F64, [m]).unwrap();
    let through = (&a + &d.reshape(&[Some(n), Some(Dim::from(1))])).min(0);
    let least = LazyTensor::map(Op::Minimum, [through.into(), before.into()]);
    for shape in SHAPES {
        check(
            std::slice::from_ref(&least),
            shape,
            expect![[r#"
                q0 min: f64[M] = min<col>(i1 < N: add(x0[i1, i0], x1[i1]))
                q1 minimum: f64[M] = minimum(q0[i0], x2[i0])
            "#]],
        );
    }
}

/// Whether numbers are true is asked before anything is combined; truths are combined where they are.
#[test]
fn numbers_that_are_taken_for_truths_stay_below_or() {
    let [n, m, _] = sizes();
    for (dtype, expected) in [
        (
            DType::F64,
            expect![[r#"
            q0 or: bool[N] = or<row>(i1 < M: logical_and(x0[i0, i1], x1[i0]))
        "#]],
        ),
        (
            DType::Bool,
            expect![[r#"
                q0 or: bool[N] = or<row>(i1 < M: x0[i0, i1])
                q1 or: bool[N] = logical_and(q0[i0], x1[i0])
            "#]],
        ),
    ] {
        let a = input("x0", dtype, [n.clone(), m.clone()]).unwrap();
        let b = input("x1", dtype, [n.clone()]).unwrap();
        let both = LazyTensor::map(Op::LogicalAnd, [(&a).into(), (&b.expand_dims(1)).into()]);
        check(&[both.any(1)], Shape::Written, expected);
    }
}

#[test]
fn known_ways() {
    let [n, m, k] = sizes();
    let a = input("x0", DType::F64, [n.clone(), m.clone()]).unwrap();
    let b = input("x1", DType::F64, [m.clone(), k.clone()]).unwrap();
    let v = input("x2", DType::F64, [k.clone()]).unwrap();
    check(
        &[a.matmul(&b).matmul(&v)],
        Shape::Written,
        expect![[r#"
        q0 sum: f64[N, M] = sum<row>(i2 < K: mul(mul(x0[i0, i1], x1[i1, i2]), x2[i2]))
        q1 sum: f64[N] = sum<row>(i1 < M: q0[i0, i1])
    "#]],
    );
    check(
        &[(a.matmul(&b) * &v).sum(())],
        Shape::Written,
        expect![[r#"
        q0 sum: f64[M, K] = sum<col>(i2 < N: mul(mul(x0[i2, i0], x1[i0, i1]), x2[i1]))
        q1 sum: f64[M] = sum<row>(i1 < K: q0[i0, i1])
        q2 sum: f64[] = sum<row>(i0 < M: q1[i0])
    "#]],
    );
    let u = input("x3", DType::F64, [n.clone()]).unwrap();
    let w = input("x4", DType::F64, [m.clone()]).unwrap();
    let outer = u.reshape(&[Some(n), Some(Dim::from(1))]) * &w;
    check(
        &[(&a - &outer).square().sum(())],
        Shape::Expanded,
        expect![[r#"
            q0 sum: f64[M] = sum<col>(i1 < N: mul(x0[i1, i0], x0[i1, i0]))
            q1 sum: f64[] = sum<row>(i0 < M: q0[i0])
            q2 sum: f64[M] = sum<col>(i1 < N: mul(mul(mul(x0[i1, i0], -1.0f64), x3[i1]), x4[i0]))
            q3 sum: f64[] = sum<row>(i0 < M: q2[i0])
            q4 sum: f64[M] = sum<col>(i1 < N: mul(mul(mul(-1.0f64, x3[i1]), x4[i0]), x0[i1, i0]))
            q5 sum: f64[] = sum<row>(i0 < M: q4[i0])
            q6 sum: f64[] = sum<row>(i0 < M: mul(x4[i0], x4[i0]))
            q7 sum: f64[] = sum<row>(i0 < N: mul(mul(mul(mul(-1.0f64, x3[i0]), -1.0f64), x3[i0]), q6[]))
            q8 sum: f64[] = add(add(add(q1[], q3[]), q5[]), q7[])
        "#]],
    );
}
