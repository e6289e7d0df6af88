//! Reading a text from front to back: words, ids, numbers, names, and errors with their place.
//!
//! The texts of plans and of kernels are read by hand-written parsers over one [`Cursor`]. It knows what they share:
//! `//` comments, words, names in quotes, constants with their type, and where a text stops being what it should
//! be. What a text means is for its parser. Nothing here recurses, and no text makes it panic.

use std::fmt::{self, Display, Write};
use std::str::FromStr;

use thiserror::Error;
use tj_tensor::{DType, Scalar};

/// The name that a misspelt one was meant to be: that which differs least, if by two edits at most and by no more than half of
/// its letters. Capitals are like small letters.
///
/// ```
/// use tj_ir::text::closest;
/// assert_eq!(closest("Relu", ["gelu", "relu"]), Some("relu"));
/// assert_eq!(closest("sqaure", ["sqrt", "square"]), Some("square"));
/// assert_eq!(closest("f", ["g"]), None);
/// ```
#[must_use]
pub fn closest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let bound = (name.chars().count() / 2).min(2);
    let name = name.to_lowercase();
    let distances = known.into_iter().map(|known| (distance(&name, known), known));
    distances.filter(|(edits, _)| *edits <= bound).min().map(|(_, known)| known)
}

/// Edits between two short words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let changed = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

/// Where a text stops being what it should be.
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

/// What was read, or where that failed.
pub type Parsed<T> = Result<T, ParseError>;

/// A text and how far it is read.
///
/// Every method but [`Cursor::take`] first passes spaces and comments. A *place* is a byte offset into the text.
///
/// ```
/// use tj_ir::text::Cursor;
///
/// let mut text = Cursor::new("input x // the left one\n : f33");
/// text.expect("input")?;
/// assert_eq!(text.name()?, "x");
/// text.expect(":")?;
/// assert_eq!(text.dtype().unwrap_err().to_string(), "line 2, column 4: expected a type, found `f33`");
/// # Ok::<(), tj_ir::text::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    /// Byte offset of what comes next.
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the start of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Where the next word starts, for [`Cursor::error_at`] and [`Cursor::back_to`].
    pub fn place(&mut self) -> usize {
        self.space();
        self.at
    }

    /// Reads on from a place: that of [`Cursor::place`], or one found in [`Cursor::text`].
    pub fn back_to(&mut self, place: usize) {
        self.at = place;
    }

    /// The first character of the next word.
    pub fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
    }

    /// A word of letters, digits and `_`; empty if there is none.
    pub fn bare_word(&mut self) -> &'a str {
        self.space();
        self.take(is_word)
    }

    /// The name of a size, which may have letters of any alphabet; empty if there is none.
    pub fn size_name(&mut self) -> &'a str {
        self.space();
        self.take(|c| c == '_' || c.is_alphanumeric())
    }

    /// A word that `read` understands.
    ///
    /// # Errors
    /// When it does not.
    pub fn word<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        let at = self.place();
        let word = self.bare_word();
        read(word).ok_or_else(|| self.error_at(at, what))
    }

    /// The name of a dtype.
    ///
    /// # Errors
    /// When it is none.
    pub fn dtype(&mut self) -> Parsed<DType> {
        self.word("a type", |word| word.parse().ok())
    }

    /// Digits.
    ///
    /// # Errors
    /// When there are none, or too many for the type.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let at = self.place();
        let digits = self.take(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| self.error_at(at, what))
    }

    /// Digits, with or without a sign.
    ///
    /// # Errors
    /// As [`Cursor::number`].
    pub fn signed<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        let at = self.place();
        self.at += usize::from(self.rest().starts_with('-'));
        self.take(|c| c.is_ascii_digit());
        self.text[at..self.at].parse().map_err(|_| self.error_at(at, what))
    }

    /// A number behind a sign, like `%12`.
    ///
    /// # Errors
    /// Without the sign or the number.
    pub fn id(&mut self, sign: char) -> Parsed<u32> {
        let at = self.place();
        let digits = self.rest().strip_prefix(sign).and_then(|_| {
            self.at += sign.len_utf8();
            self.take(|c| c.is_ascii_digit()).parse().ok()
        });
        digits.ok_or_else(|| self.error_at(at, &format!("{sign} and a number")))
    }

    /// A constant with its type, like `2.5f32`.
    ///
    /// # Errors
    /// When it is none.
    pub fn scalar(&mut self, what: &str) -> Parsed<Scalar> {
        let at = self.place();
        // Parentheses are around a complex number, and around the bits of a NaN.
        let mut depth = 0usize;
        let end = self.rest().find(|c: char| {
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                _ => return !(is_word(c) || matches!(c, '.' | '+' | '-')),
            }
            false
        });
        self.at = end.map_or(self.text.len(), |n| at + n);
        self.text[at..self.at].parse().map_err(|_| self.error_at(at, what))
    }

    /// A bare or quoted name.
    ///
    /// # Errors
    /// When it is none, or its quotes do not end.
    pub fn name(&mut self) -> Parsed<String> {
        let at = self.place();
        if self.rest().starts_with('"') {
            return self.quoted();
        }
        let name = self.bare_word();
        if is_bare(name) { Ok(name.to_owned()) } else { Err(self.error_at(at, "a name")) }
    }

    /// A text in quotes, which [`Quoted`] writes.
    ///
    /// # Errors
    /// When the quotes do not end.
    pub fn quoted(&mut self) -> Parsed<String> {
        let at = self.place();
        let mut name = String::new();
        let mut chars = self.rest().char_indices().skip(1);
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

    /// The text of a size that ends before `end` on this line, and where it starts. `end` is passed, unless it is the
    /// end of the line.
    ///
    /// # Errors
    /// When the line does not have `end`.
    pub fn size_until(&mut self, end: &str, what: &str) -> Parsed<(usize, &'a str)> {
        let at = self.place();
        let line = self.rest().split('\n').next().unwrap_or("");
        let (stop, passed) = if end == "\n" { (Some(line.len()), 0) } else { (line.find(end), end.len()) };
        let stop = stop.ok_or_else(|| self.error_at(at, what))?;
        self.at = at + stop + passed;
        Ok((at, line[..stop].split("//").next().unwrap_or("")))
    }

    /// The rest of the line and where it starts; a comment is part of it.
    pub fn line(&mut self) -> (usize, &'a str) {
        self.take(|c| c == ' ' || c == '\t');
        let at = self.at;
        (at, self.take(|c| c != '\n'))
    }

    /// Whether the line ends here, comments aside.
    pub fn at_line_end(&mut self) -> bool {
        self.take(|c| c == ' ' || c == '\t' || c == '\r');
        let rest = self.rest();
        rest.is_empty() || rest.starts_with('\n') || rest.starts_with("//")
    }

    /// Passes `word` if it is next.
    pub fn eat(&mut self, word: &str) -> bool {
        self.space();
        let Some(rest) = self.rest().strip_prefix(word) else { return false };
        if word.ends_with(is_word) && rest.starts_with(is_word) {
            return false;
        }
        self.at += word.len();
        true
    }

    /// Passes `word`.
    ///
    /// # Errors
    /// When something else is next.
    pub fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.eat(word) { Ok(()) } else { Err(self.error(&format!("`{word}`"))) }
    }

    /// Passes the characters that are accepted, up to the first that is not. Spaces and comments are not passed.
    pub fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += taken;
        &rest[..taken]
    }

    /// A mistake in what comes next.
    #[must_use]
    pub fn error(&self, expected: &str) -> ParseError {
        self.error_at(self.at, expected)
    }

    /// A mistake at a place.
    #[must_use]
    pub fn error_at(&self, place: usize, expected: &str) -> ParseError {
        let before = &self.text[..place];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let rest = self.text[place..].trim_end();
        let found: String = rest.lines().next().unwrap_or("").chars().take(20).collect();
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            expected: expected.to_owned(),
            found: if rest.is_empty() { "the end".to_owned() } else { format!("`{found}`") },
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        loop {
            self.take(char::is_whitespace);
            if !self.rest().starts_with("//") {
                return;
            }
            self.take(|c| c != '\n');
        }
    }
}

/// A text in quotes, on one line; [`Cursor::quoted`] reads it back.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                c => f.write_char(c)?,
            }
        }
        f.write_str("\"")
    }
}

/// A number and what it counts: `1 reader`, `2 readers`.
#[must_use]
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Whether a name can stand in a text without quotes.
#[must_use]
pub fn is_bare(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) && name.chars().all(is_word)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_survive_the_trip() {
        for name in ["", "a b", "\"", "\\n", "two\nlines\r", "größe//x"] {
            let text = format!(" // a comment\n{} rest", Quoted(name));
            let mut cursor = Cursor::new(&text);
            assert_eq!((cursor.name().as_deref(), cursor.eat("rest")), (Ok(name), true));
        }
    }

    /// What is read, and how much of the text is left then.
    #[test]
    fn each_reader_takes_what_is_its_own() {
        type Read = fn(&mut Cursor<'_>) -> Parsed<String>;
        let cases: &[(&str, Read, &str, &str)] = &[
            ("%12]", |c| c.id('%').map(|n| n.to_string()), "12", "]"),
            ("12..=-3", |c| c.number::<i64>("n").map(|n| n.to_string()), "12", "..=-3"),
            (" -3}", |c| c.signed::<i64>("n").map(|n| n.to_string()), "-3", "}"),
            ("-0.5f32, x", |c| c.scalar("c").map(|v| v.to_string()), "-0.5f32", ", x"),
            (
                "nan(7ff8000000000001)_f64)",
                |c| c.scalar("c").map(|v| v.to_string()),
                "nan(7ff8000000000001)_f64",
                ")",
            ),
            ("_a1-b", |c| c.name(), "_a1", "-b"),
            ("größe in", |c| Ok(c.size_name().to_owned()), "größe", " in"),
            ("N*M] read", |c| c.size_until("]", "s").map(|s| s.1.to_owned()), "N*M", " read"),
            ("N // why\n2", |c| c.size_until("\n", "s").map(|s| s.1.to_owned()), "N ", "\n2"),
        ];
        for &(text, read, expected, rest) in cases {
            let mut cursor = Cursor::new(text);
            assert_eq!((read(&mut cursor).as_deref(), cursor.rest()), (Ok(expected), rest), "{text}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        type Read = fn(&mut Cursor<'_>) -> Option<ParseError>;
        let cases: &[(&str, Read, &str)] = &[
            ("", |c| c.expect("(").err(), "line 1, column 1: expected `(`, found the end"),
            (" x\n", |c| c.id('%').err(), "line 1, column 2: expected % and a number, found `x`"),
            ("ö 7x", |c| c.name().err(), "line 1, column 1: expected a name, found `ö 7x`"),
            ("\n -1", |c| c.number::<u8>("a width").err(), "line 2, column 2: expected a width, found `-1`"),
            (
                "\"a\\\"",
                |c| c.quoted().err(),
                "line 1, column 1: expected a name that ends in `\"`, found `\"a\\\"`",
            ),
            ("1.5", |c| c.scalar("a constant").err(), "line 1, column 1: expected a constant, found `1.5`"),
            ("N\n]", |c| c.size_until("]", "a size").err(), "line 1, column 1: expected a size, found `N`"),
            ("inputs", |c| c.expect("input").err(), "line 1, column 1: expected `input`, found `inputs`"),
        ];
        for &(text, read, expected) in cases {
            let error = read(&mut Cursor::new(text)).map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(expected), "{text:?}");
        }
    }
}
