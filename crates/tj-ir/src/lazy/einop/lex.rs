//! The words of an `einop`, and where they stand.

use crate::error::Cause;

/// A word of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Number(String),
    Symbol(&'static str),
    End,
}

/// Longer ones first.
const SYMBOLS: [&str; 28] = [
    "**", "//", "<=", ">=", "==", "!=", "+=", "*=", "|=", "&=", "^=", "+", "-", "*", "/", "%", "<", ">", "=",
    "&", "|", "^", "~", "(", ")", "[", "]", ",",
];

/// What is shown to whom has written something else.
pub(super) const EXAMPLE: &str = "C[i, j] += A[i, k] * B[k, j]";

/// A mistake in the text, with the place of it.
pub(super) fn wrong(text: &str, at: usize, problem: impl Into<String>) -> Cause {
    Cause::Text { op: "einop", problem: problem.into(), text: text.to_string(), at }
}

/// All words with their places, counted in characters; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, Cause> {
    let letters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let start = at;
        let c = letters[at];
        let run = |from: usize, test: &dyn Fn(char) -> bool| {
            letters[from..].iter().take_while(|&&c| test(c)).count() + from
        };
        let text_of = |end: usize| letters[start..end].iter().collect::<String>();
        if c.is_whitespace() {
            at += 1;
        } else if c.is_ascii_alphabetic() || c == '_' {
            at = run(at, &|c| c.is_ascii_alphanumeric() || c == '_');
            tokens.push((Token::Name(text_of(at)), start));
        } else if c.is_ascii_digit() || (c == '.' && letters.get(at + 1).is_some_and(char::is_ascii_digit)) {
            at = run(at, &|c| c.is_ascii_digit());
            if letters.get(at) == Some(&'.') {
                at = run(at + 1, &|c| c.is_ascii_digit());
            }
            if letters.get(at).is_some_and(|c| "eE".contains(*c)) {
                let sign = usize::from(letters.get(at + 1).is_some_and(|c| "+-".contains(*c)));
                if letters.get(at + 1 + sign).is_some_and(char::is_ascii_digit) {
                    at = run(at + 1 + sign, &|c| c.is_ascii_digit());
                }
            }
            tokens.push((Token::Number(text_of(at)), start));
        } else if letters[at..].starts_with(&['-', '>']) {
            return Err(wrong(text, at, format!("\"->\" is of einsum; a statement is such as {EXAMPLE}")));
        } else {
            let symbol = SYMBOLS
                .iter()
                .find(|symbol| letters[at..].iter().copied().take(symbol.len()).eq(symbol.chars()));
            let Some(&symbol) = symbol else { return Err(wrong(text, at, format!("{c:?} has no meaning"))) };
            tokens.push((Token::Symbol(symbol), start));
            at += symbol.len();
        }
    }
    tokens.push((Token::End, letters.len()));
    Ok(tokens)
}
