//! Values: evaluation, hints, and solving for one symbol.

use super::poly::{Atom, Term};
use super::text::shortened;
use super::{Dim, DimError, Repr, Symbol, SymbolKind};

impl Dim {
    /// The value under an assignment. Intermediate results may need 127 bits, the value 63.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let n = Dim::new("N", ..)?;
    /// assert_eq!((&n * &n).eval(&|_| Some(3)), Ok(9));
    /// assert_eq!((&n * &n).eval(&|_| None).unwrap_err().to_string(), "symbol N in N^2 has no value");
    /// assert_eq!((&n * &n).eval(&|_| Some(1 << 32)).unwrap_err().to_string(), "N^2 does not fit in 64 bits");
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    pub fn eval(&self, values: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, DimError> {
        if let Repr::Const(value) = self.0 {
            return Ok(value);
        }
        let value = self.eval_wide(values)?;
        i64::try_from(value).map_err(|_| self.overflow_at(values))
    }

    /// The value where the size was made; `None` if a symbol has no hint or the value does not fit.
    #[must_use]
    pub fn hint(&self) -> Option<i64> {
        self.eval(&|symbol| symbol.hint()).ok()
    }

    /// The value, if it is there already: of a constant, or where every symbol is a deferred one.
    ///
    /// ```
    /// use tj_ir::dim::{Dim, Symbol};
    /// let n = Dim::symbol(&Symbol::deferred(3));
    /// assert_eq!((&n * 2 + 1).actual(), Some(7));
    /// assert_eq!((&n + Dim::new("N", ..)?).actual(), None);
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn actual(&self) -> Option<i64> {
        match &self.0 {
            Repr::Const(value) => Some(*value),
            Repr::Symbol(symbol) => symbol.deferred_value(),
            Repr::Poly(_) => self.eval(&Symbol::deferred_value).ok(),
            Repr::Poison(_) => None,
        }
    }

    /// The value of `symbol` for which the expression has the value `target`, the other symbols having `known` values.
    ///
    /// ```
    /// use tj_ir::dim::{Dim, Symbol};
    /// let n = Symbol::declared("N", ..)?;
    /// let expr = Dim::symbol(&n) * 2 + 1;
    /// assert_eq!(expr.solve_linear_for(&n, &|_| None, 9), Ok(4));
    /// assert_eq!(
    ///     expr.solve_linear_for(&n, &|_| None, 8).unwrap_err().to_string(),
    ///     "2*N + 1 = 8 has no whole solution for N: 7 / 2 leaves 1"
    /// );
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    pub fn solve_linear_for(
        &self,
        symbol: &Symbol,
        known: &dyn Fn(&Symbol) -> Option<i64>,
        target: i64,
    ) -> Result<i64, DimError> {
        self.check()?;
        let (symbol_named, expr) = (|| symbol.clone(), || shortened(self));
        let Some(coeff) = self.coefficient_of(symbol) else {
            return Err(DimError::NotLinear { symbol: symbol_named(), expr: expr() });
        };
        let divisor = coeff.eval_wide(known)?;
        let rest = self.without(symbol).eval_wide(known)?;
        let dividend = i128::from(target).checked_sub(rest).ok_or_else(|| self.overflow())?;
        if divisor == 0 {
            return Err(DimError::Undetermined { symbol: symbol_named(), expr: expr(), value: target });
        }
        let (value, remainder) = match (dividend.checked_div(divisor), dividend.checked_rem(divisor)) {
            (Some(value), Some(remainder)) => (value, remainder),
            (None, _) | (_, None) => return Err(self.overflow()),
        };
        if remainder != 0 {
            let (symbol, expr) = (symbol_named(), expr());
            let symbol = Box::new(symbol);
            return Err(DimError::NotDivisible { symbol, expr, value: target, dividend, divisor, remainder });
        }
        let (lo, hi) = symbol.bounds();
        match i64::try_from(value) {
            Ok(value) if lo <= value && value <= hi => Ok(value),
            Ok(_) | Err(_) => Err(DimError::OutOfBounds { symbol: symbol_named(), value, lo, hi }),
        }
    }

    fn eval_wide(&self, values: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i128, DimError> {
        self.check()?;
        value_of(self, values).map_err(|fault| match fault {
            Fault::Unbound(symbol) => DimError::Unbound { symbol, expr: shortened(self) },
            Fault::Overflow => self.overflow_at(values),
        })
    }

    /// Names that nobody has given tell nothing: values stand in their places.
    fn overflow_at(&self, values: &dyn Fn(&Symbol) -> Option<i64>) -> DimError {
        let is_given = |symbol: &Symbol| matches!(symbol.kind(), SymbolKind::Declared(_));
        let symbols = self.symbols().filter(|symbol| !is_given(symbol));
        let known: Vec<(String, i64)> =
            symbols.filter_map(|symbol| Some((symbol.to_string(), values(&symbol)?))).collect();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let text = shortened(self);
        let (mut expr, mut rest) = (String::new(), text.as_str());
        while let Some(start) = rest.find(is_word) {
            let (before, from_word) = rest.split_at(start);
            let (word, after) =
                from_word.split_at(from_word.find(|c| !is_word(c)).unwrap_or(from_word.len()));
            expr.push_str(before);
            match known.iter().find(|(name, _)| name == word) {
                Some((_, value)) => expr.push_str(&value.to_string()),
                None => expr.push_str(word),
            }
            rest = after;
        }
        expr.push_str(rest);
        DimError::Overflow { expr }
    }

    fn overflow(&self) -> DimError {
        DimError::Overflow { expr: shortened(self) }
    }
}

enum Fault {
    Unbound(Symbol),
    Overflow,
}

fn value_of(dim: &Dim, values: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i128, Fault> {
    let mut sum = 0i128;
    for term in &*dim.terms() {
        sum = sum.checked_add(value_of_term(term, values)?).ok_or(Fault::Overflow)?;
    }
    Ok(sum)
}

/// A factor of 0 makes the term 0, however large the others are.
fn value_of_term(term: &Term, values: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i128, Fault> {
    let (mut product, mut zero) = (Some(i128::from(term.coeff)), false);
    for (atom, exponent) in term.mono.factors() {
        let value = match atom {
            Atom::Symbol(symbol) => i128::from(values(symbol).ok_or_else(|| Fault::Unbound(symbol.clone()))?),
            Atom::Opaque(opaque) => {
                let (lhs, rhs) = (value_of(&opaque.lhs, values)?, value_of(&opaque.rhs, values)?);
                opaque.kind.apply(lhs, rhs).ok_or(Fault::Overflow)?
            }
        };
        zero |= value == 0;
        product = product.zip(value.checked_pow(exponent)).and_then(|(a, b)| a.checked_mul(b));
    }
    if zero { Ok(0) } else { product.ok_or(Fault::Overflow) }
}
