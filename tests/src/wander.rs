//! A scheduler that derives at random.
//!
//! Whatever the laws of algebra allow (`tj_plan::derive`) must give the same values wherever values do not depend on the
//! order in which they are combined, however foolish it is: [`Wanders`] draws from all of it, in every shape, order and
//! format of what is kept, and groups what it derived by chance, too. It never derives what it was not made for: what is
//! dense without asking for fills is finite.

use tensorjit::{
    Backend, CompileOptions, DType, DefaultScheduler, Dim, LazyTensor, Op, Scheduler, Symbol, Tensor,
};
use tj_plan::derive::{Derivation, Derived, Elimination, Form, Shape, fill_of, form_of, roots, without};
use tj_plan::sparse::StoredInput;
use tj_plan::{Engine, Grouping, Plan, Sizes};

use crate::chaos::legal;
use crate::check::Case;
use crate::engines::{Named, scheduled};
use crate::program::Step;
use crate::rng::Rng;

const SHAPES: [Shape; 4] = [Shape::Still, Shape::Written, Shape::Split, Shape::Expanded];

/// Factors are kept by chance in forms of at most so many nodes, since each that is kept adds some.
const MAX_NODES: usize = 200;

/// Elements that one step goes through: the interpreters take seconds for more.
const MAX_LOOPS: f64 = 2e5;

/// Random legal derivations.
#[derive(Clone, Copy, Debug)]
pub struct Wanders {
    /// Makes the decisions.
    pub seed: u64,
    /// What runs the result.
    pub engine: Engine,
}

impl Scheduler for Wanders {
    fn name(&self) -> &str {
        "wanders"
    }

    fn options_key(&self) -> u64 {
        self.seed
    }

    fn engine(&self) -> Engine {
        self.engine
    }

    fn reads_data(&self) -> bool {
        true
    }

    fn asks_for_finite(&self, _arguments: &[&Tensor]) -> bool {
        true
    }

    fn derive(&self, plan: &Plan, inputs: &[Option<StoredInput>]) -> Derivation {
        derivation(plan, inputs, &mut Rng::new(self.seed))
    }

    fn group(&self, plan: &Plan, sizes: &Sizes) -> Grouping {
        match self.seed % 3 {
            0 => DefaultScheduler.group(plan, sizes),
            1 => Grouping::separate(plan),
            _ => legal(plan, &mut Rng::new(self.seed)),
        }
    }
}

/// Random derivations on interpreted kernels and on code, whole and cut.
pub fn engines(seed: u64) -> Vec<Named> {
    let on = |number: u64, engine| scheduled(Wanders { seed: seed.rotate_left(17) ^ number, engine });
    let compiled = Engine::Compiled(Backend::Cranelift);
    let cut = |threads, number| CompileOptions { threads, parallel_work: Some(0), ..on(number, compiled) };
    vec![
        ("any order: by chance, interpreted plan", on(1, Engine::InterpretPlan)),
        ("any order: by chance, interpreted kernels", on(2, Engine::InterpretKernel)),
        ("any order: by chance, cranelift, 1 thread", CompileOptions { threads: 1, ..on(3, compiled) }),
        ("any order: by chance, cranelift, cut, 2 threads", cut(2, 4)),
    ]
}

/// Random derivations on code by C.
pub fn c_engines(seed: u64) -> Vec<Named> {
    let engine = Engine::Compiled(Backend::C);
    vec![("any order: by chance, c", scheduled(Wanders { seed: !seed, engine }))]
}

/// The same program on integers and truths, if nothing of it is a float: every order gives its bits.
pub fn of_integers(case: &Case) -> Option<Case> {
    let whole = |dtype: DType| if dtype.is_float() { DType::I64 } else { dtype };
    let mut case = case.clone();
    for input in &mut case.program.inputs {
        input.dtype = whole(input.dtype);
    }
    for step in &mut case.program.steps {
        if let Step::Map(Op::Cast(dtype), _) = step {
            *dtype = whole(*dtype);
        }
    }
    let is_whole = |step: &LazyTensor| step.check().is_ok() && !step.dtype().is_float();
    let all_whole = case.program.build("").is_ok_and(|steps| steps.iter().all(is_whole));
    (all_whole && case.is_well_formed()).then_some(case)
}

/// Of all that has a form.
fn derivation(plan: &Plan, inputs: &[Option<StoredInput>], rng: &mut Rng) -> Derivation {
    let data = |input: &tj_ir::InputDecl| input.data.as_ref().is_some_and(Tensor::is_finite);
    let is_finite = plan.inputs.iter().all(data);
    let is_stored = |at: &u32| inputs.get(*at as usize).is_some_and(Option::is_some);
    let percent = if is_finite { rng.pick(&[0, 0, 30, 100]) } else { 0 };
    let all = (0..plan.inputs.len() as u32).filter(is_stored);
    let dense: Vec<u32> = all.filter(|_| rng.chance(percent)).collect();
    let inputs = without(inputs, &dense);
    let all = roots(plan);
    let (often, keeps) = (rng.pick(&[50, 90, 100]), rng.pick(&[0, 25, 60]));
    let mut derivation = Derivation { is_measured: rng.chance(50), ..Derivation::default() };
    for root in &all.roots {
        let (is_taken, shape) = (rng.chance(often), rng.pick(&SHAPES));
        let Some(form) = form_of(plan, &fill_of(&inputs), &all, root.query, shape, &dense) else { continue };
        let may_be_dense = is_finite && form.is_closed();
        if is_taken
            && (may_be_dense || dense.is_empty())
            && let Some(steps) = steps(form, may_be_dense, keeps, &|dim| size_of(plan, dim), rng)
        {
            derivation.queries.push(Derived { query: root.query, shape, steps });
        }
    }
    Derivation { dense, ..derivation }
}

/// A size, as the data have it; 1 if there are none.
fn size_of(plan: &Plan, dim: &Dim) -> f64 {
    let value = |symbol: &Symbol| {
        let found = plan.inputs.iter().find_map(|input| {
            let axis = input.shape.iter().position(|dim| dim.as_symbol() == Some(symbol))?;
            input.data.as_ref().map(|data| data.shape()[axis] as i64)
        });
        Some(found.unwrap_or(1))
    };
    dim.eval(&value).unwrap_or(1) as f64
}

/// Eliminates all reductions of a form, unless by chance that takes too long.
fn steps(
    mut form: Form,
    may_be_dense: bool,
    keeps: usize,
    size: &dyn Fn(&Dim) -> f64,
    rng: &mut Rng,
) -> Option<Vec<Elimination>> {
    let mut steps = Vec::new();
    while !form.reductions.is_empty() {
        let mut step = Elimination::default();
        let mut all = form.below(form.root);
        all.retain(|&node| form.args(node).len() > 1);
        let of = all.get(rng.below(all.len().max(1))).map_or(&[][..], |&node| form.args(node));
        let factors: Vec<u32> = of.iter().copied().filter(|_| rng.chance(60)).collect();
        if rng.chance(keeps)
            && form.nodes.len() < MAX_NODES
            && !factors.is_empty()
            && form.keep(&factors).is_some()
        {
            step.factors = factors;
        } else {
            let choices = form.choices();
            step.reduced = choices[rng.below(choices.len())].to_vec();
            shuffle(&mut step.reduced, rng);
            if rng.chance(30) {
                step.reduced.truncate(1 + rng.below(step.reduced.len()));
            }
            // Which of those that go together are left may decide whether the others go now.
            if form.eliminate(&step.reduced).is_none() {
                step.reduced = choices[rng.below(choices.len())].to_vec();
                form.eliminate(&step.reduced).expect("what is offered can be eliminated");
            }
        }
        let axes = form.steps.last().map_or(&[][..], |step| &step.axes);
        let loops: f64 =
            axes.iter().chain(&step.reduced).map(|&axis| size(&form.extents[usize::from(axis)])).product();
        if loops > MAX_LOOPS {
            return None;
        }
        step.order = (0..form.extents.len() as u8).collect();
        shuffle(&mut step.order, rng);
        step.order.truncate(rng.below(step.order.len() + 1));
        form.keep_in_order(&step.order);
        step.is_dense = may_be_dense && rng.chance(25);
        if step.is_dense {
            form.keep_dense();
        }
        steps.push(step);
    }
    Some(steps)
}

fn shuffle(items: &mut [u8], rng: &mut Rng) {
    for at in 1..items.len() {
        items.swap(at, rng.below(at + 1));
    }
}
