//! Fills: what an expression is wherever nothing is stored.
//!
//! **Problem.** What a program computes must not depend on how its arguments are stored. So the value of what is not stored
//! belongs to expressions, and so does what follows from it: a product with an element that is its tensor's fill 0 is 0,
//! whatever the other factor is, since code that visits stored elements only never sees the other factor.
//!
//! **Rules.** Data has the fill that it was given, or none, and so has an input. What shall be stored by levels and has no
//! fill has the fill 0, as an expression of what it then is would have. An operator's result has one if an argument annihilates by its
//! fill, or if all arguments but scalars have one; then it is the operator on the fills. A selection by a condition with a fill
//! has the fill, or is the scalar, of what the condition's fill selects; by any other condition it has the named fill that
//! both sides have. What follows from places alone has none by itself; beside a tensor that has one it has the number that it
//! is almost everywhere. Moves keep fills, and reductions do where the count of elements does not matter. What is taken
//! by a list keeps its fill; other functions of whole tensors have none.
//!
//! **Annihilation.** Where an argument with a fill *that is named* ([`Named`]: 0, 1, infinities, ...) equals it (`==`, so that
//! -0 is 0), and the algebra of the operator says that this value decides ([`crate::op::Annihilator`]), the result is the value
//! that the algebra says, inf and NaN in other arguments or not. `trace` spells that out as a selection where arithmetic
//! alone would not give it, so that every engine does the same. What is not named has no laws, for it is an argument of the
//! program. Scalars of rank 0 have no fill.
//!
//! Complex numbers have fills and are not annihilated by them yet: a product of theirs is arithmetic throughout.

use rustc_hash::FxHashMap;
use tj_tensor::{DType, Scalar, Tensor};

use crate::expand::expand;
use crate::function::Function;
use crate::lazy::{Kind, LazyTensor, Node};
use crate::op::{Annihilator, Domain, Named, Op, ReduceOp};
use crate::prim::Evaluator;
use crate::stage::Known;
use crate::trace::is_constant;
use crate::walk::post_order;

/// The fill of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fill {
    pub value: Scalar,
    /// Whether the program alone says so, and not its arguments.
    pub is_static: bool,
}

/// The values that laws speak of.
const NAMED: [Named; 6] =
    [Named::Zero, Named::One, Named::Least, Named::Greatest, Named::AllOnes, Named::MinusZero];

impl Fill {
    /// The fill of data.
    pub fn of_data(tensor: &Tensor) -> Option<Fill> {
        tensor.fill().map(Fill::of_value)
    }

    /// A fill that an argument has.
    pub fn of_value(value: Scalar) -> Fill {
        Fill { value, is_static: code(value) != 0 }
    }
}

/// Whether the key of a program tells a fill apart from all others, so that code may be made for it.
///
/// ```
/// use tj_tensor::Scalar;
/// assert!(tj_ir::is_static_fill(Scalar::F32(0.0)) && !tj_ir::is_static_fill(Scalar::F32(2.5)));
/// ```
pub fn is_static(value: Scalar) -> bool {
    code(value) != 0
}

/// Which of the named values a fill is, for the key of a program: 0 if it is none, so that it is an argument.
pub(crate) fn code(value: Scalar) -> u64 {
    let is_nan = value.to_f64().is_nan();
    let found = NAMED.iter().position(|named| equals(value, *named));
    if is_nan { 100 } else { found.map_or(0, |at| at as u64 + 1) }
}

/// Whether a value is a named one, as `==` compares them.
fn equals(value: Scalar, named: Named) -> bool {
    let dtype = value.dtype();
    let has_order = !dtype.is_complex();
    let exists = has_order || matches!(named, Named::Zero | Named::MinusZero | Named::One);
    exists && {
        let named = named.scalar(dtype);
        let both_zero = dtype.is_float() && named.to_f64() == 0.0 && value.to_f64() == 0.0;
        value == named || both_zero
    }
}

/// The law by which an argument decides by its fill, if there is one.
pub(crate) fn annihilator(op: Op, position: usize, fill: Option<Fill>) -> Option<Annihilator> {
    let fill = fill.filter(|fill| fill.is_static)?;
    let dtype = fill.value.dtype();
    let laws = op.info().algebra.annihilators.iter();
    laws.copied().find(|law| {
        law.position == position
            && (law.holds != Domain::Fill || dtype.is_float())
            && !dtype.is_complex()
            && equals(fill.value, law.value)
    })
}

/// What an argument of an operator is, as far as fills go.
#[derive(Clone, Copy)]
pub(crate) enum Filled {
    /// A tensor and its fill.
    Tensor(Option<Fill>),
    /// A scalar, with its value if that is known.
    Scalar(Option<Fill>),
    /// What follows from places alone and has one named value almost everywhere, as the identity has 0: that is its fill beside
    /// tensors that have one. By itself it has none, and it decides nothing, so that programs without fills stay what they are.
    Pattern(Fill),
    /// Other things that follow from places alone.
    Places,
}

impl Filled {
    /// The fill that it has beside tensors that have one.
    fn beside(&self) -> Option<Fill> {
        match self {
            Filled::Tensor(fill) | Filled::Scalar(fill) => *fill,
            Filled::Pattern(fill) => Some(*fill),
            Filled::Places => None,
        }
    }
}

/// What an operator's result is.
fn of_operator(op: Op, args: &[Filled]) -> Filled {
    if let (Op::Where, [Filled::Pattern(condition), yes, no]) = (op, args) {
        let chosen = if condition.value == Scalar::Bool(true) { yes } else { no };
        return match chosen {
            Filled::Tensor(fill) => Filled::Tensor(*fill),
            Filled::Pattern(_) | Filled::Scalar(_) => {
                let both = of_both(yes, no).map(|fill| Filled::Tensor(Some(fill)));
                let pattern = chosen.beside().filter(|fill| fill.is_static).map(Filled::Pattern);
                both.or(pattern).unwrap_or(Filled::Tensor(None))
            }
            Filled::Places => Filled::Tensor(None),
        };
    }
    let is_tensor = |arg: &Filled| matches!(arg, Filled::Tensor(_));
    if args.iter().any(is_tensor) {
        return Filled::Tensor(of_map(op, args));
    }
    if args.iter().all(|arg| matches!(arg, Filled::Scalar(_))) {
        return Filled::Scalar(None);
    }
    if let (Op::Equal | Op::NotEqual, [Filled::Places, Filled::Places]) = (op, args) {
        return Filled::Pattern(Fill { value: Scalar::Bool(op == Op::NotEqual), is_static: true });
    }
    let fills: Option<Vec<Fill>> = args.iter().map(Filled::beside).collect();
    match fills.filter(|fills| fills.iter().all(|fill| fill.is_static)).and_then(|fills| of_fills(op, &fills))
    {
        Some(fill) if fill.is_static => Filled::Pattern(fill),
        Some(_) | None => Filled::Places,
    }
}

/// The fill of an operator's result.
pub(crate) fn of_map(op: Op, args: &[Filled]) -> Option<Fill> {
    let tensors = || args.iter().filter(|arg| matches!(arg, Filled::Tensor(_)));
    tensors().next()?;
    for (position, arg) in args.iter().enumerate() {
        if let Filled::Tensor(fill) = arg
            && let Some(law) = annihilator(op, position, *fill)
        {
            let dtype = fill.map(|fill| fill.value.dtype())?;
            return Some(Fill { value: op.decided(&law, dtype), is_static: true });
        }
    }
    if let (Op::Where, [Filled::Tensor(Some(condition)), yes, no]) = (op, args)
        && condition.is_static
    {
        return if condition.value == Scalar::Bool(true) { yes } else { no }.beside();
    }
    if let (Op::Where, [_, yes, no]) = (op, args)
        && let Some(fill) = of_both(yes, no)
    {
        return Some(fill);
    }
    let fills: Vec<Fill> = args.iter().map(Filled::beside).collect::<Option<_>>()?;
    of_fills(op, &fills)
}

/// An operator on fills.
fn of_fills(op: Op, fills: &[Fill]) -> Option<Fill> {
    if fills.iter().any(|fill| fill.value.dtype().is_complex()) {
        return None;
    }
    let values: Vec<Scalar> = fills.iter().map(|fill| fill.value).collect();
    let value = expand(&mut Evaluator, op, &values);
    Some(Fill { value, is_static: fills.iter().all(|fill| fill.is_static) && code(value) != 0 })
}

/// The fill of a selection between tensors with one named fill, or between one and what is that number, whatever the condition
/// is.
fn of_both(yes: &Filled, no: &Filled) -> Option<Fill> {
    let (fill, other) = match (yes, no) {
        (Filled::Tensor(fill), other) | (other, Filled::Tensor(fill)) => ((*fill)?, other.beside()?),
        (Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places, _) => return None,
    };
    let is_named = fill.is_static && other.is_static;
    (is_named && code(fill.value) == code(other.value)).then_some(fill)
}

/// The fill of a reduction: that of its argument, where any number of them reduces to it.
pub(crate) fn of_reduce(op: ReduceOp, fill: Option<Fill>) -> Option<Fill> {
    let fill = fill?;
    let stays = match op {
        ReduceOp::Max | ReduceOp::Min | ReduceOp::And | ReduceOp::Or => true,
        ReduceOp::Sum | ReduceOp::Xor => equals(fill.value, Named::Zero),
        ReduceOp::Prod => equals(fill.value, Named::Zero) || equals(fill.value, Named::One),
        ReduceOp::By(_) => false,
    };
    stays.then_some(fill)
}

/// The fill of a matrix product.
pub(crate) fn of_product(a: Option<Fill>, b: Option<Fill>) -> Option<Fill> {
    let sides = [a, b];
    let zero = sides.into_iter().enumerate().find_map(|(at, fill)| {
        annihilator(Op::Mul, at, fill).and(fill).map(|fill| Scalar::zero(fill.value.dtype()))
    });
    zero.map(|value| Fill { value, is_static: true })
}

/// The fill of a tensor, all of whose arguments are data.
pub(crate) fn of_lazy(tensor: &LazyTensor) -> Option<Fill> {
    let mut fills: FxHashMap<*const Node, Filled> = FxHashMap::default();
    for node in post_order(std::iter::once(tensor), &Known::new()) {
        let known = |arg: &LazyTensor| fills.get(&std::sync::Arc::as_ptr(&arg.0)).copied();
        let fill = of_node(node, &|arg| known(arg).unwrap_or(Filled::Tensor(None)));
        fills.insert(node, fill);
    }
    match fills.get(&std::sync::Arc::as_ptr(&tensor.0)) {
        Some(Filled::Tensor(fill)) => *fill,
        Some(Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places) | None => None,
    }
}

/// What a node is, as far as fills go.
pub(crate) fn of_node(node: &Node, known: &dyn Fn(&LazyTensor) -> Filled) -> Filled {
    let fill_of = |arg: &LazyTensor| match known(arg) {
        Filled::Tensor(fill) => fill,
        Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places => None,
    };
    let fill = match &node.kind {
        Kind::Data(tensor) if tensor.rank() == 0 => {
            let value = tensor.get(&[]).ok();
            return Filled::Scalar(value.map(|value| Fill { value, is_static: false }));
        }
        Kind::Const(value) => {
            return Filled::Scalar(Some(Fill { value: *value, is_static: is_constant(*value) }));
        }
        Kind::Size(_) => return Filled::Scalar(None),
        Kind::Data(tensor) => Fill::of_data(tensor),
        Kind::Owned(_) if node.shape.is_empty() => return Filled::Scalar(None),
        Kind::Owned(data) => data.fill.map(Fill::of_value),
        Kind::Map { op, args } => {
            let args: Vec<Filled> = args.iter().map(known).collect();
            return of_operator(*op, &args);
        }
        Kind::Move { arg, .. } => match known(arg) {
            Filled::Scalar(_) if node.shape.is_empty() => return known(arg),
            // A number everywhere is a pattern without exceptions.
            Filled::Scalar(Some(fill)) if fill.is_static => return Filled::Pattern(fill),
            Filled::Scalar(_) => None,
            Filled::Tensor(fill) => fill,
            Filled::Pattern(_) | Filled::Places => return known(arg),
        },
        // What is stored by levels has a fill.
        Kind::Format { arg, format } if !format.is_strided() && !node.shape.is_empty() => {
            Some(fill_of(arg).unwrap_or_else(|| Fill::of_value(Scalar::zero(node.dtype))))
        }
        Kind::Format { arg, .. } => return known(arg),
        Kind::Input { storage, .. } => storage.fill.map(Fill::of_value),
        Kind::Reduce { op, arg, .. } => match known(arg) {
            Filled::Pattern(fill) => {
                return of_reduce(*op, Some(fill)).map_or(Filled::Places, Filled::Pattern);
            }
            Filled::Tensor(fill) => of_reduce(*op, fill),
            Filled::Scalar(_) | Filled::Places => None,
        },
        Kind::Matmul { args: [a, b] } => of_product(fill_of(a), fill_of(b)),
        Kind::Positions => return Filled::Places,
        // Elements that are taken by a list have the fill of what they are taken from.
        Kind::Call { call, .. } if matches!(call.function, Function::Take | Function::TakeAlong) => {
            fill_of(&call.args[0])
        }
        Kind::Parts { .. } | Kind::Call { .. } | Kind::Select { .. } | Kind::Failed(_) => None,
    };
    Filled::Tensor(fill)
}

/// Whether arithmetic on values of this type gives what the law says by itself.
pub(crate) fn is_arithmetic(law: &Annihilator, dtype: DType) -> bool {
    match law.holds {
        Domain::Always => true,
        Domain::Exact => dtype.is_int() || dtype.is_bool(),
        Domain::Fill => false,
    }
}
