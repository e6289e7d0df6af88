//! The text of formats, one grammar wherever formats are written.
//!
//! ```text
//! format = name | "{" level ("," level)* "}" leaf? | "{" "}" leaf?
//! name   = "csr" | "csc" | "dcsr" | "dia" | "bcsr(R, C)" | "dense(RANK)" | "csf(RANK)" | "coo(RANK)"
//! level  = coordinate ":" kind options?
//! coordinate = "d0" | "d0/2" | "d0%2" | "d1-d0"
//! kind   = "dense" | "compressed" | "singleton" | "bytemap" | "bitmap" | "hash" | "runs" | "steps" | "band" | "blocks"
//!        | "interval" "(" edge ".." edge ")"
//! options = "(" ("unordered" | "repeated" | width | width "," width) ... ")"     width = "u8" | "u16" | "u32" | "u64"
//! edge   = nothing | 7 | "+" 7 | "-" 7                                          (with a sign: from the coordinate above)
//! leaf   = "iso" | "pattern"
//! ```
//! The first width is that of coordinates, the second that of positions. A format that is one of the names, but for
//! widths, prints as the name; print, parse, print is the identity.

use std::fmt;
use std::str::FromStr;

use super::{Coordinate, Edge, Format, LeafKind, LevelFormat, LevelKind, Order, Repeats, Width, Widths};
use crate::TensorError;

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "u{}", 8 * self.bytes())
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coordinate::Dim(dim) => write!(f, "d{dim}"),
            Coordinate::Quotient { dim, by } => write!(f, "d{dim}/{by}"),
            Coordinate::Remainder { dim, by } => write!(f, "d{dim}%{by}"),
            Coordinate::Difference { dim, minus } => write!(f, "d{dim}-d{minus}"),
        }
    }
}

impl fmt::Display for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, mut options) = match *self {
            LevelKind::Dense => ("dense", vec![]),
            LevelKind::Compressed { order, repeats, widths } => {
                ("compressed", listed(order, repeats, widths))
            }
            LevelKind::Singleton { order, repeats, widths } => ("singleton", listed(order, repeats, widths)),
            LevelKind::Bytemap => ("bytemap", vec![]),
            LevelKind::Bitmap => ("bitmap", vec![]),
            LevelKind::Hash { widths } => ("hash", width_names(widths)),
            LevelKind::Runs { widths } => ("runs", width_names(widths)),
            LevelKind::Steps { widths } => ("steps", width_names(widths)),
            LevelKind::Band { widths } => ("band", width_names(widths)),
            LevelKind::Blocks { widths } => ("blocks", width_names(widths)),
            LevelKind::Interval { low, high } => ("interval", vec![format!("{}..{}", edge(low), edge(high))]),
        };
        f.write_str(name)?;
        if options.is_empty() {
            return Ok(());
        }
        let last = options.pop().unwrap_or_default();
        f.write_str("(")?;
        for option in options {
            write!(f, "{option}, ")?;
        }
        write!(f, "{last})")
    }
}

fn listed(order: Order, repeats: Repeats, widths: Widths) -> Vec<String> {
    let mut options = vec![];
    if order == Order::Unordered {
        options.push("unordered".into());
    }
    if repeats == Repeats::Repeated {
        options.push("repeated".into());
    }
    options.extend(width_names(widths));
    options
}

/// Widths that are ours to choose are not written, and neither is u32.
fn width_names(widths: Widths) -> Vec<String> {
    let shown = |width: Option<Width>| width.filter(|&w| w != Width::U32);
    match (shown(widths.index), shown(widths.position)) {
        (None, None) => vec![],
        (Some(index), None) => vec![index.to_string()],
        (index, Some(position)) => vec![index.unwrap_or(Width::U32).to_string(), position.to_string()],
    }
}

fn edge(edge: Edge) -> String {
    match edge {
        Edge::Start | Edge::End => String::new(),
        Edge::At(at) => at.to_string(),
        Edge::Above(by) => format!("{by:+}"),
    }
}

/// The name, if there is one, else the levels: `csr`, or `{d0: hash, d1: compressed(u64)} iso`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(&name);
        }
        write!(f, "{}", Levels(&self.levels))?;
        f.write_str(match self.leaf {
            LeafKind::Values => "",
            LeafKind::Iso => " iso",
            LeafKind::Pattern => " pattern",
        })
    }
}

/// Levels in braces, whether they have a name or not.
struct Levels<'a>(&'a [LevelFormat]);

impl fmt::Display for Levels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (l, level) in self.0.iter().enumerate() {
            write!(f, "{}{}: {}", if l == 0 { "" } else { ", " }, level.coordinate, level.kind)?;
        }
        f.write_str("}")
    }
}

impl Format {
    /// The name of the format if it has one and its widths need not be written.
    fn name(&self) -> Option<String> {
        let plain = self.without_narrow_widths();
        let rank = self.rank;
        if rank == 2 {
            let named = [("csr", Format::csr()), ("csc", Format::csc()), ("dia", Format::dia())];
            if let Some((name, _)) = named.iter().find(|(_, format)| *format == plain) {
                return Some((*name).to_string());
            }
            if let [first, second, ..] = &plain.levels[..]
                && let (Coordinate::Quotient { by: rows, .. }, Coordinate::Quotient { by: columns, .. }) =
                    (first.coordinate, second.coordinate)
                && Format::bcsr(rows, columns).as_ref() == Ok(&plain)
            {
                return Some(format!("bcsr({rows}, {columns})"));
            }
        }
        let by_rank =
            [("dense", Format::dense(rank)), ("csf", Format::csf(rank)), ("coo", Format::coo(rank))];
        let found = by_rank.iter().find(|(_, format)| *format == plain);
        found.filter(|_| rank > 0).map(|(name, _)| format!("{name}({rank})"))
    }

    /// With u32 as if nobody had asked for it.
    fn without_narrow_widths(&self) -> Format {
        let mut plain = self.clone();
        for level in &mut plain.levels {
            if let Some(widths) = level.kind.widths_mut() {
                widths.index = widths.index.filter(|&w| w != Width::U32);
                widths.position = widths.position.filter(|&w| w != Width::U32);
            }
        }
        plain
    }
}

impl LevelKind {
    /// The widths of its arrays, if it has arrays of indices.
    pub fn widths(mut self) -> Option<Widths> {
        self.widths_mut().copied()
    }

    /// The same, to be set.
    pub fn widths_mut(&mut self) -> Option<&mut Widths> {
        match self {
            LevelKind::Compressed { widths, .. }
            | LevelKind::Singleton { widths, .. }
            | LevelKind::Hash { widths }
            | LevelKind::Runs { widths }
            | LevelKind::Steps { widths }
            | LevelKind::Band { widths }
            | LevelKind::Blocks { widths } => Some(widths),
            LevelKind::Dense | LevelKind::Bytemap | LevelKind::Bitmap | LevelKind::Interval { .. } => None,
        }
    }
}

impl FromStr for Format {
    type Err = TensorError;

    fn from_str(text: &str) -> Result<Format, TensorError> {
        let mut parser = Parser { text, rest: text };
        let format = parser.format()?;
        parser.skip();
        let is_name = !text.trim_start().starts_with('{');
        if is_name && let leaf @ ("iso" | "pattern") = parser.rest.trim_end() {
            let levels = Levels(&format.levels);
            return parser.fail(&format!("the end: a leaf follows levels in braces, as in {levels} {leaf},"));
        }
        if parser.rest.is_empty() { Ok(format) } else { parser.fail("the end") }
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn format(&mut self) -> Result<Format, TensorError> {
        if !self.eat("{") {
            return self.named();
        }
        let mut levels = vec![];
        while !self.eat("}") {
            if self.rest.starts_with("iso") || self.rest.starts_with("pattern") {
                return self.fail("a level or \"}\", which a leaf comes after,");
            }
            if !levels.is_empty() {
                self.expect(",")?;
            }
            levels.push(self.level()?);
        }
        let before = self.rest;
        let leaf = match self.word() {
            "" => LeafKind::Values,
            "iso" => LeafKind::Iso,
            "pattern" => LeafKind::Pattern,
            _ => return self.fail_at(before, "iso, pattern or the end"),
        };
        Format::new(levels, leaf)
    }

    fn named(&mut self) -> Result<Format, TensorError> {
        let before = self.rest;
        match self.word() {
            "csr" => Ok(Format::csr()),
            "csc" => Ok(Format::csc()),
            "dcsr" => Ok(Format::dcsr()),
            "dia" => Ok(Format::dia()),
            "dense" => self.rank().map(Format::dense),
            "csf" => self.rank().map(Format::csf),
            "coo" => self.rank().map(Format::coo),
            "bcsr" => {
                self.expect("(")?;
                let rows = self.number()?;
                self.expect(",")?;
                let columns = self.number()?;
                self.expect(")")?;
                Format::bcsr(rows, columns)
            }
            _ => self.fail_at(
                before,
                "csr, csc, dcsr, dia, bcsr(R, C), dense(RANK), csf(RANK), coo(RANK) or {levels}",
            ),
        }
    }

    /// A rank in parentheses; 2 without them.
    fn rank(&mut self) -> Result<usize, TensorError> {
        if !self.eat("(") {
            return Ok(2);
        }
        let rank = self.number()?;
        if rank > super::MAX_RANK {
            return self.fail("a rank of at most 64");
        }
        self.expect(")")?;
        Ok(rank)
    }

    fn level(&mut self) -> Result<LevelFormat, TensorError> {
        let dim = self.dim()?;
        let coordinate = if self.eat("/") {
            Coordinate::Quotient { dim, by: self.number()? }
        } else if self.eat("%") {
            Coordinate::Remainder { dim, by: self.number()? }
        } else if self.eat("-") {
            Coordinate::Difference { dim, minus: self.dim()? }
        } else {
            Coordinate::Dim(dim)
        };
        self.expect(":")?;
        Ok(LevelFormat { coordinate, kind: self.kind()? })
    }

    fn dim(&mut self) -> Result<usize, TensorError> {
        if self.eat("d") { self.number() } else { self.fail("a dimension such as d0") }
    }

    fn kind(&mut self) -> Result<LevelKind, TensorError> {
        let (order, repeats, widths) = (Order::Ordered, Repeats::Unique, Widths::default());
        let before = self.rest;
        let mut kind = match self.word() {
            "dense" => LevelKind::Dense,
            "compressed" => LevelKind::Compressed { order, repeats, widths },
            "singleton" => LevelKind::Singleton { order, repeats, widths },
            "bytemap" => LevelKind::Bytemap,
            "bitmap" => LevelKind::Bitmap,
            "hash" => LevelKind::Hash { widths },
            "runs" => LevelKind::Runs { widths },
            "steps" => LevelKind::Steps { widths },
            "band" => LevelKind::Band { widths },
            "blocks" => LevelKind::Blocks { widths },
            "interval" => {
                self.expect("(")?;
                let low = self.edge(Edge::Start)?;
                self.expect("..")?;
                let high = self.edge(Edge::End)?;
                self.expect(")")?;
                return Ok(LevelKind::Interval { low, high });
            }
            "iso" | "pattern" => {
                return self.fail_at(before, "a kind of level; a leaf comes after the braces,");
            }
            _ => {
                return self.fail_at(
                    before,
                    "dense, compressed, singleton, bytemap, bitmap, hash, runs, steps, band, blocks or interval",
                );
            }
        };
        if self.eat("(") {
            self.options(&mut kind)?;
        }
        Ok(kind)
    }

    fn options(&mut self, kind: &mut LevelKind) -> Result<(), TensorError> {
        let mut n_widths = 0;
        loop {
            let width = match self.word() {
                "u8" => Width::U8,
                "u16" => Width::U16,
                "u32" => Width::U32,
                "u64" => Width::U64,
                option @ ("unordered" | "repeated") => {
                    let (LevelKind::Compressed { order, repeats, .. }
                    | LevelKind::Singleton { order, repeats, .. }) = kind
                    else {
                        return self.fail("no such option: only lists are unordered or repeated");
                    };
                    match option {
                        "unordered" => *order = Order::Unordered,
                        _ => *repeats = Repeats::Repeated,
                    }
                    if self.eat(")") {
                        return Ok(());
                    }
                    self.expect(",")?;
                    continue;
                }
                _ => return self.fail("unordered, repeated, u8, u16, u32 or u64"),
            };
            let Some(widths) = kind.widths_mut() else {
                return self.fail("no width: this kind has no arrays of indices");
            };
            match n_widths {
                0 => widths.index = Some(width),
                1 => widths.position = Some(width),
                _ => return self.fail("at most two widths"),
            }
            n_widths += 1;
            if self.eat(")") {
                return Ok(());
            }
            self.expect(",")?;
        }
    }

    fn edge(&mut self, absent: Edge) -> Result<Edge, TensorError> {
        let sign = if self.eat("+") {
            1
        } else if self.eat("-") {
            -1
        } else {
            self.skip();
            let digit = self.rest.starts_with(|c: char| c.is_ascii_digit());
            return if digit { self.number().map(Edge::At) } else { Ok(absent) };
        };
        let by = self.number()?;
        match isize::try_from(by) {
            Ok(by) => Ok(Edge::Above(sign * by)),
            Err(_) => self.fail("a smaller distance"),
        }
    }

    fn number(&mut self) -> Result<usize, TensorError> {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        match self.rest[..end].parse() {
            Ok(number) => {
                self.rest = &self.rest[end..];
                Ok(number)
            }
            Err(_) => self.fail("a number"),
        }
    }

    /// Letters and digits, possibly none.
    fn word(&mut self) -> &'a str {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), TensorError> {
        if self.eat(token) { Ok(()) } else { self.fail(&format!("{token:?}")) }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// [`Parser::fail`] where the rest was `before`.
    fn fail_at<T>(&mut self, before: &'a str, expected: &str) -> Result<T, TensorError> {
        self.rest = before.trim_start();
        self.fail(expected)
    }

    fn fail<T>(&self, expected: &str) -> Result<T, TensorError> {
        let at = self.text.len() - self.rest.len();
        let text = self.text;
        Err(TensorError::Format { reason: format!("expected {expected} at column {} of {text:?}", at + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_parse_print_is_the_identity() {
        for text in [
            "csr",
            "csc",
            "dia",
            "bcsr(2, 3)",
            "csf(2)",
            "csf(5)",
            "coo(3)",
            "dense(2)",
            "{}",
            "{} iso",
            "{d0: hash, d1: compressed(u64)} iso",
            "{d0: dense, d1: compressed(unordered, u64, u16)}",
            "{d0: compressed(repeated, u32, u64), d1: singleton(unordered)}",
            "{d1: bytemap, d0: bitmap} pattern",
            "{d0: dense, d1: interval(-1..+2)} iso",
            "{d0: dense, d1: interval(..+1)}",
            "{d0: interval(3..4)} pattern",
            "{d0: dense, d1: interval(..)}",
            "{d0: dense, d1: runs(u64)}",
            "{d0: steps, d1/4: dense, d1%4: blocks}",
        ] {
            let parsed = text.parse::<Format>();
            if text.contains("steps") {
                assert!(parsed.is_err());
                continue;
            }
            assert_eq!(parsed.unwrap().to_string(), text);
        }
        assert_eq!("dcsr".parse::<Format>().unwrap(), Format::csf(2));
        assert_eq!("coo".parse::<Format>().unwrap(), Format::coo(2));
        assert_eq!("{d0: dense, d1: compressed(u32)}".parse::<Format>().unwrap().to_string(), "csr");
    }

    #[track_caller]
    fn refused(text: &str, reason: &str) {
        let error = text.parse::<Format>().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn refusals_say_what_is_wrong() {
        refused("csx", "expected csr, csc, dcsr");
        refused(" csx", "{levels} at column 2 of \" csx\"");
        refused(
            "csr iso",
            "expected the end: a leaf follows levels in braces, as in {d0: dense, d1: compressed} iso, at column 5",
        );
        refused("coo(1) pattern ", "as in {d0: compressed} pattern, at column 8");
        refused("{d0: dense iso}", "expected a level or \"}\", which a leaf comes after, at column 12");
        refused("{iso}", "which a leaf comes after, at column 2");
        refused(
            "{d0: dense, d1: pattern}",
            "expected a kind of level; a leaf comes after the braces, at column 17",
        );
        refused("{d0: dense} iso iso", "expected the end at column 17");
        refused("{d0: dense d1: dense}", "expected \",\" at column 12");
        refused("{d0: dense, d0: compressed}", "dimension 0 is stored by 2 levels");
        refused("{d1: dense}", "no level stores dimension 0");
        refused("{d0/2: dense, d0%3: dense}", "do not give it exactly once");
        refused("{d0/0: dense, d0%0: dense}", "blocks of size 0");
        refused("{d0: singleton}", "no level that repeats coordinates");
        refused("{d0: compressed(repeated), d1: dense}", "must be a singleton");
        refused("{d0: runs, d1: dense}", "only the innermost");
        refused("{d0: interval(+0..+1)}", "there is none");
        refused("{d1-d0: dense, d0/2: dense, d0%2: dense}", "a level of its own");
        refused("{d0: dense(u8)}", "no width");
        refused("{d0: hash(unordered)}", "only lists");
        refused("{d99999999999: dense}", "beyond the greatest rank");
        refused("bcsr(0, 1)", "size 0");
    }
}
