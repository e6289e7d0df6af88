//! The arguments of a call by name, as what a function needs.

use tensorjit::{Axes, DType, Dim, LazyTensor, Operand};

use super::Value;
use crate::ast::Span;
use crate::diagnostic::Diagnostic;

/// Arguments of a call, matched to parameter names.
pub(super) struct Bound<'c> {
    pub function: &'c str,
    pub span: Span,
    pub values: Vec<(&'static str, Value, Span)>,
}

impl Bound<'_> {
    pub fn get(&self, name: &str) -> Option<(&Value, Span)> {
        self.values.iter().find(|(known, _, _)| *known == name).map(|(_, value, span)| (value, *span))
    }

    /// As [`Bound::get`], where `None` is as good as nothing.
    pub fn given(&self, name: &str) -> Option<(&Value, Span)> {
        self.get(name).filter(|(value, _)| !value.is_none())
    }

    pub fn need(&self, name: &str) -> Result<(&Value, Span), Diagnostic> {
        let missing = || Diagnostic::new(format!("`{}` needs `{name}`", self.function), self.span);
        self.get(name).ok_or_else(missing)
    }

    pub fn tensor(&self, name: &str) -> Result<LazyTensor, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.clone().into_tensor(span)
    }

    pub fn tensors(&self, name: &str) -> Result<Vec<LazyTensor>, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_items().into_iter().map(|item| item.into_tensor(span)).collect()
    }

    pub fn operand(&self, name: &str) -> Result<Operand, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.clone().into_operand(span)
    }

    pub fn int(&self, name: &str) -> Result<i64, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_int(span)
    }

    pub fn int_or(&self, name: &str, otherwise: i64) -> Result<i64, Diagnostic> {
        Ok(self.maybe_int(name)?.unwrap_or(otherwise))
    }

    pub fn maybe_int(&self, name: &str) -> Result<Option<i64>, Diagnostic> {
        self.given(name).map(|(value, span)| value.as_int(span)).transpose()
    }

    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_items().iter().map(|item| item.as_int(span)).collect()
    }

    pub fn float_or(&self, name: &str, otherwise: f64) -> Result<f64, Diagnostic> {
        Ok(self.maybe_float(name)?.unwrap_or(otherwise))
    }

    pub fn maybe_float(&self, name: &str) -> Result<Option<f64>, Diagnostic> {
        self.given(name).map(|(value, span)| value.as_float(span)).transpose()
    }

    pub fn flag(&self, name: &str) -> Result<bool, Diagnostic> {
        Ok(self.get(name).map(|(value, span)| value.as_bool(span)).transpose()?.unwrap_or(false))
    }

    pub fn size(&self, name: &str) -> Result<Dim, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_size(span)
    }

    pub fn sizes(&self, name: &str) -> Result<Vec<Dim>, Diagnostic> {
        let (value, span) = self.need(name)?;
        value.as_items().iter().map(|item| item.as_size(span)).collect()
    }

    pub fn text(&self, name: &str) -> Result<String, Diagnostic> {
        let (value, span) = self.need(name)?;
        match value {
            Value::Text(text) => Ok(text.clone()),
            Value::Tensor(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Bool(_)
            | Value::Size(_)
            | Value::Number(_)
            | Value::None
            | Value::Sequence(_) => Err(value.not("a string", span)),
        }
    }

    pub fn dtype(&self, name: &str) -> Result<DType, Diagnostic> {
        let (_, span) = self.need(name)?;
        let known = self.text(name).ok().and_then(|word| word.parse().ok());
        known.ok_or_else(|| Diagnostic::new("this is not a dtype, such as f32 or i64", span))
    }

    pub fn dtype_or(&self, name: &str, otherwise: DType) -> Result<DType, Diagnostic> {
        if self.given(name).is_some() { self.dtype(name) } else { Ok(otherwise) }
    }

    /// `axis` and `keepdims`; without `axis` all axes.
    pub fn axes(&self) -> Result<Axes, Diagnostic> {
        let axes = match self.given("axis") {
            None => Axes::all(),
            Some(_) => Axes::from(self.ints("axis")?.as_slice()),
        };
        Ok(if self.flag("keepdims")? { axes.keepdims() } else { axes })
    }
}
