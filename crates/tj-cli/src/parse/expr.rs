//! Expressions.
//!
//! ```text
//! expr      = binary operators over unary, by precedence
//! unary     = ( "-" | "+" | "~" ) unary | power
//! power     = postfix [ "**" unary ]
//! postfix   = atom { "." WORD [ args ] | "[" subscript { "," subscript } "]" }
//! atom      = NUMBER | STRING | NAME [ args ] | "True" | "False" | "None" | "inf" | "nan"
//!           | "(" expr ")" | "(" [ expr "," ... ] ")" | "[" [ expr "," ... ] "]"
//! args      = "(" [ expr "," ... ] [ WORD "=" expr "," ... ] ")"
//! subscript = "..." | expr | [ expr ] ":" [ expr ] [ ":" [ expr ] ]
//! ```
//!
//! Infix operators wait on an explicit stack, at most one a precedence level. Brackets, prefix operators and right sides of `**` recurse and are
//! counted.

use super::cursor::{Parser, error};
use super::{RESERVED, Result};
use crate::ast::{Arg, BinaryOp, Expr, ExprId, Ident, Precedence, SequenceKind, Span, Subscript, UnaryOp};
use crate::lex::{Number, Token};
use crate::syntax::SyntaxErrorKind;

/// An expression and where it stands, parentheses included.
#[derive(Clone, Copy)]
pub(super) struct Parsed {
    pub(super) id: ExprId,
    span: Span,
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Parsed> {
        // Left operands that wait for a right one, each under a tighter operator than the one before.
        let mut waiting: Vec<(Parsed, BinaryOp, Span)> = Vec::new();
        loop {
            let mut operand = self.unary()?;
            let next = self.peek().and_then(binary_op);
            while let Some((left, op, place)) =
                waiting.pop_if(|(_, op, _)| next.is_none_or(|next| next.precedence() <= op.precedence()))
            {
                let is_comparison = |op: BinaryOp| op.precedence() == Precedence::Comparison;
                if is_comparison(op) && next.is_some_and(is_comparison) {
                    let mut error = error(SyntaxErrorKind::ChainedComparison, self.here());
                    error.related = Some((place, "the first"));
                    return Err(error);
                }
                operand = self.add(Expr::Binary { op, left: left.id, right: operand.id }, left.span);
            }
            let Some(op) = next else { return Ok(operand) };
            waiting.push((operand, op, self.here()));
            self.advance();
        }
    }

    /// An expression of what sizes are made of.
    pub(super) fn size_expr(&mut self) -> Result<ExprId> {
        let before = self.program.exprs().len();
        let id = self.expr()?.id;
        for (id, expr) in self.program.exprs().skip(before) {
            if let Some(what) = not_in_a_size(expr) {
                return Err(error(SyntaxErrorKind::NotASize(what), self.program.span(id)));
            }
        }
        Ok(id)
    }

    fn unary(&mut self) -> Result<Parsed> {
        let op = match self.peek() {
            Some(Token::Sub) => UnaryOp::Neg,
            Some(Token::Add) => UnaryOp::Pos,
            Some(Token::Invert) => UnaryOp::Invert,
            _ => return self.power(),
        };
        let start = self.here();
        self.enter()?;
        self.advance();
        let arg = self.unary()?.id;
        self.leave();
        Ok(self.add(Expr::Unary { op, arg }, start))
    }

    fn power(&mut self) -> Result<Parsed> {
        let left = self.postfix()?;
        if self.peek() != Some(Token::Pow) {
            return Ok(left);
        }
        self.enter()?;
        self.advance();
        let right = self.unary()?.id;
        self.leave();
        Ok(self.add(Expr::Binary { op: BinaryOp::Pow, left: left.id, right }, left.span))
    }

    fn postfix(&mut self) -> Result<Parsed> {
        let mut left = self.atom()?;
        loop {
            let expr = match self.peek() {
                Some(Token::Dot) => {
                    self.advance();
                    let name = self.word("the name of a method or an attribute")?;
                    if self.peek() == Some(Token::OpenParen) {
                        Expr::Method { receiver: left.id, method: name, args: self.args()? }
                    } else {
                        Expr::Attribute { receiver: left.id, name }
                    }
                }
                Some(Token::OpenBracket) => Expr::Index { base: left.id, subscripts: self.subscripts()? },
                Some(Token::OpenParen) => return Err(error(SyntaxErrorKind::NotCallable, left.span)),
                _ => return Ok(left),
            };
            left = self.add(expr, left.span);
        }
    }

    fn atom(&mut self) -> Result<Parsed> {
        let span = self.here();
        let expr = match self.peek() {
            Some(Token::Number(Number::Int(value))) => Expr::Int(value),
            Some(Token::Number(Number::Float(value))) => Expr::Float(value),
            Some(Token::Str) => {
                let text = self.text(span);
                Expr::Str(text[1..text.len() - 1].to_owned())
            }
            Some(Token::Word) => match self.text(span) {
                "True" => Expr::Bool(true),
                "False" => Expr::Bool(false),
                "None" => Expr::None,
                "inf" => Expr::Float(f64::INFINITY),
                "nan" => Expr::Float(f64::NAN),
                text if RESERVED.contains(&text) => {
                    return Err(error(SyntaxErrorKind::Reserved(text.to_owned()), span));
                }
                text if self.nth_is(1, Token::OpenParen) => {
                    let function = Ident { text: text.to_owned(), span };
                    self.advance();
                    let args = self.args()?;
                    return Ok(self.add(Expr::Call { function, args }, span));
                }
                text => Expr::Name(text.to_owned()),
            },
            Some(Token::OpenParen) => return self.parenthesised(),
            Some(Token::OpenBracket) => {
                self.enter()?;
                self.open();
                let items = self.items(Vec::new(), Token::CloseBracket)?;
                self.close("`,` or `]`")?;
                self.leave();
                return Ok(self.add(Expr::Sequence { kind: SequenceKind::List, items }, span));
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        Ok(self.add(expr, span))
    }

    /// A tuple, or an expression in parentheses.
    fn parenthesised(&mut self) -> Result<Parsed> {
        let start = self.here();
        self.enter()?;
        self.open();
        let mut items = Vec::new();
        if self.peek() != Some(Token::CloseParen) {
            let first = self.expr()?.id;
            if !self.eat(Token::Comma) {
                self.close("`,` or `)`")?;
                self.leave();
                return Ok(Parsed { id: first, span: start.to(self.previous()) });
            }
            items = self.items(vec![first], Token::CloseParen)?;
        }
        self.close("`,` or `)`")?;
        self.leave();
        Ok(self.add(Expr::Sequence { kind: SequenceKind::Tuple, items }, start))
    }

    /// Expressions with commas between, until `close` is ahead or a comma is missing.
    fn items(&mut self, mut items: Vec<ExprId>, close: Token) -> Result<Vec<ExprId>> {
        while self.peek() != Some(close) {
            items.push(self.expr()?.id);
            if !self.eat(Token::Comma) {
                break;
            }
        }
        Ok(items)
    }

    fn args(&mut self) -> Result<Vec<Arg>> {
        self.enter()?;
        self.open();
        let mut args: Vec<Arg> = Vec::new();
        let mut keywords = std::collections::HashMap::new();
        while self.peek() != Some(Token::CloseParen) {
            let start = self.here();
            let keyword = if self.nth_is(0, Token::Word) && self.nth_is(1, Token::Assign) {
                let keyword = self.word("a keyword")?;
                self.advance();
                if let Some(first) = keywords.insert(keyword.text.clone(), keyword.span) {
                    let mut error = error(SyntaxErrorKind::RepeatedKeyword(keyword.text), keyword.span);
                    error.related = Some((first, "the first"));
                    return Err(error);
                }
                Some(keyword)
            } else {
                None
            };
            let is_positional = keyword.is_none();
            let value = self.expr()?.id;
            let span = start.to(self.previous());
            if is_positional && self.peek() == Some(Token::Assign) {
                return Err(error(SyntaxErrorKind::KeywordNotAName, span));
            }
            if is_positional && let Some(Arg { keyword: Some(last), .. }) = args.last() {
                let mut error = error(SyntaxErrorKind::PositionalAfterKeyword, span);
                error.related = Some((last.span, "a keyword argument"));
                return Err(error);
            }
            args.push(Arg { keyword, value });
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.close("`,` or `)`")?;
        self.leave();
        Ok(args)
    }

    fn subscripts(&mut self) -> Result<Vec<Subscript>> {
        self.enter()?;
        self.open();
        let mut subscripts = vec![self.subscript()?];
        while self.eat(Token::Comma) && self.peek() != Some(Token::CloseBracket) {
            subscripts.push(self.subscript()?);
        }
        self.close("`,` or `]`")?;
        self.leave();
        Ok(subscripts)
    }

    fn subscript(&mut self) -> Result<Subscript> {
        let place = self.here();
        if self.eat(Token::Ellipsis) {
            return Ok(Subscript::Ellipsis(place));
        }
        let start = if self.peek() == Some(Token::Colon) { None } else { Some(self.expr()?.id) };
        if !self.eat(Token::Colon) {
            return Ok(Subscript::At(start.expect("without a start the colon was ahead")));
        }
        let stop = self.slice_part()?;
        let step = if self.eat(Token::Colon) { self.slice_part()? } else { None };
        Ok(Subscript::Slice { start, stop, step, span: place.to(self.previous()) })
    }

    fn slice_part(&mut self) -> Result<Option<ExprId>> {
        match self.peek() {
            Some(Token::Colon | Token::Comma | Token::CloseBracket) => Ok(None),
            _ => Ok(Some(self.expr()?.id)),
        }
    }

    /// Adds an expression that reaches from `start` to the token just read.
    fn add(&mut self, expr: Expr, start: Span) -> Parsed {
        let span = start.to(self.previous());
        Parsed { id: self.program.add(expr, span), span }
    }
}

fn binary_op(token: Token) -> Option<BinaryOp> {
    Some(match token {
        Token::Lt => BinaryOp::Lt,
        Token::Le => BinaryOp::Le,
        Token::Gt => BinaryOp::Gt,
        Token::Ge => BinaryOp::Ge,
        Token::Eq => BinaryOp::Eq,
        Token::Ne => BinaryOp::Ne,
        Token::Or => BinaryOp::Or,
        Token::Xor => BinaryOp::Xor,
        Token::And => BinaryOp::And,
        Token::Shl => BinaryOp::Shl,
        Token::Shr => BinaryOp::Shr,
        Token::Add => BinaryOp::Add,
        Token::Sub => BinaryOp::Sub,
        Token::Mul => BinaryOp::Mul,
        Token::Div => BinaryOp::Div,
        Token::FloorDiv => BinaryOp::FloorDiv,
        Token::Rem => BinaryOp::Rem,
        Token::MatMul => BinaryOp::MatMul,
        // `**` is read by `power`, and all others end an operand.
        _ => return None,
    })
}

fn not_in_a_size(expr: &Expr) -> Option<String> {
    let what = match expr {
        Expr::Int(_) | Expr::Name(_) | Expr::Unary { op: UnaryOp::Neg, .. } => return None,
        Expr::Binary {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Rem,
            ..
        } => return None,
        Expr::Call { function, args } => {
            if matches!(&*function.text, "min" | "max") && args.iter().all(|arg| arg.keyword.is_none()) {
                return None;
            }
            return Some(format!("this call of `{}`", crate::lex::shorten(&function.text)));
        }
        Expr::Unary { op, .. } => return Some(format!("`{}`", op.symbol())),
        Expr::Binary { op, .. } => return Some(format!("`{}`", op.symbol())),
        Expr::Float(_) => "a float",
        Expr::Bool(_) => "a truth value",
        Expr::None => "`None`",
        Expr::Str(_) => "a string",
        Expr::Method { .. } => "a method",
        Expr::Attribute { .. } => "an attribute",
        Expr::Index { .. } => "an index",
        Expr::Sequence { .. } => "a sequence",
    };
    Some(what.to_owned())
}
