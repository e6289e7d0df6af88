//! Messages that underline the place.

use crate::ast::Span;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A mistake in a program, for its author.
///
/// ```
/// use tj_cli::{Diagnostic, Style};
///
/// let source = "y = a < b < c";
/// let errors = tj_cli::parse_program(source).unwrap_err();
/// let text = Diagnostic::from(&errors[0]).render("y.tj", source, Style::Plain);
/// assert!(text.starts_with("error: comparisons do not chain\n --> y.tj:1:11\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong; names the value and the bound.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A few words under the place, or nothing.
    pub label: String,
    /// Other places that matter, each with a few words.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub notes: Vec<String>,
}

/// Whether a message has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// Colours as terminal escapes.
    Styled,
}

impl Style {
    /// Colours when standard error is a terminal and `NO_COLOR` is not set.
    #[must_use]
    pub fn of_stderr() -> Style {
        use std::io::IsTerminal;
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && std::io::stderr().is_terminal() { Style::Styled } else { Style::Plain }
    }
}

impl Diagnostic {
    /// A message about a place, without label or notes.
    #[must_use]
    pub fn new(message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic {
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The message with the lines it speaks of. `origin` is the file's name; line breaks end the text.
    #[must_use]
    pub fn render(&self, origin: &str, source: &str, style: Style) -> String {
        let clamp = |span: Span| {
            let start = source.floor_char_boundary(span.range().start);
            start..source.ceil_char_boundary(span.range().end).max(start)
        };
        let mut primary = AnnotationKind::Primary.span(clamp(self.span));
        if !self.label.is_empty() {
            primary = primary.label(&*self.label);
        }
        let related =
            self.related.iter().map(|(span, text)| AnnotationKind::Context.span(clamp(*span)).label(&**text));
        let snippet = Snippet::source(source).path(origin).annotation(primary).annotations(related);
        let group = Level::ERROR
            .primary_title(&*self.message)
            .element(snippet)
            .elements(self.notes.iter().map(|note| Level::NOTE.message(&**note)));
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Styled => Renderer::styled(),
        };
        let mut text = renderer.render(&[group]);
        text.push('\n');
        text
    }
}
