//! Programs as data: what a generator makes, a shrinker cuts, and a failure prints.
//!
//! A [`Program`] is a list of steps on earlier steps. It is built into lazy tensors any number of times, under any
//! prefix of names, so that many programs can be compiled as one. Its text is the Rust code that builds it.

use std::fmt;

use tensorjit::{
    At, Axes, DType, Dim, DimError, Format, IrError, LazyTensor, Op, Operand, ReduceOp, Scalar, axis, concat,
    einsum, eye, input, number, size, stack,
};

/// A program over declared sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Symbols with their bounds.
    pub symbols: Vec<SymbolDecl>,
    /// Arguments.
    pub inputs: Vec<InputDecl>,
    /// Each uses earlier ones only.
    pub steps: Vec<Step>,
    /// Which steps are asked for.
    pub outputs: Vec<usize>,
}

/// A size by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolDecl {
    /// Its name.
    pub name: &'static str,
    /// Least and greatest value.
    pub bounds: (i64, i64),
}

/// An argument; its name is `x` and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputDecl {
    /// Type of an element.
    pub dtype: DType,
    /// Sizes.
    pub shape: Vec<Size>,
}

/// A size in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A number.
    Const(i64),
    /// A symbol, by position.
    Symbol(usize),
    /// The size of an axis of an earlier step.
    Axis(usize, usize),
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An argument, by position.
    Input(usize),
    /// A number with a dtype.
    Number(Scalar),
    /// A symbol as a number.
    SizeOf(usize),
    /// A scalar operator.
    Map(Op, Vec<Arg>),
    /// `clip`.
    Clip(usize, Arg, Arg),
    /// A reduction.
    Reduce(ReduceOp, usize, Over),
    /// `mean`.
    Mean(usize, Over),
    /// A matrix product.
    Matmul(usize, usize),
    /// Axes in another order.
    Permute(usize, Vec<i64>),
    /// Another shape.
    Reshape(usize, Vec<Option<Size>>),
    /// Positions, slices, new axes.
    Index(usize, Vec<Part>),
    /// One axis reversed.
    Flip(usize, i64),
    /// An axis of size 1.
    ExpandDims(usize, i64),
    /// Axes of size 1 dropped.
    Squeeze(usize, Vec<i64>),
    /// Repeated to a shape.
    BroadcastTo(usize, Vec<Size>),
    /// A product by subscripts.
    Einsum(String, Vec<usize>),
    /// One after the other.
    Concat(Vec<usize>, i64),
    /// One after the other along a new axis.
    Stack(Vec<usize>, i64),
    /// Elements at other places, by name.
    Arranged(Arrange, usize),
}

/// How elements are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrange {
    /// `tril`.
    Lower(i64),
    /// `triu`.
    Upper(i64),
    /// `diag`.
    Diag(i64),
    /// `roll` along an axis.
    Roll(i64, i64),
    /// `roll` of all elements.
    Turn(i64),
    /// `repeat` along an axis.
    Repeat(i64, i64),
    /// `tile` along the last axis.
    Tile(i64),
    /// `pad` of all axes by a number.
    Pad(i64),
    /// Another number on the diagonal.
    FillDiagonal(i64),
    /// The identity of the shape of a matrix.
    Identity(i64),
    /// One number everywhere.
    Full(i64),
    /// The same to be stored by levels, so that it has a fill.
    Stored,
    /// The same without a fill.
    Dense,
}

impl Arrange {
    fn apply(self, x: &LazyTensor) -> LazyTensor {
        match self {
            Arrange::Lower(k) => x.tril(k),
            Arrange::Upper(k) => x.triu(k),
            Arrange::Diag(k) => x.diag(k),
            Arrange::Roll(by, axis) => x.roll(by, axis),
            Arrange::Turn(by) => x.roll(by, None),
            Arrange::Repeat(count, axis) => x.repeat(count, axis),
            Arrange::Tile(count) => x.tile([count]),
            Arrange::Pad(number) => x.pad((0..x.rank()).map(|d| (d as i64 % 2, 1)), number),
            Arrange::Full(number) => x.full_like(number),
            Arrange::Stored => x.with_format(&Format::csf(x.rank())),
            Arrange::Dense => x.to_dense(),
            Arrange::FillDiagonal(number) => x.fill_diagonal(number),
            Arrange::Identity(k) => match x.shape() {
                [.., rows, columns] => eye(rows.clone(), columns.clone(), k, x.dtype()),
                _ => x.diag(k),
            },
        }
    }
}

/// An argument of a scalar operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// A step.
    Step(usize),
    /// A host integer.
    Int(i64),
    /// A host float.
    Float(f64),
}

/// Axes of a reduction; `None` for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Which.
    pub axes: Option<Vec<i64>>,
    /// Whether they stay with size 1.
    pub keepdims: bool,
}

/// A part of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A position.
    Index(i64),
    /// A slice.
    Slice(Option<End>, Option<End>, i64),
    /// A new axis.
    NewAxis,
    /// The rest.
    Ellipsis,
}

/// An end of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A number, counted from the end if negative.
    Const(i64),
    /// A symbol and a number.
    Symbol(usize, i64),
}

impl Program {
    /// The symbols under a prefix.
    ///
    /// # Errors
    /// Bounds that make no sense.
    pub fn dims(&self, prefix: &str) -> Result<Vec<Dim>, DimError> {
        let dim = |s: &SymbolDecl| Dim::new(&format!("{prefix}{}", s.name), s.bounds.0..=s.bounds.1);
        self.symbols.iter().map(dim).collect()
    }

    /// All steps as lazy tensors. A step may carry an error.
    ///
    /// # Errors
    /// Declarations that are wrong in themselves.
    pub fn build(&self, prefix: &str) -> Result<Vec<LazyTensor>, IrError> {
        let dims = self.dims(prefix).expect("the generator keeps bounds in order");
        let mut built = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let tensor = step.apply(&self.inputs, &dims, prefix, &built)?;
            built.push(tensor);
        }
        Ok(built)
    }

    /// What is asked for, as lazy tensors.
    ///
    /// # Errors
    /// As [`Program::build`].
    pub fn outputs(&self, prefix: &str) -> Result<Vec<LazyTensor>, IrError> {
        let built = self.build(prefix)?;
        Ok(self.outputs.iter().map(|&k| built[k].clone()).collect())
    }

    /// One step as text.
    pub fn text_of(&self, step: &Step) -> String {
        StepText(step, self).to_string()
    }

    /// The same program without steps that no output needs. Inputs keep their names.
    pub fn without_dead(&self) -> Program {
        let mut live = vec![false; self.steps.len()];
        for &output in &self.outputs {
            live[output] = true;
        }
        for k in (0..self.steps.len()).rev() {
            if live[k] {
                for arg in self.steps[k].args() {
                    live[arg] = true;
                }
            }
        }
        let mut new = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        for k in (0..self.steps.len()).filter(|&k| live[k]) {
            new[k] = steps.len();
            steps.push(self.steps[k].map_args(&|j| new[j]));
        }
        let outputs = self.outputs.iter().map(|&k| new[k]).collect();
        Program { steps, outputs, ..self.clone() }
    }
}

impl Size {
    fn dim(self, dims: &[Dim], built: &[LazyTensor]) -> Dim {
        match self {
            Size::Const(n) => Dim::from(n),
            Size::Symbol(s) => dims[s].clone(),
            // A shrunken step may have lost axes; the size is wrong then, and the program is refused.
            Size::Axis(step, axis) => built[step].shape().get(axis).cloned().unwrap_or(Dim::from(1)),
        }
    }
}

impl Arg {
    fn operand(self, built: &[LazyTensor]) -> Operand {
        match self {
            Arg::Step(k) => Operand::Tensor(built[k].clone()),
            Arg::Int(n) => Operand::Int(n),
            Arg::Float(x) => Operand::Float(x),
        }
    }
}

impl Over {
    fn axes(&self) -> Axes {
        let axes = match &self.axes {
            None => Axes::all(),
            Some(list) => match list.as_slice() {
                [one] => axis(*one),
                list => Axes::from(list),
            },
        };
        if self.keepdims { axes.keepdims() } else { axes }
    }
}

impl Step {
    /// The steps it is built on.
    pub fn args(&self) -> Vec<usize> {
        let step = |arg: &Arg| match arg {
            Arg::Step(k) => Some(*k),
            Arg::Int(_) | Arg::Float(_) => None,
        };
        let axis = |size: &Size| match size {
            Size::Axis(step, _) => Some(*step),
            Size::Const(_) | Size::Symbol(_) => None,
        };
        match self {
            Step::Input(_) | Step::Number(_) | Step::SizeOf(_) => Vec::new(),
            Step::Map(_, args) => args.iter().filter_map(step).collect(),
            Step::Clip(k, lo, hi) => [Some(*k), step(lo), step(hi)].into_iter().flatten().collect(),
            Step::Matmul(a, b) => vec![*a, *b],
            Step::Einsum(_, parts) | Step::Concat(parts, _) | Step::Stack(parts, _) => parts.clone(),
            Step::Reshape(k, shape) => {
                std::iter::once(*k).chain(shape.iter().flatten().filter_map(axis)).collect()
            }
            Step::BroadcastTo(k, shape) => std::iter::once(*k).chain(shape.iter().filter_map(axis)).collect(),
            Step::Reduce(_, k, _)
            | Step::Mean(k, _)
            | Step::Permute(k, _)
            | Step::Index(k, _)
            | Step::Flip(k, _)
            | Step::ExpandDims(k, _)
            | Step::Arranged(_, k)
            | Step::Squeeze(k, _) => vec![*k],
        }
    }

    /// The same step on other steps.
    pub fn map_args(&self, f: &dyn Fn(usize) -> usize) -> Step {
        let arg = |arg: &Arg| match *arg {
            Arg::Step(k) => Arg::Step(f(k)),
            other @ (Arg::Int(_) | Arg::Float(_)) => other,
        };
        let size = |size: &Size| match *size {
            Size::Axis(step, axis) => Size::Axis(f(step), axis),
            other @ (Size::Const(_) | Size::Symbol(_)) => other,
        };
        match self {
            Step::Input(_) | Step::Number(_) | Step::SizeOf(_) => self.clone(),
            Step::Map(op, args) => Step::Map(*op, args.iter().map(arg).collect()),
            Step::Clip(k, lo, hi) => Step::Clip(f(*k), arg(lo), arg(hi)),
            Step::Reduce(op, k, over) => Step::Reduce(*op, f(*k), over.clone()),
            Step::Mean(k, over) => Step::Mean(f(*k), over.clone()),
            Step::Matmul(a, b) => Step::Matmul(f(*a), f(*b)),
            Step::Permute(k, axes) => Step::Permute(f(*k), axes.clone()),
            Step::Reshape(k, shape) => {
                Step::Reshape(f(*k), shape.iter().map(|s| s.as_ref().map(size)).collect())
            }
            Step::Index(k, parts) => Step::Index(f(*k), parts.clone()),
            Step::Flip(k, axis) => Step::Flip(f(*k), *axis),
            Step::ExpandDims(k, axis) => Step::ExpandDims(f(*k), *axis),
            Step::Squeeze(k, axes) => Step::Squeeze(f(*k), axes.clone()),
            Step::BroadcastTo(k, shape) => Step::BroadcastTo(f(*k), shape.iter().map(size).collect()),
            Step::Einsum(text, parts) => Step::Einsum(text.clone(), parts.iter().map(|&k| f(k)).collect()),
            Step::Concat(parts, axis) => Step::Concat(parts.iter().map(|&k| f(k)).collect(), *axis),
            Step::Stack(parts, axis) => Step::Stack(parts.iter().map(|&k| f(k)).collect(), *axis),
            Step::Arranged(how, k) => Step::Arranged(*how, f(*k)),
        }
    }

    /// The lazy tensor of this step on `built` ones.
    ///
    /// # Errors
    /// An input that cannot be declared.
    pub fn apply(
        &self,
        inputs: &[InputDecl],
        dims: &[Dim],
        prefix: &str,
        built: &[LazyTensor],
    ) -> Result<LazyTensor, IrError> {
        let end = |end: &End| match *end {
            End::Const(n) => Dim::from(n),
            End::Symbol(s, more) => &dims[s] + more,
        };
        let all = |parts: &[usize]| -> Vec<LazyTensor> { parts.iter().map(|&k| built[k].clone()).collect() };
        Ok(match self {
            Step::Input(position) => {
                let decl = &inputs[*position];
                let shape = decl.shape.iter().map(|size| size.dim(dims, built));
                input(&format!("{prefix}x{position}"), decl.dtype, shape)?
            }
            Step::Number(value) => number(*value),
            Step::SizeOf(symbol) => size(&dims[*symbol]),
            Step::Map(op, args) => LazyTensor::map(*op, args.iter().map(|arg| arg.operand(built))),
            Step::Clip(k, lo, hi) => built[*k].clip(lo.operand(built), hi.operand(built)),
            Step::Reduce(op, k, over) => built[*k].reduce(*op, over.axes()),
            Step::Mean(k, over) => built[*k].mean(over.axes()),
            Step::Matmul(a, b) => built[*a].matmul(&built[*b]),
            Step::Permute(k, axes) => built[*k].permute(axes),
            Step::Reshape(k, shape) => {
                let shape: Vec<Option<Dim>> = shape.iter().map(|s| s.map(|s| s.dim(dims, built))).collect();
                built[*k].reshape(&shape)
            }
            Step::Index(k, parts) => built[*k].index(parts.iter().map(|part| match part {
                Part::Index(i) => At::Index(*i),
                Part::Slice(start, stop, step) => {
                    At::Slice { start: start.as_ref().map(end), stop: stop.as_ref().map(end), step: *step }
                }
                Part::NewAxis => At::NewAxis,
                Part::Ellipsis => At::Ellipsis,
            })),
            Step::Flip(k, axis) => built[*k].flip(*axis),
            Step::ExpandDims(k, axis) => built[*k].expand_dims(*axis),
            Step::Squeeze(k, axes) => built[*k].squeeze(axes),
            Step::BroadcastTo(k, shape) => {
                let shape: Vec<Dim> = shape.iter().map(|s| s.dim(dims, built)).collect();
                built[*k].broadcast_to(&shape)
            }
            Step::Einsum(text, parts) => einsum(text, &parts.iter().map(|&k| &built[k]).collect::<Vec<_>>()),
            Step::Concat(parts, axis) => concat(&all(parts), *axis),
            Step::Stack(parts, axis) => stack(&all(parts), *axis),
            Step::Arranged(how, k) => how.apply(&built[*k]),
        })
    }
}

/// The Rust code that builds it.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for SymbolDecl { name, bounds: (lo, hi) } in &self.symbols {
            writeln!(f, "let {} = Dim::new(\"{name}\", {lo}..={hi})?;", name.to_lowercase())?;
        }
        for (k, step) in self.steps.iter().enumerate() {
            writeln!(f, "let t{k} = {};", StepText(step, self))?;
        }
        let outputs: Vec<String> = self.outputs.iter().map(|k| format!("t{k}")).collect();
        writeln!(f, "[{}]", outputs.join(", "))
    }
}

fn named(before: &str, parts: &[usize]) -> String {
    parts.iter().map(|k| format!("{before}{k}")).collect::<Vec<_>>().join(", ")
}

fn cloned(parts: &[usize]) -> String {
    parts.iter().map(|k| format!("t{k}.clone()")).collect::<Vec<_>>().join(", ")
}

struct StepText<'p>(&'p Step, &'p Program);

impl StepText<'_> {
    fn size(&self, size: &Size) -> String {
        match *size {
            Size::Const(n) => format!("{n}.into()"),
            Size::Symbol(s) => format!("{}.clone()", self.symbol(s)),
            Size::Axis(step, axis) => format!("t{step}.shape()[{axis}].clone()"),
        }
    }

    fn symbol(&self, s: usize) -> String {
        self.1.symbols.get(s).map_or("?".to_string(), |s| s.name.to_lowercase())
    }

    fn sizes<'s>(&self, sizes: impl IntoIterator<Item = &'s Size>) -> String {
        format!("[{}]", sizes.into_iter().map(|s| self.size(s)).collect::<Vec<_>>().join(", "))
    }
}

fn arg(arg: &Arg) -> String {
    match arg {
        Arg::Step(k) => format!("(&t{k}).into()"),
        Arg::Int(n) => format!("{n}_i64.into()"),
        Arg::Float(x) if x.is_finite() => format!("{x:?}_f64.into()"),
        Arg::Float(x) if x.is_nan() => "f64::NAN.into()".to_string(),
        Arg::Float(x) => format!("({}f64::INFINITY).into()", if *x < 0.0 { "-" } else { "" }),
    }
}

fn over(over: &Over) -> String {
    let axes = match &over.axes {
        None => "Axes::all()".to_string(),
        Some(list) => format!("Axes::from({list:?})"),
    };
    if over.keepdims { format!("{axes}.keepdims()") } else { axes }
}

impl fmt::Display for StepText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::Input(position) => {
                let decl = &self.1.inputs[*position];
                write!(f, "input(\"x{position}\", DType::{:?}, {})?", decl.dtype, self.sizes(&decl.shape))
            }
            Step::Number(value) => write!(f, "number({value}_{})", value.dtype()),
            Step::SizeOf(s) => write!(f, "size(&{})", self.symbol(*s)),
            Step::Map(Op::Cast(to), args) => {
                let args: Vec<String> = args.iter().map(arg).collect();
                write!(f, "LazyTensor::map(Op::Cast(DType::{to:?}), [{}])", args.join(", "))
            }
            Step::Map(op, args) => {
                let args: Vec<String> = args.iter().map(arg).collect();
                write!(f, "LazyTensor::map(Op::{op:?}, [{}])", args.join(", "))
            }
            Step::Clip(k, lo, hi) => write!(f, "t{k}.clip({}, {})", arg(lo), arg(hi)),
            Step::Reduce(op, k, axes) => write!(f, "t{k}.reduce(ReduceOp::{op:?}, {})", over(axes)),
            Step::Mean(k, axes) => write!(f, "t{k}.mean({})", over(axes)),
            Step::Matmul(a, b) => write!(f, "t{a}.matmul(&t{b})"),
            Step::Permute(k, axes) => write!(f, "t{k}.permute(&{axes:?})"),
            Step::Reshape(k, shape) => {
                let size = |s: &Option<Size>| {
                    s.as_ref().map_or("None".into(), |s| format!("Some({})", self.size(s)))
                };
                write!(f, "t{k}.reshape(&[{}])", shape.iter().map(size).collect::<Vec<_>>().join(", "))
            }
            Step::Index(k, parts) => {
                let end = |e: &Option<End>| match e {
                    None => "None".to_string(),
                    Some(End::Const(n)) => format!("Some({n}.into())"),
                    Some(End::Symbol(s, more)) => format!("Some(&{} + {more})", self.symbol(*s)),
                };
                let part = |part: &Part| match part {
                    Part::Index(i) => format!("At::Index({i})"),
                    Part::Slice(start, stop, step) => {
                        format!("At::Slice {{ start: {}, stop: {}, step: {step} }}", end(start), end(stop))
                    }
                    Part::NewAxis => "At::NewAxis".to_string(),
                    Part::Ellipsis => "At::Ellipsis".to_string(),
                };
                write!(f, "t{k}.index([{}])", parts.iter().map(part).collect::<Vec<_>>().join(", "))
            }
            Step::Flip(k, axis) => write!(f, "t{k}.flip({axis})"),
            Step::ExpandDims(k, axis) => write!(f, "t{k}.expand_dims({axis})"),
            Step::Squeeze(k, axes) => write!(f, "t{k}.squeeze(&{axes:?})"),
            Step::BroadcastTo(k, shape) => write!(f, "t{k}.broadcast_to(&{})", self.sizes(shape)),
            Step::Einsum(text, parts) => write!(f, "einsum({text:?}, &[{}])", named("&t", parts)),
            Step::Concat(parts, axis) => write!(f, "concat(&[{}], {axis})", cloned(parts)),
            Step::Stack(parts, axis) => write!(f, "stack(&[{}], {axis})", cloned(parts)),
            Step::Arranged(how, k) => write!(f, "t{k} arranged by {how:?}"),
        }
    }
}
