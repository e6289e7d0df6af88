//! An explanation as one page of HTML, well-formed as XML, without scripts.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use crate::explanation::{ArenaPlan, Explanation};
use crate::observe::Stage;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;\
background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;border-bottom:1px solid #d0d7de;margin-top:2rem}\
h2 small{font-weight:400;color:#656d76}pre{background:#f6f8fa;padding:.75rem;overflow-x:auto;border-radius:6px;\
font:13px/1.45 ui-monospace,monospace}table{border-collapse:collapse}th,td{text-align:left;padding:.2rem .8rem;\
border-bottom:1px solid #d0d7de;vertical-align:top}td.number{text-align:right;font-variant-numeric:tabular-nums}\
summary{cursor:pointer;font-family:ui-monospace,monospace;padding:.2rem 0}nav a{margin-right:1rem}\
svg{max-width:100%;height:auto;font:11px ui-monospace,monospace}svg rect.piece{fill:#cfe3ff;stroke:#2f6fbd}\
svg text{fill:#1b1f24}svg .axis{stroke:#8c959f}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}\
h2,th,td{border-color:#30363d}a{color:#6cb0ff}svg rect.piece{fill:#1d3b63;stroke:#6cb0ff}svg text{fill:#e6edf3}}";

/// Width of the drawing, of the place for offsets at its left, and heights, in its own units.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 90.0;
const HEIGHT: f64 = 300.0;
const FOOT: f64 = 22.0;

/// Pieces of an arena beyond which a drawing shows nothing; the table has them.
const DRAWN: usize = 400;

/// The page.
pub(crate) fn page(explanation: &Explanation) -> String {
    let mut page = Page(String::new());
    page.0.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    page.0.push_str("<meta name=\"viewport\" content=\"width=device-width\"/>\n");
    let _ = write!(
        page.0,
        "<title>What became of the program</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
    page.element("h1", "What became of the program");
    if let Some(cache) = &explanation.cache {
        page.section("cache", "Cache", None);
        page.element("p", cache);
        page.end();
    }
    // Where values decide sizes there are several programs, and what is known of each is its text.
    let is_staged = explanation.stages.iter().any(|(stage, ..)| *stage == Stage::Select);
    for (n, (stage, elapsed, text)) in explanation.stages.iter().enumerate() {
        let (name, title) = (stage.name(), title(*stage));
        let id = if is_staged { format!("{name}-{n}") } else { name.to_string() };
        page.section(&id, title, Some(*elapsed));
        match stage {
            Stage::Select | Stage::Derive => page.element("pre", text),
            Stage::Fuse if is_staged => page.element("pre", text),
            Stage::Kernel | Stage::Code if is_staged => page.details(title, text),
            Stage::Trace => page.details(&format!("{} lines", text.lines().count()), text),
            Stage::Plan => page.element("pre", text),
            Stage::Fuse => {
                let rows = explanation.decisions.iter();
                let rows = rows.map(|d| [d.query.to_string(), d.rule.to_string(), d.detail.clone()]);
                page.table(&["query of the plan", "decision", "because"], rows);
                let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("because ")).collect();
                page.element("pre", &kept.join("\n"));
            }
            Stage::Kernel => {
                for (name, text) in &explanation.kernels {
                    page.details(name, text);
                }
            }
            Stage::Code => {
                page.details("Cranelift", &explanation.clif);
                page.details("C", &explanation.c);
            }
            Stage::Memory => page.memory(explanation, text),
        }
        page.end();
    }
    if !explanation.times.is_empty() {
        page.section("run", "Run", Some(explanation.times.iter().map(|(_, time)| *time).sum()));
        let rows = explanation.times.iter().map(|(name, time)| [name.clone(), format!("{time:?}")]);
        page.table(&["kernel", "time"], rows);
        page.end();
    }
    page.0.push_str("</body>\n</html>\n");
    page.0
}

fn title(stage: Stage) -> &'static str {
    match stage {
        Stage::Trace => "Trace: one query an operator",
        Stage::Plan => "Plan: the canonical program",
        Stage::Derive => "Derive: which sums come first, and what is kept of them",
        Stage::Fuse => "Fuse: what shares a kernel, and why",
        Stage::Kernel => "Kernels",
        Stage::Code => "Code",
        Stage::Memory => "Memory: order, temporaries, guards",
        Stage::Select => "Select: what the library does between two programs",
    }
}

struct Page(String);

impl Page {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                other => self.0.push(other),
            }
        }
    }

    fn element(&mut self, tag: &str, text: &str) {
        let _ = write!(self.0, "<{tag}>");
        self.text(text);
        let _ = writeln!(self.0, "</{tag}>");
    }

    fn section(&mut self, id: &str, title: &str, elapsed: Option<Duration>) {
        let _ = write!(self.0, "<section id=\"{id}\">\n<h2>");
        self.text(title);
        if let Some(elapsed) = elapsed {
            let _ = write!(self.0, " <small>{elapsed:.1?}</small>");
        }
        self.0.push_str("</h2>\n");
    }

    fn end(&mut self) {
        self.0.push_str("</section>\n");
    }

    fn details(&mut self, summary: &str, text: &str) {
        self.0.push_str("<details>");
        self.element("summary", summary);
        self.element("pre", text);
        self.0.push_str("</details>\n");
    }

    fn table<const N: usize>(&mut self, head: &[&str; N], rows: impl Iterator<Item = [String; N]>) {
        self.0.push_str("<table><tr>");
        head.iter().for_each(|cell| self.element("th", cell));
        self.0.push_str("</tr>\n");
        for row in rows {
            self.0.push_str("<tr>");
            row.iter().for_each(|cell| self.element("td", cell));
            self.0.push_str("</tr>\n");
        }
        self.0.push_str("</table>\n");
    }

    fn memory(&mut self, explanation: &Explanation, text: &str) {
        if let Some(arena) = &explanation.arena {
            let saved = arena.unreused_bytes.saturating_sub(arena.bytes);
            let summary = format!(
                "{} bytes for temporaries; sharing saves {saved}, and no placement can do with less than {}.",
                arena.bytes, arena.bound_bytes
            );
            self.element("p", &summary);
            if !arena.sizes.is_empty() {
                self.element("p", &format!("With {}.", arena.sizes_text()));
            }
            self.drawing(arena);
            let rows = arena.pieces.iter().map(|piece| {
                let steps = format!("{}..={}", piece.first, piece.last);
                let bytes = format!("{}..{}", piece.offset, piece.offset + piece.bytes);
                [piece.name.clone(), steps, bytes, piece.bytes.to_string()]
            });
            self.table(&["temporary", "steps", "bytes", "length"], rows);
        }
        if !explanation.guards.is_empty() {
            self.table(
                &["what is checked when sizes are known"],
                explanation.guards.iter().map(|g| [g.clone()]),
            );
        }
        self.element("pre", text);
    }

    /// Steps from left to right, offsets upwards.
    fn drawing(&mut self, arena: &ArenaPlan) {
        let steps = arena.pieces.iter().map(|piece| piece.last + 1).max().unwrap_or(0);
        if arena.bytes == 0 || steps == 0 || arena.pieces.len() > DRAWN {
            return;
        }
        let total = HEIGHT + FOOT;
        let _ = writeln!(
            self.0,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {total}\" role=\"img\">"
        );
        self.element("title", "The arena: steps from left to right, offsets upwards");
        let x = |step: u64| LEFT + (WIDTH - LEFT) * step as f64 / steps as f64;
        let y = |offset: u64| HEIGHT - (HEIGHT - 12.0) * offset as f64 / arena.bytes as f64;
        for piece in arena.pieces.iter().filter(|piece| piece.bytes > 0) {
            let (left, right) = (x(piece.first), x(piece.last + 1));
            let (top, bottom) = (y(piece.offset + piece.bytes), y(piece.offset));
            let (width, height) = (right - left, bottom - top);
            let _ = write!(
                self.0,
                "<g><rect class=\"piece\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
            self.element("title", &format!("{}: {} bytes", piece.name, piece.bytes));
            if height >= 12.0 {
                self.label(left + 4.0, (top + bottom) / 2.0 + 4.0, &piece.name);
            }
            self.0.push_str("</g>\n");
        }
        let _ = writeln!(self.0, "<path class=\"axis\" fill=\"none\" d=\"M{LEFT} 0V{HEIGHT}H{WIDTH}\"/>");
        self.label(0.0, HEIGHT, &0);
        self.label(0.0, 12.0, &arena.bytes);
        let every = steps.div_ceil(20);
        for step in (0..steps).step_by(every as usize) {
            self.label(x(step) + 4.0, HEIGHT + 14.0, &format!("step {step}"));
        }
        self.0.push_str("</svg>\n");
    }

    fn label(&mut self, x: f64, y: f64, text: &dyn Display) {
        let _ = write!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\">");
        self.text(&text.to_string());
        self.0.push_str("</text>");
    }
}
