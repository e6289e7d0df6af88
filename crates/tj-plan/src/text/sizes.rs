//! Reading sizes, which have a parser of their own, where they stand in a plan.

use tj_ir::DimError;
use tj_ir::dim::{Dim, Symbol};
use tj_ir::text::{Cursor, Parsed};

/// Sizes separated by commas up to `close`, which is passed.
pub(super) fn sizes(
    cursor: &mut Cursor<'_>,
    close: char,
    symbol: &dyn Fn(&str) -> Option<Symbol>,
) -> Parsed<Vec<Dim>> {
    let start = cursor.place();
    let text = cursor.text();
    let mut sizes = Vec::new();
    let (mut depth, mut from) = (0usize, start);
    for (n, c) in text[start..].char_indices() {
        let here = start + n;
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if depth > 0 && c != '\n' => {}
            '\n' => break,
            ',' => {
                sizes.push(size(cursor, from, here, symbol)?);
                from = here + 1;
            }
            _ if c == close => {
                if !sizes.is_empty() || !text[from..here].trim().is_empty() {
                    sizes.push(size(cursor, from, here, symbol)?);
                }
                cursor.back_to(here + c.len_utf8());
                return Ok(sizes);
            }
            _ => {}
        }
    }
    Err(cursor.error_at(start, &format!("sizes and then `{close}`")))
}

/// The size that is written in `from..to`.
pub(super) fn size(
    cursor: &Cursor<'_>,
    from: usize,
    to: usize,
    symbol: &dyn Fn(&str) -> Option<Symbol>,
) -> Parsed<Dim> {
    let text = &cursor.text()[from..to];
    let lead = text.len() - text.trim_start().len();
    Dim::parse(text.trim(), &mut |name| symbol(name)).map_err(|error| {
        if let DimError::Parse { at, message, .. } = &error {
            let expected = message.strip_prefix("expected ").map(str::to_owned);
            let expected = expected.unwrap_or_else(|| format!("a size ({message})"));
            return cursor.error_at(from + lead + at, &expected);
        }
        cursor.error_at(from + lead, &format!("a size ({error})"))
    })
}
