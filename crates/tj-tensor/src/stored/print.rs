//! Printing what is stored by levels: the entries that differ from the fill, then what the rest is.

use std::fmt;

use super::Stored;
use crate::Tensor;

/// As many entries are printed at either end of a long list.
const EDGE: usize = 10;

/// `(0, 3)  2.5` a line an entry, in row-major order, then `2 of 12 elements differ from 0.0f64, stored as csr`.
pub(crate) fn entries(tensor: &Tensor, stored: &Stored, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Too large to be listed is too large to be printed.
    let Ok((coordinates, values)) = tensor.to_entries() else {
        return write!(f, "{} values stored as {}", stored.leaf_positions(), stored.format());
    };
    let n = values.shape()[0];
    let columns: Vec<Vec<i64>> =
        coordinates.iter().map(Tensor::to_vec).collect::<Result<_, _>>().map_err(|_| fmt::Error)?;
    let texts = crate::print::column(&values, (0..n).filter(|i| *i < EDGE || *i + EDGE >= n));
    let mut texts = texts.iter();
    let width = |column: &Vec<i64>| column.iter().map(|c| c.to_string().len()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(width).collect();
    for i in 0..n {
        if (EDGE..n.saturating_sub(EDGE)).contains(&i) {
            if i == EDGE {
                writeln!(f, "...")?;
            }
            continue;
        }
        let cells = columns.iter().zip(&widths).map(|(column, &width)| format!("{:>width$}", column[i]));
        let text = texts.next().map_or("", String::as_str);
        writeln!(f, "({})  {}", cells.collect::<Vec<_>>().join(", "), text.trim_end())?;
    }
    let total = crate::shape::wide_count(tensor.shape());
    let what = if n == 1 { "element differs" } else { "elements differ" };
    let of = if total == u128::MAX { String::new() } else { format!(" of {total}") };
    write!(f, "{n}{of} {what} from {}, stored as {}", stored.fill(), stored.format())
}
