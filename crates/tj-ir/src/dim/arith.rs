//! `+`, `-`, `*`, powers, sums and products.

use std::fmt::{self, Display};
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::poly::{self, Multiplied, Terms};
use super::text::shortened;
use super::{Dim, DimError, PoisonCause, Repr};

impl Dim {
    /// `self + factor * other`; `written` says what the user wrote.
    fn add_scaled(&self, other: &Dim, factor: i64, written: impl FnOnce() -> String) -> Dim {
        match (&self.0, &other.0) {
            (Repr::Poison(_), _) => return self.clone(),
            (_, Repr::Poison(_)) => return other.clone(),
            (Repr::Const(0), _) if factor == 1 => return other.clone(),
            (_, Repr::Const(0)) => return self.clone(),
            (Repr::Const(a), Repr::Const(b)) => {
                if let Some(sum) = b.checked_mul(factor).and_then(|b| a.checked_add(b)) {
                    return Dim(Repr::Const(sum));
                }
            }
            (Repr::Const(_) | Repr::Symbol(_) | Repr::Poly(_), _) => {}
        }
        match poly::add_scaled(&self.terms(), &other.terms(), factor) {
            Some(terms) => Dim::from_terms(terms),
            None => Dim::poison(PoisonCause::Overflow, written),
        }
    }

    fn scaled(&self, factor: i64, written: impl FnOnce() -> String) -> Dim {
        if factor == 0 && !self.is_poisoned() {
            Dim::ZERO
        } else {
            Dim::ZERO.add_scaled(self, factor, written)
        }
    }

    fn times(&self, other: &Dim) -> Dim {
        let expr = || written(self, "*", other);
        match (&self.0, &other.0) {
            (Repr::Poison(_), _) => return self.clone(),
            (_, Repr::Poison(_)) => return other.clone(),
            (Repr::Const(factor), _) => {
                return if *factor == 1 { other.clone() } else { other.scaled(*factor, expr) };
            }
            (_, Repr::Const(factor)) => {
                return if *factor == 1 { self.clone() } else { self.scaled(*factor, expr) };
            }
            (Repr::Symbol(_) | Repr::Poly(_), Repr::Symbol(_) | Repr::Poly(_)) => {}
        }
        match poly::mul(&self.terms(), &other.terms()) {
            Multiplied::Terms(terms) => Dim::from_terms(terms),
            Multiplied::Overflow => Dim::poison(PoisonCause::Overflow, expr),
            Multiplied::TooManyTerms => Dim::poison(PoisonCause::TooLarge, expr),
        }
    }

    /// The power; anything to the power 0 is 1.
    #[must_use]
    pub fn pow(&self, exponent: u32) -> Dim {
        let overflow = || Dim::poison(PoisonCause::Overflow, || written(self, "^", &exponent.into()));
        match &self.0 {
            Repr::Poison(_) => return self.clone(),
            Repr::Const(value) => return value.checked_pow(exponent).map_or_else(overflow, Dim::from),
            Repr::Symbol(_) | Repr::Poly(_) if exponent == 0 => return Dim::ONE,
            Repr::Symbol(_) | Repr::Poly(_) => {}
        }
        if let [term] = &*self.terms() {
            let power = term.mono.pow(exponent).zip(term.coeff.checked_pow(exponent));
            return power.map_or_else(overflow, |(mono, coeff)| Dim::from_mono(mono, coeff));
        }
        let (mut result, mut square, mut rest) = (Dim::ONE, self.clone(), exponent);
        while rest > 0 && !result.is_poisoned() {
            if rest % 2 == 1 {
                result = result.times(&square);
            }
            rest /= 2;
            if rest > 0 {
                square = square.times(&square);
            }
        }
        result
    }

    /// The number of elements of a shape. Where it does not fit, the error names the shape.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let n = Dim::new("N", ..)?;
    /// assert_eq!(Dim::count(&[n.clone(), 3.into()]), Ok(&n * 3));
    /// assert_eq!(
    ///     Dim::count(&[i64::MAX.into(), 2.into()]).unwrap_err().to_string(),
    ///     "the number of elements of [9223372036854775807, 2] does not fit in 64 bits"
    /// );
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    ///
    /// # Errors
    /// When a size or the product is poisoned.
    pub fn count(shape: &[Dim]) -> Result<Dim, DimError> {
        shape.iter().try_for_each(Dim::check)?;
        let count: Dim = shape.iter().product();
        match count.check() {
            Err(DimError::Overflow { .. }) => {
                let expr = shortened(&format_args!("the number of elements of {shape:?}"));
                Err(DimError::Overflow { expr })
            }
            checked => checked.map(|()| count),
        }
    }

    /// The exact quotient of polynomials: the `q` with `q * divisor == self`, if there is one.
    ///
    /// It is `floordiv` wherever `divisor` is not 0.
    ///
    /// ```
    /// use tj_ir::dim::Dim;
    /// let (n, m) = (Dim::new("N", ..)?, Dim::new("M", ..)?);
    /// assert_eq!((&n * &m * 6).div_exact(&(&m * 2)), Some(&n * 3));
    /// assert_eq!((&n * &n - 1).div_exact(&(&n + 1)), Some(&n - 1));
    /// assert_eq!((&n + 1).div_exact(&n), None);
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    #[must_use]
    pub fn div_exact(&self, divisor: &Dim) -> Option<Dim> {
        if self.is_poisoned() || divisor.is_poisoned() {
            return None;
        }
        let divisor_terms = divisor.terms();
        let lead = divisor_terms.first()?;
        let mut rest = self.clone();
        let mut quotient = Terms::new();
        // The leading monomials of `rest` descend strictly, so `quotient` is canonical and the loop ends; a quotient
        // longer than the budget belongs to no size anyone wrote.
        for _ in 0..256 {
            let step = match rest.terms().first() {
                None => return Some(Dim::from_terms(quotient)),
                Some(term) => {
                    if term.coeff.checked_rem(lead.coeff)? != 0 {
                        return None;
                    }
                    Dim::from_mono(term.mono.div(&lead.mono)?, term.coeff / lead.coeff)
                }
            };
            rest -= &step * divisor;
            if rest.is_poisoned() {
                return None;
            }
            quotient.extend(step.terms().iter().cloned());
        }
        None
    }
}

/// An operation as a user writes it, for messages.
fn written(lhs: &Dim, op: &str, rhs: &Dim) -> String {
    match op {
        "+" | "-" => shortened(&format_args!("{lhs} {op} {}", Grouped(rhs))),
        _ => shortened(&format_args!("{} {op} {}", Grouped(lhs), Grouped(rhs))),
    }
}

/// A size as an operand: in parentheses if it is a sum or starts with a sign.
struct Grouped<'a>(&'a Dim);

impl Display for Grouped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.0.terms();
        if terms.len() > 1 || terms.first().is_some_and(|term| term.coeff < 0) {
            write!(f, "({})", self.0)
        } else {
            self.0.fmt(f)
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $assign_trait:ident, $assign:ident, |$a:ident, $b:ident| $body:expr) => {
        impl $trait<&Dim> for &Dim {
            type Output = Dim;
            fn $method(self, rhs: &Dim) -> Dim {
                let ($a, $b) = (self, rhs);
                $body
            }
        }
        impl $trait<Dim> for Dim {
            type Output = Dim;
            fn $method(self, rhs: Dim) -> Dim {
                (&self).$method(&rhs)
            }
        }
        impl $trait<&Dim> for Dim {
            type Output = Dim;
            fn $method(self, rhs: &Dim) -> Dim {
                (&self).$method(rhs)
            }
        }
        impl $trait<Dim> for &Dim {
            type Output = Dim;
            fn $method(self, rhs: Dim) -> Dim {
                self.$method(&rhs)
            }
        }
        impl $trait<i64> for &Dim {
            type Output = Dim;
            fn $method(self, rhs: i64) -> Dim {
                self.$method(&Dim::from(rhs))
            }
        }
        impl $trait<i64> for Dim {
            type Output = Dim;
            fn $method(self, rhs: i64) -> Dim {
                (&self).$method(&Dim::from(rhs))
            }
        }
        impl $trait<&Dim> for i64 {
            type Output = Dim;
            fn $method(self, rhs: &Dim) -> Dim {
                (&Dim::from(self)).$method(rhs)
            }
        }
        impl $trait<Dim> for i64 {
            type Output = Dim;
            fn $method(self, rhs: Dim) -> Dim {
                (&Dim::from(self)).$method(&rhs)
            }
        }
        impl $assign_trait<&Dim> for Dim {
            fn $assign(&mut self, rhs: &Dim) {
                *self = (&*self).$method(rhs);
            }
        }
        impl $assign_trait<Dim> for Dim {
            fn $assign(&mut self, rhs: Dim) {
                *self = (&*self).$method(&rhs);
            }
        }
        impl $assign_trait<i64> for Dim {
            fn $assign(&mut self, rhs: i64) {
                *self = (&*self).$method(&Dim::from(rhs));
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |a, b| a.add_scaled(b, 1, || written(a, "+", b)));
operator!(Sub, sub, SubAssign, sub_assign, |a, b| a.add_scaled(b, -1, || written(a, "-", b)));
operator!(Mul, mul, MulAssign, mul_assign, |a, b| a.times(b));

impl Neg for &Dim {
    type Output = Dim;
    fn neg(self) -> Dim {
        self.scaled(-1, || shortened(&format_args!("-{}", Grouped(self))))
    }
}

impl Neg for Dim {
    type Output = Dim;
    fn neg(self) -> Dim {
        -&self
    }
}

impl Sum for Dim {
    fn sum<I: Iterator<Item = Dim>>(dims: I) -> Dim {
        dims.fold(Dim::ZERO, |a, b| a + b)
    }
}

impl<'a> Sum<&'a Dim> for Dim {
    fn sum<I: Iterator<Item = &'a Dim>>(dims: I) -> Dim {
        dims.fold(Dim::ZERO, |a, b| a + b)
    }
}

impl Product for Dim {
    fn product<I: Iterator<Item = Dim>>(dims: I) -> Dim {
        dims.fold(Dim::ONE, |a, b| a * b)
    }
}

impl<'a> Product<&'a Dim> for Dim {
    fn product<I: Iterator<Item = &'a Dim>>(dims: I) -> Dim {
        dims.fold(Dim::ONE, |a, b| a * b)
    }
}
