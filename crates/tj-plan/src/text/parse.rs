//! Text to plans.

use std::panic::Location;
use std::str::FromStr;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tj_ir::dim::{Dim, Symbol};
use tj_ir::expr::{Source, Sources};
use tj_ir::op::{Annihilator, Body, Domain, Laws, Named, Step};
use tj_ir::text::{Cursor, ParseError, Parsed};
use tj_ir::{Condition, Expr, ExprId, Function, Guard, InputDecl, Op, ReduceOp, Shape, Tree, UserOp};
use tj_tensor::DType;

use super::number_after;
use super::sizes::{size, sizes};
use crate::fuse::{Fused, Group};
use crate::plan::{Plan, Query, QueryId};

/// Expressions in a text nest at most this deep; printed ones nest much less.
const MAX_DEPTH: usize = 64;

/// Reads a plan. Its queries and guards are located at the caller.
///
/// ```
/// let plan = tj_plan::parse(
///     "size N
///      input x: f32[N, 64]
///      q0 sum: f32[N] = sum<row>(i1 < 64: mul(x[i0, i1], x[i0, i1]))
///      produces q0",
/// )?;
/// assert_eq!(plan.queries.len(), 1);
/// assert_eq!(tj_plan::parse(&plan.to_string())?.to_string(), plan.to_string());
///
/// let error = tj_plan::parse("input x: f32[N] produces x").unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 14: expected a size (unknown symbol N), found `N] produces x`");
/// # Ok::<(), tj_plan::ParseError>(())
/// ```
///
/// # Errors
/// The first place where the text is not a plan. That a plan breaks a rule of its form is for `verify` to say.
#[track_caller]
pub fn parse(text: &str) -> Result<Plan, ParseError> {
    let mut parser = Parser::new(text, Location::caller());
    parser.plan()?;
    parser.end()?;
    Ok(parser.plan)
}

/// Reads a fused plan: a plan and its groups.
///
/// # Errors
/// As [`parse`].
#[track_caller]
pub fn parse_fused(text: &str) -> Result<Fused, ParseError> {
    let mut parser = Parser::new(text, Location::caller());
    parser.plan()?;
    let groups = parser.groups()?;
    parser.end()?;
    let origins = parser.plan.query_ids().collect();
    Ok(Fused { plan: parser.plan, groups, origins, reasons: Vec::new() })
}

impl FromStr for Plan {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Plan, ParseError> {
        parse(text)
    }
}

impl FromStr for Fused {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Fused, ParseError> {
        parse_fused(text)
    }
}

struct Parser<'a> {
    text: Cursor<'a>,
    plan: Plan,
    location: &'static Location<'static>,
    /// Declared sizes by their text, with their bounds.
    symbols: FxHashMap<&'a str, Symbol>,
    inputs: FxHashSet<Arc<str>>,
    /// Named inputs and unnamed ones by what reads call them.
    sources: FxHashMap<String, Source>,
    /// Named parts of the query being read.
    parts: Vec<ExprId>,
    /// Operators that users defined, by what they are called.
    operators: FxHashMap<&'a str, Op>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, location: &'static Location<'static>) -> Parser<'a> {
        Parser {
            text: Cursor::new(text),
            plan: Plan::default(),
            location,
            symbols: FxHashMap::default(),
            inputs: FxHashSet::default(),
            sources: FxHashMap::default(),
            parts: Vec::new(),
            operators: FxHashMap::default(),
        }
    }

    /// Everything up to what is produced.
    fn plan(&mut self) -> Parsed<()> {
        loop {
            let at = self.text.place();
            match self.text.bare_word() {
                "size" => self.symbol()?,
                "input" => self.input()?,
                "number" => self.constant()?,
                "operator" => self.operator()?,
                "guard" => self.guard()?,
                "produces" => return self.produces(),
                word => match number_after(word, "q") {
                    Some(number) => self.query(at, number)?,
                    None => {
                        return Err(self
                            .text
                            .error_at(at, "size, input, number, operator, guard, produces or a query"));
                    }
                },
            }
        }
    }

    fn end(&mut self) -> Parsed<()> {
        if self.text.peek().is_some() { Err(self.text.error("the end of the text")) } else { Ok(()) }
    }

    fn symbol(&mut self) -> Parsed<()> {
        let at = self.text.place();
        let name = self.text.size_name();
        let fresh = number_after::<u64>(name, "s");
        let make = |lo: i64, hi: Option<i64>| match (fresh, hi) {
            (Some(id), Some(hi)) => Symbol::fresh(id, lo..=hi),
            (Some(id), None) => Symbol::fresh(id, ..),
            (None, Some(hi)) => Symbol::declared(name, lo..=hi),
            (None, None) => Symbol::declared(name, ..),
        };
        let symbol = if self.text.eat("in") {
            let lo = self.text.number("a lower bound")?;
            self.text.expect("..=")?;
            make(lo, Some(self.text.number("an upper bound")?))
        } else {
            make(0, None)
        };
        let symbol =
            symbol.map_err(|error| self.text.error_at(at, &format!("a size and its bounds ({error})")))?;
        if self.symbols.insert(name, symbol.clone()).is_some() {
            return Err(self.text.error_at(at, "one declaration for each size"));
        }
        self.plan.symbols.push(symbol);
        Ok(())
    }

    /// `[N, 4]`, or index expressions.
    fn sizes(&mut self) -> Parsed<Vec<Dim>> {
        self.text.expect("[")?;
        sizes(&mut self.text, ']', &|name| lookup(&self.symbols, name))
    }

    fn input(&mut self) -> Parsed<()> {
        let position = self.plan.inputs.len() as u32;
        let at = self.text.place();
        let quoted = self.text.peek() == Some('"');
        let name = self.text.name()?;
        let unnamed = !quoted && number_after::<u32>(&name, "in").is_some();
        if unnamed && name != format!("in{position}") {
            return Err(self.text.error_at(at, &format!("in{position}, or a name")));
        }
        if !unnamed && !quoted && !super::is_bare_input(&name) {
            return Err(self.text.error_at(at, "a name that is not that of a query"));
        }
        self.text.expect(":")?;
        let dtype = self.text.dtype()?;
        let shape = Shape::from_vec(self.sizes()?);
        if unnamed {
            self.text.expect("data")?;
        }
        let shared: Arc<str> = Arc::from(name.as_str());
        if !unnamed && !self.inputs.insert(shared.clone()) {
            return Err(self.text.error_at(at, "one input of each name"));
        }
        let called = if quoted && !super::is_bare_input(&name) { format!("\"{name}") } else { name };
        self.sources.insert(called, Source::Input(position));
        let name = (!unnamed).then_some(shared);
        self.plan.inputs.push(InputDecl { name, dtype, shape, data: None });
        Ok(())
    }

    fn constant(&mut self) -> Parsed<()> {
        let next = self.plan.numbers.len();
        self.text.expect(&format!("n{next}"))?;
        self.text.expect(":")?;
        let dtype = self.text.dtype()?;
        self.text.expect("=")?;
        let at = self.text.place();
        let expected = format!("a constant of type {dtype}");
        let value = self.text.scalar(&expected)?;
        if value.dtype() != dtype {
            return Err(self.text.error_at(at, &expected));
        }
        self.plan.numbers.push(value);
        Ok(())
    }

    /// `op0_f(f64, f64) commutative { x2 = add(x0, x1) x2 }`
    fn operator(&mut self) -> Parsed<()> {
        let at = self.text.place();
        let called = self.text.bare_word();
        let prefix = format!("op{}_", self.operators.len());
        let name = called.strip_prefix(&prefix).filter(|name| tj_ir::text::is_bare(name));
        let name = name.ok_or_else(|| self.text.error_at(at, &format!("{prefix} and a name")))?.to_string();
        let mut args = SmallVec::new();
        self.text.expect("(")?;
        loop {
            args.push(self.text.dtype()?);
            if !self.text.eat(",") {
                break;
            }
        }
        self.text.expect(")")?;
        let laws = self.laws()?;
        let (mut steps, mut next) = (Vec::new(), args.len() as u32);
        let value = |word: &str, next: u32| number_after::<u32>(word, "x").filter(|&x| x < next);
        let output = loop {
            let place = self.text.place();
            let number = self.text.word("a value", |word| number_after::<u32>(word, "x"))?;
            if !self.text.eat("=") {
                break number;
            }
            if number != next {
                return Err(self.text.error_at(place, &format!("x{next}")));
            }
            let place = self.text.place();
            let word = self.text.bare_word();
            let op = if word == "cast" && self.text.eat("<") {
                let to = self.text.dtype()?;
                self.text.expect(">")?;
                Some(Op::Cast(to))
            } else {
                Op::by_name(word).filter(|_| self.text.peek() == Some('('))
            };
            steps.push(match op {
                Some(op) => {
                    let mut args = SmallVec::new();
                    self.text.expect("(")?;
                    for n in 0..op.info().arity {
                        if n > 0 {
                            self.text.expect(",")?;
                        }
                        args.push(self.text.word("a value before it", |word| value(word, next))?);
                    }
                    self.text.expect(")")?;
                    Step::Apply(op, args)
                }
                None => {
                    self.text.back_to(place);
                    Step::Const(self.text.scalar("an operator or a constant")?)
                }
            });
            next += 1;
        };
        self.text.expect("}")?;
        let user = UserOp::new(Body { name, args, steps, output, laws });
        let user = user.ok_or_else(|| self.text.error_at(at, "a body whose steps fit each other"))?;
        self.operators.insert(called, Op::User(user));
        Ok(())
    }

    /// What is declared of an operator, up to its body.
    fn laws(&mut self) -> Parsed<Laws> {
        let mut laws = Laws::default();
        while !self.text.eat("{") {
            let at = self.text.place();
            match self.text.bare_word() {
                "commutative" => laws.commutative = true,
                "associative" => laws.associative = true,
                "idempotent" => laws.idempotent = true,
                "identity" => laws.identity = Some(Named::Number(self.text.scalar("a constant")?)),
                "annihilator" => {
                    let position = self.text.number("the position of an argument")?;
                    let [value, result] =
                        [self.text.scalar("a constant")?, self.text.scalar("a constant")?].map(Named::Number);
                    laws.annihilators.push(Annihilator { position, value, result, holds: Domain::Exact });
                }
                "over" => laws.distributes_over.push(self.text.word("an operator", Op::by_name)?),
                _ => return Err(self.text.error_at(at, "a law, or `{`")),
            }
        }
        Ok(laws)
    }

    fn guard(&mut self) -> Parsed<()> {
        const EXPECTED: &str = "a condition, `because of` and a reason";
        type Make = fn(Dim, Dim) -> Condition;
        const FORMS: [(&str, Make); 3] = [
            (" == ", Condition::Equal),
            (" <= ", Condition::LessEqual),
            (" is a multiple of ", |number, divisor| Condition::Divides(divisor, number)),
        ];
        let (at, line) = self.text.line();
        let between = " because of ";
        let Some(end) = line.find(between) else { return Err(self.text.error_at(at, EXPECTED)) };
        let found = FORMS.iter().find_map(|(word, make)| Some((line[..end].find(word)?, word.len(), make)));
        let Some((middle, width, make)) = found else { return Err(self.text.error_at(at, EXPECTED)) };
        let symbol = |name: &str| lookup(&self.symbols, name);
        let left = size(&self.text, at, at + middle, &symbol)?;
        let right = size(&self.text, at + middle + width, at + end, &symbol)?;
        let after = at + end + between.len();
        let reason = if line[end + between.len()..].starts_with('"') {
            self.text.back_to(after);
            self.text.quoted()?
        } else {
            line[end + between.len()..].trim_end_matches('\r').to_owned()
        };
        self.plan.guards.push(Guard { condition: make(left, right), reason, location: self.location });
        Ok(())
    }

    fn query(&mut self, at: usize, number: u32) -> Parsed<()> {
        let next = self.plan.queries.len() as u32;
        if number != next {
            return Err(self.text.error_at(at, &format!("query q{next}")));
        }
        let word = self.text.name()?;
        self.text.expect(":")?;
        let dtype = self.text.dtype()?;
        let shape = Shape::from_vec(self.sizes()?);
        self.parts.clear();
        let body = if self.text.eat("{") {
            while self.part()? {}
            let body = self.expr(0)?;
            self.text.expect("}")?;
            body
        } else if self.text.eat("=") {
            self.expr(0)?
        } else {
            return Err(self.text.error("`=` and an expression, or `{`"));
        };
        let query = Query { word: Arc::from(word), shape, dtype, body, location: self.location };
        self.plan.queries.push(query);
        Ok(())
    }

    /// `e0 = ..`, if that is next.
    fn part(&mut self) -> Parsed<bool> {
        let at = self.text.place();
        let number = number_after::<usize>(self.text.bare_word(), "e");
        let Some(number) = number.filter(|_| self.text.eat("=")) else {
            self.text.back_to(at);
            return Ok(false);
        };
        if number != self.parts.len() {
            return Err(self.text.error_at(at, &format!("e{}", self.parts.len())));
        }
        let part = self.expr(0)?;
        self.parts.push(part);
        Ok(true)
    }

    fn expr(&mut self, depth: usize) -> Parsed<ExprId> {
        let at = self.text.place();
        if depth > MAX_DEPTH {
            return Err(self.text.error(&format!("at most {MAX_DEPTH} nested expressions")));
        }
        let word = match self.text.peek() {
            Some('"') => {
                let name = self.text.quoted()?;
                let called = if super::is_bare_input(&name) { name } else { format!("\"{name}") };
                return self.read(at, &called);
            }
            Some(_) | None => self.text.bare_word(),
        };
        let next = self.text.peek();
        if next == Some('[') {
            return self.read(at, word);
        }
        if word == "size" && next == Some('(') {
            self.text.expect("(")?;
            let place = self.text.place();
            let dims = sizes(&mut self.text, ')', &|name| lookup(&self.symbols, name))?;
            let [dim] = dims.as_slice() else { return Err(self.text.error_at(place, "one size")) };
            return Ok(self.plan.arena.intern(Expr::Size(dim.clone()), DType::I64));
        }
        if next == Some('<')
            && let Some(op) = ReduceOp::by_name(word).or_else(|| ReduceOp::of(*self.operators.get(word)?))
        {
            return self.reduce(op, depth);
        }
        if word == "call" && depth == 0 && next.is_some_and(|c| c.is_ascii_alphabetic()) {
            return self.call();
        }
        let op = match (word, next) {
            ("cast", Some('<')) => {
                self.text.expect("<")?;
                let to = self.text.dtype()?;
                self.text.expect(">")?;
                Some(Op::Cast(to))
            }
            ("filled", Some('(')) => Some(Op::Filled),
            (_, Some('(')) => Op::by_name(word).or_else(|| self.operators.get(word).copied()),
            _ => None,
        };
        if let Some(op) = op {
            return self.map(at, op, depth);
        }
        if let Some(part) = number_after::<usize>(word, "e") {
            let known = self.parts.get(part).copied();
            return known.ok_or_else(|| self.text.error_at(at, &format!("a definition of {word} before")));
        }
        if let Some(number) = number_after(word, "n") {
            let known = self.plan.numbers.get(number as usize).map(|value| value.dtype());
            let dtype = known.ok_or_else(|| self.text.error_at(at, "a declared number"))?;
            return Ok(self.plan.arena.intern(Expr::Number(number), dtype));
        }
        self.text.back_to(at);
        let constant = self.text.scalar("an expression")?;
        Ok(self.plan.arena.constant(constant))
    }

    fn read(&mut self, at: usize, name: &str) -> Parsed<ExprId> {
        let source = self.source(at, name)?;
        let dtype = self.plan.dtype_of(source);
        let indices = self.sizes()?.into();
        Ok(self.plan.arena.read(source, indices, dtype))
    }

    fn source(&self, at: usize, name: &str) -> Parsed<Source> {
        let query = number_after(name, "q").filter(|&q| (q as usize) < self.plan.queries.len());
        let source = query.map(Source::Def).or_else(|| self.sources.get(name).copied());
        source.ok_or_else(|| self.text.error_at(at, "an input or an earlier query"))
    }

    fn map(&mut self, at: usize, op: Op, depth: usize) -> Parsed<ExprId> {
        self.text.expect("(")?;
        let mut args: SmallVec<[ExprId; 3]> = SmallVec::new();
        for n in 0..op.info().arity {
            if n > 0 {
                self.text.expect(",")?;
            }
            args.push(self.expr(depth + 1)?);
        }
        self.text.expect(")")?;
        let dtypes: Vec<DType> = args.iter().map(|&arg| self.plan.arena.dtype(arg)).collect();
        if op.dtypes(&dtypes).is_none() {
            let found: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            let expected = format!("arguments that {} is defined on, not {}", op.name(), found.join(", "));
            return Err(self.text.error_at(at, &expected));
        }
        Ok(self.plan.arena.map(op, args))
    }

    /// `sort(0, 0) x output 0`
    fn call(&mut self) -> Parsed<ExprId> {
        let at = self.text.place();
        let name = self.text.bare_word();
        self.text.expect("(")?;
        let a = self.text.number("an attribute of a function")?;
        self.text.expect(",")?;
        let b = self.text.number("an attribute of a function")?;
        self.text.expect(")")?;
        let function = Function::by_name(name, a, b);
        let function =
            function.ok_or_else(|| self.text.error_at(at, "a function with its two attributes"))?;
        let (n_args, n_results) = function.arity();
        let mut args = Sources::new();
        for n in 0..n_args {
            if n > 0 {
                self.text.expect(",")?;
            }
            let source = self.whole_source()?;
            args.push(source);
        }
        self.text.expect("output")?;
        let place = self.text.place();
        let output: u32 = self.text.number("a result")?;
        let dtypes: Vec<DType> = args.iter().map(|&arg| self.plan.dtype_of(arg)).collect();
        let results = function.dtypes(&dtypes).ok_or_else(|| {
            let found: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            let expected = format!("arguments that {name} is defined on, not {}", found.join(", "));
            self.text.error_at(at, &expected)
        })?;
        let Some(&dtype) = results.get(output as usize) else {
            return Err(self.text.error_at(place, &format!("a result below {n_results}")));
        };
        Ok(self.plan.arena.intern(Expr::Call { function, args, output }, dtype))
    }

    fn reduce(&mut self, op: ReduceOp, depth: usize) -> Parsed<ExprId> {
        self.text.expect("<")?;
        let tree = self.text.word("row, col, contract or chain", |word| {
            Tree::ALL.into_iter().find(|tree| tree.name() == word)
        })?;
        self.text.expect(">")?;
        self.text.expect("(")?;
        let index = self.text.word("an index", |word| number_after(word, "i"))?;
        self.text.expect("<")?;
        let place = self.text.place();
        let extents = sizes(&mut self.text, ':', &|name| lookup(&self.symbols, name))?;
        let [extent] = extents.as_slice() else { return Err(self.text.error_at(place, "one size")) };
        let body = self.expr(depth + 1)?;
        self.text.expect(")")?;
        let dtype = self.plan.arena.dtype(body);
        let node = Expr::Reduce { op, tree, index: Symbol::index(index), extent: extent.clone(), body };
        Ok(self.plan.arena.intern(node, dtype))
    }

    fn produces(&mut self) -> Parsed<()> {
        if self.text.at_line_end() {
            return Ok(());
        }
        loop {
            let source = self.whole_source()?;
            self.plan.produces.0.push(source);
            if !self.text.eat(",") {
                return Ok(());
            }
        }
    }

    /// A source by its name.
    fn whole_source(&mut self) -> Parsed<Source> {
        let at = self.text.place();
        let quoted = self.text.peek() == Some('"');
        let name = self.text.name()?;
        let called = if quoted && !super::is_bare_input(&name) { format!("\"{name}") } else { name };
        self.source(at, &called)
    }

    fn groups(&mut self) -> Parsed<Vec<Group>> {
        let mut groups = Vec::new();
        while self.text.eat("group") {
            self.text.expect("outer")?;
            let outer = self.text.number("a number of axes")?;
            self.text.expect(":")?;
            let mut group = Group { queries: Vec::new(), outer, local: Vec::new() };
            loop {
                let known = self.plan.queries.len();
                let query = self.text.word("a query", |word| {
                    number_after(word, "q").filter(|&q| (q as usize) < known).map(QueryId)
                })?;
                group.queries.push(query);
                group.local.push(self.text.eat("local"));
                if !self.text.eat(",") {
                    break;
                }
            }
            groups.push(group);
        }
        Ok(groups)
    }
}

/// A loop index or a declared size.
fn lookup(symbols: &FxHashMap<&str, Symbol>, name: &str) -> Option<Symbol> {
    if let Some(symbol) = symbols.get(name) {
        return Some(symbol.clone());
    }
    number_after(name, "i").map(Symbol::index)
}
