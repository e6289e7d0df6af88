//! Text to kernels.

use std::collections::BTreeMap;
use std::str::FromStr;

use tj_ir::Function;
use tj_ir::dim::{Dim, Symbol, SymbolKind};
use tj_ir::text::{Cursor, ParseError, Parsed};
use tj_tensor::DType;

use crate::ir::{
    Access, Array, BinOp, Block, Buf, Buffer, Call, CmpOp, Gemm, Grid, Kernel, LoopKind, MAX_NESTING, Matrix,
    Op, Stmt, UnOp, Value, Var, VarDecl,
};

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
        text: Cursor::new(text),
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
    text: Cursor<'a>,
    /// Declared symbols by their text, with their bounds.
    symbols: BTreeMap<String, Symbol>,
    values: BTreeMap<u32, (Op, DType)>,
    vars: BTreeMap<u32, VarDecl>,
    /// Where each id is first mentioned.
    used_values: BTreeMap<u32, usize>,
    used_vars: BTreeMap<u32, usize>,
}

impl<'a> Parser<'a> {
    fn kernel(&mut self) -> Parsed<Kernel> {
        self.text.expect("kernel")?;
        let name = self.text.name()?;
        self.text.expect("(")?;
        self.text.expect("grid")?;
        // Sizes may name symbols that are declared further down, so they are read last.
        let extent = self.extent()?;
        let multiple = self.text.signed("a number of tasks")?;
        self.text.expect("cost")?;
        let cost = self.text.size_until("{", "a size and then `) {`")?;
        let Some(cost) = cost.1.trim_end().strip_suffix(')').map(|text| (cost.0, text)) else {
            return Err(self.text.error_at(cost.0, "a size and then `) {`"));
        };
        let (mut buffers, mut sizes, mut params) = (Vec::new(), Vec::new(), Vec::new());
        let task = loop {
            if self.text.eat("symbol") {
                self.symbol()?;
            } else if self.text.eat("buffer") {
                self.position('@', buffers.len())?;
                let name = self.text.name()?;
                self.text.expect(":")?;
                let dtype = self.text.dtype()?;
                self.text.expect("[")?;
                let len = self.text.size_until("]", "a size and then `]`")?;
                let access = self.access()?;
                let holds = if self.text.eat("holds") {
                    self.text.expect("0")?;
                    self.text.expect("..=")?;
                    Some(self.text.size_until("\n", "a size and the end of the line")?)
                } else {
                    None
                };
                buffers.push((name, dtype, len, access, holds));
            } else if self.text.eat("size") {
                self.position('#', sizes.len())?;
                self.text.expect("=")?;
                sizes.push(self.text.size_until("\n", "a size and the end of the line")?);
            } else if self.text.eat("param") {
                self.position('#', params.len())?;
                self.text.expect(":")?;
                params.push(self.text.dtype()?);
            } else if self.text.eat("task") {
                let lo = self.value()?;
                self.text.expect("..")?;
                break (lo, self.value()?);
            } else {
                return Err(self.text.error("symbol, buffer, size, param or task"));
            }
        };
        let body = self.block(0)?;
        if self.text.peek().is_some() {
            return Err(self.text.error("the end of the text"));
        }
        let buffers: Parsed<Vec<Buffer>> = buffers
            .into_iter()
            .map(|(name, dtype, len, access, holds)| {
                let holds = holds.map(|max| self.size(max)).transpose()?;
                Ok(Buffer { name, dtype, len: self.size(len)?, access, holds })
            })
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

    fn access(&mut self) -> Parsed<Access> {
        if self.text.eat("inplace") {
            return Ok(Access::InPlace(Buf(self.text.id('@')?)));
        }
        let plain = [Access::Read, Access::Write, Access::Scratch];
        self.text.word("read, write, scratch or inplace", |w| plain.into_iter().find(|a| a.name() == w))
    }

    /// The extent of the grid and its `cut`. A size may name a symbol `cut`, but none that a number follows.
    fn extent(&mut self) -> Parsed<(usize, &'a str)> {
        let at = self.text.place();
        let (_, line) = self.text.line();
        let stop = line.match_indices("cut").map(|(n, _)| n).find(|n| {
            let rest = &line[n + "cut".len()..];
            rest.starts_with(char::is_whitespace)
                && rest.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit())
        });
        let stop = stop.ok_or_else(|| self.text.error_at(at, "a size, `cut` and a number"))?;
        self.text.back_to(at + stop + "cut".len());
        Ok((at, line[..stop].split("//").next().unwrap_or("")))
    }

    fn symbol(&mut self) -> Parsed<()> {
        let at = self.text.place();
        let text = self.text.size_name();
        self.text.expect("in")?;
        let lo: i64 = self.text.signed("a lower bound")?;
        self.text.expect("..=")?;
        let hi: i64 = self.text.signed("an upper bound")?;
        let Some(plain) = plain_symbol(text) else {
            return Err(self.text.error_at(at, "the name of a size"));
        };
        let bounded = match plain.kind() {
            SymbolKind::Declared(name) => Symbol::declared(name, lo..=hi),
            SymbolKind::Fresh(id) => Symbol::fresh(id, lo..=hi),
            SymbolKind::Index(_) | SymbolKind::Deferred(_) | SymbolKind::Counted(_) => {
                return Err(self.text.error_at(at, "the name of a size, not of a loop"));
            }
        };
        let bounded = bounded.map_err(|e| self.text.error_at(at, &format!("good bounds ({e})")))?;
        self.symbols.insert(text.to_owned(), bounded);
        Ok(())
    }

    fn block(&mut self, depth: usize) -> Parsed<Block> {
        if depth > MAX_NESTING {
            return Err(self.text.error(&format!("at most {MAX_NESTING} nested blocks")));
        }
        let mut block = Vec::new();
        while !self.text.eat("}") {
            block.push(self.stmt(depth)?);
        }
        Ok(block)
    }

    fn stmt(&mut self, depth: usize) -> Parsed<Stmt> {
        match self.text.peek() {
            Some('%') => return self.definition(),
            Some('$') => {
                let var = self.var()?;
                self.text.expect("=")?;
                return Ok(Stmt::Set(var, self.value()?));
            }
            Some(_) | None => {}
        }
        if self.text.eat("var") {
            let at = self.text.place();
            let var = self.var()?;
            self.text.expect(":")?;
            let dtype = self.text.dtype()?;
            let lanes = self.lanes()?;
            self.text.expect("=")?;
            let decl = VarDecl { dtype, lanes };
            if *self.vars.entry(var.0).or_insert(decl) != decl {
                return Err(self.text.error_at(at, "one declaration for each variable"));
            }
            Ok(Stmt::Declare(var, self.value()?))
        } else if self.text.eat("store") {
            let (buffer, index) = self.element()?;
            self.text.expect("=")?;
            Ok(Stmt::Store { buffer, index, value: self.value()? })
        } else if self.text.eat("for") {
            let kind = self.lanes()?.map_or(LoopKind::Serial, LoopKind::Lanes);
            let at = self.text.place();
            let var = self.value()?;
            self.define(at, var, Op::LoopVar, DType::I64)?;
            self.text.expect("in")?;
            let lo = self.value()?;
            self.text.expect("..")?;
            let hi = self.value()?;
            self.text.expect("{")?;
            Ok(Stmt::For { var, lo, hi, kind, body: self.block(depth + 1)? })
        } else if self.text.eat("while") {
            self.text.expect("{")?;
            let head = self.block(depth + 1)?;
            self.text.expect("holds")?;
            let cond = self.value()?;
            self.text.expect("{")?;
            Ok(Stmt::While { head, cond, body: self.block(depth + 1)? })
        } else if self.text.eat("if") {
            let cond = self.value()?;
            self.text.expect("{")?;
            let then = self.block(depth + 1)?;
            let els = if self.text.eat("else") {
                self.text.expect("{")?;
                self.block(depth + 1)?
            } else {
                Vec::new()
            };
            Ok(Stmt::If { cond, then, els })
        } else if self.text.eat("gemm") {
            let dtype = self.text.dtype()?;
            self.text.expect("(")?;
            let (m, n, k) = (self.value()?, self.next_value()?, self.next_value()?);
            self.text.expect(")")?;
            let c = self.matrix()?;
            self.text.expect("=")?;
            let a = self.matrix()?;
            self.text.expect("*")?;
            Ok(Stmt::Gemm(Gemm { dtype, m, n, k, a, b: self.matrix()?, c }))
        } else if self.text.eat("call") {
            self.call()
        } else {
            Err(self.text.error("a statement or `}`"))
        }
    }

    fn definition(&mut self) -> Parsed<Stmt> {
        let at = self.text.place();
        let value = self.value()?;
        self.text.expect(":")?;
        let dtype = self.text.dtype()?;
        self.text.expect("=")?;
        if self.text.eat("fold") {
            let op = self.text.word("an operation", |w| BinOp::ALL.into_iter().find(|op| op.name() == w))?;
            self.define(at, value, Op::Folded, dtype)?;
            return Ok(Stmt::Fold { dst: value, op, var: self.var()? });
        }
        let op = self.op()?;
        self.define(at, value, op, dtype)?;
        Ok(Stmt::Def(value))
    }

    fn op(&mut self) -> Parsed<Op> {
        let at = self.text.place();
        let word = self.text.bare_word();
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
            "const" => Op::Const(self.text.scalar("a constant with its type, like 2.5f32")?),
            "size" => Op::Size(self.text.id('#')?),
            "param" => Op::Param(self.text.id('#')?),
            "task" if self.text.eat("lo") => Op::TaskLo,
            "task" if self.text.eat("hi") => Op::TaskHi,
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
            _ => return Err(self.text.error_at(at, "an operation")),
        })
    }

    fn define(&mut self, at: usize, value: Value, op: Op, dtype: DType) -> Parsed<()> {
        match *self.values.entry(value.0).or_insert((op, dtype)) == (op, dtype) {
            true => Ok(()),
            false => Err(self.text.error_at(at, "one definition for each value")),
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
            return Err(self.text.error_at(at, &format!("{what} of {prefix}{id} somewhere")));
        }
        match defined.keys().zip(0..).find(|&(&id, place)| id != place) {
            None => Ok(defined.values().copied().collect()),
            Some((_, gap)) => {
                Err(self.text.error(&format!("{what} of {prefix}{gap}, because later ids are used")))
            }
        }
    }

    fn lanes(&mut self) -> Parsed<Option<u32>> {
        if !self.text.eat("lanes") {
            return Ok(None);
        }
        self.text.expect("(")?;
        let width = self.text.signed("a number of lanes")?;
        self.text.expect(")")?;
        Ok(Some(width))
    }

    fn element(&mut self) -> Parsed<(Buf, Value)> {
        let buffer = Buf(self.text.id('@')?);
        self.text.expect("[")?;
        let index = self.value()?;
        self.text.expect("]")?;
        Ok((buffer, index))
    }

    fn matrix(&mut self) -> Parsed<Matrix> {
        let buffer = Buf(self.text.id('@')?);
        self.text.expect("[")?;
        let (offset, row_stride, col_stride) = (self.value()?, self.next_value()?, self.next_value()?);
        self.text.expect("]")?;
        Ok(Matrix { buffer, offset, row_stride, col_stride })
    }

    /// `sort(0, 0) @1[%2] = @0[%2]`
    fn call(&mut self) -> Parsed<Stmt> {
        let at = self.text.place();
        let name = self.text.bare_word();
        self.text.expect("(")?;
        let a = self.text.signed("an attribute of a function")?;
        self.text.expect(",")?;
        let b = self.text.signed("an attribute of a function")?;
        self.text.expect(")")?;
        let function = Function::by_name(name, a, b);
        let function =
            function.ok_or_else(|| self.text.error_at(at, "a function with its two attributes"))?;
        let results = self.arrays()?;
        self.text.expect("=")?;
        Ok(Stmt::Call(Box::new(Call { function, args: self.arrays()?, results })))
    }

    /// One or more whole buffers.
    fn arrays(&mut self) -> Parsed<Vec<Array>> {
        let mut arrays = Vec::new();
        loop {
            let buffer = Buf(self.text.id('@')?);
            self.text.expect("[")?;
            let mut extents = Vec::new();
            while !self.text.eat("]") {
                if !extents.is_empty() {
                    self.text.expect(",")?;
                }
                extents.push(self.value()?);
            }
            arrays.push(Array { buffer, extents });
            if !self.text.eat(",") {
                return Ok(arrays);
            }
        }
    }

    fn next_value(&mut self) -> Parsed<Value> {
        self.text.expect(",")?;
        self.value()
    }

    fn value(&mut self) -> Parsed<Value> {
        let at = self.text.place();
        let id = self.text.id('%')?;
        self.used_values.entry(id).or_insert(at);
        Ok(Value(id))
    }

    fn var(&mut self) -> Parsed<Var> {
        let at = self.text.place();
        let id = self.text.id('$')?;
        self.used_vars.entry(id).or_insert(at);
        Ok(Var(id))
    }

    /// An id that counts up.
    fn position(&mut self, prefix: char, next: usize) -> Parsed<()> {
        let at = self.text.place();
        match self.text.id(prefix) {
            Ok(id) if id as usize == next => Ok(()),
            Ok(_) | Err(_) => Err(self.text.error_at(at, &format!("{prefix}{next}"))),
        }
    }

    /// Reads a size, giving symbols the bounds they were declared with.
    fn size(&self, (at, text): (usize, &str)) -> Parsed<Dim> {
        let mut symbol = |name: &str| self.symbols.get(name).cloned().or_else(|| plain_symbol(name));
        Dim::parse(text, &mut symbol).map_err(|e| self.text.error_at(at, &format!("a size ({e})")))
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
