//! Calls: which function a name is, and which parameter an argument is for. `relu(x)` is `x.relu()`.

use tensorjit::op::closest as nearest;
use tensorjit::{Dim, Op};

use super::bound::Bound;
use super::functions::{FUNCTIONS, MODULES, Results, run};
use super::value::{apply, operands};
use super::{Ctx, Value, checked};
use crate::ast::{Arg, Expr, ExprId, Ident, Span};
use crate::diagnostic::Diagnostic;

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
        if let Some((module, receiver)) = receiver.and_then(|id| Some((self.module(id)?, id))) {
            return self.call_of_module(module, function, args, self.program.span(receiver).to(span));
        }
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
            return results(run(known, &bound)?, span);
        }
        if let Some(op) = Op::by_name(name) {
            let arity = op.info().arity;
            let bound = self.bind(name, &OPERANDS[..arity], receiver, args, span)?;
            let mut given = Vec::with_capacity(arity);
            for parameter in &OPERANDS[..arity] {
                let (value, at) = bound.need(parameter)?;
                given.push((value.clone(), at));
            }
            return checked(apply(op, operands(&given)?), span);
        }
        let mut diagnostic = Diagnostic::new(format!("`{}` is not a function", function.text), function.span);
        if receiver.is_some() && function.text == "T" {
            diagnostic.notes.push("`T` is an attribute; write `.T` without parentheses".to_string());
        } else if let Some(close) = closest(&function.text) {
            diagnostic.notes.push(format!("did you mean `{close}`?"));
        }
        Err(diagnostic)
    }

    /// The module that an expression names, as `linalg` in `linalg.det(a)`, unless the program gives that name a value.
    fn module(&self, id: ExprId) -> Option<&'static str> {
        let (Expr::Name(name), Value::Text(word)) = (self.program.expr(id), self.done(id)) else {
            return None;
        };
        MODULES.iter().find(|module| name == *module && word == *module).copied()
    }

    fn call_of_module(
        &self,
        module: &str,
        function: &Ident,
        args: &[Arg],
        span: Span,
    ) -> Result<Value, Diagnostic> {
        let full = format!("{module}.{}", function.text);
        let Some(&(known, parameters)) = FUNCTIONS.iter().find(|(known, _)| *known == full) else {
            let mut diagnostic = Diagnostic::new(format!("`{full}` is not a function"), function.span);
            let names =
                FUNCTIONS.iter().filter_map(|(known, _)| known.strip_prefix(module)?.strip_prefix('.'));
            if let Some(close) = nearest(&function.text, names.clone()) {
                diagnostic.notes.push(format!("did you mean `{module}.{close}`?"));
                return Err(diagnostic);
            }
            diagnostic.notes.push(format!("{module} has {}", names.collect::<Vec<_>>().join(", ")));
            return Err(diagnostic);
        };
        results(run(known, &self.bind(known, parameters, None, args, span)?)?, span)
    }

    /// Matches arguments to parameters. A parameter with a star takes all positional arguments that are left; if there is
    /// one, as it is, so that `reshape(2, 3)` is `reshape((2, 3))`.
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
            let (mut value, mut place) = (self.done(id).clone(), self.program.span(id));
            let name = parameter.strip_prefix('*');
            if name.is_some() {
                let rest: Vec<ExprId> = positional.by_ref().collect();
                if let Some(&last) = rest.last() {
                    let items = rest.iter().map(|&id| self.done(id).clone());
                    value = Value::Sequence(std::iter::once(value).chain(items).collect());
                    place = place.to(self.program.span(last));
                }
            }
            bound.values.push((name.unwrap_or(parameter), value, place));
        }
        if let Some(extra) = positional.next() {
            let message = format!("`{function}` takes {} arguments", parameters.len());
            return Err(Diagnostic::new(message, self.program.span(extra)));
        }
        for arg in args {
            let Some(keyword) = &arg.keyword else { continue };
            let names = parameters.iter().map(|p| p.trim_start_matches('*'));
            let Some(parameter) = names.clone().find(|p| **p == keyword.text) else {
                let message = format!("`{function}` has no argument `{}`", keyword.text);
                let mut diagnostic = Diagnostic::new(message, keyword.span);
                diagnostic.notes.push(format!("it has {}", names.collect::<Vec<_>>().join(", ")));
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

/// What a function gives, or the mistake under the words that made it.
fn results(results: Results, span: Span) -> Result<Value, Diagnostic> {
    match results {
        Results::One(tensor) => checked(tensor, span),
        Results::Several(tensors) => {
            let values = tensors.into_iter().map(|tensor| checked(tensor, span));
            Ok(Value::Sequence(values.collect::<Result<_, _>>()?))
        }
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

/// The function that a misspelt name was meant to be: by its name, or by that without its module.
fn closest(name: &str) -> Option<&'static str> {
    let operators = tensorjit::op::TABLE.iter().map(|info| info.name);
    let all = FUNCTIONS.iter().map(|(name, _)| *name).chain(operators);
    nearest(name, all).or_else(|| {
        let alone = |full: &'static str| full.split_once('.').map(|(_, alone)| alone);
        let close = nearest(name, FUNCTIONS.iter().filter_map(|(full, _)| alone(full)))?;
        FUNCTIONS.iter().map(|(full, _)| *full).find(|full| alone(full) == Some(close))
    })
}
