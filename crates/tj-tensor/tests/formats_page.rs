//! `docs/formats.md` shows the arrays of real tensors.
//!
//! A fence of the page that begins with `text matrix A` holds a matrix, with dots for zeros; a tensor of rank 3 is matrices
//! with empty lines between them. A fence that begins with `text A as FORMAT` holds what this test writes there: the elements,
//! the place of each among the stored values, and the arrays. `UPDATE_EXPECT=1` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use tj_tensor::{Buffer, Format, Leaf, LeafKind, Level, Scalar, Tensor};

/// What a page about all formats must show.
const KINDS: [&str; 11] = [
    "dense",
    "compressed",
    "singleton",
    "bytemap",
    "bitmap",
    "hash",
    "runs",
    "steps",
    "band",
    "blocks",
    "interval",
];

/// Numbers that stand together, such as the coordinates of a fiber.
type Groups = Vec<Vec<String>>;

#[test]
fn the_page_shows_real_arrays() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md")).unwrap();
    let mut matrices = BTreeMap::new();
    let mut shown = String::new();
    let mut written = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        let Some(title) = line.strip_prefix("```text ") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(name) = title.strip_prefix("matrix ") {
            matrices.insert(name.to_string(), parse(&body));
            written += &format!("{}\n```\n", body.join("\n"));
        } else {
            let (name, format) = title.split_once(" as ").unwrap();
            let format: Format = format.parse().unwrap();
            let levels =
                format.levels().iter().map(|level| format!("{}: {}\n", level.coordinate, level.kind));
            shown += &format!("{}{:?}\n", levels.collect::<String>(), format.leaf());
            written += &format!("{}```\n", drawn(&matrices[name], &format));
        }
    }
    expect_test::expect_file!["../../../docs/formats.md"].assert_eq(&written);
    let missing = |kind: &&&str| !shown.contains(&format!(": {kind}"));
    assert_eq!(KINDS.iter().filter(missing).collect::<Vec<_>>(), [&""; 0]);
    assert!(shown.contains("Iso") && shown.contains("Pattern"));
}

/// A tensor of rank 2, or 3 if empty lines are in it.
fn parse(body: &[&str]) -> Tensor {
    let number = |token: &str| if token == "." { 0 } else { token.parse::<i64>().unwrap() };
    let slices: Vec<Vec<Vec<i64>>> = body
        .split(|line| line.is_empty())
        .map(|slice| slice.iter().map(|row| row.split_whitespace().map(number).collect()).collect())
        .collect();
    let shape = [slices.len(), slices[0].len(), slices[0][0].len()];
    let values: Vec<i64> = slices.iter().flatten().flatten().copied().collect();
    let tensor = Tensor::from_shape_vec(shape, values).unwrap();
    if slices.len() == 1 { tensor.squeeze([0]).unwrap() } else { tensor }
}

fn drawn(matrix: &Tensor, format: &Format) -> String {
    let matrix = if format.rank() == 1 { matrix.squeeze([0]).unwrap() } else { matrix.clone() };
    let matrix = if format.leaf() == LeafKind::Pattern {
        matrix.cast(tj_tensor::DType::Bool).unwrap()
    } else {
        matrix
    };
    let x = matrix.with_format(format).unwrap();
    assert!(x.bit_eq(&matrix));
    let mut text = picture(&x);
    let mut rows: Vec<(String, &str, Groups)> = vec![];
    let label = |l: usize| format!("{}: {}", x.format().levels()[l].coordinate, x.format().levels()[l].kind);
    match x.stored() {
        None => (0..x.rank()).for_each(|l| rows.push((label(l), "", vec![]))),
        Some(stored) => {
            let mut above = 1;
            for (l, level) in stored.levels().iter().enumerate() {
                let arrays = arrays(level, stored.extent(l), above);
                let mut label = Some(label(l));
                rows.extend(
                    arrays.into_iter().map(|(name, groups)| (label.take().unwrap_or_default(), name, groups)),
                );
                if let Some(label) = label {
                    rows.push((label, "", vec![]));
                }
                above = stored.positions_below(l);
            }
        }
    }
    rows.push(leaf(&x));
    let label_width = rows.iter().map(|row| row.0.len()).max().unwrap();
    let name_width = rows.iter().map(|row| row.1.len()).max().unwrap();
    let tokens = rows.iter().flat_map(|row| row.2.iter().flatten());
    let width = tokens.map(String::len).max().unwrap_or(0);
    for (label, name, groups) in &rows {
        let group =
            |group: &Vec<String>| group.iter().map(|x| format!("{x:>width$}")).collect::<Vec<_>>().join(" ");
        let groups = groups.iter().map(group).collect::<Vec<_>>().join(" | ");
        text += format!("{label:label_width$}  {name:name_width$}  {groups}").trim_end();
        text += "\n";
    }
    text
}

/// The elements, and beside them the places of their values.
fn picture(x: &Tensor) -> String {
    let cells = |x: &Tensor, absent: i64| -> Vec<String> {
        let values = x.cast(tj_tensor::DType::I64).unwrap().to_vec::<i64>().unwrap();
        values.iter().map(|&x| if x == absent { ".".into() } else { x.to_string() }).collect()
    };
    let (elements, places) = (cells(x, 0), cells(&places(x), -1));
    let widest = |cells: &[String]| cells.iter().map(String::len).max().unwrap();
    let (w, v) = (widest(&elements), widest(&places));
    let n = *x.shape().last().unwrap();
    let rows_per_slice = if x.rank() < 2 { 1 } else { x.shape()[x.rank() - 2] };
    let line = |cells: &[String], width: usize| {
        cells.iter().map(|cell| format!("{cell:>width$}")).collect::<Vec<_>>().join(" ")
    };
    let mut text = String::new();
    for (r, (left, right)) in elements.chunks(n).zip(places.chunks(n)).enumerate() {
        if r > 0 && r % rows_per_slice == 0 {
            text += "\n";
        }
        let title = |title: &str| if r == 0 { title.to_string() } else { " ".repeat(title.len()) };
        text +=
            &format!("{} {}    {} {}\n", title("elements"), line(left, w), title("places"), line(right, v));
    }
    text + "\n"
}

/// The same levels over the places of values: -1 where there is none.
fn places(x: &Tensor) -> Tensor {
    let Some(stored) = x.stored() else {
        let order: Vec<usize> = level_dims(x);
        let shape: Vec<usize> = order.iter().map(|&d| x.shape()[d]).collect();
        let places = Tensor::arange(x.count().unwrap()).unwrap().reshape(shape).unwrap();
        let back: Vec<usize> = (0..x.rank()).map(|d| order.iter().position(|&o| o == d).unwrap()).collect();
        return places.permute(back).unwrap();
    };
    let format = stored.format().clone().with_leaf(LeafKind::Values).unwrap();
    let values = Leaf::Values(Tensor::arange(stored.leaf_positions()).unwrap());
    Tensor::from_levels(format, x.shape(), stored.levels().to_vec(), values, Scalar::I64(-1)).unwrap()
}

/// The dimensions of the levels of a strided tensor.
fn level_dims(x: &Tensor) -> Vec<usize> {
    let format = x.format();
    let dim = |level: &tj_tensor::LevelFormat| match level.coordinate {
        tj_tensor::Coordinate::Dim(dim) => dim,
        tj_tensor::Coordinate::Quotient { .. }
        | tj_tensor::Coordinate::Remainder { .. }
        | tj_tensor::Coordinate::Difference { .. } => unreachable!("strides are of dimensions"),
    };
    format.levels().iter().map(dim).collect()
}

/// The arrays of a level with their names, cut into fibers.
fn arrays(level: &Level, extent: usize, above: usize) -> Vec<(&'static str, Groups)> {
    let one = |values: Vec<usize>| vec![values.iter().map(usize::to_string).collect()];
    match level {
        Level::Dense | Level::Interval => vec![],
        Level::Compressed { positions, coordinates } => vec![
            ("positions", one(positions.to_vec())),
            ("coordinates", cut(&coordinates.to_vec(), &positions.to_vec(), usize::to_string)),
        ],
        Level::Singleton { coordinates } => vec![("coordinates", one(coordinates.to_vec()))],
        Level::Bytemap { present } => {
            let bytes: Vec<usize> = present.as_bytes().iter().map(|&byte| byte.into()).collect();
            vec![("present", cut(&bytes, &even(above, extent), usize::to_string))]
        }
        Level::Bitmap { present } => {
            let bits: Vec<usize> = (0..above * extent).map(|cell| bit(present, cell)).collect();
            vec![("present", cut(&bits, &even(above, extent), usize::to_string))]
        }
        Level::Hash { positions, coordinates } => {
            let free = coordinates.width().max();
            let slot = |c: &usize| if *c == free { "-".into() } else { c.to_string() };
            vec![
                ("positions", one(positions.to_vec())),
                ("coordinates", cut(&coordinates.to_vec(), &positions.to_vec(), slot)),
            ]
        }
        Level::Runs { positions, starts, ends } => vec![
            ("positions", one(positions.to_vec())),
            ("starts", cut(&starts.to_vec(), &positions.to_vec(), usize::to_string)),
            ("ends", cut(&ends.to_vec(), &positions.to_vec(), usize::to_string)),
        ],
        Level::Steps { positions, ends } => vec![
            ("positions", one(positions.to_vec())),
            ("ends", cut(&ends.to_vec(), &positions.to_vec(), usize::to_string)),
        ],
        Level::Band { starts, offsets } => {
            vec![("starts", one(starts.to_vec())), ("offsets", one(offsets.to_vec()))]
        }
        Level::Blocks { positions, starts, offsets } => vec![
            ("positions", one(positions.to_vec())),
            ("starts", cut(&starts.to_vec(), &positions.to_vec(), usize::to_string)),
            ("offsets", one(offsets.to_vec())),
        ],
    }
}

/// The values, cut as the arrays above them are.
fn leaf(x: &Tensor) -> (String, &'static str, Groups) {
    let text = |values: &Tensor| -> Vec<String> {
        let values = values.cast(tj_tensor::DType::I64).unwrap().to_vec::<i64>().unwrap();
        values.iter().map(i64::to_string).collect()
    };
    let Some(stored) = x.stored() else {
        let values = text(&x.permute(level_dims(x)).unwrap());
        let inner = *x.permute(level_dims(x)).unwrap().shape().last().unwrap();
        return ("leaf".into(), "values", cut(&values, &even(values.len() / inner, inner), String::clone));
    };
    let n_levels = stored.levels().len();
    let above = if n_levels > 1 { stored.positions_below(n_levels - 2) } else { 1 };
    let extent = stored.extent(n_levels - 1);
    let n = stored.leaf_positions();
    let cuts = match &stored.levels()[n_levels - 1] {
        Level::Dense | Level::Bytemap { .. } | Level::Bitmap { .. } => even(above, extent),
        Level::Compressed { positions, .. }
        | Level::Hash { positions, .. }
        | Level::Runs { positions, .. }
        | Level::Steps { positions, .. } => positions.to_vec(),
        Level::Band { offsets, .. } | Level::Blocks { offsets, .. } => offsets.to_vec(),
        Level::Singleton { .. } | Level::Interval => vec![0, n],
    };
    match stored.leaf() {
        Leaf::Values(values) => ("leaf".into(), "values", cut(&text(values), &cuts, String::clone)),
        Leaf::Iso(value) => ("leaf: iso".into(), "value", vec![vec![value.to_i64().to_string()]]),
        Leaf::Pattern => ("leaf: pattern".into(), "", vec![]),
    }
}

fn cut<T>(values: &[T], cuts: &[usize], text: impl Fn(&T) -> String) -> Groups {
    cuts.windows(2).map(|pair| values[pair[0]..pair[1]].iter().map(&text).collect()).collect()
}

/// Where `n` fibers of one length are cut.
fn even(n: usize, len: usize) -> Vec<usize> {
    (0..=n).map(|fiber| fiber * len).collect()
}

fn bit(present: &Buffer, cell: usize) -> usize {
    (present.as_bytes()[cell / 8] >> (cell % 8) & 1).into()
}
