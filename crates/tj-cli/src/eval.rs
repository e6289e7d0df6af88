//! From a program's tree to lazy tensors.
//!
//! One forward loop over the arena: children come first, so that the value of every expression is there when its
//! parent needs it. Each operation is checked at once, and a mistake is shown under the words that made it.
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever is not of the wanted kind is treated alike")]

mod bound;
mod call;
mod einop;
mod functions;
mod value;

use std::collections::BTreeMap;

use tensorjit::{At, DType, Dim, Format, LazyTensor, input};

use crate::ast::{BinaryOp, EinopOp, Expr, ExprId, Ident, Program, Span, Stmt, StmtKind, Subscript, UnaryOp};
use crate::diagnostic::Diagnostic;

pub use value::Value;

/// A program as lazy tensors.
#[derive(Debug, Default)]
pub struct Evaluated {
    /// Sizes by name, in order of declaration.
    pub sizes: Vec<(String, Dim)>,
    /// Inputs in order of declaration.
    pub inputs: Vec<(String, LazyTensor)>,
    /// Outputs in order. A program given as an expression has one, named `result`, or `result_0` and
    /// so on if it is a tuple.
    pub outputs: Vec<(String, LazyTensor)>,
}

/// Evaluates a program. `given` are values of names that the program uses but does not declare.
///
/// # Errors
/// The first mistake, with its place.
pub fn evaluate(program: &Program, given: &BTreeMap<String, Value>) -> Result<Evaluated, Diagnostic> {
    evaluate_on(program, given, &BTreeMap::new())
}

/// As [`evaluate`], where declared inputs and sizes have these values.
///
/// # Errors
/// As there.
pub fn evaluate_on(
    program: &Program,
    given: &BTreeMap<String, Value>,
    declared: &BTreeMap<String, Value>,
) -> Result<Evaluated, Diagnostic> {
    let mut ctx = Ctx {
        program,
        given,
        declared,
        names: BTreeMap::new(),
        exprs: program.exprs().collect(),
        indexed: program.in_index_notation(),
        values: Vec::new(),
        done: Evaluated::default(),
    };
    for stmt in &program.stmts {
        ctx.statement(stmt)?;
    }
    if ctx.done.outputs.is_empty() {
        let end = program.stmts.last().map_or(Span::default(), |stmt| stmt.span);
        return Err(Diagnostic::new("the program has no output", end));
    }
    Ok(ctx.done)
}

struct Ctx<'p> {
    program: &'p Program,
    given: &'p BTreeMap<String, Value>,
    /// Values of names that the program declares.
    declared: &'p BTreeMap<String, Value>,
    /// What a name means, and where it got that meaning.
    names: BTreeMap<String, (Value, Span)>,
    exprs: Vec<(ExprId, &'p Expr)>,
    /// Whether an expression is part of a statement in index notation, by id.
    indexed: Vec<bool>,
    /// Values of expressions so far, by id.
    values: Vec<Value>,
    done: Evaluated,
}

impl Ctx<'_> {
    fn statement(&mut self, stmt: &Stmt) -> Result<(), Diagnostic> {
        match &stmt.kind {
            StmtKind::Size { name, .. } | StmtKind::Input { name, .. }
                if self.declared.contains_key(&name.text) =>
            {
                self.define(name, self.declared[&name.text].clone())
            }
            StmtKind::Size { name, bounds } => {
                let dim = match bounds {
                    None => Dim::new(&name.text, ..),
                    Some(b) => Dim::new(&name.text, bound(b.lower, b.span)?..=bound(b.upper, b.span)?),
                };
                let dim = dim.map_err(|e| Diagnostic::new(e.to_string(), name.span))?;
                self.done.sizes.push((name.text.clone(), dim.clone()));
                self.define(name, Value::Size(dim))
            }
            StmtKind::Input { name, dtype, dims, format, fill } => {
                let known: DType = dtype.text.parse().map_err(|_| {
                    Diagnostic::new(
                        format!("`{}` is not a dtype, such as f32 or i64", dtype.text),
                        dtype.span,
                    )
                })?;
                let mut shape = Vec::with_capacity(dims.len());
                for &dim in dims {
                    shape.push(self.value(dim)?.as_size(self.program.span(dim))?);
                }
                let mut tensor = input(&name.text, known, shape)
                    .map_err(|e| Diagnostic::new(e.cause.to_string(), name.span))?;
                if let Some(word) = format {
                    tensor = correct(tensor.with_format(&format_of(&word.text, word.span)?), word.span)?;
                }
                if let Some(fill) = *fill {
                    let span = self.program.span(fill);
                    tensor = correct(tensor.with_fill(self.value(fill)?.as_scalar(span)?), span)?;
                }
                self.done.inputs.push((name.text.clone(), tensor.clone()));
                self.define(name, Value::Tensor(tensor))
            }
            StmtKind::Bind { name, value } => {
                let value = self.value(*value)?;
                // Binding a name again is how programs are written; inputs and sizes keep theirs.
                self.names.insert(name.text.clone(), (value, name.span));
                Ok(())
            }
            StmtKind::Output { name, value } => {
                let value = match value {
                    Some(value) => {
                        let found = self.value(*value)?;
                        self.names.insert(name.text.clone(), (found.clone(), name.span));
                        found.into_tensor(self.program.span(*value))?
                    }
                    None => self.name(&name.text, name.span)?.into_tensor(name.span)?,
                };
                if self.done.outputs.iter().any(|(known, _)| *known == name.text) {
                    return Err(Diagnostic::new(
                        format!("output `{}` is listed twice", name.text),
                        name.span,
                    ));
                }
                self.done.outputs.push((name.text.clone(), value));
                Ok(())
            }
            StmtKind::Einop { target, op, value, .. } => {
                if let (false, Some((_, before))) = (*op == EinopOp::Assign, self.names.get(&target.text)) {
                    let message =
                        format!("`{}` has a value, which `{}` would leave out", target.text, op.symbol());
                    let mut diagnostic = Diagnostic::new(message, target.span);
                    diagnostic.related.push((*before, "first here".to_string()));
                    return Err(diagnostic);
                }
                let made = self.einop(stmt, *value)?;
                self.names.insert(target.text.clone(), (made, target.span));
                Ok(())
            }
            StmtKind::Result { value } => {
                let (found, span) = (self.value(*value)?, self.program.span(*value));
                if let Value::Sequence(items) = &found
                    && !items.is_empty()
                    && items.iter().all(Value::is_tensor)
                {
                    for (k, item) in items.iter().enumerate() {
                        self.done.outputs.push((format!("result_{k}"), item.clone().into_tensor(span)?));
                    }
                    return Ok(());
                }
                self.done.outputs.push(("result".to_string(), found.into_tensor(span)?));
                Ok(())
            }
        }
    }

    /// Gives a name its only meaning.
    fn define(&mut self, name: &Ident, value: Value) -> Result<(), Diagnostic> {
        if let Some((_, before)) = self.names.insert(name.text.clone(), (value, name.span)) {
            let mut diagnostic = Diagnostic::new(format!("`{}` is declared twice", name.text), name.span);
            diagnostic.related.push((before, "first here".to_string()));
            return Err(diagnostic);
        }
        Ok(())
    }

    fn name(&self, name: &str, span: Span) -> Result<Value, Diagnostic> {
        if let Some((value, _)) = self.names.get(name) {
            return Ok(value.clone());
        }
        self.given.get(name).cloned().ok_or_else(|| {
            let mut diagnostic = Diagnostic::new(format!("`{name}` is not defined"), span);
            diagnostic
                .notes
                .push(format!("give it a value: {name}=FILE, {name}=7, or declare it in the program"));
            diagnostic
        })
    }

    /// The value of an expression; everything before it in the arena is evaluated first.
    fn value(&mut self, id: ExprId) -> Result<Value, Diagnostic> {
        while self.values.len() <= id.index() {
            let (next, expr) = self.exprs[self.values.len()];
            // Names there are indices; the whole is read by `einop`.
            let indexed = self.indexed[next.index()];
            let value = if indexed { Value::None } else { self.evaluate(next, expr)? };
            self.values.push(value);
        }
        Ok(self.values[id.index()].clone())
    }

    fn done(&self, id: ExprId) -> &Value {
        &self.values[id.index()]
    }

    fn evaluate(&self, id: ExprId, expr: &Expr) -> Result<Value, Diagnostic> {
        let span = self.program.span(id);
        match expr {
            Expr::Int(n) => {
                Ok(Value::Int(i64::try_from(*n).map_err(|_| {
                    Diagnostic::new(format!("the integer {n} does not fit in 63 bits"), span)
                })?))
            }
            Expr::Float(x) => Ok(Value::Float(*x)),
            Expr::Bool(b) => Ok(Value::Bool(*b)),
            Expr::None => Ok(Value::None),
            Expr::Str(s) => Ok(Value::Text(s.clone())),
            Expr::Name(name) => self.name_or_word(name, span),
            Expr::Unary { op, arg } => self.unary(*op, *arg, span),
            Expr::Binary { op, left, right } => self.binary(*op, *left, *right, span),
            Expr::Call { function, args } => self.call(function, None, args, span),
            Expr::Method { receiver, method, args } => self.call(method, Some(*receiver), args, span),
            Expr::Attribute { receiver, name } => {
                let tensor = self.done(*receiver).clone().into_tensor(self.program.span(*receiver))?;
                match name.text.as_str() {
                    "T" => checked(tensor.transpose(), span),
                    "mT" => checked(tensor.matrix_transpose(), span),
                    "ndim" => Ok(Value::Int(tensor.rank() as i64)),
                    "shape" => Ok(Value::Sequence(tensor.shape().iter().cloned().map(Value::Size).collect())),
                    other => Err(Diagnostic::new(
                        format!("`{other}` is not an attribute; there are `T`, `mT`, `shape` and `ndim`"),
                        name.span,
                    )),
                }
            }
            Expr::Index { base, subscripts } => self.index(*base, subscripts, span),
            Expr::Sequence { items, .. } => {
                Ok(Value::Sequence(items.iter().map(|&item| self.done(item).clone()).collect()))
            }
        }
    }

    /// A name that no value has may still be the word for a dtype, as in `cast(x, f64)`, or for a module.
    fn name_or_word(&self, name: &str, span: Span) -> Result<Value, Diagnostic> {
        match self.name(name, span) {
            Err(_) if is_word(name) => Ok(Value::Text(name.to_string())),
            found => found,
        }
    }

    fn unary(&self, op: UnaryOp, arg: ExprId, span: Span) -> Result<Value, Diagnostic> {
        let value = self.done(arg).clone();
        match (op, value) {
            (UnaryOp::Pos, value) => Ok(value),
            (UnaryOp::Invert, Value::Bool(b)) => Ok(Value::Bool(!b)),
            (UnaryOp::Neg, value) => match value::host_neg(&value, span) {
                Some(done) => done,
                None => checked(-value.into_tensor(self.program.span(arg))?, span),
            },
            (UnaryOp::Invert, value) => checked(!value.into_tensor(self.program.span(arg))?, span),
        }
    }

    fn binary(&self, op: BinaryOp, left: ExprId, right: ExprId, span: Span) -> Result<Value, Diagnostic> {
        let (a, b) = (self.done(left).clone(), self.done(right).clone());
        if !a.is_tensor() && !b.is_tensor() {
            return value::host_binary(op, &a, &b, span);
        }
        if op == BinaryOp::MatMul {
            let a = a.into_tensor(self.program.span(left))?;
            let b = b.into_tensor(self.program.span(right))?;
            return checked(a.matmul(&b), span);
        }
        let Some(scalar) = value::tensor_op(op) else {
            return Err(Diagnostic::new(format!("`{}` is not defined on tensors", op.symbol()), span));
        };
        let operands = value::operands(&[(a, self.program.span(left)), (b, self.program.span(right))])?;
        checked(value::apply(scalar, operands), span)
    }

    fn index(&self, base: ExprId, subscripts: &[Subscript], span: Span) -> Result<Value, Diagnostic> {
        let base_span = self.program.span(base);
        if let Value::Sequence(items) = self.done(base) {
            if let [Subscript::At(at)] = subscripts
                && let Value::Int(n) = self.done(*at)
                && let Some(item) = usize::try_from(*n).ok().and_then(|n| items.get(n))
            {
                return Ok(item.clone());
            }
            return Err(Diagnostic::new(format!("the sequence has {} items", items.len()), span));
        }
        let tensor = self.done(base).clone().into_tensor(base_span)?;
        if let [Subscript::At(at)] = subscripts
            && let Value::Tensor(mask) = self.done(*at)
            && mask.dtype().is_bool()
        {
            return checked(tensor.masked(mask), span);
        }
        let mut parts = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            parts.push(match subscript {
                Subscript::Ellipsis(_) => At::Ellipsis,
                Subscript::At(at) => match self.done(*at) {
                    Value::None => At::NewAxis,
                    Value::Tensor(positions) => At::from(positions),
                    value => At::Index(value.as_int(self.program.span(*at))?),
                },
                Subscript::Slice { start, stop, step, .. } => {
                    let end = |part: &Option<ExprId>| -> Result<Option<Dim>, Diagnostic> {
                        match part {
                            None => Ok(None),
                            Some(id) => Ok(Some(self.done(*id).as_size(self.program.span(*id))?)),
                        }
                    };
                    let step = match step {
                        None => 1,
                        Some(id) => self.done(*id).as_int(self.program.span(*id))?,
                    };
                    At::Slice { start: end(start)?, stop: end(stop)?, step }
                }
            });
        }
        checked(tensor.index(parts), span)
    }
}

/// The format that a text names.
fn format_of(text: &str, span: Span) -> Result<Format, Diagnostic> {
    text.parse().map_err(|error: tensorjit::TensorError| Diagnostic::new(error.to_string(), span))
}

/// Whether a name that has no value is a word of the language: a dtype, or a module of functions.
pub(crate) fn is_word(name: &str) -> bool {
    name.parse::<DType>().is_ok() || functions::MODULES.contains(&name)
}

fn bound(value: u64, span: Span) -> Result<i64, Diagnostic> {
    i64::try_from(value)
        .map_err(|_| Diagnostic::new(format!("the bound {value} does not fit in 63 bits"), span))
}

/// A tensor, or the mistake it carries under the words that made it.
fn checked(tensor: LazyTensor, span: Span) -> Result<Value, Diagnostic> {
    correct(tensor, span).map(Value::Tensor)
}

fn correct(tensor: LazyTensor, span: Span) -> Result<LazyTensor, Diagnostic> {
    match tensor.check() {
        Ok(()) => Ok(tensor),
        Err(error) => Err(Diagnostic::new(error.cause.to_string(), span)),
    }
}
