//! Reading a text from front to back: words, ids, numbers, names, and errors with their place.

use std::str::FromStr;

use thiserror::Error;
use tj_tensor::{DType, Scalar};

/// Where a text stops being a kernel.
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

    /// Where the next word starts, for [`Cursor::error_at`].
    pub fn place(&mut self) -> usize {
        self.space();
        self.at
    }

    /// The first character of the next word.
    pub fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    pub fn id(&mut self, prefix: char) -> Parsed<u32> {
        self.space();
        let at = self.at;
        let digits = self.text[at..].strip_prefix(prefix).map_or("", |rest| &rest[..digits(rest)]);
        self.at = at + 1 + digits.len();
        digits.parse().map_err(|_| self.error_at(at, &format!("{prefix} and a number")))
    }

    pub fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        self.space();
        let at = self.at;
        let rest = &self.text[at..];
        let sign = rest.starts_with('-') as usize;
        self.at = at + sign + digits(&rest[sign..]);
        self.text[at..self.at].parse().map_err(|_| self.error_at(at, what))
    }

    pub fn scalar(&mut self) -> Parsed<Scalar> {
        self.space();
        let at = self.at;
        let text = self.take(|c| !c.is_whitespace());
        text.parse().map_err(|_| self.error_at(at, "a constant with its type, like 2.5f32"))
    }

    pub fn dtype(&mut self) -> Parsed<DType> {
        self.word("a type", |word| word.parse().ok())
    }

    pub fn word<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        self.space();
        let at = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric());
        read(word).ok_or_else(|| self.error_at(at, what))
    }

    /// A bare or quoted name.
    pub fn name(&mut self) -> Parsed<String> {
        self.space();
        let at = self.at;
        let rest = &self.text[at..];
        if !rest.starts_with('"') {
            let name = self.take(|c| c == '_' || c.is_ascii_alphanumeric());
            return if super::is_bare(name) { Ok(name.to_owned()) } else { Err(self.error_at(at, "a name")) };
        }
        let mut name = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((place, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = at + place + 1;
                    return Ok(name);
                }
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                c => name.push(c),
            }
        }
        Err(self.error_at(at, "a name that ends in `\"`"))
    }

    /// The text of a size that ends before `end`, which is passed, and where it starts.
    pub fn size_until(&mut self, end: &str, what: &str) -> Parsed<(usize, &'a str)> {
        self.space();
        let at = self.at;
        let line = self.text[at..].find('\n').map_or(self.text.len(), |n| at + n);
        let stop = match end {
            "\n" => Some(line),
            // A size may name a symbol `cut`, but none that a number follows.
            "cut" => self.text[at..line].match_indices(end).map(|(n, _)| at + n).find(|&n| {
                let rest = &self.text[n + end.len()..line];
                rest.starts_with(char::is_whitespace)
                    && rest.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit())
            }),
            _ => self.text[at..line].find(end).map(|n| at + n),
        };
        let stop = stop.ok_or_else(|| self.error_at(at, what))?;
        self.at = if end == "\n" { stop } else { stop + end.len() };
        let text = &self.text[at..stop];
        Ok((at, text.split("//").next().unwrap_or(text)))
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

    pub fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let taken = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += taken;
        &rest[..taken]
    }

    pub fn space(&mut self) {
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

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}
