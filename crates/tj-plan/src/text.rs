//! Plans as text.

use std::fmt;

use tj_ir::expr::Source;
use tj_ir::{Expr, ExprId, shape_text};

use crate::plan::{Plan, QueryId};

impl Plan {
    fn source_text(&self, source: Source) -> String {
        match source {
            Source::Input(i) => {
                let name = self.inputs[i as usize].name.as_deref();
                name.map_or_else(|| format!("in{i}"), str::to_string)
            }
            Source::Def(q) => QueryId(q).to_string(),
        }
    }

    fn node_text(&self, id: ExprId, name: &dyn Fn(ExprId) -> String) -> String {
        match self.arena.node(id) {
            Expr::Const(c) => c.to_string(),
            Expr::Number(n) => format!("number {n}"),
            Expr::Size(dim) => format!("size({dim})"),
            Expr::Read { source, at } => format!("{}{}", self.source_text(*source), shape_text(at)),
            Expr::Map { op, args } => {
                let args: Vec<String> = args.iter().map(|&a| name(a)).collect();
                let word = match op {
                    tj_ir::Op::Cast(to) => format!("cast<{to}>"),
                    op => op.name().to_string(),
                };
                format!("{word}({})", args.join(", "))
            }
            Expr::Reduce { op, tree, index, extent, body } => {
                format!("{}<{}>({index} < {extent}: {})", op.name(), tree.name(), name(*body))
            }
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, input) in self.inputs.iter().enumerate() {
            let source = Source::Input(position as u32);
            writeln!(f, "input {}: {}{}", self.source_text(source), input.dtype, shape_text(&input.shape))?;
        }
        for (n, value) in self.numbers.iter().enumerate() {
            writeln!(f, "number {n} = {value}")?;
        }
        for id in self.query_ids() {
            let query = self.query(id);
            writeln!(f, "query {id} {}: {}{}", query.word, query.dtype, shape_text(&query.shape))?;
            let nodes = self.arena.reachable(&[query.body]);
            for &node in &nodes {
                let text = self.node_text(node, &|id| format!("{id}"));
                writeln!(f, "  {node} = {text}")?;
            }
        }
        for guard in &self.guards {
            writeln!(f, "guard {guard}")?;
        }
        let outputs: Vec<String> = self.produces.0.iter().map(|&s| self.source_text(s)).collect();
        writeln!(f, "produces {}", outputs.join(", "))
    }
}
