//! Functions and methods: `relu(x)` is `x.relu()`.

use tensorjit::{Axes, DType, Dim, LazyTensor, Op, ReduceOp};

use super::value::apply;
use super::{Ctx, Value, checked};
use crate::ast::{Arg, ExprId, Ident, Span};
use crate::diagnostic::Diagnostic;

/// Arguments of a call, matched to parameter names.
struct Bound<'c> {
    function: &'c str,
    span: Span,
    values: Vec<(&'static str, Value, Span)>,
}

impl Bound<'_> {
    fn get(&self, name: &str) -> Option<(&Value, Span)> {
        self.values.iter().find(|(known, _, _)| *known == name).map(|(_, value, span)| (value, *span))
    }

    fn need(&self, name: &str) -> Result<(&Value, Span), Diagnostic> {
        let missing = || Diagnostic::new(format!("`{}` needs `{name}`", self.function), self.span);
        self.get(name).ok_or_else(missing)
    }

    fn tensor(&self, name: &str) -> Result<LazyTensor, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.clone().into_tensor(span)
    }

    fn ints(&self, name: &str) -> Result<Vec<i64>, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_items().iter().map(|item| item.as_int(span)).collect()
    }

    fn sizes(&self, name: &str) -> Result<Vec<Dim>, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_items().iter().map(|item| item.as_size(span)).collect()
    }

    fn axes(&self) -> Result<Axes, Diagnostic> {
        let axes = match self.get("axis") {
            None | Some((Value::None, _)) => Axes::all(),
            Some(_) => Axes::from(self.ints("axis")?.as_slice()),
        };
        match self.get("keepdims") {
            Some((value, span)) if value.as_bool(span)? => Ok(axes.keepdims()),
            _ => Ok(axes),
        }
    }
}

/// Parameters of the functions that are not operators of the table.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("sum", &["x", "axis", "keepdims"]),
    ("prod", &["x", "axis", "keepdims"]),
    ("max", &["x", "axis", "keepdims"]),
    ("min", &["x", "axis", "keepdims"]),
    ("mean", &["x", "axis", "keepdims"]),
    ("matmul", &["x", "y"]),
    ("transpose", &["x"]),
    ("permute", &["x", "axes"]),
    ("permute_dims", &["x", "axes"]),
    ("reshape", &["x", "shape"]),
    ("broadcast_to", &["x", "shape"]),
    ("expand_dims", &["x", "axis"]),
    ("squeeze", &["x", "axis"]),
    ("flip", &["x", "axis"]),
    ("clip", &["x", "min", "max"]),
    ("positive", &["x"]),
    ("cast", &["x", "dtype"]),
    ("astype", &["x", "dtype"]),
];

const OPERANDS: &[&str] = &["x", "y", "z"];

/// Names that users of NumPy know operators by.
const ALIASES: &[(&str, &str)] = &[
    ("subtract", "sub"),
    ("multiply", "mul"),
    ("divide", "div"),
    ("negative", "neg"),
    ("absolute", "abs"),
    ("power", "pow"),
    ("bitwise_and", "and"),
    ("bitwise_or", "or"),
    ("bitwise_xor", "xor"),
    ("bitwise_invert", "not"),
];

impl Ctx<'_> {
    pub(super) fn call(
        &self,
        function: &Ident,
        receiver: Option<ExprId>,
        args: &[Arg],
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let name = function.text.as_str();
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        if let Some(&(known, parameters)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            let bound = self.bind(known, parameters, receiver, args, span)?;
            // `max(N, 4)` has two operands, `max(N, axis=4)` one.
            let positional = args.iter().all(|arg| arg.keyword.is_none());
            if let ("max" | "min", true, Some(y)) = (name, positional, two_sizes(&bound)) {
                let x = bound.sizes("x")?.swap_remove(0);
                return Ok(Value::Size(if name == "max" { x.max(&y) } else { x.min(&y) }));
            }
            return checked(special(known, &bound)?, span);
        }
        if let Some(op) = Op::by_name(name) {
            let arity = op.info().arity;
            let bound = self.bind(name, &OPERANDS[..arity], receiver, args, span)?;
            let mut operands = Vec::with_capacity(arity);
            for parameter in &OPERANDS[..arity] {
                let (value, at) = bound.need(parameter)?;
                operands.push(value.clone().into_operand(at)?);
            }
            return checked(apply(op, operands), span);
        }
        let mut diagnostic = Diagnostic::new(format!("`{}` is not a function", function.text), function.span);
        if receiver.is_some() && function.text == "T" {
            diagnostic.notes.push("`T` is an attribute; write `.T` without parentheses".to_string());
        } else if let Some(close) = closest(&function.text) {
            diagnostic.notes.push(format!("did you mean `{close}`?"));
        }
        Err(diagnostic)
    }

    fn bind<'c>(
        &self,
        function: &'c str,
        parameters: &[&'static str],
        receiver: Option<ExprId>,
        args: &[Arg],
        span: Span,
    ) -> Result<Bound<'c>, Diagnostic> {
        let mut bound = Bound { function, span, values: Vec::new() };
        let mut positional =
            receiver.into_iter().chain(args.iter().filter(|a| a.keyword.is_none()).map(|a| a.value));
        for &parameter in parameters {
            let Some(id) = positional.next() else { break };
            bound.values.push((parameter, self.done(id).clone(), self.program.span(id)));
        }
        if let Some(extra) = positional.next() {
            let message = format!("`{function}` takes {} arguments", parameters.len());
            return Err(Diagnostic::new(message, self.program.span(extra)));
        }
        for arg in args {
            let Some(keyword) = &arg.keyword else { continue };
            let Some(&parameter) = parameters.iter().find(|p| **p == keyword.text) else {
                let message = format!("`{function}` has no argument `{}`", keyword.text);
                let mut diagnostic = Diagnostic::new(message, keyword.span);
                diagnostic.notes.push(format!("it has {}", parameters.join(", ")));
                return Err(diagnostic);
            };
            if bound.get(parameter).is_some() {
                let message = format!("`{function}` is given `{parameter}` twice");
                return Err(Diagnostic::new(message, keyword.span));
            }
            bound.values.push((parameter, self.done(arg.value).clone(), self.program.span(arg.value)));
        }
        Ok(bound)
    }
}

/// The second argument of `max(N, 4)`, where both are sizes: that is a size again.
fn two_sizes(bound: &Bound<'_>) -> Option<Dim> {
    match (bound.get("x")?.0, bound.get("axis")?) {
        (Value::Size(_) | Value::Int(_), (y @ (Value::Size(_) | Value::Int(_)), span)) => {
            y.as_size(span).ok()
        }
        _ => None,
    }
}

fn special(function: &str, bound: &Bound<'_>) -> Result<LazyTensor, Diagnostic> {
    let x = bound.tensor("x")?;
    Ok(match function {
        "sum" => x.sum(bound.axes()?),
        "prod" => x.prod(bound.axes()?),
        "max" => x.max(bound.axes()?),
        "min" => x.min(bound.axes()?),
        "mean" => x.mean(bound.axes()?),
        "matmul" => x.matmul(&bound.tensor("y")?),
        "transpose" => x.transpose(),
        "permute" | "permute_dims" => x.permute(&bound.ints("axes")?),
        "reshape" => {
            let open = |d: &Dim| if d.is_const() == Some(-1) { None } else { Some(d.clone()) };
            x.reshape(&bound.sizes("shape")?.iter().map(open).collect::<Vec<_>>())
        }
        "broadcast_to" => x.broadcast_to(&bound.sizes("shape")?),
        "expand_dims" => {
            let (axis, span) = bound.need("axis")?;
            x.expand_dims(axis.as_int(span)?)
        }
        "squeeze" => x.squeeze(&bound.ints("axis")?),
        "flip" => bound.ints("axis")?.into_iter().fold(x, |x, axis| x.flip(axis)),
        "positive" => x.positive(),
        "clip" => {
            let (low, low_span) = bound.need("min")?;
            let (high, high_span) = bound.need("max")?;
            x.clip(low.clone().into_operand(low_span)?, high.clone().into_operand(high_span)?)
        }
        _ => {
            let (dtype, span) = bound.need("dtype")?;
            let dtype: Option<DType> = match dtype {
                Value::Text(word) => word.parse().ok(),
                Value::Tensor(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Bool(_)
                | Value::Size(_)
                | Value::None
                | Value::Sequence(_) => None,
            };
            x.cast(dtype.ok_or_else(|| Diagnostic::new("this is not a dtype, such as f32 or i64", span))?)
        }
    })
}

/// The function whose name differs least, if by two edits at most and not by more than half of the name.
fn closest(name: &str) -> Option<&'static str> {
    let bound = (name.chars().count() / 2).min(2);
    let operators = tensorjit::op::TABLE.iter().map(|info| info.name);
    let reductions = ReduceOp::ALL.iter().map(|op| op.name());
    let all = FUNCTIONS.iter().map(|(name, _)| *name).chain(operators).chain(reductions);
    all.map(|known| (distance(name, known), known)).filter(|(d, _)| *d <= bound).min().map(|(_, known)| known)
}

/// Edits between two short words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let changed = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
