//! Text to kernels.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;
use tj_ir::dim::{Dim, Symbol, SymbolKind};
use tj_tensor::{DType, Scalar};

use crate::ir::{
    Access, BinOp, Block, Buf, Buffer, CmpOp, Gemm, Grid, Kernel, LoopKind, MAX_NESTING, Matrix, Op, Stmt,
    UnOp, Value, Var, VarDecl,
};

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

/// Reads one kernel.
///
/// ```
/// let text = "
///     kernel nothing(grid 1 cut 1 cost 0) {
///       task %0..%1
///       %0: i64 = task lo
///       %1: i64 = task hi
///     }";
/// let kernel = tj_kernel::parse(text)?;
/// assert_eq!(kernel.name, "nothing");
/// let error = tj_kernel::parse("kernel nothing(grid 1 by 2)").unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 21: expected a size, `cut` and a number, found `1 by 2)`");
/// # Ok::<(), tj_kernel::ParseError>(())
/// ```
pub fn parse(text: &str) -> Result<Kernel, ParseError> {
    let mut parser = Parser {
        text,
        at: 0,
        symbols: BTreeMap::new(),
        values: BTreeMap::new(),
        vars: BTreeMap::new(),
        used_values: BTreeMap::new(),
        used_vars: BTreeMap::new(),
    };
    parser.kernel()
}

impl FromStr for Kernel {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Kernel, ParseError> {
        parse(text)
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what comes next.
    at: usize,
    /// Declared symbols by their text, with their bounds.
    symbols: BTreeMap<String, Symbol>,
    values: BTreeMap<u32, (Op, DType)>,
    vars: BTreeMap<u32, VarDecl>,
    /// Where each id is first mentioned.
    used_values: BTreeMap<u32, usize>,
    used_vars: BTreeMap<u32, usize>,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    fn kernel(&mut self) -> Parsed<Kernel> {
        self.expect("kernel")?;
        let name = self.name()?;
        self.expect("(")?;
        self.expect("grid")?;
        // Sizes may name symbols that are declared further down, so they are read last.
        let extent = self.size_until("cut", "a size, `cut` and a number")?;
        let multiple = self.number("a number of tasks")?;
        self.expect("cost")?;
        let cost = self.size_until("{", "a size and then `) {`")?;
        let Some(cost) = cost.1.trim_end().strip_suffix(')').map(|text| (cost.0, text)) else {
            return Err(self.error_at(cost.0, "a size and then `) {`"));
        };
        let (mut buffers, mut sizes, mut params) = (Vec::new(), Vec::new(), Vec::new());
        let task = loop {
            if self.eat("symbol") {
                self.symbol()?;
            } else if self.eat("buffer") {
                self.position('@', buffers.len())?;
                let name = self.name()?;
                self.expect(":")?;
                let dtype = self.dtype()?;
                self.expect("[")?;
                let len = self.size_until("]", "a size and then `]`")?;
                let access =
                    self.word("read, write or scratch", |w| Access::ALL.into_iter().find(|a| a.name() == w))?;
                buffers.push((name, dtype, len, access));
            } else if self.eat("size") {
                self.position('#', sizes.len())?;
                self.expect("=")?;
                sizes.push(self.size_until("\n", "a size and the end of the line")?);
            } else if self.eat("param") {
                self.position('#', params.len())?;
                self.expect(":")?;
                params.push(self.dtype()?);
            } else if self.eat("task") {
                let lo = self.value()?;
                self.expect("..")?;
                break (lo, self.value()?);
            } else {
                return Err(self.error("symbol, buffer, size, param or task"));
            }
        };
        let body = self.block(0)?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.error("the end of the text"));
        }
        let buffers: Parsed<Vec<Buffer>> = buffers
            .into_iter()
            .map(|(name, dtype, len, access)| Ok(Buffer { name, dtype, len: self.size(len)?, access }))
            .collect();
        let sizes: Parsed<Vec<Dim>> = sizes.into_iter().map(|size| self.size(size)).collect();
        Ok(Kernel {
            name,
            buffers: buffers?,
            sizes: sizes?,
            params,
            values: self.dense("%", "a definition", &self.values, &self.used_values)?,
            vars: self.dense("$", "a declaration", &self.vars, &self.used_vars)?,
            grid: Grid { extent: self.size(extent)?, multiple, cost: self.size(cost)? },
            task,
            body,
        })
    }

    fn symbol(&mut self) -> Parsed<()> {
        self.space();
        let at = self.at;
        let text = self.take(|c| c == '_' || c.is_alphanumeric());
        self.expect("in")?;
        let lo: i64 = self.number("a lower bound")?;
        self.expect("..=")?;
        let hi: i64 = self.number("an upper bound")?;
        let Some(plain) = plain_symbol(text) else {
            return Err(self.error_at(at, "the name of a size"));
        };
        let bounded = match plain.kind() {
            SymbolKind::Declared(name) => Symbol::declared(name, lo..=hi),
            SymbolKind::Fresh(id) => Symbol::fresh(id, lo..=hi),
            SymbolKind::Index(_) => return Err(self.error_at(at, "the name of a size, not of a loop")),
        };
        let bounded = bounded.map_err(|e| self.error_at(at, &format!("good bounds ({e})")))?;
        self.symbols.insert(text.to_owned(), bounded);
        Ok(())
    }

    fn block(&mut self, depth: usize) -> Parsed<Block> {
        if depth > MAX_NESTING {
            return Err(self.error(&format!("at most {MAX_NESTING} nested blocks")));
        }
        let mut block = Vec::new();
        while !self.eat("}") {
            block.push(self.stmt(depth)?);
        }
        Ok(block)
    }

    fn stmt(&mut self, depth: usize) -> Parsed<Stmt> {
        self.space();
        match self.text[self.at..].chars().next() {
            Some('%') => return self.definition(),
            Some('$') => {
                let var = self.var()?;
                self.expect("=")?;
                return Ok(Stmt::Set(var, self.value()?));
            }
            Some(_) | None => {}
        }
        if self.eat("var") {
            let at = self.at;
            let var = self.var()?;
            self.expect(":")?;
            let dtype = self.dtype()?;
            let lanes = self.lanes()?;
            self.expect("=")?;
            let decl = VarDecl { dtype, lanes };
            if *self.vars.entry(var.0).or_insert(decl) != decl {
                return Err(self.error_at(at, "one declaration for each variable"));
            }
            Ok(Stmt::Declare(var, self.value()?))
        } else if self.eat("store") {
            let (buffer, index) = self.element()?;
            self.expect("=")?;
            Ok(Stmt::Store { buffer, index, value: self.value()? })
        } else if self.eat("for") {
            let kind = self.lanes()?.map_or(LoopKind::Serial, LoopKind::Lanes);
            let at = self.at;
            let var = self.value()?;
            self.define(at, var, Op::LoopVar, DType::I64)?;
            self.expect("in")?;
            let lo = self.value()?;
            self.expect("..")?;
            let hi = self.value()?;
            self.expect("{")?;
            Ok(Stmt::For { var, lo, hi, kind, body: self.block(depth + 1)? })
        } else if self.eat("while") {
            self.expect("{")?;
            let head = self.block(depth + 1)?;
            self.expect("holds")?;
            let cond = self.value()?;
            self.expect("{")?;
            Ok(Stmt::While { head, cond, body: self.block(depth + 1)? })
        } else if self.eat("if") {
            let cond = self.value()?;
            self.expect("{")?;
            let then = self.block(depth + 1)?;
            let els = if self.eat("else") {
                self.expect("{")?;
                self.block(depth + 1)?
            } else {
                Vec::new()
            };
            Ok(Stmt::If { cond, then, els })
        } else if self.eat("gemm") {
            let dtype = self.dtype()?;
            self.expect("(")?;
            let (m, n, k) = (self.value()?, self.next_value()?, self.next_value()?);
            self.expect(")")?;
            let c = self.matrix()?;
            self.expect("=")?;
            let a = self.matrix()?;
            self.expect("*")?;
            Ok(Stmt::Gemm(Gemm { dtype, m, n, k, a, b: self.matrix()?, c }))
        } else {
            Err(self.error("a statement or `}`"))
        }
    }

    fn definition(&mut self) -> Parsed<Stmt> {
        let at = self.at;
        let value = self.value()?;
        self.expect(":")?;
        let dtype = self.dtype()?;
        self.expect("=")?;
        if self.eat("fold") {
            let op = self.word("an operation", |w| BinOp::ALL.into_iter().find(|op| op.name() == w))?;
            self.define(at, value, Op::Folded, dtype)?;
            return Ok(Stmt::Fold { dst: value, op, var: self.var()? });
        }
        let op = self.op()?;
        self.define(at, value, op, dtype)?;
        Ok(Stmt::Def(value))
    }

    fn op(&mut self) -> Parsed<Op> {
        self.space();
        let at = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric());
        if let Some(op) = UnOp::ALL.into_iter().find(|op| op.name() == word) {
            return Ok(Op::Unary(op, self.value()?));
        }
        if let Some(op) = BinOp::ALL.into_iter().find(|op| op.name() == word) {
            return Ok(Op::Binary(op, self.value()?, self.next_value()?));
        }
        if let Some(op) = CmpOp::ALL.into_iter().find(|op| op.name() == word) {
            return Ok(Op::Compare(op, self.value()?, self.next_value()?));
        }
        Ok(match word {
            "const" => Op::Const(self.scalar()?),
            "size" => Op::Size(self.id('#')?),
            "param" => Op::Param(self.id('#')?),
            "task" if self.eat("lo") => Op::TaskLo,
            "task" if self.eat("hi") => Op::TaskHi,
            "loopvar" => Op::LoopVar,
            "folded" => Op::Folded,
            "get" => Op::Get(self.var()?),
            "load" => {
                let (buffer, index) = self.element()?;
                Op::Load(buffer, index)
            }
            "select" => Op::Select(self.value()?, self.next_value()?, self.next_value()?),
            "fma" => Op::Fma(self.value()?, self.next_value()?, self.next_value()?),
            "cast" => Op::Cast(self.value()?),
            "bitcast" => Op::Bitcast(self.value()?),
            _ => return Err(self.error_at(at, "an operation")),
        })
    }

    fn define(&mut self, at: usize, value: Value, op: Op, dtype: DType) -> Parsed<()> {
        match *self.values.entry(value.0).or_insert((op, dtype)) == (op, dtype) {
            true => Ok(()),
            false => Err(self.error_at(at, "one definition for each value")),
        }
    }

    /// The table of what was defined, if it has no gaps and everything mentioned is there.
    fn dense<T: Copy>(
        &self,
        prefix: &str,
        what: &str,
        defined: &BTreeMap<u32, T>,
        used: &BTreeMap<u32, usize>,
    ) -> Parsed<Vec<T>> {
        if let Some((id, &at)) = used.iter().find(|(id, _)| !defined.contains_key(id)) {
            return Err(self.error_at(at, &format!("{what} of {prefix}{id} somewhere")));
        }
        match defined.keys().zip(0..).find(|&(&id, place)| id != place) {
            None => Ok(defined.values().copied().collect()),
            Some((_, gap)) => {
                Err(self.error(&format!("{what} of {prefix}{gap}, because later ids are used")))
            }
        }
    }

    fn lanes(&mut self) -> Parsed<Option<u32>> {
        if !self.eat("lanes") {
            return Ok(None);
        }
        self.expect("(")?;
        let width = self.number("a number of lanes")?;
        self.expect(")")?;
        Ok(Some(width))
    }

    fn element(&mut self) -> Parsed<(Buf, Value)> {
        let buffer = Buf(self.id('@')?);
        self.expect("[")?;
        let index = self.value()?;
        self.expect("]")?;
        Ok((buffer, index))
    }

    fn matrix(&mut self) -> Parsed<Matrix> {
        let buffer = Buf(self.id('@')?);
        self.expect("[")?;
        let (offset, row_stride, col_stride) = (self.value()?, self.next_value()?, self.next_value()?);
        self.expect("]")?;
        Ok(Matrix { buffer, offset, row_stride, col_stride })
    }

    fn next_value(&mut self) -> Parsed<Value> {
        self.expect(",")?;
        self.value()
    }

    fn value(&mut self) -> Parsed<Value> {
        self.space();
        let at = self.at;
        let id = self.id('%')?;
        self.used_values.entry(id).or_insert(at);
        Ok(Value(id))
    }

    fn var(&mut self) -> Parsed<Var> {
        self.space();
        let at = self.at;
        let id = self.id('$')?;
        self.used_vars.entry(id).or_insert(at);
        Ok(Var(id))
    }

    fn id(&mut self, prefix: char) -> Parsed<u32> {
        self.space();
        let at = self.at;
        let digits = self.text[at..].strip_prefix(prefix).map_or("", |rest| &rest[..digits(rest)]);
        self.at = at + 1 + digits.len();
        digits.parse().map_err(|_| self.error_at(at, &format!("{prefix} and a number")))
    }

    /// An id that counts up.
    fn position(&mut self, prefix: char, next: usize) -> Parsed<()> {
        self.space();
        let at = self.at;
        match self.id(prefix) {
            Ok(id) if id as usize == next => Ok(()),
            Ok(_) | Err(_) => Err(self.error_at(at, &format!("{prefix}{next}"))),
        }
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Parsed<T> {
        self.space();
        let at = self.at;
        let rest = &self.text[at..];
        let sign = rest.starts_with('-') as usize;
        self.at = at + sign + digits(&rest[sign..]);
        self.text[at..self.at].parse().map_err(|_| self.error_at(at, what))
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        self.space();
        let at = self.at;
        let text = self.take(|c| !c.is_whitespace());
        text.parse().map_err(|_| self.error_at(at, "a constant with its type, like 2.5f32"))
    }

    fn dtype(&mut self) -> Parsed<DType> {
        self.word("a type", |word| word.parse().ok())
    }

    fn word<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        self.space();
        let at = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric());
        read(word).ok_or_else(|| self.error_at(at, what))
    }

    /// A bare or quoted name.
    fn name(&mut self) -> Parsed<String> {
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
    fn size_until(&mut self, end: &str, what: &str) -> Parsed<(usize, &'a str)> {
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

    /// Reads a size, giving symbols the bounds they were declared with.
    fn size(&self, (at, text): (usize, &str)) -> Parsed<Dim> {
        let mut symbol = |name: &str| self.symbols.get(name).cloned().or_else(|| plain_symbol(name));
        Dim::parse(text, &mut symbol).map_err(|e| self.error_at(at, &format!("a size ({e})")))
    }

    /// Passes `word` if it is next.
    fn eat(&mut self, word: &str) -> bool {
        self.space();
        let Some(rest) = self.text[self.at..].strip_prefix(word) else { return false };
        let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if word.ends_with(is_word) && rest.starts_with(is_word) {
            return false;
        }
        self.at += word.len();
        true
    }

    fn expect(&mut self, word: &str) -> Parsed<()> {
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

    fn error(&self, expected: &str) -> ParseError {
        self.error_at(self.at, expected)
    }

    fn error_at(&self, at: usize, expected: &str) -> ParseError {
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

/// The symbol that prints as `name`, with default bounds.
fn plain_symbol(name: &str) -> Option<Symbol> {
    let number = |prefix| name.strip_prefix(prefix).filter(|digits| !digits.starts_with('+'));
    if let Some(id) = number('s').and_then(|n| n.parse().ok()) {
        return Symbol::fresh(id, ..).ok();
    }
    match number('i').and_then(|n| n.parse().ok()) {
        Some(number) => Some(Symbol::index(number)),
        None => Symbol::declared(name, ..).ok(),
    }
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}
