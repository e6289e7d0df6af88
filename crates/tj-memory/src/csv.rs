//! The text format of the MiniMalloc benchmarks.
//!
//! A header names the columns, in any order: `id`, `lower`, `upper` and `size` are required, `alignment` (1
//! unless given) and `offset` are optional. Lifetimes are half-open, `lower..upper`. There is no quoting.
//!
//! ```text
//! id,lower,upper,size
//! b1,0,3,4
//! ```

use std::fmt::Write as _;

use crate::{Error, Interval};

/// Named intervals, and offsets if the text had them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Problem {
    /// One name an interval.
    pub names: Vec<String>,
    /// What to place.
    pub intervals: Vec<Interval>,
    /// One offset an interval, if there was such a column.
    pub offsets: Option<Vec<u64>>,
}

/// Reads a problem.
///
/// ```
/// let problem = tj_memory::parse_csv("id,lower,upper,size\nb1,0,3,4\n")?;
/// assert_eq!(problem.intervals[0].last, 2);
///
/// let error = tj_memory::parse_csv("id,lower,upper,size\nb1,0,x,4\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 6: expected the step after the last (a whole number), found `x`");
/// # Ok::<(), tj_memory::Error>(())
/// ```
pub fn parse_csv(text: &str) -> Result<Problem, Error> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let (header, line) = lines.next().unwrap_or(("", 1));
    let columns = Columns::parse(header, line)?;
    let mut problem = Problem { offsets: columns.offset.map(|_| Vec::new()), ..Problem::default() };
    for (text, line) in lines {
        let row = Row { fields: fields(text), line };
        if row.fields.len() != columns.count {
            let end = text.chars().count() + 1;
            let found = format!("{} columns", row.fields.len());
            return Err(expected(line, end, "as many columns as the header has", found));
        }
        let first = row.number(columns.lower, "the first step (a whole number)")?;
        let upper = row.number(columns.upper, "the step after the last (a whole number)")?;
        let size = row.number(columns.size, "a size in bytes (a whole number)")?;
        let align = match columns.alignment {
            Some(column) => row.number(column, "an alignment (a power of two)")?,
            None => 1,
        };
        if upper <= first {
            return Err(row.expected(columns.upper, "a step after `lower`"));
        }
        if let Some(column) = columns.alignment
            && !align.is_power_of_two()
        {
            return Err(row.expected(column, "an alignment (a power of two)"));
        }
        problem.names.push(row.fields[columns.id].1.to_owned());
        problem.intervals.push(Interval { first, last: upper - 1, size, align });
        if let (Some(column), Some(offsets)) = (columns.offset, &mut problem.offsets) {
            offsets.push(row.number(column, "an offset (a whole number)")?);
        }
    }
    Ok(problem)
}

/// Writes a problem, with offsets if it has them and alignments if any is not 1.
///
/// ```
/// let mut problem = tj_memory::parse_csv("id,lower,upper,size\nb1,0,3,4\n")?;
/// problem.offsets = Some(tj_memory::pack(&problem.intervals, tj_memory::Effort::Bind)?.offsets);
/// assert_eq!(tj_memory::to_csv(&problem), "id,lower,upper,size,offset\nb1,0,3,4,0\n");
/// # Ok::<(), tj_memory::Error>(())
/// ```
pub fn to_csv(problem: &Problem) -> String {
    let aligned = problem.intervals.iter().any(|interval| interval.align != 1);
    let mut text = String::from("id,lower,upper,size");
    text.push_str(if aligned { ",alignment" } else { "" });
    text.push_str(if problem.offsets.is_some() { ",offset\n" } else { "\n" });
    for (index, (name, interval)) in problem.names.iter().zip(&problem.intervals).enumerate() {
        let Interval { first, last, size, align } = interval;
        // The half-open end of a lifetime that ends with the last representable step is one more than u64
        // holds.
        let upper = u128::from(*last) + 1;
        write!(text, "{name},{first},{upper},{size}").expect("writing to a string cannot fail");
        if aligned {
            write!(text, ",{align}").expect("writing to a string cannot fail");
        }
        if let Some(offset) = problem.offsets.as_ref().and_then(|offsets| offsets.get(index)) {
            write!(text, ",{offset}").expect("writing to a string cannot fail");
        }
        text.push('\n');
    }
    text
}

struct Columns {
    count: usize,
    id: usize,
    lower: usize,
    upper: usize,
    size: usize,
    alignment: Option<usize>,
    offset: Option<usize>,
}

impl Columns {
    fn parse(header: &str, line: usize) -> Result<Self, Error> {
        let names = fields(header);
        let find = |wanted: &str| names.iter().position(|&(_, name)| name.eq_ignore_ascii_case(wanted));
        let need = |wanted: &str, what: &'static str| {
            find(wanted).ok_or_else(|| expected(line, 1, what, header.trim().to_owned()))
        };
        Ok(Self {
            count: names.len(),
            id: need("id", "a header with a column `id`")?,
            lower: need("lower", "a header with a column `lower`")?,
            upper: need("upper", "a header with a column `upper`")?,
            size: need("size", "a header with a column `size`")?,
            alignment: find("alignment"),
            offset: find("offset"),
        })
    }
}

struct Row<'a> {
    fields: Vec<(usize, &'a str)>,
    line: usize,
}

impl Row<'_> {
    fn number(&self, column: usize, what: &'static str) -> Result<u64, Error> {
        self.fields[column].1.parse().map_err(|_| self.expected(column, what))
    }

    fn expected(&self, column: usize, what: &'static str) -> Error {
        let (start, field) = self.fields[column];
        expected(self.line, start, what, field.to_owned())
    }
}

/// The trimmed fields of a line, each with the column of its first character, counted from 1.
fn fields(line: &str) -> Vec<(usize, &str)> {
    let mut column = 1;
    line.split(',')
        .map(|field| {
            let blank = field.chars().take_while(|c| c.is_whitespace()).count();
            let start = column + blank;
            column += field.chars().count() + 1;
            (start, field.trim())
        })
        .collect()
}

fn expected(line: usize, column: usize, expected: &'static str, found: String) -> Error {
    Error::Csv { line, column, expected, found }
}
