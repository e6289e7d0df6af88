//! From the text of an `einop` to steps on a stack.
//!
//! ```text
//! statement  := NAME [ "[" [index {"," index}] "]" ] assign or
//! assign     := "=" | "+=" | "*=" | "|=" | "&=" | "^=" | "or=" | "and=" | NAME "="
//! or         := and {"or" and}            and     := not {"and" not}            not   := "not" not | compare
//! compare    := bits [("<" | "<=" | ">" | ">=" | "==" | "!=") bits]
//! bits       := xor {"|" xor}             xor     := band {"^" band}            band  := sum {"&" sum}
//! sum        := term {("+" | "-") term}   term    := unary {("*" | "/" | "//" | "%") unary}
//! unary      := ("-" | "+" | "~") unary | power                                power := atom ["**" unary]
//! atom       := NUMBER | "(" or ")" | NAME "(" or {"," or} ")" | NAME "[" index {"," index} "]" | NAME
//! index      := NAME | ["-"] INTEGER
//! ```
//!
//! Chains of operators of one level are loops; only nesting recurses, and only [`MAX_NESTING`] deep.

use super::lex::{EXAMPLE, Token, tokens, wrong};
use crate::error::Cause;
use crate::op::{Op, ReduceOp, TABLE};
use crate::text::closest;

/// Parentheses, functions and signs nest at most this deep.
pub const MAX_NESTING: usize = 100;

/// What a step does to the stack.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Pushes a host integer.
    Int(i64),
    /// Pushes a host float.
    Float(f64),
    /// Pushes an operand at indices.
    Access(Access),
    /// Combines the top of the stack.
    Apply(Op, usize),
    /// Makes a truth value of the top of the stack.
    Truth,
}

/// An operand at indices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub name: String,
    pub at: usize,
    pub indices: Vec<Index>,
}

/// One index of an access.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Index {
    /// An index by name, and where it stands.
    Name(String, usize),
    /// A position.
    Fixed(i64),
}

/// How values of one output element are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assign {
    /// There is one value.
    Plain,
    /// By a reduction.
    Reduce(ReduceOp),
    /// By a reduction of truth values.
    Truth(ReduceOp),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// Indices of the output.
    pub target: Vec<(String, usize)>,
    pub assign: Assign,
    /// Where the assignment stands.
    pub at: usize,
    pub steps: Vec<Step>,
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
    steps: Vec<Step>,
}

type Done = Result<(), Cause>;

/// Reads a statement.
pub(super) fn parse(text: &str) -> Result<Statement, Cause> {
    if text.trim().is_empty() {
        return Err(wrong(text, 0, format!("the text is empty; a statement is such as {EXAMPLE}")));
    }
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0, steps: Vec::new() };
    let (_, at) = parser.name("the name of the output")?;
    let mut target = Vec::new();
    for index in if parser.eat("[") { parser.indices()? } else { Vec::new() } {
        match index {
            Index::Name(name, at) => target.push((name, at)),
            Index::Fixed(_) => return Err(wrong(text, at, "the output is indexed by names only")),
        }
    }
    let at = parser.at();
    let assign = parser.assign()?;
    parser.or()?;
    match parser.peek() {
        Token::End => Ok(Statement { target, assign, at, steps: parser.steps }),
        Token::Name(_) | Token::Number(_) | Token::Symbol(_) => {
            Err(parser.expected("an operator or the end"))
        }
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn at(&self) -> usize {
        self.tokens[self.next].1
    }

    fn expected(&self, what: &str) -> Cause {
        let found = match self.peek() {
            Token::Name(text) | Token::Number(text) => format!("{text:?}"),
            Token::Symbol(symbol) => format!("{symbol:?}"),
            Token::End => "the end".to_string(),
        };
        wrong(self.text, self.at(), format!("expected {what}, found {found}"))
    }

    /// Passes a symbol or a word, if it is next.
    fn eat(&mut self, word: &str) -> bool {
        let found = match self.peek() {
            Token::Symbol(symbol) => *symbol == word,
            Token::Name(name) => name == word,
            Token::Number(_) | Token::End => false,
        };
        self.next += usize::from(found);
        found
    }

    fn need(&mut self, word: &'static str) -> Done {
        if self.eat(word) { Ok(()) } else { Err(self.expected(&format!("{word:?}"))) }
    }

    fn name(&mut self, what: &str) -> Result<(String, usize), Cause> {
        let at = self.at();
        if let Token::Name(name) = self.peek() {
            let name = name.clone();
            self.next += 1;
            return Ok((name, at));
        }
        Err(self.expected(what))
    }

    fn assign(&mut self) -> Result<Assign, Cause> {
        for (word, op) in [("or", ReduceOp::Or), ("and", ReduceOp::And)] {
            if self.eat(word) {
                self.need("=")?;
                return Ok(Assign::Truth(op));
            }
        }
        let symbols = [
            ("=", Assign::Plain),
            ("+=", Assign::Reduce(ReduceOp::Sum)),
            ("*=", Assign::Reduce(ReduceOp::Prod)),
            ("|=", Assign::Reduce(ReduceOp::Or)),
            ("&=", Assign::Reduce(ReduceOp::And)),
            ("^=", Assign::Reduce(ReduceOp::Xor)),
        ];
        for (symbol, assign) in symbols {
            if self.eat(symbol) {
                return Ok(assign);
            }
        }
        let (at, after) = (self.at(), self.tokens.get(self.next + 1).map(|(token, _)| token));
        let name = match (self.peek(), after) {
            (Token::Name(name), Some(Token::Symbol("="))) => name.clone(),
            _ => return Err(self.expected("an assignment such as \"=\", \"+=\" or \"max=\"")),
        };
        self.next += 2;
        if let Some(op) = Op::by_name(&name).and_then(ReduceOp::of_truths) {
            return Ok(Assign::Truth(op));
        }
        let op = ReduceOp::by_name(&name).ok_or_else(|| {
            let known =
                TABLE.iter().filter(|info| ReduceOp::by_name(info.name).is_some()).map(|info| info.name);
            let meant = closest(&name, known.chain(["sum", "prod", "max", "min"]));
            let meant = meant.map_or_else(String::new, |close| format!("; did you mean {close}=?"));
            wrong(self.text, at, format!("there is no operator {name} of two arguments{meant}"))
        })?;
        Ok(Assign::Reduce(op))
    }

    /// What is between `[` and `]`; the first of them is passed.
    fn indices(&mut self) -> Result<Vec<Index>, Cause> {
        let mut indices = Vec::new();
        if self.eat("]") {
            return Ok(indices);
        }
        loop {
            let at = self.at();
            let negative = self.eat("-");
            let Token::Number(digits) = self.peek() else {
                if negative {
                    return Err(self.expected("a number"));
                }
                let (name, at) = self.name("an index")?;
                indices.push(Index::Name(name, at));
                if self.eat(",") {
                    continue;
                }
                self.need("]")?;
                return Ok(indices);
            };
            let text = format!("{}{digits}", if negative { "-" } else { "" });
            let number =
                text.parse().map_err(|_| wrong(self.text, at, format!("{text} is not a position")))?;
            self.next += 1;
            indices.push(Index::Fixed(number));
            if self.eat(",") {
                continue;
            }
            self.need("]")?;
            return Ok(indices);
        }
    }

    /// Runs a rule that recurses.
    fn nested(&mut self, rule: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.depth == MAX_NESTING {
            return Err(wrong(self.text, self.at(), format!("nests more than {MAX_NESTING} deep")));
        }
        self.depth += 1;
        let done = rule(self);
        self.depth -= 1;
        done
    }

    fn apply(&mut self, op: Op, arity: usize) {
        self.steps.push(Step::Apply(op, arity));
    }

    /// `part {symbol part}`, from left to right.
    fn chain(&mut self, symbols: &[&'static str], part: fn(&mut Self) -> Done) -> Done {
        part(self)?;
        while let Some(&symbol) = symbols.iter().find(|&&symbol| *self.peek() == Token::Symbol(symbol)) {
            let op = self.binary(symbol)?;
            self.next += 1;
            part(self)?;
            self.apply(op, 2);
        }
        Ok(())
    }

    fn binary(&self, symbol: &'static str) -> Result<Op, Cause> {
        let named = if symbol == "**" { ["pow", "power"].into_iter().find_map(Op::by_name) } else { None };
        Op::by_symbol(symbol)
            .or(named)
            .ok_or_else(|| wrong(self.text, self.at(), format!("there is no operator {symbol}")))
    }

    fn or(&mut self) -> Done {
        self.logic("or", Op::Or, Self::and)
    }

    fn and(&mut self) -> Done {
        self.logic("and", Op::And, Self::not)
    }

    fn logic(&mut self, word: &str, op: Op, part: fn(&mut Self) -> Done) -> Done {
        part(self)?;
        let mut first = true;
        while self.eat(word) {
            if std::mem::take(&mut first) {
                self.steps.push(Step::Truth);
            }
            part(self)?;
            self.steps.push(Step::Truth);
            self.apply(op, 2);
        }
        Ok(())
    }

    fn not(&mut self) -> Done {
        if !self.eat("not") {
            return self.compare();
        }
        self.nested(Self::not)?;
        self.steps.push(Step::Truth);
        self.apply(Op::Not, 1);
        Ok(())
    }

    fn compare(&mut self) -> Done {
        const SIGNS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
        let is_sign = |token: &Token| SIGNS.iter().any(|&sign| *token == Token::Symbol(sign));
        self.bits()?;
        if !is_sign(self.peek()) {
            return Ok(());
        }
        let Token::Symbol(sign) = *self.peek() else { return Ok(()) };
        let op = self.binary(sign)?;
        self.next += 1;
        self.bits()?;
        self.apply(op, 2);
        if is_sign(self.peek()) {
            return Err(wrong(self.text, self.at(), "comparisons do not chain: join them with \"and\""));
        }
        Ok(())
    }

    fn bits(&mut self) -> Done {
        self.chain(&["|"], |p| p.chain(&["^"], |p| p.chain(&["&"], Self::sum)))
    }

    fn sum(&mut self) -> Done {
        self.chain(&["+", "-"], |p| p.chain(&["*", "/", "//", "%"], Self::unary))
    }

    fn unary(&mut self) -> Done {
        for (sign, op) in [("-", Some(Op::Neg)), ("~", Some(Op::Not)), ("+", None)] {
            if self.eat(sign) {
                self.nested(Self::unary)?;
                if let Some(op) = op {
                    self.apply(op, 1);
                }
                return Ok(());
            }
        }
        self.atom()?;
        if *self.peek() == Token::Symbol("**") {
            let op = self.binary("**")?;
            self.next += 1;
            self.nested(Self::unary)?;
            self.apply(op, 2);
        }
        Ok(())
    }

    fn atom(&mut self) -> Done {
        let at = self.at();
        match self.peek().clone() {
            Token::Number(text) => {
                self.next += 1;
                let step = match text.parse() {
                    Ok(int) => Step::Int(int),
                    Err(_) => text
                        .parse()
                        .map(Step::Float)
                        .map_err(|_| wrong(self.text, at, format!("{text} is not a number")))?,
                };
                self.steps.push(step);
                Ok(())
            }
            Token::Symbol("(") => {
                self.next += 1;
                self.nested(Self::or)?;
                self.need(")")
            }
            Token::Name(name) if !["and", "or", "not"].contains(&name.as_str()) => {
                self.next += 1;
                if self.eat("(") {
                    return self.call(&name, at);
                }
                let indices = if self.eat("[") { self.indices()? } else { Vec::new() };
                self.steps.push(Step::Access(Access { name, at, indices }));
                Ok(())
            }
            Token::Name(_) | Token::Symbol(_) | Token::End => Err(self.expected("a number, a name or \"(\"")),
        }
    }

    fn call(&mut self, name: &str, at: usize) -> Done {
        let known = match name {
            "max" => "maximum",
            "min" => "minimum",
            name => name,
        };
        let Some(op) = Op::by_name(known) else {
            let known = TABLE.iter().map(|info| info.name).chain(["max", "min"]);
            let meant =
                closest(name, known).map_or_else(String::new, |close| format!("; did you mean {close}?"));
            return Err(wrong(self.text, at, format!("there is no function {name}{meant}")));
        };
        let mut arguments = 0;
        if !self.eat(")") {
            loop {
                self.nested(Self::or)?;
                arguments += 1;
                if !self.eat(",") {
                    break;
                }
            }
            self.need(")")?;
        }
        let arity = op.info().arity;
        if arguments != arity {
            let problem = format!("{name} takes {arity} arguments, got {arguments}");
            return Err(wrong(self.text, at, problem));
        }
        self.apply(op, arity);
        Ok(())
    }
}
