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
//! is almost everywhere, and so has a number that is given a shape. Moves keep fills, and reductions do where the count of
//! elements does not matter. What is taken by a list keeps its fill; other functions of whole tensors have none.
//!
//! **Annihilation.** Where an argument with a fill *that is named* ([`Named`]: 0, 1, infinities, ...) equals it (`==`, so that
//! -0 is 0), and the algebra of the operator says that this value decides ([`crate::op::Annihilator`]), the result is the value
//! that the algebra says, inf and NaN in other arguments or not. `trace` spells that out as a selection where arithmetic
//! alone would not give it, so that every engine does the same. What is not named has no laws, for it is an argument of the
//! program. Scalars of rank 0 have no fill.
//!
//! **Numbers.** Literals are arguments of a program, too, so that `a > 4` and `a > 7` are one. But what `a > 4` is where `a` is 0
//! is a named value, and code may rely on it if the key says so. So an operator whose fill follows from the program and from
//! literals has an *outcome* ([`Fills::outcome`]): the named value that its fill is, or none. Outcomes are words of the key; one
//! that is named is a fill like any other, and `trace` writes it down ([`Op::Filled`]), so that nobody later has to know numbers.
//! A fill that holds almost everywhere ([`By::Places`]) is never relied on: read along the diagonal, an identity is 1 everywhere, and
//! so is what is 1 and shall be stored, whose fill is 0 then.
//! So what literals make of it is written down under a condition: that the arguments are their fills where the result is read.
//!
//! Complex numbers have fills and are not annihilated by them yet: a product of theirs is arithmetic throughout.

mod program;

use tj_tensor::{DType, Scalar, Tensor};

use crate::expand::expand;
use crate::op::{Annihilator, Domain, Named, Op, ReduceOp};
use crate::prim::Evaluator;

pub(crate) use program::{Fills, Outcome, of_lazy};

/// The fill of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fill {
    pub value: Scalar,
    pub by: By,
}

/// What a fill follows from: the last of these that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// What the key of the program holds.
    Program,
    /// Literals, which are arguments of the program.
    Numbers,
    /// The program, but only almost everywhere, or once it is stored. Code that visits what is stored may not rely on it.
    Places,
    /// Literals, and what holds almost everywhere. An operator's outcome says what comes of it: no result stays so.
    Both,
    /// Other arguments.
    Arguments,
}

impl By {
    /// What a value follows from that follows from two others.
    fn and(self, other: By) -> By {
        match (self, other) {
            (By::Numbers, By::Places) | (By::Places, By::Numbers) => By::Both,
            (one, two) => one.max(two),
        }
    }
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
        Fill { value, by: if is_static(value) { By::Program } else { By::Arguments } }
    }

    /// Whether the program alone says so, and the value has laws.
    fn is_static(self) -> bool {
        matches!(self.by, By::Program | By::Places) && is_static(self.value)
    }

    /// Whether the program and its literals alone say so.
    fn is_decided(self) -> bool {
        self.is_static() || matches!(self.by, By::Numbers | By::Both)
    }

    /// What also follows from something else.
    fn also(self, by: By) -> Fill {
        Fill { by: self.by.and(by), ..self }
    }

    /// The fill of an operator on these.
    fn of_fills(op: Op, fills: &[Fill]) -> Option<Fill> {
        if fills.iter().any(|fill| fill.value.dtype().is_complex()) {
            return None;
        }
        let values: Vec<Scalar> = fills.iter().map(|fill| fill.value).collect();
        let by = fills.iter().map(|fill| fill.by).reduce(By::and)?;
        Some(Fill { value: expand(&mut Evaluator, op, &values), by })
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

/// Which of the named values a fill is, for the key of a program: 0 if it is none, so that it is an argument. Values that differ
/// have different codes, -0 and 0 too, although they are one to laws.
pub(crate) fn code(value: Scalar) -> u64 {
    if value.to_f64().is_nan() {
        return 100;
    }
    let same = |named: &Named| equals(value, *named) && value == named.scalar(value.dtype());
    NAMED.iter().position(same).map_or(0, |at| at as u64 + 1)
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
    let fill = fill.filter(|fill| fill.is_static())?;
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
    /// What follows from places alone and has one named value almost everywhere, as the identity has 0, or a number everywhere:
    /// that is its fill beside tensors that have one. By itself it has none, and it decides nothing, so that programs without
    /// fills stay what they are.
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
    if let (Op::Where, [Filled::Pattern(condition), yes, no]) = (op, args)
        && condition.is_static()
    {
        let chosen = if condition.value == Scalar::Bool(true) { yes } else { no };
        return match chosen {
            Filled::Tensor(fill) => Filled::Tensor(fill.map(|fill| fill.also(condition.by))),
            Filled::Pattern(_) | Filled::Scalar(_) => {
                let both = of_both(yes, no).map(|fill| Filled::Tensor(Some(fill)));
                let pattern = chosen.beside().map(|fill| fill.also(condition.by));
                let pattern = pattern.filter(|fill| fill.is_decided()).map(Filled::Pattern);
                both.or(pattern).unwrap_or(Filled::Tensor(None))
            }
            Filled::Places => Filled::Tensor(None),
        };
    }
    let is_tensor = |arg: &Filled| matches!(arg, Filled::Tensor(_));
    if args.iter().any(is_tensor) {
        return Filled::Tensor(of_map(op, args));
    }
    let fills: Option<Vec<Fill>> = args.iter().map(Filled::beside).collect();
    if args.iter().all(|arg| matches!(arg, Filled::Scalar(_))) {
        return Filled::Scalar(fills.and_then(|fills| Fill::of_fills(op, &fills)));
    }
    if let (Op::Equal | Op::NotEqual, [Filled::Places, Filled::Places]) = (op, args) {
        return Filled::Pattern(Fill { value: Scalar::Bool(op == Op::NotEqual), by: By::Places });
    }
    let fill = fills.and_then(|fills| Fill::of_fills(op, &fills)).filter(|fill| fill.is_decided());
    fill.map_or(Filled::Places, Filled::Pattern)
}

/// The fill of an operator's result.
pub(crate) fn of_map(op: Op, args: &[Filled]) -> Option<Fill> {
    let tensors = || args.iter().filter(|arg| matches!(arg, Filled::Tensor(_)));
    tensors().next()?;
    let decided = args.iter().enumerate().filter_map(|(position, arg)| {
        let Filled::Tensor(Some(fill)) = *arg else { return None };
        let law = annihilator(op, position, Some(fill))?;
        Some(Fill { value: op.decided(&law, fill.value.dtype()), by: fill.by })
    });
    // The first that decides wins; that another says so, too, may be surer.
    let surer = |first: Fill, next: Fill| {
        let by = if next.value == first.value { first.by.min(next.by) } else { first.by };
        Fill { by, ..first }
    };
    if let Some(fill) = decided.reduce(surer) {
        return Some(fill);
    }
    if let (Op::Where, [Filled::Tensor(Some(condition)), yes, no]) = (op, args)
        && condition.is_static()
    {
        let chosen = if condition.value == Scalar::Bool(true) { yes } else { no };
        return chosen.beside().map(|fill| fill.also(condition.by));
    }
    if let (Op::Where, [_, yes, no]) = (op, args)
        && let Some(fill) = of_both(yes, no)
    {
        return Some(fill);
    }
    let fills: Vec<Fill> = args.iter().map(Filled::beside).collect::<Option<_>>()?;
    Fill::of_fills(op, &fills)
}

/// The fill of a selection between tensors with one named fill, or between one and what is that number, whatever the condition
/// is. Outcomes of both are known by then; numbers that are no outcomes are not compared, for no key would say so.
fn of_both(yes: &Filled, no: &Filled) -> Option<Fill> {
    let (fill, other) = match (yes, no) {
        (Filled::Tensor(fill), other) | (other, Filled::Tensor(fill)) => ((*fill)?, other.beside()?),
        (Filled::Scalar(_) | Filled::Pattern(_) | Filled::Places, _) => return None,
    };
    let is_named = fill.is_static() && other.is_static();
    (is_named && code(fill.value) == code(other.value)).then(|| fill.also(other.by))
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
    let sides = [a, b].into_iter().enumerate();
    let zeros = sides.filter_map(|(at, fill)| annihilator(Op::Mul, at, fill).and(fill));
    let surest = zeros.min_by_key(|fill| fill.by)?;
    Some(Fill { value: Scalar::zero(surest.value.dtype()), by: surest.by })
}

/// Whether arithmetic on values of this type gives what the law says by itself.
pub(crate) fn is_arithmetic(law: &Annihilator, dtype: DType) -> bool {
    match law.holds {
        Domain::Always => true,
        Domain::Exact => dtype.is_int() || dtype.is_bool(),
        Domain::Fill => false,
    }
}
