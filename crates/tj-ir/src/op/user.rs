//! Operators that users define, by a body over other operators.
//!
//! **Idea.** A definition for certain dtypes is a list of steps, each an operator of the table on values before it; to apply
//! it is to run them (`expand`), so that every engine computes the same bits and none knows more of it than that. Equal
//! definitions are one [`UserOp`], however often they are made: comparing is comparing numbers, and programs that use
//! equal definitions are equal programs.
//!
//! **Invariants.** The steps are well-typed, each after its arguments, and none is a user's operator: bodies are flat, so
//! that running one recurses nowhere.
//!
//! **Cost.** A definition is kept until the process ends, once for each name, body and dtypes; so numbers that change belong
//! into arguments and not into bodies.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use super::algebra::{Annihilator, Domain, NO_ALGEBRA, Named};
use super::{Algebra, DTypeRule, FillRule, Op, OpInfo};

/// An operator that a user defined, for certain dtypes: its number among all of them, which no text shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserOp(u32);

struct Kept {
    body: Body,
    /// Its row, as if it stood in the table.
    info: OpInfo,
}

#[derive(Default)]
struct All {
    kept: Vec<&'static Kept>,
    by_body: FxHashMap<&'static Body, UserOp>,
}

static ALL: RwLock<Option<All>> = RwLock::new(None);

/// What a user defined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Types of the arguments.
    pub args: SmallVec<[DType; 3]>,
    /// What is computed, one after the other. Values are numbered: arguments, then results of steps.
    pub steps: Vec<Step>,
    /// Which value is the result.
    pub output: u32,
    /// What is declared.
    pub laws: Laws,
}

/// A step of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A number.
    Const(Scalar),
    /// An operator on values before it, which have the dtypes it works in.
    Apply(Op, SmallVec<[u32; 3]>),
}

/// Laws that a user declares of an operator of two arguments. They decide in which order a reduction combines, and what it
/// gives over nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Laws {
    /// `f(a, b) = f(b, a)`.
    pub commutative: bool,
    /// `f(f(a, b), c) = f(a, f(b, c))`.
    pub associative: bool,
    /// `f(a, a) = a`.
    pub idempotent: bool,
    /// `f(e, a) = a`.
    pub identity: Option<Named>,
    /// Values that decide the result.
    pub annihilators: Vec<Annihilator>,
    /// `f(a, g(b, c)) = g(f(a, b), f(a, c))`.
    pub distributes_over: Vec<Op>,
}

impl Body {
    /// Types of all values, arguments first; `None` if a step is not defined on what it is given.
    fn dtypes(&self) -> Option<Vec<DType>> {
        let mut known = self.args.to_vec();
        for step in &self.steps {
            known.push(match step {
                Step::Const(c) => c.dtype(),
                Step::Apply(Op::User(_), _) => return None,
                Step::Apply(op, args) => {
                    let of = |&arg: &u32| known.get(arg as usize).copied();
                    let args: SmallVec<[DType; 3]> = args.iter().map(of).collect::<Option<_>>()?;
                    let (work, result) = op.dtypes(&args).filter(|_| args.len() == op.info().arity)?;
                    let fits = args.iter().enumerate().all(|(k, &arg)| arg == op.arg_dtype(k, work));
                    fits.then_some(result)?
                }
            });
        }
        let real = !known.iter().any(|dtype| dtype.is_complex());
        (real && (self.output as usize) < known.len()).then_some(known)
    }
}

impl UserOp {
    /// The operator of a body; `None` if it is not well-typed, or uses complex numbers.
    pub fn new(mut body: Body) -> Option<UserOp> {
        let known = body.dtypes()?;
        let (dtype, result) = (known[0], known[body.output as usize]);
        // By value, so that what means the same is the same.
        let laws = &mut body.laws;
        let number = |named: &mut Named| *named = Named::Number(named.scalar(dtype));
        laws.identity.iter_mut().for_each(number);
        for law in &mut laws.annihilators {
            number(&mut law.value);
            law.result = Named::Number(law.result.scalar(result));
        }
        let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if let Some(found) = all.by_body.get(&body) {
            return Some(*found);
        }
        let user = UserOp(all.kept.len() as u32);
        let info = row(user, &body, result);
        let kept: &'static Kept = Box::leak(Box::new(Kept { body, info }));
        all.kept.push(kept);
        all.by_body.insert(&kept.body, user);
        Some(user)
    }

    fn kept(self) -> &'static Kept {
        let all = ALL.read().unwrap_or_else(PoisonError::into_inner);
        all.as_ref().expect("an operator was kept when it was made").kept[self.0 as usize]
    }

    /// What the user defined.
    pub fn body(self) -> &'static Body {
        &self.kept().body
    }

    pub(super) fn info(self) -> &'static OpInfo {
        &self.kept().info
    }

    /// Type of the result.
    pub fn result(self) -> DType {
        let DTypeRule::To(result) = self.info().dtypes else { unreachable!("its row names the result") };
        result
    }

    /// Types in which it works and which it gives, on arguments of exactly its types.
    pub(super) fn dtypes(self, args: &[DType]) -> Option<(DType, DType)> {
        (args == &self.body().args[..]).then(|| (args[0], self.result()))
    }
}

fn row(user: UserOp, body: &Body, result: DType) -> OpInfo {
    // The costs of steps: those of the table hold no lock.
    let cost = |step: &Step| if let Step::Apply(op, _) = step { op.info().cost } else { 0 };
    let laws = &body.laws;
    let over: Vec<(Op, Domain)> = laws.distributes_over.iter().map(|&op| (op, Domain::Exact)).collect();
    OpInfo {
        op: Op::User(user),
        name: kept_name(&body.name),
        symbol: None,
        arity: body.args.len(),
        dtypes: DTypeRule::To(result),
        fill: FillRule::Apply,
        algebra: Algebra {
            commutative: laws.commutative.then_some(Domain::Exact),
            associative: laws.associative.then_some(Domain::Exact),
            idempotent: laws.idempotent,
            identity: laws.identity,
            annihilators: Vec::leak(laws.annihilators.clone()),
            distributes_over: Vec::leak(over),
            ..NO_ALGEBRA
        },
        cost: body.steps.iter().map(cost).fold(1, u32::saturating_add),
    }
}

/// A name that messages may hold on to: each is kept once.
pub(crate) fn kept_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body().fmt(f)
    }
}
