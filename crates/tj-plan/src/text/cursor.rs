//! Reading a text from front to back: words, numbers, names, lists of sizes, and errors with their place.

use std::str::FromStr;

use thiserror::Error;
use tj_ir::DimError;
use tj_ir::dim::{Dim, Symbol};
use tj_tensor::{DType, Scalar};

/// Where a text stops being a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What would have been right there.
    pub expected: String,
    /// The text that is there.
    pub found: String,
}

pub(super) type Parsed<T> = Result<T, ParseError>;

/// A text and how far it is read.
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// Byte offset of what comes next.
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Where the next word starts, for [`Cursor::error_at`] and [`Cursor::back_to`].
    pub fn place(&mut self) -> usize {
        self.space();
        self.at
    }

    pub fn back_to(&mut self, place: usize) {
        self.at = place;
    }

    /// The first character of the next word.
    pub fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    /// A word of letters, digits and `_`; empty if there is none.
    pub fn word(&mut self) -> &'a str {
        self.space();
        self.take(|c| c == '_' || c.is_ascii_alphanumeric())
    }

    /// The name of a size, which may have letters of any alphabet.
    pub fn size_name(&mut self) -> &'a str {
        self.space();
        self.take(|c| c == '_' || c.is_alphanumeric())
    }

    /// A word that `read` understands.
    pub fn read<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        let at = self.place();
        let word = self.word();
        read(word).ok_or_else(|| self.error_at(at, what))
    }

    pub fn dtype(&mut self) -> Parsed<DType> {
        self.read("a type", |word| word.parse().ok())
    }

    pub fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let at = self.place();
        let digits = self.take(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.error_at(at, what))
    }

    /// A constant with its type.
    pub fn scalar(&mut self, what: &str) -> Parsed<Scalar> {
        let at = self.place();
        // Parentheses are around a complex number, and around the bits of a NaN.
        let mut depth = 0usize;
        let end = self.text[at..].find(|c: char| {
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                _ => return !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')),
            }
            false
        });
        self.at = end.map_or(self.text.len(), |n| at + n);
        self.text[at..self.at].parse().map_err(|_| self.error_at(at, what))
    }

    /// A bare or quoted name, and whether it was quoted.
    pub fn name(&mut self) -> Parsed<(String, bool)> {
        let at = self.place();
        if !self.text[at..].starts_with('"') {
            let name = self.word();
            return if super::is_bare(name) {
                Ok((name.to_owned(), false))
            } else {
                Err(self.error_at(at, "a name"))
            };
        }
        Ok((self.quoted()?, true))
    }

    /// A text in quotes.
    pub fn quoted(&mut self) -> Parsed<String> {
        let at = self.place();
        let mut name = String::new();
        let mut chars = self.text[at..].char_indices().skip(1);
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = at + place + 1;
                    return Ok(name);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => name.push('\n'),
                    Some((_, 'r')) => name.push('\r'),
                    escaped => name.extend(escaped.map(|(_, c)| c)),
                },
                c => name.push(c),
            }
        }
        Err(self.error_at(at, "a name that ends in `\"`"))
    }

    /// Sizes separated by commas up to `close`, which is passed.
    pub fn sizes(&mut self, close: char, symbol: &dyn Fn(&str) -> Option<Symbol>) -> Parsed<Vec<Dim>> {
        let start = self.place();
        let mut sizes = Vec::new();
        let (mut depth, mut from) = (0usize, start);
        for (n, c) in self.text[start..].char_indices() {
            let here = start + n;
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                _ if depth > 0 && c != '\n' => {}
                '\n' => break,
                ',' => {
                    sizes.push(self.size(from, here, symbol)?);
                    from = here + 1;
                }
                _ if c == close => {
                    if !sizes.is_empty() || !self.text[from..here].trim().is_empty() {
                        sizes.push(self.size(from, here, symbol)?);
                    }
                    self.at = here + c.len_utf8();
                    return Ok(sizes);
                }
                _ => {}
            }
        }
        Err(self.error_at(start, &format!("sizes and then `{close}`")))
    }

    /// The size that is written in `from..to`.
    pub fn size(&self, from: usize, to: usize, symbol: &dyn Fn(&str) -> Option<Symbol>) -> Parsed<Dim> {
        let text = &self.text[from..to];
        let lead = text.len() - text.trim_start().len();
        Dim::parse(text.trim(), &mut |name| symbol(name)).map_err(|error| {
            if let DimError::Parse { at, message, .. } = &error {
                let expected = message.strip_prefix("expected ").map(str::to_owned);
                let expected = expected.unwrap_or_else(|| format!("a size ({message})"));
                return self.error_at(from + lead + at, &expected);
            }
            self.error_at(from + lead, &format!("a size ({error})"))
        })
    }

    /// The rest of the line and where it starts.
    pub fn line(&mut self) -> (usize, &'a str) {
        self.take(|c| c == ' ' || c == '\t');
        let at = self.at;
        (at, self.take(|c| c != '\n'))
    }

    /// Whether the line ends here, comments aside.
    pub fn at_line_end(&mut self) -> bool {
        self.take(|c| c == ' ' || c == '\t' || c == '\r');
        let rest = &self.text[self.at..];
        rest.is_empty() || rest.starts_with('\n') || rest.starts_with("//")
    }

    /// Passes `word` if it is next.
    pub fn eat(&mut self, word: &str) -> bool {
        self.space();
        let Some(rest) = self.text[self.at..].strip_prefix(word) else { return false };
        let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if word.ends_with(is_word) && rest.starts_with(is_word) {
            return false;
        }
        self.at += word.len();
        true
    }

    pub fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.eat(word) { Ok(()) } else { Err(self.error(&format!("`{word}`"))) }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let taken = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += taken;
        &rest[..taken]
    }

    fn space(&mut self) {
        loop {
            self.take(char::is_whitespace);
            if !self.text[self.at..].starts_with("//") {
                return;
            }
            self.take(|c| c != '\n');
        }
    }

    pub fn error(&self, expected: &str) -> ParseError {
        self.error_at(self.at, expected)
    }

    pub fn error_at(&self, at: usize, expected: &str) -> ParseError {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let rest = self.text[at..].trim_end();
        let found: String = rest.lines().next().unwrap_or("").chars().take(20).collect();
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: expected.to_owned(),
            found: if rest.is_empty() { "the end".to_owned() } else { format!("`{found}`") },
        }
    }
}
