//! The text of sizes: printing and reading back.
//!
//! ```text
//! sum     = ["-"] product {("+" | "-") product}
//! product = power {"*" power}
//! power   = digits | primary ["^" digits]
//! primary = name | op "(" sum "," sum ")" | "(" sum ")"
//! op      = "floordiv" | "modulo" | "min" | "max"
//! ```
//!
//! Printing a canonical size, reading it with the same symbols, and printing it again gives the same text. A poisoned
//! size prints as the reserved word for its cause.

use std::fmt::{self, Display, Write};

use super::facts::Facts;
use super::opaque::OpaqueKind;
use super::poly::{Atom, Term};
use super::rules;
use super::{Dim, DimError, MAX_DEPTH, PoisonCause, Repr, Symbol};

/// Error messages show this much of an expression.
const SHORT: usize = 120;

impl PoisonCause {
    fn word(self) -> &'static str {
        match self {
            PoisonCause::Overflow => "overflow",
            PoisonCause::TooDeep => "too_deep",
            PoisonCause::TooLarge => "too_large",
        }
    }
}

impl Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Poison(poison) => f.write_str(poison.cause.word()),
            Repr::Const(_) | Repr::Symbol(_) | Repr::Poly(_) => TermsDisplay(&self.terms()).fmt(f),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// A list of terms as text.
pub(super) struct TermsDisplay<'a>(pub &'a [Term]);

impl Display for TermsDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        for (nth, term) in self.0.iter().enumerate() {
            f.write_str(match (nth, term.coeff < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            let magnitude = term.coeff.unsigned_abs();
            if term.mono.is_unit() || magnitude != 1 {
                write!(f, "{magnitude}")?;
                if !term.mono.is_unit() {
                    f.write_str("*")?;
                }
            }
            for (nth, (atom, exponent)) in term.mono.factors().enumerate() {
                if nth > 0 {
                    f.write_str("*")?;
                }
                match atom {
                    Atom::Symbol(symbol) => symbol.fmt(f)?,
                    Atom::Opaque(op) => write!(f, "{}({}, {})", op.kind.name(), op.lhs, op.rhs)?,
                }
                if exponent > 1 {
                    write!(f, "^{exponent}")?;
                }
            }
        }
        Ok(())
    }
}

/// The text, cut where error messages stop being readable. It is not formatted beyond that.
pub(super) fn shortened(value: &dyn Display) -> String {
    struct Short(String);
    impl Write for Short {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                if self.0.len() >= SHORT {
                    return Err(fmt::Error);
                }
                self.0.push(c);
            }
            Ok(())
        }
    }
    let mut short = Short(String::new());
    if write!(short, "{value}").is_err() {
        short.0.push_str("...");
    }
    short.0
}

impl Dim {
    /// Reads a size; `symbol` says what each name means, `None` being an error.
    ///
    /// ```
    /// use tj_ir::dim::{Dim, Symbol};
    /// let size = Dim::parse("floordiv(2*N + 6, 4) - 1", &mut |name| Symbol::declared(name, ..).ok())?;
    /// assert_eq!(size.to_string(), "floordiv(N + 1, 2)");
    /// # Ok::<(), tj_ir::dim::DimError>(())
    /// ```
    pub fn parse(text: &str, symbol: &mut dyn FnMut(&str) -> Option<Symbol>) -> Result<Dim, DimError> {
        let mut parser = Parser { text, at: 0, depth: 0, symbol };
        let dim = parser.sum()?;
        if parser.at < text.len() { parser.fail("expected the end") } else { Ok(dim) }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    symbol: &'a mut dyn FnMut(&str) -> Option<Symbol>,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, DimError> {
        let text = shortened(&self.text);
        Err(DimError::Parse { text, at: self.at, message: message.into() })
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), DimError> {
        if self.eat(wanted) { Ok(()) } else { self.fail(format!("expected {wanted:?}")) }
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.find(|c| !test(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn sum(&mut self) -> Result<Dim, DimError> {
        let negative = self.eat('-');
        let mut sum = self.product(negative)?;
        loop {
            if self.eat('+') {
                sum += self.product(false)?;
            } else if self.eat('-') {
                sum += self.product(true)?;
            } else {
                self.peek();
                return Ok(sum);
            }
        }
    }

    /// The sign belongs to the first factor, or the least `i64` could not be read.
    fn product(&mut self, negative: bool) -> Result<Dim, DimError> {
        let mut product = self.power(negative)?;
        while self.eat('*') {
            product *= self.power(false)?;
        }
        Ok(product)
    }

    fn power(&mut self, negative: bool) -> Result<Dim, DimError> {
        let start = self.peek();
        if start.is_some_and(|c| c.is_ascii_digit()) {
            let digits = self.take_while(|c| c.is_ascii_digit());
            let value = format!("{}{digits}", if negative { "-" } else { "" }).parse::<i64>();
            return match value {
                Ok(value) => Ok(value.into()),
                Err(_) => self.fail("the number does not fit in 64 bits"),
            };
        }
        let mut dim = self.primary()?;
        if self.eat('^') {
            dim = dim.pow(self.exponent()?);
        }
        Ok(if negative { -dim } else { dim })
    }

    fn exponent(&mut self) -> Result<u32, DimError> {
        self.peek();
        match self.take_while(|c| c.is_ascii_digit()).parse() {
            Ok(exponent) => Ok(exponent),
            Err(_) => self.fail("expected an exponent"),
        }
    }

    fn primary(&mut self) -> Result<Dim, DimError> {
        if self.eat('(') {
            return self.nested(|parser| {
                let sum = parser.sum()?;
                parser.expect(')')?;
                Ok(sum)
            });
        }
        let start = self.at;
        let name = self.take_while(|c| c == '_' || c.is_alphanumeric());
        if name.is_empty() {
            return self.fail("expected a number, a name or (");
        }
        if let Some(kind) = OpaqueKind::ALL.into_iter().find(|kind| kind.name() == name) {
            self.expect('(')?;
            return self.nested(|parser| {
                let lhs = parser.sum()?;
                parser.expect(',')?;
                let rhs = parser.sum()?;
                parser.expect(')')?;
                Ok(rules::apply(kind, &lhs, &rhs, &Facts::none()))
            });
        }
        if let Some(cause) = PoisonCause::ALL.into_iter().find(|cause| cause.word() == name) {
            return Ok(Dim::poison(cause, || shortened(&self.text)));
        }
        match (self.symbol)(name) {
            Some(symbol) => Ok(Dim::symbol(&symbol)),
            None => {
                self.at = start;
                self.fail(format!("unknown symbol {name}"))
            }
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<Dim, DimError>) -> Result<Dim, DimError> {
        // Canonical text nests as deep as opaque operations do, and no deeper.
        if self.depth > MAX_DEPTH {
            return self.fail(format!("more than {MAX_DEPTH} nested parentheses"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
