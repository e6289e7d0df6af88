//! Complex tensors as two real ones.
//!
//! **Invariant.** No expression, input or definition of a trace is complex. A complex node becomes a real and an imaginary
//! definition; one that must be whole (an input, an output, what a function of whole tensors is given or gives) lies in
//! memory as pairs, and is a real tensor with one more axis at the end, of size 2.
//!
//! **Bits.** A sum is two sums, in the stated order each. A matrix product is four, each in its own order, and then a
//! difference and a sum: `re = a.re b.re - a.im b.im`, `im = a.re b.im + a.im b.re`.

use smallvec::SmallVec;
use tj_tensor::{DType, Scalar};

use super::{Ctx, Definition, Traced, number_parts, position};
use crate::complex::{Applied, Parts, apply};
use crate::dim::Dim;
use crate::expr::{Expr, ExprId, Indices, Source};
use crate::lazy::{Kind, LazyTensor, Node, PartsOp, Shape};
use crate::op::Op;

/// A complex node of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Complex {
    /// Pairs along the last axis of a source.
    Pairs(Source),
    /// Each part is a tensor of its own.
    Apart([Part; 2]),
}

/// The real or the imaginary part of a node. The first is a leaf in numbers only, so that it knows the shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Source(Source),
    /// The same expression at every position.
    Leaf(ExprId),
}

impl Complex {
    pub(super) fn number(parts: Parts) -> Complex {
        Complex::Apart(parts.map(Part::Leaf))
    }
}

/// Whether a node is complex, or made of what is.
pub(super) fn is_complex(node: &Node) -> bool {
    node.dtype.is_complex() || node.args().iter().any(|arg| arg.dtype().is_complex())
}

impl Ctx<'_> {
    /// What operators, moves, reductions and products make of complex tensors.
    pub(super) fn split(&mut self, node: &Node, shape: Shape) -> Traced {
        let rank = shape.len();
        let bodies: Applied = match &node.kind {
            Kind::Map { op, args } => {
                let dtype = args
                    .iter()
                    .map(|arg| arg.dtype().real())
                    .fold(node.dtype.real(), |known, dtype| if dtype.is_float() { dtype } else { known });
                let read = |ctx: &mut Ctx, arg: &LazyTensor| {
                    let at = ctx.broadcast_at(arg, &node.shape);
                    ctx.read_parts(arg, at)
                };
                let (condition, values) = if *op == Op::Where {
                    let at = self.broadcast_at(&args[0], &node.shape);
                    (Some(self.read(&args[0], at)), &args[1..])
                } else {
                    (None, &args[..])
                };
                let parts: SmallVec<[Parts; 3]> = values.iter().map(|arg| read(self, arg)).collect();
                match (op, values) {
                    (Op::Cast(to), [arg]) if !arg.dtype().is_complex() => {
                        // A real number has no imaginary part.
                        let re = self.trace.arena.cast(parts[0][0], to.real());
                        let re = self.define(node, "_re", &shape, re);
                        let zero = self.trace.arena.constant(Scalar::zero(to.real()));
                        return Traced::Complex(Complex::Apart([Part::Source(re), Part::Leaf(zero)]));
                    }
                    _ => apply(&mut self.trace.arena, dtype, *op, condition, &parts),
                }
            }
            Kind::Move { arg, .. } => {
                let at = self.moved.take().expect("a move has its map");
                Applied::Parts(self.read_parts(arg, at))
            }
            Kind::Reduce { op, arg, axis } => {
                let mut at: Indices = (0..rank).map(position).collect();
                at.insert(*axis, position(rank));
                let extent = self.shape_of(arg)[*axis].clone();
                let parts = self.read_parts(arg, at);
                let dtype = node.dtype.real();
                Applied::Parts(parts.map(|body| self.reduction(*op, *axis, rank, &extent, body, dtype)))
            }
            Kind::Matmul { args: [a, b] } => {
                let (at_a, at_b, tree) = self.matmul_indices(a, b, &node.shape);
                let extent = self.shape_of(a).last().cloned().unwrap_or(Dim::ONE);
                let (za, zb) = (self.read_parts(a, at_a), self.read_parts(b, at_b));
                let product = |ctx: &mut Ctx, k: usize, l: usize| {
                    let body = ctx.trace.arena.map(Op::Mul, SmallVec::from_slice(&[za[k], zb[l]]));
                    let sum = ctx.contraction(tree, rank, &extent, body, node.dtype.real());
                    let source = ctx.define(node, ["_rr", "_ri", "_ir", "_ii"][2 * k + l], &shape, sum);
                    let at = (0..rank).map(position).collect();
                    ctx.trace.arena.read(source, at, node.dtype.real())
                };
                let [rr, ii, ri, ir] = [(0, 0), (1, 1), (0, 1), (1, 0)].map(|(k, l)| product(self, k, l));
                let arena = &mut self.trace.arena;
                Applied::Parts([
                    arena.map(Op::Sub, SmallVec::from_slice(&[rr, ii])),
                    arena.map(Op::Add, SmallVec::from_slice(&[ri, ir])),
                ])
            }
            Kind::Parts { op, args } => match op {
                PartsOp::Join => {
                    let parts = [0, 1].map(|k| {
                        let at = self.broadcast_at(&args[k], &node.shape);
                        self.read(&args[k], at)
                    });
                    Applied::Parts(parts)
                }
                PartsOp::Real | PartsOp::Imag => return self.part(node, &args[0], *op, shape),
                PartsOp::Conj => {
                    let at = (0..rank).map(position).collect();
                    let [re, im] = self.read_parts(&args[0], at);
                    Applied::Parts([re, self.trace.arena.map(Op::Neg, SmallVec::from_slice(&[im]))])
                }
            },
            Kind::Failed(_)
            | Kind::Input { .. }
            | Kind::Data(_)
            | Kind::Owned(_)
            | Kind::Const(_)
            | Kind::Size(_)
            | Kind::Positions
            | Kind::Format { .. }
            | Kind::Call { .. }
            | Kind::Select { .. } => unreachable!("trace: {} is a leaf, or whole", node.word()),
        };
        match bodies {
            Applied::One(body) => Traced::Source(self.define(node, "", &shape, body)),
            Applied::Parts([re, im]) => {
                let re = self.define(node, "_re", &shape, re);
                let im = self.define(node, "_im", &shape, im);
                Traced::Complex(Complex::Apart([Part::Source(re), Part::Source(im)]))
            }
        }
    }

    /// One part of a tensor: what it is already, where that has a name.
    fn part(&mut self, node: &Node, arg: &LazyTensor, op: PartsOp, shape: Shape) -> Traced {
        let k = usize::from(op == PartsOp::Imag);
        if let Traced::Complex(Complex::Apart(parts)) = self.traced(arg) {
            match parts[k] {
                Part::Source(source) => return Traced::Source(source),
                Part::Leaf(body) if shape.is_empty() => return Traced::Leaf(body),
                Part::Leaf(_) => {}
            }
        }
        let at = (0..shape.len()).map(position).collect();
        let body = self.read_parts(arg, at)[k];
        Traced::Source(self.define(node, "", &shape, body))
    }

    /// Both parts of a tensor at a position. A real one has no imaginary part.
    pub(super) fn read_parts(&mut self, arg: &LazyTensor, at: Indices) -> Parts {
        let dtype = arg.dtype().real();
        match self.traced(arg) {
            Traced::Complex(Complex::Pairs(source)) => [0, 1].map(|k| {
                let mut at = at.clone();
                at.push(Dim::from(k));
                self.trace.arena.read(source, at, dtype)
            }),
            Traced::Complex(Complex::Apart(parts)) => parts.map(|part| match part {
                Part::Leaf(id) => id,
                Part::Source(source) => self.trace.arena.read(source, at.clone(), dtype),
            }),
            Traced::Source(_) | Traced::Leaf(_) | Traced::Positions => {
                let re = self.read(arg, at);
                [re, self.trace.arena.constant(Scalar::zero(dtype))]
            }
        }
    }

    /// Sizes of a complex node.
    pub(super) fn complex_shape(&self, complex: Complex) -> Shape {
        match complex {
            Complex::Pairs(source) => {
                let mut shape = self.source_shape(source);
                shape.pop();
                shape
            }
            Complex::Apart([Part::Source(source), _]) => self.source_shape(source),
            Complex::Apart([Part::Leaf(_), _]) => Shape::new(),
        }
    }

    /// A complex tensor as pairs along a last axis, once however often it is asked for.
    pub(super) fn pairs(&mut self, tensor: &LazyTensor, complex: Complex) -> Source {
        if let Complex::Pairs(source) = complex {
            return source;
        }
        let mut shape = self.complex_shape(complex);
        let rank = shape.len();
        let [re, im] = self.read_parts(tensor, (0..rank).map(position).collect());
        let arena = &mut self.trace.arena;
        let which = arena.intern(Expr::Size(position(rank)), DType::I64);
        let zero = arena.constant(Scalar::I64(0));
        let is_real = arena.map(Op::Equal, SmallVec::from_slice(&[which, zero]));
        let body = arena.map(Op::Where, SmallVec::from_slice(&[is_real, re, im]));
        shape.push(Dim::from(2));
        let source = self.define(&tensor.0, "_pairs", &shape, body);
        let node: *const Node = &*tensor.0;
        self.done.insert(node, Traced::Complex(Complex::Pairs(source)));
        source
    }

    /// A complex number: two of its own class each.
    pub(super) fn complex_number(&mut self, value: Scalar) -> Traced {
        let parts = number_parts(value);
        Traced::Complex(Complex::number([self.number(parts[0]), self.number(parts[1])]))
    }

    fn define(&mut self, node: &Node, part: &str, shape: &[Dim], body: ExprId) -> Source {
        self.trace.defs.push(Definition {
            word: std::sync::Arc::from(format!("{}{part}", node.word())),
            shape: shape.into(),
            dtype: self.trace.arena.dtype(body),
            body,
            location: node.location,
        });
        Source::Def(self.trace.defs.len() as u32 - 1)
    }
}
