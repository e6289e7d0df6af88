//! Text to tokens.
//!
//! `logos` finds words and operators. Numbers are finished by hand: `0..4` is an integer and a range while `0.5`
//! and `0.` are floats, which takes a look ahead, and what follows a number directly belongs to it, so that `1.2.3`
//! or `3x` is one mistake and not two tokens.
//!
//! There is no token for the end of a line. A token knows whether it is the first on its line, and the parser
//! decides: inside brackets a line continues.

use crate::ast::Span;
use crate::syntax::{SyntaxError, SyntaxErrorKind};
use logos::{Lexer, Logos};

/// A kind of token. Text is read from the source by span.
#[derive(Logos, Clone, Copy, Debug, PartialEq)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
#[logos(error = LexError)]
pub enum Token {
    /// A name or a keyword.
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    /// An integer.
    #[regex("[0-9]", number)]
    #[regex(r"\.[0-9]", number)]
    Number(Number),
    /// A string, quotes included.
    #[token("\"", string)]
    #[token("'", string)]
    Str,
    /// `(`
    #[token("(")]
    OpenParen,
    /// `)`
    #[token(")")]
    CloseParen,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `,`
    #[token(",")]
    Comma,
    /// `:`
    #[token(":")]
    Colon,
    /// `.`
    #[token(".")]
    Dot,
    /// `..`
    #[token("..")]
    Range,
    /// `..=`
    #[token("..=")]
    RangeInclusive,
    /// `...`
    #[token("...")]
    Ellipsis,
    /// `=`
    #[token("=")]
    Assign,
    /// `+=`
    #[token("+=")]
    AddAssign,
    /// `*=`
    #[token("*=")]
    MulAssign,
    /// `|=`
    #[token("|=")]
    OrAssign,
    /// `&=`
    #[token("&=")]
    AndAssign,
    /// `^=`
    #[token("^=")]
    XorAssign,
    /// `<`
    #[token("<")]
    Lt,
    /// `<=`
    #[token("<=")]
    Le,
    /// `>`
    #[token(">")]
    Gt,
    /// `>=`
    #[token(">=")]
    Ge,
    /// `==`
    #[token("==")]
    Eq,
    /// `!=`
    #[token("!=")]
    Ne,
    /// `|`
    #[token("|")]
    Or,
    /// `^`
    #[token("^")]
    Xor,
    /// `&`
    #[token("&")]
    And,
    /// `<<`
    #[token("<<")]
    Shl,
    /// `>>`
    #[token(">>")]
    Shr,
    /// `+`
    #[token("+")]
    Add,
    /// `-`
    #[token("-")]
    Sub,
    /// `*`
    #[token("*")]
    Mul,
    /// `/`
    #[token("/")]
    Div,
    /// `//`
    #[token("//")]
    FloorDiv,
    /// `%`
    #[token("%")]
    Rem,
    /// `@`
    #[token("@")]
    MatMul,
    /// `**`
    #[token("**")]
    Pow,
    /// `~`
    #[token("~")]
    Invert,
}

/// A number literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// `12`
    Int(u64),
    /// `1.5`
    Float(f64),
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lexeme {
    /// What it is.
    pub token: Token,
    /// Where it is.
    pub span: Span,
    /// Whether a line break, or nothing at all, comes before it.
    pub first_on_line: bool,
}

/// Why no token could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LexError {
    /// Nothing starts with this character.
    #[default]
    UnknownCharacter,
    /// Digits that are not a number.
    BadNumber,
    /// An integer above 2^64 - 1.
    IntegerTooLarge,
    /// No closing quote on the line.
    UnclosedString,
    /// A backslash in a string.
    Escape,
}

/// Reads all tokens of a source of at most `u32::MAX` bytes, and up to `max_errors` mistakes.
pub fn lex(source: &str, max_errors: usize) -> Result<Vec<Lexeme>, Vec<SyntaxError>> {
    let mut lexer = Token::lexer(source);
    let mut lexemes = Vec::new();
    let mut errors = Vec::new();
    let mut end = 0;
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        let first_on_line = lexemes.is_empty() || source[end..range.start].contains('\n');
        end = range.end;
        let span = Span { start: range.start as u32, end: range.end as u32 };
        match result {
            Ok(token) => lexemes.push(Lexeme { token, span, first_on_line }),
            Err(error) => errors.push(syntax_error(error, lexer.slice(), span)),
        }
        if errors.len() >= max_errors {
            break;
        }
    }
    if errors.is_empty() { Ok(lexemes) } else { Err(errors) }
}

fn syntax_error(error: LexError, text: &str, span: Span) -> SyntaxError {
    let (kind, span) = match error {
        LexError::UnknownCharacter => {
            let c = text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
            let end = span.start + c.len_utf8().min(text.len()) as u32;
            (SyntaxErrorKind::UnknownCharacter(c), Span { end, ..span })
        }
        LexError::BadNumber => (SyntaxErrorKind::BadNumber(shorten(text)), span),
        LexError::IntegerTooLarge => (SyntaxErrorKind::IntegerTooLarge(shorten(text)), span),
        LexError::UnclosedString => (SyntaxErrorKind::UnclosedString, span),
        LexError::Escape => {
            let start = span.start + text.find('\\').unwrap_or(0) as u32;
            (SyntaxErrorKind::Escape, Span { start, end: start + 1 })
        }
    };
    SyntaxError { kind, span, related: None }
}

/// At most forty characters of a token, so that a message stays a line.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Finishes a number of which the first digit, or the point and a digit, was read.
fn number(lexer: &mut Lexer<'_, Token>) -> Result<Number, LexError> {
    let start = lexer.span().start;
    let text = &lexer.source().as_bytes()[start..];
    let digits_from = |from: usize| {
        text[from..].iter().position(|b| !b.is_ascii_digit() && *b != b'_').map_or(text.len(), |n| from + n)
    };
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let mut end = digits_from(0);
    let mut is_float = false;
    if at(end) == b'.' && at(end + 1) != b'.' {
        is_float = true;
        end = digits_from(end + 1);
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            is_float = true;
            end = digits_from(end + 1 + sign);
        }
    }
    let well_placed = |i: usize| i > 0 && at(i - 1).is_ascii_digit() && at(i + 1).is_ascii_digit();
    let underscores_fit = (0..end).all(|i| text[i] != b'_' || well_placed(i));
    // Words and points that follow directly are part of the mistake, a range is not.
    let mut junk_end = end;
    while at(junk_end).is_ascii_alphanumeric()
        || at(junk_end) == b'_'
        || (at(junk_end) == b'.' && at(junk_end + 1) != b'.' && at(junk_end - 1) != b'.')
    {
        junk_end += 1;
    }
    lexer.bump(junk_end - lexer.slice().len());
    if junk_end > end || !underscores_fit {
        return Err(LexError::BadNumber);
    }
    let plain = lexer.slice().replace('_', "");
    if is_float {
        return plain.parse().map(Number::Float).map_err(|_| LexError::BadNumber);
    }
    if plain.len() > 1 && plain.starts_with('0') {
        return Err(LexError::BadNumber);
    }
    plain.parse().map(Number::Int).map_err(|_| LexError::IntegerTooLarge)
}

/// Finishes a string of which the opening quote was read.
fn string(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let quote = lexer.slice().as_bytes()[0];
    let rest = lexer.remainder();
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let mut previous = 0;
    let end = line.bytes().position(|b| {
        let closes = b == quote && previous != b'\\';
        previous = b;
        closes
    });
    let Some(end) = end else { return Err(LexError::UnclosedString) };
    lexer.bump(end + 1);
    if line[..end].contains('\\') { Err(LexError::Escape) } else { Ok(()) }
}
