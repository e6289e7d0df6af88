//! The arena and the statements over it.

use super::{Expr, ExprId, Ident, Span, Stmt, StmtKind};
use std::collections::HashSet;

/// A whole program: its statements and the arena they point into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    exprs: Vec<Expr>,
    spans: Vec<Span>,
    /// The statements, in order.
    pub stmts: Vec<Stmt>,
}

impl Program {
    /// Adds an expression, whose children are already here.
    ///
    /// # Panics
    ///
    /// When the arena holds 2^32 expressions, which takes a source text far above
    /// [`MAX_SOURCE_BYTES`](crate::parse::MAX_SOURCE_BYTES).
    pub fn add(&mut self, expr: Expr, span: Span) -> ExprId {
        let id =
            ExprId(u32::try_from(self.exprs.len()).expect("an expression takes at least a byte of source"));
        expr.for_each_child(|child| debug_assert!(child < id, "{child} is used before it is added"));
        self.exprs.push(expr);
        self.spans.push(span);
        id
    }

    /// The expression `id` names.
    #[must_use]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// Where an expression stands. Parentheses around the whole are left out.
    #[must_use]
    pub fn span(&self, id: ExprId) -> Span {
        self.spans[id.index()]
    }

    /// All expressions, children before parents, in the order of the text.
    pub fn exprs(&self) -> impl DoubleEndedIterator<Item = (ExprId, &Expr)> + ExactSizeIterator {
        self.exprs.iter().enumerate().map(|(i, expr)| (ExprId(i as u32), expr))
    }

    /// The names the program uses as values without declaring or binding them before, by first use.
    ///
    /// ```
    /// let program = tj_cli::parse_expression("relu(x @ w + b).sum(axis=1)").unwrap();
    /// let names: Vec<_> = program.free_names().into_iter().map(|name| name.text).collect();
    /// assert_eq!(names, ["x", "w", "b"]);
    /// ```
    #[must_use]
    pub fn free_names(&self) -> Vec<Ident> {
        let index_names = self.einop_indices();
        let mut known = HashSet::new();
        let mut free = Vec::new();
        // Expressions of a statement are contiguous and in its order, so one cursor walks both lists.
        let mut exprs = self.exprs().peekable();
        for stmt in &self.stmts {
            let last = match &stmt.kind {
                StmtKind::Size { .. } => None,
                StmtKind::Input { dims, fill, .. } => fill.or(dims.last().copied()),
                StmtKind::Bind { value, .. } | StmtKind::Einop { value, .. } | StmtKind::Result { value } => {
                    Some(*value)
                }
                StmtKind::Output { name, value } => {
                    if value.is_none() && known.insert(name.text.as_str()) {
                        free.push(name.clone());
                    }
                    *value
                }
            };
            while let Some((id, expr)) = exprs.next_if(|(id, _)| Some(*id) <= last) {
                if let Expr::Name(text) = expr
                    && !index_names[id.index()]
                    && known.insert(text)
                {
                    free.push(Ident { text: text.clone(), span: self.span(id) });
                }
            }
            match &stmt.kind {
                StmtKind::Size { name, .. }
                | StmtKind::Input { name, .. }
                | StmtKind::Bind { name, .. }
                | StmtKind::Output { name, .. }
                | StmtKind::Einop { target: name, .. } => {
                    known.insert(&name.text);
                }
                StmtKind::Result { .. } => {}
            }
        }
        free
    }

    /// Which expressions are part of an index-notation statement, by id.
    pub(crate) fn in_index_notation(&self) -> Vec<bool> {
        self.einop_parts().0
    }

    /// Which expressions stand inside a subscript of an index-notation statement, by id.
    fn einop_indices(&self) -> Vec<bool> {
        self.einop_parts().1
    }

    /// For each expression whether it is part of an index-notation statement, and whether it stands in a subscript there.
    fn einop_parts(&self) -> (Vec<bool>, Vec<bool>) {
        let mut inside = vec![false; self.exprs.len()];
        let mut in_einop = vec![false; self.exprs.len()];
        for stmt in &self.stmts {
            if let StmtKind::Einop { value, .. } = &stmt.kind {
                in_einop[value.index()] = true;
            }
        }
        // Parents come after children, so going backwards every mark is final before it is passed down.
        for (id, expr) in self.exprs().rev() {
            if !in_einop[id.index()] {
                continue;
            }
            let below = inside[id.index()];
            expr.for_each_child(|child| {
                in_einop[child.index()] = true;
                inside[child.index()] = below;
            });
            if let Expr::Index { base, subscripts } = expr {
                inside[base.index()] = false; // `B` in `A[B[i]]` is a tensor
                for subscript in subscripts {
                    subscript.for_each_child(|child| inside[child.index()] = true);
                }
            }
        }
        (in_einop, inside)
    }
}
