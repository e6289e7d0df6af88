//! Everything that can be wrong with the text of a program.

use crate::ast::Span;
use crate::diagnostic::Diagnostic;

/// A mistake in the text of a program and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    /// The mistake.
    pub kind: SyntaxErrorKind,
    /// Where it is.
    pub span: Span,
    /// A place that explains it, and how.
    pub related: Option<(Span, &'static str)>,
}

/// A kind of mistake in the text of a program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SyntaxErrorKind {
    /// The source is too large to be a program.
    #[error("the program has {bytes} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Bytes of the source.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// A character that starts no token.
    #[error("unknown character {}", show_char(*.0))]
    UnknownCharacter(char),
    /// Digits that are not a number.
    #[error("`{0}` is not a number")]
    BadNumber(String),
    /// An integer literal above 2^64 - 1.
    #[error("the integer {0} does not fit in 64 bits")]
    IntegerTooLarge(String),
    /// A string without its closing quote.
    #[error("this string is never closed")]
    UnclosedString,
    /// A backslash in a string.
    #[error("strings have no escapes")]
    Escape,
    /// Another token was needed.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What was needed.
        expected: &'static str,
        /// What is there, as a message shows it.
        found: String,
    },
    /// An opening bracket without its closing one.
    #[error("`{0}` is never closed")]
    Unclosed(&'static str),
    /// Brackets, prefix operators or powers inside each other beyond the limit.
    #[error("this is nested more than {limit} deep")]
    TooDeep {
        /// The deepest allowed.
        limit: usize,
    },
    /// `a < b < c`
    #[error("comparisons do not chain")]
    ChainedComparison,
    /// `f(axis=1, x)`
    #[error("a positional argument follows a keyword argument")]
    PositionalAfterKeyword,
    /// `f(axis=1, axis=2)`
    #[error("the keyword argument `{0}` is given twice")]
    RepeatedKeyword(String),
    /// `f(a.b=1)`, `f(1=2)`
    #[error("only a name can be a keyword argument")]
    KeywordNotAName,
    /// `f(x)(y)`
    #[error("only functions and methods can be called")]
    NotCallable,
    /// A keyword where a name of the user's is needed.
    #[error("`{0}` is a keyword, not a name")]
    Reserved(String),
    /// `size N in 0..`
    #[error("the {0} bound is missing")]
    MissingBound(&'static str),
    /// `size N in 2..=1`
    #[error("the bounds {lower}..={upper} hold no size")]
    EmptyBounds {
        /// The lower bound.
        lower: u64,
        /// The upper bound, included.
        upper: i128,
    },
    /// `f32[N / 2]`
    #[error("{0} is not part of a size")]
    NotASize(String),
    /// A statement that only computes.
    #[error("the value of this statement is not used")]
    Unused,
    /// `f(x) = y`
    #[error("only a name or a name with indices can be assigned to")]
    NotATarget,
    /// Nothing where an expression should be.
    #[error("the expression is empty")]
    Empty,
}

impl From<&SyntaxError> for Diagnostic {
    fn from(error: &SyntaxError) -> Diagnostic {
        let (label, note) = error.kind.advice();
        let mut diagnostic = Diagnostic::new(error.kind.to_string(), error.span);
        diagnostic.label = label.to_owned();
        diagnostic.related.extend(error.related.map(|(span, text)| (span, text.to_owned())));
        diagnostic.notes.extend(note.map(str::to_owned));
        diagnostic
    }
}

impl SyntaxErrorKind {
    /// The words under the place, and what to do.
    fn advice(&self) -> (&'static str, Option<&'static str>) {
        match self {
            SyntaxErrorKind::TooLarge { .. }
            | SyntaxErrorKind::IntegerTooLarge(_)
            | SyntaxErrorKind::RepeatedKeyword(_) => ("", None),
            SyntaxErrorKind::UnknownCharacter(c) => ("", character_advice(*c)),
            SyntaxErrorKind::BadNumber(text) => ("", number_advice(text)),
            SyntaxErrorKind::UnclosedString => ("opened here", Some("a string ends on its own line")),
            SyntaxErrorKind::Escape => ("", None),
            SyntaxErrorKind::Unexpected { found, .. } => ("", token_advice(found)),
            SyntaxErrorKind::Unclosed(_) => ("opened here", None),
            SyntaxErrorKind::TooDeep { .. } => {
                ("the limit is reached here", Some("give inner parts a name with `name = ...`"))
            }
            SyntaxErrorKind::ChainedComparison => ("a second comparison", Some("write `(a < b) & (b < c)`")),
            SyntaxErrorKind::PositionalAfterKeyword => {
                ("this one has no keyword", Some("keyword arguments come last"))
            }
            SyntaxErrorKind::KeywordNotAName => ("", Some("`==` compares")),
            SyntaxErrorKind::NotCallable => ("called here", Some("`*` multiplies")),
            SyntaxErrorKind::Reserved(_) => ("", Some("choose another name")),
            SyntaxErrorKind::MissingBound(_) => {
                ("", Some("write both, as in `0..=4096`, or leave out `in` and what follows"))
            }
            SyntaxErrorKind::EmptyBounds { .. } => ("", None),
            SyntaxErrorKind::NotASize(_) => {
                ("", Some("a size is made of integers, names, `+`, `-`, `*`, `//`, `%`, `min` and `max`"))
            }
            SyntaxErrorKind::Unused => ("", Some("write `name = ...` or `output name = ...`")),
            SyntaxErrorKind::NotATarget => ("", Some("`==` compares")),
            SyntaxErrorKind::Empty => ("", None),
        }
    }
}

/// The character, or its number where it would not show.
fn show_char(c: char) -> String {
    if c.is_ascii_graphic() {
        format!("`{c}`")
    } else if c.is_alphanumeric() {
        format!("`{c}` (U+{:04X})", c as u32)
    } else {
        format!("U+{:04X}", c as u32)
    }
}

fn character_advice(c: char) -> Option<&'static str> {
    match c {
        ';' => Some("a line holds one statement"),
        '\\' => Some("brackets continue a line"),
        '!' => Some("`!=` compares, `~` inverts"),
        '\u{d7}' => Some("`*` multiplies"),
        c if c.is_alphabetic() => Some("names are made of ASCII letters, digits and `_`"),
        _ => None,
    }
}

fn number_advice(text: &str) -> Option<&'static str> {
    if text.contains('_') {
        Some("`_` stands between two digits")
    } else if text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        Some("an integer does not start with 0")
    } else {
        None
    }
}

fn token_advice(found: &str) -> Option<&'static str> {
    match found {
        "`and`" => Some("`&` is the elementwise and"),
        "`or`" => Some("`|` is the elementwise or"),
        "`not`" => Some("`~` is the elementwise not"),
        "`if`" => Some("`where(condition, x, y)` chooses elementwise"),
        "`lambda`" | "`def`" | "`for`" | "`import`" => {
            Some("the language has no functions, loops or imports")
        }
        "`..`" | "`..=`" => Some("`:` makes a slice"),
        "`=`" => Some("`==` compares"),
        _ => None,
    }
}
