//! Plans to text.

use std::fmt::{self, Display, Formatter};

use rustc_hash::FxHashMap;
use tj_ir::dim::{Dim, MAX_SIZE};
use tj_ir::expr::Source;
use tj_ir::op::Step;
use tj_ir::text::{Quoted, is_bare};
use tj_ir::{Expr, ExprArena, ExprId, Guard, Op, ReduceOp, Symbol, UserOp};

use super::{MAX_INLINE, MAX_NEST, is_bare_input};
use crate::fuse::Fused;
use crate::plan::{Plan, QueryId};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for symbol in &self.symbols {
            write_symbol(f, symbol)?;
        }
        let names: Vec<String> = (0..self.inputs.len()).map(|i| input_name(self, i)).collect();
        for (input, name) in self.inputs.iter().zip(&names) {
            let data = if input.name.is_none() { " data" } else { "" };
            writeln!(f, "input {name}: {}{}{data}", input.dtype, List(&input.shape))?;
        }
        for (n, value) in self.numbers.iter().enumerate() {
            writeln!(f, "number n{n}: {} = {value}", value.dtype())?;
        }
        let operators = operators(self);
        for (n, user) in operators.iter().enumerate() {
            write_operator(f, n, *user)?;
        }
        for id in self.query_ids() {
            Body::new(self, &names, &operators, id).write(f)?;
        }
        for guard in &self.guards {
            write_guard(f, guard)?;
        }
        f.write_str("produces")?;
        for (n, source) in self.produces.0.iter().enumerate() {
            f.write_str(if n == 0 { " " } else { ", " })?;
            write_source(f, &names, *source)?;
        }
        f.write_str("\n")
    }
}

impl Display for Fused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)?;
        for group in &self.groups {
            write!(f, "group outer {}: ", group.outer)?;
            for (n, query) in group.queries.iter().enumerate() {
                let local = if group.local.get(n) == Some(&true) { " local" } else { "" };
                write!(f, "{}{query}{local}", if n == 0 { "" } else { ", " })?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// `[N, 4]`
struct List<'a>(&'a [Dim]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (n, dim) in self.0.iter().enumerate() {
            write!(f, "{}{dim}", if n == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

fn input_name(plan: &Plan, position: usize) -> String {
    match plan.inputs[position].name.as_deref() {
        None => format!("in{position}"),
        Some(name) if is_bare_input(name) => name.to_owned(),
        Some(name) => Quoted(name).to_string(),
    }
}

fn write_source(f: &mut Formatter<'_>, names: &[String], source: Source) -> fmt::Result {
    match source {
        // A plan that is not well-formed prints, too.
        Source::Input(i) => match names.get(i as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "in{i}"),
        },
        Source::Def(q) => QueryId(q).fmt(f),
    }
}

fn write_symbol(f: &mut Formatter<'_>, symbol: &Symbol) -> fmt::Result {
    match symbol.bounds() {
        (0, MAX_SIZE) => writeln!(f, "size {symbol}"),
        (lo, hi) => writeln!(f, "size {symbol} in {lo}..={hi}"),
    }
}

fn write_guard(f: &mut Formatter<'_>, guard: &Guard) -> fmt::Result {
    let reason = guard.reason.as_str();
    let plain = !reason.starts_with('"') && !reason.contains(['\n', '\r']);
    write!(f, "guard {} because of ", guard.condition)?;
    if plain { writeln!(f, "{reason}") } else { writeln!(f, "{}", Quoted(reason)) }
}

/// Operators that users defined, in the order in which they appear.
fn operators(plan: &Plan) -> Vec<UserOp> {
    let mut found: Vec<UserOp> = Vec::new();
    for query in &plan.queries {
        for node in walk(&plan.arena, query.body).0 {
            let op = match plan.arena.node(node) {
                Expr::Map { op, .. } | Expr::Reduce { op: ReduceOp::By(op), .. } => *op,
                Expr::Reduce { .. }
                | Expr::Const(_)
                | Expr::Number(_)
                | Expr::Size(_)
                | Expr::Read { .. }
                | Expr::Call { .. } => continue,
            };
            if let Op::User(user) = op
                && !found.contains(&user)
            {
                found.push(user);
            }
        }
    }
    found
}

/// The definition of an operator: its laws, and a line for each step. `op0_` makes its name one that no other has.
fn write_operator(f: &mut Formatter<'_>, n: usize, user: UserOp) -> fmt::Result {
    let body = user.body();
    let args: Vec<&str> = body.args.iter().map(|dtype| dtype.name()).collect();
    write!(f, "operator op{n}_{}({})", body.name, args.join(", "))?;
    let laws = &body.laws;
    let said = [
        ("commutative", laws.commutative),
        ("associative", laws.associative),
        ("idempotent", laws.idempotent),
    ];
    for (word, _) in said.iter().filter(|(_, said)| *said) {
        write!(f, " {word}")?;
    }
    if let Some(e) = laws.identity {
        write!(f, " identity {}", e.scalar(body.args[0]))?;
    }
    for law in &laws.annihilators {
        let (value, result) = (law.value.scalar(body.args[0]), law.result.scalar(user.result()));
        write!(f, " annihilator {} {value} {result}", law.position)?;
    }
    for over in &laws.distributes_over {
        write!(f, " over {}", over.name())?;
    }
    f.write_str(" {\n")?;
    for (k, step) in body.steps.iter().enumerate() {
        write!(f, "  x{} = ", body.args.len() + k)?;
        match step {
            Step::Const(c) => c.fmt(f)?,
            Step::Apply(op, args) => {
                f.write_str(op.name())?;
                if let Op::Cast(to) = op {
                    write!(f, "<{to}>")?;
                }
                let args: Vec<String> = args.iter().map(|arg| format!("x{arg}")).collect();
                write!(f, "({})", args.join(", "))?;
            }
        }
        f.write_str("\n")?;
    }
    writeln!(f, "  x{}\n}}", body.output)
}

/// The expression of one query and which of its parts have names.
struct Body<'p> {
    plan: &'p Plan,
    names: &'p [String],
    operators: &'p [UserOp],
    id: QueryId,
    /// Parts with a line of their own, in order.
    parts: Vec<ExprId>,
    part_of: FxHashMap<ExprId, usize>,
}

impl<'p> Body<'p> {
    fn new(plan: &'p Plan, names: &'p [String], operators: &'p [UserOp], id: QueryId) -> Body<'p> {
        let root = plan.query(id).body;
        let (order, uses) = walk(&plan.arena, root);
        let mut parts = Vec::new();
        let mut part_of = FxHashMap::default();
        // Depth and number of nodes that each node would add to the line of its reader.
        let mut inline: FxHashMap<ExprId, (usize, usize)> = FxHashMap::default();
        for node in order {
            let (mut depth, mut nodes) = (0, 1);
            for child in plan.arena.node(node).children() {
                let (below, more) = inline[child];
                depth = depth.max(below + 1);
                nodes += more;
            }
            let is_leaf = plan.arena.node(node).children().is_empty();
            let too_much = uses[&node] > 1 || depth >= MAX_NEST || nodes > MAX_INLINE;
            if node != root && !is_leaf && too_much {
                part_of.insert(node, parts.len());
                parts.push(node);
                (depth, nodes) = (0, 1);
            }
            inline.insert(node, (depth, nodes));
        }
        Body { plan, names, operators, id, parts, part_of }
    }

    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let query = self.plan.query(self.id);
        write!(f, "{} ", self.id)?;
        if is_bare(&query.word) {
            f.write_str(&query.word)?
        } else {
            Quoted(&query.word).fmt(f)?
        }
        write!(f, ": {}{}", query.dtype, List(&query.shape))?;
        if self.parts.is_empty() {
            f.write_str(" = ")?;
            self.node(f, query.body)?;
            return f.write_str("\n");
        }
        f.write_str(" {\n")?;
        for (n, &part) in self.parts.iter().enumerate() {
            write!(f, "  e{n} = ")?;
            self.node(f, part)?;
            f.write_str("\n")?;
        }
        f.write_str("  ")?;
        self.node(f, query.body)?;
        f.write_str("\n}\n")
    }

    fn operator(&self, f: &mut Formatter<'_>, op: Op) -> fmt::Result {
        if let Op::User(user) = op
            && let Some(n) = self.operators.iter().position(|known| *known == user)
        {
            write!(f, "op{n}_")?;
        }
        f.write_str(op.name())
    }

    /// A part by name, anything else written out.
    fn operand(&self, f: &mut Formatter<'_>, id: ExprId) -> fmt::Result {
        match self.part_of.get(&id) {
            Some(n) => write!(f, "e{n}"),
            None => self.node(f, id),
        }
    }

    /// Recursion ends at parts, which is at most [`MAX_NEST`] away.
    fn node(&self, f: &mut Formatter<'_>, id: ExprId) -> fmt::Result {
        match self.plan.arena.node(id) {
            Expr::Const(c) => c.fmt(f),
            Expr::Number(n) => write!(f, "n{n}"),
            Expr::Size(dim) => write!(f, "size({dim})"),
            Expr::Read { source, at } => {
                write_source(f, self.names, *source)?;
                List(at).fmt(f)
            }
            Expr::Map { op, args } => {
                self.operator(f, *op)?;
                if let Op::Cast(to) = op {
                    write!(f, "<{to}>")?;
                }
                f.write_str("(")?;
                for (n, &arg) in args.iter().enumerate() {
                    f.write_str(if n == 0 { "" } else { ", " })?;
                    self.operand(f, arg)?;
                }
                f.write_str(")")
            }
            Expr::Call { function, args, output } => {
                write!(f, "call {function}")?;
                for (n, &arg) in args.iter().enumerate() {
                    f.write_str(if n == 0 { " " } else { ", " })?;
                    write_source(f, self.names, arg)?;
                }
                write!(f, " output {output}")
            }
            Expr::Reduce { op, tree, index, extent, body } => {
                if let ReduceOp::By(by) = op {
                    self.operator(f, *by)?;
                } else {
                    f.write_str(op.name())?;
                }
                write!(f, "<{}>({index} < {extent}: ", tree.name())?;
                self.operand(f, *body)?;
                f.write_str(")")
            }
        }
    }
}

/// All nodes below `root`, children first and left to right, so that the order follows from the structure alone; and
/// how often each is used.
fn walk(arena: &ExprArena, root: ExprId) -> (Vec<ExprId>, FxHashMap<ExprId, usize>) {
    let mut order = Vec::new();
    let mut uses: FxHashMap<ExprId, usize> = FxHashMap::default();
    let mut todo = vec![(root, false)];
    while let Some((id, children_done)) = todo.pop() {
        if children_done {
            order.push(id);
            continue;
        }
        let used = uses.entry(id).or_insert(0);
        *used += 1;
        if *used == 1 {
            todo.push((id, true));
            todo.extend(arena.node(id).children().iter().rev().map(|&child| (child, false)));
        }
    }
    (order, uses)
}
