//! Where the parser stands: the token ahead, the open brackets, the nesting depth.

use super::{MAX_DEPTH, RESERVED, Result};
use crate::ast::{Ident, Program, Span};
use crate::lex::{Lexeme, Token, shorten};
use crate::syntax::{SyntaxError, SyntaxErrorKind};

pub(super) struct Parser<'s> {
    source: &'s str,
    lexemes: Vec<Lexeme>,
    at: usize,
    /// Where the statement starts.
    start: usize,
    /// Positions of the brackets that are open, outermost first. While there is one, a line continues.
    brackets: Vec<usize>,
    depth: usize,
    pub(super) program: Program,
}

pub(super) fn error(kind: SyntaxErrorKind, span: Span) -> Box<SyntaxError> {
    Box::new(SyntaxError { kind, span, related: None })
}

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str, lexemes: Vec<Lexeme>) -> Parser<'s> {
        let program = Program::default();
        Parser { source, lexemes, at: 0, start: 0, brackets: Vec::new(), depth: 0, program }
    }

    /// Prepares for a statement at the token ahead, if there is one.
    pub(super) fn start_statement(&mut self) -> bool {
        self.start = self.at;
        self.brackets.clear();
        self.depth = 0;
        self.at < self.lexemes.len()
    }

    /// Goes to the next line that can start a statement: brackets are closed, or a keyword says so.
    pub(super) fn skip_statement(&mut self) {
        let mut open = 0_i64;
        self.at = self.start;
        while let Some(lexeme) = self.lexemes.get(self.at) {
            let keyword = matches!(self.text(lexeme.span), "size" | "input" | "output");
            if lexeme.first_on_line && self.at > self.start && (open <= 0 || keyword) {
                break;
            }
            open += bracket_step(lexeme.token);
            self.at += 1;
        }
    }

    /// The token `n` ahead, unless the statement ends before it.
    pub(super) fn nth(&self, n: usize) -> Option<Token> {
        let line_continues = |i: usize| {
            !self.brackets.is_empty()
                || i == self.start
                || self.lexemes.get(i).is_some_and(|l| !l.first_on_line)
        };
        // Looking further than the next token only ever happens at the start of a statement or within a line.
        let lexeme = self.lexemes.get(self.at + n)?;
        line_continues(self.at + n).then_some(lexeme.token)
    }

    pub(super) fn nth_is(&self, n: usize, token: Token) -> bool {
        self.nth(n) == Some(token)
    }

    pub(super) fn nth_text(&self, n: usize) -> &'s str {
        self.lexemes.get(self.at + n).map_or("", |lexeme| self.text(lexeme.span))
    }

    pub(super) fn peek(&self) -> Option<Token> {
        self.nth(0)
    }

    pub(super) fn peek_word(&self) -> Option<&'s str> {
        self.nth_is(0, Token::Word).then(|| self.nth_text(0))
    }

    /// The place of the token ahead, or of the end of the statement.
    pub(super) fn here(&self) -> Span {
        match self.peek() {
            Some(_) => self.lexemes[self.at].span,
            None => {
                let end = self.previous().end;
                Span { start: end, end }
            }
        }
    }

    /// The place of the token just read.
    pub(super) fn previous(&self) -> Span {
        self.at.checked_sub(1).map_or(Span::default(), |i| self.lexemes[i].span)
    }

    pub(super) fn statement_span(&self) -> Span {
        self.lexemes[self.start].span.to(self.previous())
    }

    pub(super) fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn eat(&mut self, token: Token) -> bool {
        let found = self.nth_is(0, token);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, token: Token, expected: &'static str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Any word, keywords included.
    pub(super) fn word(&mut self, expected: &'static str) -> Result<Ident> {
        let Some(text) = self.peek_word() else { return Err(self.unexpected(expected)) };
        let ident = Ident { text: text.to_owned(), span: self.here() };
        self.advance();
        Ok(ident)
    }

    /// A word that is not a keyword.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<Ident> {
        let ident = self.word(expected)?;
        if RESERVED.contains(&&*ident.text) {
            return Err(error(SyntaxErrorKind::Reserved(ident.text), ident.span));
        }
        Ok(ident)
    }

    /// Reads the opening bracket ahead.
    pub(super) fn open(&mut self) {
        self.brackets.push(self.at);
        self.advance();
    }

    /// Reads the bracket that closes the innermost open one.
    pub(super) fn close(&mut self, expected: &'static str) -> Result<()> {
        let open = *self.brackets.last().expect("`close` follows `open`");
        let close = match self.lexemes[open].token {
            Token::OpenParen => Token::CloseParen,
            _ => Token::CloseBracket,
        };
        self.expect(close, expected)?;
        self.brackets.pop();
        Ok(())
    }

    /// Goes one level deeper; [`Parser::leave`] comes back.
    pub(super) fn enter(&mut self) -> Result<()> {
        if self.depth == MAX_DEPTH {
            return Err(error(SyntaxErrorKind::TooDeep { limit: MAX_DEPTH }, self.here()));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// How far ahead the bracket is that closes the one `n` ahead.
    pub(super) fn matching_bracket(&self, n: usize) -> Option<usize> {
        let mut open = 0;
        self.lexemes[self.at + n..]
            .iter()
            .position(|lexeme| {
                open += bracket_step(lexeme.token);
                open == 0
            })
            .map(|distance| n + distance)
    }

    /// The mistake that `expected` is not ahead. Where a bracket is the reason, that is the mistake.
    pub(super) fn unexpected(&self, expected: &'static str) -> Box<SyntaxError> {
        let Some(&open) = self.brackets.last() else {
            return error(SyntaxErrorKind::Unexpected { expected, found: self.found() }, self.here());
        };
        let opened = self.lexemes[open].span;
        let mut depth = 0;
        let closed = self.lexemes[open..].iter().any(|lexeme| {
            depth += bracket_step(lexeme.token);
            depth == 0
        });
        if !closed {
            let bracket = if self.text(opened) == "(" { "(" } else { "[" };
            return error(SyntaxErrorKind::Unclosed(bracket), opened);
        }
        let mut error = error(SyntaxErrorKind::Unexpected { expected, found: self.found() }, self.here());
        let closes = matches!(self.peek(), Some(Token::CloseParen | Token::CloseBracket));
        if closes || self.source[opened.range().end..error.span.range().start].contains('\n') {
            error.related = Some((opened, "opened here"));
        }
        error
    }

    fn found(&self) -> String {
        match self.peek() {
            Some(_) => format!("`{}`", shorten(self.text(self.here()))),
            None => "the end of the line".to_owned(),
        }
    }
}

fn bracket_step(token: Token) -> i64 {
    match token {
        Token::OpenParen | Token::OpenBracket => 1,
        Token::CloseParen | Token::CloseBracket => -1,
        _ => 0,
    }
}
