//! Scalar operators of the user's own.
//!
//! **Idea.** A body is a function of lazy tensors. For each list of dtypes it meets it is called once, on arguments that
//! stand for any array, and what it built is written down as steps ([`Body`]); from then on the operator is one like
//! those of the table ([`Op::User`]), but for complex numbers, on which the body is called again each time.
//!
//! **Errors** are found when the operator is applied, and name it and the place of that call.

use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use super::arrange::broadcast_arrays;
use super::elementwise::{Operand, as_tensor, map, operand_dtype};
use super::{BROADCAST, Kind, LazyTensor, Shape, Storage};
use crate::dim::Dim;
use crate::error::{Cause, IrError, dtype_text};
use crate::op::laws::{Trial, awkward, broken, near, same};
use crate::op::{Annihilator, Body, Domain, Laws, Named, Op, Step, UserOp, kept_name};
use crate::walk::post_order;

type Loc = &'static Location<'static>;
type Written = dyn Fn(&[LazyTensor]) -> LazyTensor + Send + Sync;
type Known = Mutex<FxHashMap<DTypes, Result<Instance, Arc<Cause>>>>;
type DTypes = SmallVec<[DType; 3]>;

/// A scalar operator of the user's own: a name, a body over other operators, and what is declared about it.
///
/// It promotes, broadcasts and fuses as its body written out would, and has the same bits. Laws say in which order
/// [`LazyTensor::reduce`] combines by it, and what it gives over nothing; [`ScalarOp::check_algebra`] tries them. A definition is
/// kept until the process ends, once for each body and dtypes: what changes from call to call belongs into arguments.
///
/// ```
/// use tj_ir::{input, Dim, ScalarOp};
/// use tj_tensor::DType;
///
/// let smooth = ScalarOp::binary("smooth", |x, y| (x.exp() + y.exp()).log())
///     .commutative()
///     .associative()
///     .identity(f64::NEG_INFINITY);
/// smooth.check_algebra(DType::F64)?;
///
/// let x = input("x", DType::F32, [Dim::new("N", ..)?, 3.into()])?;
/// let y = smooth.apply([&x, &x.flip(0)]);
/// assert_eq!((y.dtype(), y.reduce(&smooth, 1).rank()), (DType::F32, 1));
///
/// let wrong = ScalarOp::unary("centred", |x| &x - x.mean(())).apply([&x]).check().unwrap_err();
/// let text = "centred: its body is not elementwise: it uses sum";
/// assert_eq!(wrong.cause.to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ScalarOp {
    name: &'static str,
    arity: usize,
    body: Arc<Written>,
    laws: Laws,
    /// What the body is for the dtypes it has met.
    known: Arc<Known>,
}

#[derive(Clone, Copy)]
enum Instance {
    Real(UserOp),
    /// The body makes complex numbers.
    Complex,
}

impl ScalarOp {
    /// An operator of some arguments.
    pub fn new(
        name: &str,
        arity: usize,
        body: impl Fn(&[LazyTensor]) -> LazyTensor + Send + Sync + 'static,
    ) -> ScalarOp {
        let (body, laws) = (Arc::new(body), Laws::default());
        ScalarOp { name: kept_name(name), arity, body, laws, known: Arc::default() }
    }

    /// An operator of one argument.
    pub fn unary(name: &str, body: impl Fn(LazyTensor) -> LazyTensor + Send + Sync + 'static) -> ScalarOp {
        ScalarOp::new(name, 1, move |args| body(args[0].clone()))
    }

    /// An operator of two arguments.
    pub fn binary(
        name: &str,
        body: impl Fn(LazyTensor, LazyTensor) -> LazyTensor + Send + Sync + 'static,
    ) -> ScalarOp {
        ScalarOp::new(name, 2, move |args| body(args[0].clone(), args[1].clone()))
    }

    /// Declares `f(a, b) = f(b, a)`.
    pub fn commutative(self) -> ScalarOp {
        self.declare(|laws| laws.commutative = true)
    }

    /// Declares `f(f(a, b), c) = f(a, f(b, c))`, of floats up to rounding.
    pub fn associative(self) -> ScalarOp {
        self.declare(|laws| laws.associative = true)
    }

    /// Declares `f(a, a) = a`.
    pub fn idempotent(self) -> ScalarOp {
        self.declare(|laws| laws.idempotent = true)
    }

    /// Declares `f(e, a) = a`.
    pub fn identity(self, e: impl Into<Named>) -> ScalarOp {
        self.declare(|laws| laws.identity = Some(e.into()))
    }

    /// Declares that the result is `result` wherever the argument at `position` is `value`.
    pub fn annihilator(self, position: usize, value: impl Into<Named>, result: impl Into<Named>) -> ScalarOp {
        let (value, result) = (value.into(), result.into());
        let law = Annihilator { position, value, result, holds: Domain::Exact };
        self.declare(|laws| laws.annihilators.push(law))
    }

    /// Declares `f(a, g(b, c)) = g(f(a, b), f(a, c))`.
    pub fn distributes_over(self, g: Op) -> ScalarOp {
        self.declare(|laws| laws.distributes_over.push(g))
    }

    fn declare(mut self, law: impl FnOnce(&mut Laws)) -> ScalarOp {
        law(&mut self.laws);
        self.known = Arc::default();
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The operator applied to tensors and host numbers.
    #[track_caller]
    pub fn apply<T: Into<Operand>>(&self, args: impl IntoIterator<Item = T>) -> LazyTensor {
        let location = Location::caller();
        let args: SmallVec<[Operand; 3]> = args.into_iter().map(Into::into).collect();
        self.applied(&args, location).unwrap_or_else(LazyTensor::failed)
    }

    fn applied(&self, args: &[Operand], location: Loc) -> Result<LazyTensor, IrError> {
        let mut strong: Option<DType> = None;
        for arg in args {
            if let Operand::Tensor(t) = arg {
                t.check()?;
                strong = Some(strong.map_or(t.dtype(), |known| known.promote(t.dtype())));
            }
        }
        let fail = |cause: Arc<Cause>| IrError { cause, location };
        if args.len() != self.arity {
            let problem = format!("takes {} arguments, got {}", self.arity, args.len());
            return Err(fail(self.wrong(problem)));
        }
        let dtypes: DTypes = args.iter().map(|arg| operand_dtype(arg, strong)).collect();
        match self.instance(&dtypes).map_err(fail)? {
            Instance::Real(user) => Ok(map(Op::User(user), args.iter().cloned(), location)),
            Instance::Complex => {
                let args = args.iter().zip(&dtypes);
                let args: Vec<LazyTensor> = args
                    .map(|(arg, &dtype)| as_tensor(arg, dtype, self.name, location))
                    .collect::<Result<_, _>>()?;
                let args = broadcast_arrays(&args);
                args.iter().try_for_each(LazyTensor::check)?;
                self.call(&args, &dtypes).map_err(fail)
            }
        }
    }

    /// Tries what is declared on awkward values of a dtype: of floats up to rounding, where nothing overflows.
    ///
    /// ```
    /// use tj_ir::ScalarOp;
    /// use tj_tensor::DType;
    ///
    /// let middle = ScalarOp::binary("middle", |x, y| (x + y) / 2).commutative().associative();
    /// let wrong = middle.check_algebra(DType::F64).unwrap_err();
    /// assert!(wrong.cause.to_string().starts_with("middle: not associative: middle(middle(-3.0f64, "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A law that does not hold, with values that show it; a body that has no result of this dtype.
    #[track_caller]
    pub fn check_algebra(&self, dtype: DType) -> Result<(), IrError> {
        let location = Location::caller();
        let found = self.combiner(dtype).and_then(|user| {
            let dtype = user.result();
            let mut values = awkward(dtype);
            if !dtype.is_float() {
                values.extend([Scalar::lowest(dtype), Scalar::greatest(dtype)].into_iter().flatten());
            }
            let same: &dyn Fn(Scalar, Scalar) -> bool = if dtype.is_float() { &near } else { &same };
            let trial = Trial { dtype, values: &values, holds: &|_| true, same };
            match broken(Op::User(user), &Op::User(user).info().algebra, &trial) {
                Some(problem) => Err(self.wrong(problem)),
                None => Ok(()),
            }
        });
        found.map_err(|cause| IrError { cause, location })
    }

    /// The operator that combines two values of a dtype, or of that into which it converts them, into one of the same.
    pub(super) fn combiner(&self, dtype: DType) -> Result<UserOp, Arc<Cause>> {
        if self.arity != 2 {
            let problem = format!("it has {} arguments, and a reduction combines two", self.arity);
            return Err(self.wrong(problem));
        }
        let mut given = dtype;
        // Once more for what gives floats of integers.
        for _ in 0..2 {
            match self.instance(&[given, given])? {
                Instance::Real(user) if user.result() == given => return Ok(user),
                Instance::Real(user) if user.result().is_float() && !given.is_float() => {
                    given = user.result()
                }
                Instance::Real(_) | Instance::Complex => break,
            }
        }
        let problem = format!("it gives no {dtype} for two of {dtype}, so it combines none");
        Err(self.wrong(problem))
    }

    fn wrong(&self, problem: String) -> Arc<Cause> {
        Arc::new(Cause::Argument { op: self.name, problem })
    }

    fn instance(&self, dtypes: &[DType]) -> Result<Instance, Arc<Cause>> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(dtypes) {
            return known.clone();
        }
        // The body is the user's: it runs while nothing is held.
        let made = self.write_down(dtypes);
        lock().insert(dtypes.iter().copied().collect(), made.clone());
        made
    }

    /// What the body makes of tensors.
    fn call(&self, args: &[LazyTensor], dtypes: &[DType]) -> Result<LazyTensor, Arc<Cause>> {
        let on = dtype_text(dtypes);
        match catch_unwind(AssertUnwindSafe(|| (self.body)(args))) {
            Ok(made) => match made.check() {
                Ok(()) => Ok(made),
                Err(error) => Err(self.wrong(format!("its body fails on {on}: {error}"))),
            },
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                let text = text.unwrap_or_else(|| "without a message".to_string());
                Err(self.wrong(format!("its body panicked on {on}: {text}")))
            }
        }
    }

    fn write_down(&self, dtypes: &[DType]) -> Result<Instance, Arc<Cause>> {
        if !crate::text::is_bare(self.name) {
            return Err(Arc::new(Cause::Name { name: self.name.to_string() }));
        }
        if dtypes.is_empty() {
            return Err(self.wrong("an operator has at least one argument".to_string()));
        }
        if let Some(law) = self.laws.annihilators.iter().find(|law| law.position >= self.arity) {
            let problem = format!("there is no argument {} that could decide", law.position);
            return Err(self.wrong(problem));
        }
        if let Some(over) = self.laws.distributes_over.iter().find(|over| over.info().arity != 2) {
            let problem = format!("nothing distributes over {}, which does not combine two", over.name());
            return Err(self.wrong(problem));
        }
        let location = Location::caller();
        // Of one axis, so that what is not elementwise shows.
        let size = Dim::new("n", ..).map_err(|error| Arc::new(Cause::Size(error)))?;
        let arg = |(k, &dtype): (usize, &DType)| {
            let kind = Kind::Input { name: Arc::from(format!("x{k}")), storage: Storage::default() };
            LazyTensor::node(kind, Shape::from_iter([size.clone()]), dtype, location)
        };
        let args: Vec<LazyTensor> = dtypes.iter().enumerate().map(arg).collect();
        let result = self.call(&args, dtypes)?;
        let mut writer =
            Writer { steps: Vec::new(), first: dtypes.len() as u32, values: FxHashMap::default() };
        for (k, arg) in args.iter().enumerate() {
            writer.values.insert(Arc::as_ptr(&arg.0), k as u32);
        }
        for node in post_order(std::iter::once(&result), &crate::stage::Known::default()) {
            if node.dtype.is_complex() {
                return Ok(Instance::Complex);
            }
            if writer.values.contains_key(&std::ptr::from_ref(node)) {
                continue;
            }
            let value = match &node.kind {
                Kind::Const(c) => writer.push(Step::Const(*c)),
                Kind::Map { op, args } => {
                    let args: SmallVec<[u32; 3]> = args.iter().map(|arg| writer.value(arg)).collect();
                    writer.apply(*op, &args)
                }
                Kind::Move { name, arg, .. } if *name == BROADCAST && arg.rank() == 0 => writer.value(arg),
                Kind::Format { arg, .. } => writer.value(arg),
                Kind::Parts { .. } => return Ok(Instance::Complex),
                Kind::Input { .. } | Kind::Data(_) | Kind::Owned(_) | Kind::Size(_) | Kind::Positions => {
                    let problem = format!("its body reads {}, which is no argument of it", node.word());
                    return Err(self.wrong(problem));
                }
                Kind::Move { .. }
                | Kind::Reduce { .. }
                | Kind::Matmul { .. }
                | Kind::Call { .. }
                | Kind::Select { .. } => {
                    let problem = format!("its body is not elementwise: it uses {}", node.word());
                    return Err(self.wrong(problem));
                }
                Kind::Failed(error) => return Err(error.cause.clone()),
            };
            writer.values.insert(node, value);
        }
        if result.rank() > 1 {
            let problem = format!("its body is not elementwise: it adds {} axes", result.rank() - 1);
            return Err(self.wrong(problem));
        }
        let body = Body {
            name: self.name.to_string(),
            args: dtypes.iter().copied().collect(),
            output: writer.value(&result),
            steps: writer.steps,
            laws: self.laws.clone(),
        };
        Ok(Instance::Real(UserOp::new(body).expect("what lazy tensors accepted is well-typed")))
    }
}

/// Steps of a body as they are written down.
struct Writer {
    steps: Vec<Step>,
    /// The number of the first step's value.
    first: u32,
    values: FxHashMap<*const super::Node, u32>,
}

impl Writer {
    fn value(&self, tensor: &LazyTensor) -> u32 {
        self.values[&Arc::as_ptr(&tensor.0)]
    }

    fn push(&mut self, step: Step) -> u32 {
        self.steps.push(step);
        self.first + self.steps.len() as u32 - 1
    }

    /// An operator; of a user's own, its steps.
    fn apply(&mut self, op: Op, args: &[u32]) -> u32 {
        let Op::User(user) = op else { return self.push(Step::Apply(op, args.iter().copied().collect())) };
        let body = user.body();
        let mut values = args.to_vec();
        for step in &body.steps {
            let step = match step {
                Step::Const(c) => Step::Const(*c),
                Step::Apply(op, args) => {
                    Step::Apply(*op, args.iter().map(|&arg| values[arg as usize]).collect())
                }
            };
            values.push(self.push(step));
        }
        values[body.output as usize]
    }
}

impl fmt::Debug for ScalarOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScalarOp({} of {} arguments)", self.name, self.arity)
    }
}
