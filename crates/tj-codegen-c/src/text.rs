//! Lines with indentation.

use std::fmt::{Display, Write};

/// C text under construction.
#[derive(Debug, Default)]
pub(crate) struct Text {
    out: String,
    indent: usize,
}

impl Text {
    /// One line at the current indentation.
    pub(crate) fn line(&mut self, line: impl Display) {
        // Deep nests stop moving right: the text stays linear in the number of statements.
        for _ in 0..self.indent.min(16) {
            self.out.push_str("  ");
        }
        writeln!(self.out, "{line}").expect("a string takes any text");
    }

    /// A line that ends in `{`; what follows is inside.
    pub(crate) fn open(&mut self, line: impl Display) {
        self.line(format_args!("{line} {{"));
        self.indent += 1;
    }

    /// Ends what `open` began, with the text between its `}` and the next `{`.
    pub(crate) fn close_open(&mut self, between: impl Display) {
        self.indent -= 1;
        self.line(format_args!("}} {between} {{"));
        self.indent += 1;
    }

    /// Ends what `open` began.
    pub(crate) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// The depth of open blocks.
    pub(crate) fn depth(&self) -> usize {
        self.indent
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// Text that is safe inside a C comment: one line, and no end of comment.
pub(crate) fn comment(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || c == '\\' { ' ' } else { c })
        .collect::<String>()
        .replace("*/", "* /")
}
