//! Tokens to tree.
//!
//! ```text
//! program   = { statement NEWLINE }
//! statement = "size" NAME [ "in" INT ( ".." | "..=" ) INT ]
//!           | "input" NAME ":" WORD [ "[" [ expr { "," expr } ] "]" ] [ FORMAT ] [ "fill" expr ]
//!           | "output" NAME ( "=" expr | { "," NAME } )
//!           | NAME "=" expr
//!           | NAME [ "[" NAME { "," NAME } "]" ] ( "=" | "+=" | "*=" | "min=" | "max=" | "|=" | "&=" | "^=" ) expr
//! ```
//!
//! FORMAT is what `tj_tensor::Format` reads: `csr`, `bcsr(2, 2)`, `{d0: dense, d1: compressed(u32)}`. Its words are kept as
//! they are written, and read by whoever makes the input.
//!
//! Expressions are Python's, with Python's precedence, less `and`, `or`, `not`, `if`, `lambda` and chained
//! comparisons (`parse/expr.rs` has their grammar). Words that mean something are reserved, except after a dot,
//! before the `=` of a keyword argument and as a format.
//!
//! The parser is written by hand, over `logos` tokens: the nesting limit, left-associative chains of any length, the
//! arena and messages that know about brackets are its whole point, and combinators hide all four. It never looks at
//! a token more than a constant number of times, and its stack is bounded by [`MAX_DEPTH`]. A mistake ends its
//! statement only, so one run reports up to twenty of them.

#![expect(clippy::wildcard_enum_match_arm, reason = "a place takes a few tokens and refuses all others")]

mod cursor;
mod expr;
#[cfg(test)]
mod tests;

use crate::ast::{Bounds, EinopOp, Ident, Program, Span, Stmt, StmtKind};
use crate::lex::{Number, Token, lex};
use crate::syntax::{SyntaxError, SyntaxErrorKind};
use cursor::{Parser, error};

/// How deep brackets, prefix operators and right sides of `**` may nest together. Two hundred levels of the costliest
/// form stay under a megabyte of stack in a debug build.
pub const MAX_DEPTH: usize = 200;

/// The largest source, so that places and expression ids fit in 32 bits.
pub const MAX_SOURCE_BYTES: usize = 1 << 26;

/// Past this many mistakes more of them help nobody.
const MAX_ERRORS: usize = 20;

/// Words that cannot name a size, an input or a value.
pub(crate) const RESERVED: [&str; 9] =
    ["size", "input", "output", "in", "True", "False", "None", "inf", "nan"];

/// The error is boxed because every frame of the recursion has room for several.
type Result<T, E = Box<SyntaxError>> = std::result::Result<T, E>;

/// Reads a program; on failure, all mistakes in the order of the text.
///
/// ```
/// let program = tj_cli::parse_program("input x: f32[N, 784]\noutput y = x.sum(axis=1)\n").unwrap();
/// assert_eq!(program.stmts.len(), 2);
/// assert_eq!(program.to_string(), "input x: f32[N, 784]\noutput y = x.sum(axis=1)\n");
/// ```
pub fn parse_program(source: &str) -> Result<Program, Vec<SyntaxError>> {
    let mut parser = Parser::new(source, tokens(source)?);
    let mut errors = Vec::new();
    while parser.start_statement() {
        if let Err(error) = parser.statement() {
            errors.push(*error);
            if errors.len() == MAX_ERRORS {
                break;
            }
            parser.skip_statement();
        }
    }
    if errors.is_empty() { Ok(parser.program) } else { Err(errors) }
}

/// Reads an expression of the command line: a program with one output, whose inputs are its
/// [free names](Program::free_names). An index-notation statement is taken too; its target is the output. Line breaks
/// mean nothing.
///
/// ```
/// let program = tj_cli::parse_expression("C[i, j] += A[i, k] * B[k, j]").unwrap();
/// assert_eq!(program.to_string(), "C[i, j] += A[i, k] * B[k, j]\noutput C\n");
/// ```
pub fn parse_expression(source: &str) -> Result<Program, Vec<SyntaxError>> {
    let mut lexemes = tokens(source)?;
    lexemes.iter_mut().for_each(|lexeme| lexeme.first_on_line = false);
    let mut parser = Parser::new(source, lexemes);
    parser.start_statement();
    match parser.command_line_expression() {
        Ok(()) => Ok(parser.program),
        Err(error) => Err(vec![*error]),
    }
}

fn tokens(source: &str) -> Result<Vec<crate::lex::Lexeme>, Vec<SyntaxError>> {
    if source.len() > MAX_SOURCE_BYTES {
        let kind = SyntaxErrorKind::TooLarge { bytes: source.len(), limit: MAX_SOURCE_BYTES };
        return Err(vec![*error(kind, Span::default())]);
    }
    lex(source, MAX_ERRORS)
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<()> {
        match self.peek_word() {
            Some("size" | "input" | "output") if self.nth_is(1, Token::Assign) => self.bind(),
            Some("size") => self.size(),
            Some("input") => self.input(),
            Some("output") => self.output(),
            _ if self.nth_is(1, Token::Assign) => self.bind(),
            _ if self.einop_ahead() => self.einop().map(|_| ()),
            _ => self.not_a_statement(),
        }
    }

    fn command_line_expression(&mut self) -> Result<()> {
        if self.peek().is_none() {
            return Err(error(SyntaxErrorKind::Empty, self.here()));
        }
        if self.einop_ahead() {
            let name = self.einop()?;
            return self.finish(StmtKind::Output { name, value: None });
        }
        let value = self.expr()?.id;
        if self.peek().is_some() {
            return Err(self.unexpected("the end of the expression"));
        }
        self.finish(StmtKind::Result { value })
    }

    fn size(&mut self) -> Result<()> {
        self.advance();
        let name = self.name("the name of a size")?;
        let bounds = if self.peek_word() == Some("in") {
            self.advance();
            Some(self.bounds()?)
        } else {
            None
        };
        self.finish(StmtKind::Size { name, bounds })
    }

    fn bounds(&mut self) -> Result<Bounds> {
        if matches!(self.peek(), None | Some(Token::Range | Token::RangeInclusive)) {
            return Err(error(SyntaxErrorKind::MissingBound("lower"), self.here()));
        }
        let start = self.here();
        let lower = self.bound()?;
        let inclusive = match self.peek() {
            Some(Token::Range) => false,
            Some(Token::RangeInclusive) => true,
            _ => return Err(self.unexpected("`..` or `..=` and the upper bound")),
        };
        self.advance();
        if self.peek().is_none() {
            return Err(error(SyntaxErrorKind::MissingBound("upper"), self.here()));
        }
        let last = self.bound()?;
        let span = start.to(self.previous());
        let empty = SyntaxErrorKind::EmptyBounds { lower, upper: i128::from(last) - i128::from(!inclusive) };
        match if inclusive { Some(last) } else { last.checked_sub(1) } {
            Some(upper) if lower <= upper => Ok(Bounds { lower, upper, span }),
            _ => Err(error(empty, span)),
        }
    }

    fn bound(&mut self) -> Result<u64> {
        match self.peek() {
            Some(Token::Number(Number::Int(value))) => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.unexpected("a non-negative integer")),
        }
    }

    fn input(&mut self) -> Result<()> {
        self.advance();
        let name = self.name("the name of an input")?;
        self.expect(Token::Colon, "`:` and the type of the input")?;
        let dtype = self.word("the type of the input, as `f32[N, 784]`")?;
        let mut dims = Vec::new();
        if self.peek() == Some(Token::OpenBracket) {
            self.open();
            while self.peek() != Some(Token::CloseBracket) {
                dims.push(self.size_expr()?);
                if !self.eat(Token::Comma) {
                    break;
                }
            }
            self.close("`,` or `]`")?;
        }
        let format = self.format();
        let fill = match self.peek_word() {
            Some("fill") => {
                self.advance();
                Some(self.expr()?.id)
            }
            Some(_) | None => None,
        };
        self.finish(StmtKind::Input { name, dtype, dims, format, fill })
    }

    /// Everything that a format may be made of, up to its fill.
    fn format(&mut self) -> Option<Ident> {
        let start = self.here();
        let mut any = false;
        while let Some(token) = self.peek() {
            let is_part = match token {
                Token::Word => self.peek_word() != Some("fill"),
                Token::OpenBrace => true,
                // Nothing begins with these.
                Token::CloseBrace | Token::OpenParen | Token::CloseParen | Token::Number(_) => any,
                Token::Comma | Token::Colon | Token::Range | Token::Div | Token::Rem => any,
                Token::Add | Token::Sub => any,
                _ => false,
            };
            if !is_part {
                break;
            }
            any = true;
            self.advance();
        }
        let span = start.to(self.previous());
        any.then(|| Ident { text: self.text(span).to_owned(), span })
    }

    fn output(&mut self) -> Result<()> {
        self.advance();
        let name = self.name("the name of an output")?;
        if self.eat(Token::Assign) {
            let value = self.expr()?.id;
            return self.finish(StmtKind::Output { name, value: Some(value) });
        }
        if !matches!(self.peek(), None | Some(Token::Comma)) {
            return Err(self.unexpected("`=`, `,` or the end of the line after the name of an output"));
        }
        self.push(StmtKind::Output { name, value: None });
        while self.eat(Token::Comma) {
            let name = self.name("the name of an output")?;
            self.push(StmtKind::Output { name, value: None });
        }
        self.end_statement()
    }

    fn bind(&mut self) -> Result<()> {
        let name = self.name("a name")?;
        self.advance();
        let value = self.expr()?.id;
        self.finish(StmtKind::Bind { name, value })
    }

    /// Whether the statement reads `NAME [ ... ] op`, or `NAME op` where `op` combines.
    fn einop_ahead(&self) -> bool {
        self.nth(0) == Some(Token::Word)
            && match self.nth(1) {
                Some(Token::OpenBracket) => {
                    self.matching_bracket(1).is_some_and(|close| self.einop_op(close + 1).is_some())
                }
                Some(token) => token != Token::Assign && self.einop_op(1).is_some(),
                None => false,
            }
    }

    /// The assignment `n` tokens ahead and how many tokens it has.
    fn einop_op(&self, n: usize) -> Option<(EinopOp, usize)> {
        match self.nth(n)? {
            Token::Assign => Some((EinopOp::Assign, 1)),
            Token::AddAssign => Some((EinopOp::Add, 1)),
            Token::MulAssign => Some((EinopOp::Mul, 1)),
            Token::OrAssign => Some((EinopOp::Or, 1)),
            Token::AndAssign => Some((EinopOp::And, 1)),
            Token::XorAssign => Some((EinopOp::Xor, 1)),
            Token::Word if self.nth_is(n + 1, Token::Assign) => match self.nth_text(n) {
                "min" => Some((EinopOp::Min, 2)),
                "max" => Some((EinopOp::Max, 2)),
                _ => None,
            },
            _ => None,
        }
    }

    fn einop(&mut self) -> Result<Ident> {
        let target = self.name("a name")?;
        let mut indices = Vec::new();
        if self.peek() == Some(Token::OpenBracket) {
            self.open();
            loop {
                indices.push(self.name("the name of an index")?);
                if !self.eat(Token::Comma) || self.peek() == Some(Token::CloseBracket) {
                    break;
                }
            }
            self.close("`,` or `]`")?;
        }
        let (op, n_tokens) = self.einop_op(0).expect("`einop_ahead` saw the operator behind the brackets");
        (0..n_tokens).for_each(|_| self.advance());
        let value = self.expr()?.id;
        self.finish(StmtKind::Einop { target: target.clone(), indices, op, value })?;
        Ok(target)
    }

    fn not_a_statement(&mut self) -> Result<()> {
        let start = self.here();
        self.expr()?;
        let span = start.to(self.previous());
        let kind = match self.peek() {
            None => SyntaxErrorKind::Unused,
            Some(_) if self.einop_op(0).is_some() => SyntaxErrorKind::NotATarget,
            Some(_) => return Err(self.unexpected("the end of the line")),
        };
        Err(error(kind, span))
    }

    fn finish(&mut self, kind: StmtKind) -> Result<()> {
        self.end_statement()?;
        self.push(kind);
        Ok(())
    }

    fn push(&mut self, kind: StmtKind) {
        let span = self.statement_span();
        self.program.stmts.push(Stmt { kind, span });
    }

    fn end_statement(&self) -> Result<()> {
        if self.peek().is_some() { Err(self.unexpected("the end of the line")) } else { Ok(()) }
    }
}
