//! What a set of lazy tensors depends on.
//!
//! A [`Context`] is a set of tensors whose history matters. Joining two costs one node, whatever their size,
//! since history is shared. Ids are born in one place only, [`Context::trace`]: a walk from the outputs that
//! meets each shared node once. That order is program order.

use std::sync::Arc;

use crate::error::IrError;
use crate::lazy::LazyTensor;
use crate::trace::{Trace, trace};

/// A set of lazy tensors and everything below them.
///
/// ```
/// use tj_ir::{input, Context};
/// use tj_tensor::DType;
///
/// let x = input("x", DType::F32, [3.into()])?;
/// let both = Context::of(&x.exp()).join(&Context::of(&x.sum(0)));
/// let trace = both.trace()?;
/// assert_eq!(trace.inputs.len(), 1);
/// assert_eq!(trace.defs.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Context(Option<Arc<Joined>>);

#[derive(Debug)]
enum Joined {
    One(LazyTensor),
    Two(Context, Context),
}

impl Context {
    /// Depends on nothing.
    pub fn new() -> Context {
        Context::default()
    }

    /// What one tensor depends on.
    pub fn of(tensor: &LazyTensor) -> Context {
        Context(Some(Arc::new(Joined::One(tensor.clone()))))
    }

    /// This and one more tensor.
    pub fn bind(&self, tensor: &LazyTensor) -> Context {
        self.join(&Context::of(tensor))
    }

    /// Both; O(1).
    pub fn join(&self, other: &Context) -> Context {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(_), Some(_)) => Context(Some(Arc::new(Joined::Two(self.clone(), other.clone())))),
        }
    }

    /// The tensors, in the order in which they were joined.
    pub fn tensors(&self) -> Vec<LazyTensor> {
        let mut found = Vec::new();
        let mut todo: Vec<&Context> = vec![self];
        while let Some(Context(joined)) = todo.pop() {
            match joined.as_deref() {
                None => {}
                Some(Joined::One(tensor)) => found.push(tensor.clone()),
                Some(Joined::Two(a, b)) => todo.extend([b, a]),
            }
        }
        found
    }

    /// The program that computes all of them.
    ///
    /// # Errors
    /// The first mistake that any of them carries, and conflicts between declarations.
    pub fn trace(&self) -> Result<Trace, IrError> {
        trace(&[], &self.tensors())
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut todo = Vec::new();
        let open = |joined: &mut Joined, todo: &mut Vec<Context>| {
            if let Joined::Two(a, b) = joined {
                todo.extend([std::mem::take(a), std::mem::take(b)]);
            }
        };
        open(self, &mut todo);
        while let Some(Context(joined)) = todo.pop() {
            if let Some(mut joined) = joined.and_then(Arc::into_inner) {
                open(&mut joined, &mut todo);
            }
        }
    }
}

impl LazyTensor {
    /// What this tensor depends on.
    pub fn context(&self) -> Context {
        Context::of(self)
    }
}
