//! Printing, in the manner of NumPy: `Display` gives the numbers, `Debug` puts dtype and shape before them. Of tensors that
//! are stored by levels the entries are listed (`stored/print.rs`).
//!
//! More than [`THRESHOLD`] elements are summarised by the first and last [`EDGE`] along each dimension, fewer where
//! a high rank would still make that many numbers. The text is therefore bounded by the rank, never by the number of
//! elements, and printing reads only what it shows.
//!
//! Columns line up at the decimal point. Floats are the shortest digits that identify the value, cut to
//! [`PRECISION`] after the point; all are written with exponents when the least and the greatest differ much.

use std::fmt::{self, Write};

use crate::{Complex, DType, Element, Scalar, Tensor};

/// Up to this many elements are shown in full.
const THRESHOLD: u128 = 1000;
/// How many at either end of a summarised dimension.
const EDGE: usize = 3;
/// Most digits after the decimal point.
const PRECISION: usize = 8;
/// Rows break before this column.
const LINE_WIDTH: usize = 75;

/// The numbers: `[[1. 2.]\n [3. 4.]]`.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stored) = self.stored() {
            return crate::stored::print::entries(self, stored, f);
        }
        if self.is_empty() {
            return f.write_str("[]");
        }
        let shown = shown(self.shape());
        let cells = cells(&corner_values(self, &shown), self.dtype());
        let mut cells = cells.iter();
        let Some((inner, outer)) = shown.split_last() else {
            let cell = cells.next().map_or("", String::as_str);
            return write!(f, "{cell}{}", if cell.ends_with('.') { "0" } else { "" });
        };
        // `path[d]` is the place within `outer[d]`; every list starts with a coordinate, not with dots.
        let mut path: Vec<usize> = Vec::new();
        loop {
            while path.len() < outer.len() {
                f.write_char('[')?;
                path.push(0);
            }
            write_row(f, inner, &mut cells, shown.len())?;
            loop {
                let Some(place) = path.last_mut() else { return Ok(()) };
                *place += 1;
                let (place, depth) = (*place, path.len() - 1);
                if place == outer[depth].len() {
                    path.pop();
                    f.write_char(']')?;
                    continue;
                }
                write!(f, "{}{:2$}", "\n".repeat(outer.len() - depth), "", depth + 1)?;
                match outer[depth][place] {
                    Some(_) => break,
                    None => f.write_str("...")?,
                }
            }
        }
    }
}

/// `f32[2, 3]`, then the numbers.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.rank() > 1 { '\n' } else { ' ' };
        write!(f, "{}{:?}{gap}{self}", self.dtype(), self.shape())
    }
}

/// For each dimension the coordinates to print, `None` standing for dots.
fn shown(shape: &[usize]) -> Vec<Vec<Option<usize>>> {
    let count =
        |limit: usize| shape.iter().fold(1u128, |n, &extent| n.saturating_mul(extent.min(limit) as u128));
    if count(usize::MAX) <= THRESHOLD {
        return shape.iter().map(|&extent| (0..extent).map(Some).collect()).collect();
    }
    // Fewer at the edges until the corners are few enough; with one at the front alone there is a single number.
    let edges = (1..=EDGE).rev().map(|edge| (edge, edge)).find(|(a, b)| count(a + b) <= THRESHOLD);
    let (first, last) = edges.unwrap_or((1, 0));
    let list = |&extent: &usize| -> Vec<Option<usize>> {
        if extent <= first + last {
            return (0..extent).map(Some).collect();
        }
        (0..first).map(Some).chain([None]).chain((extent - last..extent).map(Some)).collect()
    };
    shape.iter().map(list).collect()
}

/// The elements at the shown coordinates, in row-major order.
fn corner_values(tensor: &Tensor, shown: &[Vec<Option<usize>>]) -> Vec<Scalar> {
    let kept: Vec<Vec<usize>> = shown.iter().map(|list| list.iter().copied().flatten().collect()).collect();
    let total: usize = kept.iter().map(Vec::len).product();
    let value = |mut n: usize| {
        let mut indices = vec![0; kept.len()];
        for (index, list) in indices.iter_mut().zip(&kept).rev() {
            *index = list[n % list.len()];
            n /= list.len();
        }
        tensor.get(&indices).expect("the coordinates lie within the shape")
    };
    (0..total).map(value).collect()
}

/// One innermost row with its brackets, broken into lines.
fn write_row<'a>(
    f: &mut fmt::Formatter<'_>,
    inner: &[Option<usize>],
    cells: &mut impl Iterator<Item = &'a String>,
    rank: usize,
) -> fmt::Result {
    let mut column = rank;
    f.write_char('[')?;
    for (i, coordinate) in inner.iter().enumerate() {
        let word = match coordinate {
            Some(_) => cells.next().map_or("", String::as_str),
            None => "...",
        };
        let gap = usize::from(i > 0);
        if i > 0 && column + gap + word.len() + rank > LINE_WIDTH {
            write!(f, "\n{:rank$}{word}", "")?;
            column = rank + word.len();
        } else {
            write!(f, "{:gap$}{word}", "")?;
            column += gap + word.len();
        }
    }
    f.write_char(']')
}

/// The texts of some elements of a vector, all equally wide.
pub(crate) fn column(values: &Tensor, places: impl Iterator<Item = usize>) -> Vec<String> {
    let values: Vec<Scalar> = places.filter_map(|place| values.get(&[place]).ok()).collect();
    values.first().map_or(vec![], |first| cells(&values, first.dtype()))
}

/// The texts of some values, all equally wide.
fn cells(values: &[Scalar], dtype: DType) -> Vec<String> {
    if dtype.is_float() {
        return floats(values, Sign::Minus);
    }
    if dtype.is_complex() {
        let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
        let split = |x: &Scalar| {
            let z = Complex::<f64>::from_scalar(x.cast(DType::C128)).expect("it was cast to this type");
            (Scalar::F64(z.re).cast(part), Scalar::F64(z.im).cast(part))
        };
        let (re, im): (Vec<Scalar>, Vec<Scalar>) = values.iter().map(split).unzip();
        let join = |(re, im): (&String, &String)| {
            let digits = im.trim_end();
            format!("{re}{digits}j{}", &im[digits.len()..])
        };
        return floats(&re, Sign::Minus).iter().zip(&floats(&im, Sign::Always)).map(join).collect();
    }
    let text = |x: &Scalar| {
        if dtype.is_bool() {
            (x.to_i64() != 0).to_string()
        } else if dtype.is_signed() {
            x.to_i64().to_string()
        } else {
            (x.to_i64() as u64).to_string()
        }
    };
    let texts: Vec<String> = values.iter().map(text).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// Whether positive numbers show their sign.
#[derive(Clone, Copy)]
enum Sign {
    Minus,
    Always,
}

/// A number cut at its decimal point; `right` includes the exponent. Names have no right part.
struct Halves {
    left: String,
    right: Option<String>,
}

/// Floats in one common style, aligned at the point.
fn floats(values: &[Scalar], sign: Sign) -> Vec<String> {
    let magnitudes = || values.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite() && *x > 0.0);
    let (least, greatest) = (magnitudes().fold(f64::INFINITY, f64::min), magnitudes().fold(0.0, f64::max));
    let exponents = greatest > 0.0 && (greatest >= 1e8 || least < 1e-4 || greatest / least > 1e3);

    let digits: Vec<Option<(String, i32)>> = values.iter().map(|x| shortest(*x)).collect();
    // With exponents all mantissas are equally long.
    let mantissa = digits.iter().flatten().map(|(d, _)| d.len() - 1).max().unwrap_or(0).min(PRECISION);
    let halves: Vec<Halves> = values
        .iter()
        .zip(&digits)
        .map(|(x, digits)| {
            let value = x.to_f64();
            let prefix = match (value.is_sign_negative(), sign) {
                (true, _) => "-",
                (false, Sign::Always) => "+",
                (false, Sign::Minus) => "",
            };
            match digits {
                None if value.is_nan() => {
                    let prefix = if matches!(sign, Sign::Always) { "+" } else { "" };
                    Halves { left: format!("{prefix}nan"), right: None }
                }
                None => Halves { left: format!("{prefix}inf"), right: None },
                Some(digits) if exponents => scientific(value.abs(), digits, mantissa, prefix),
                Some(digits) => positional(value.abs(), digits, prefix),
            }
        })
        .collect();

    let numbers = || halves.iter().filter_map(|h| h.right.as_ref().map(|right| (h.left.len(), right.len())));
    let left = numbers().map(|(left, _)| left).max().unwrap_or(0);
    let right = numbers().map(|(_, right)| right).max().unwrap_or(0);
    let width = halves.iter().filter(|h| h.right.is_none()).map(|h| h.left.len()).max().unwrap_or(0);
    let width = width.max(if numbers().next().is_some() { left + right } else { 0 });
    let align = |h: &Halves| match &h.right {
        Some(text) => format!("{:>width$}", format!("{:>left$}{text:<right$}", h.left)),
        None => format!("{:>width$}", h.left),
    };
    halves.iter().map(align).collect()
}

/// The fewest digits that identify a finite value, and the decimal exponent of the first; `None` for inf and NaN.
fn shortest(x: Scalar) -> Option<(String, i32)> {
    let value = x.to_f64().abs();
    if !value.is_finite() {
        return None;
    }
    let text = match x.dtype().size() {
        // The standard library has no half types: the first precision that rounds back is the shortest.
        2 => (0..8)
            .map(|precision| format!("{value:.precision$e}"))
            .find(|text| {
                let read = text.parse::<f64>().expect("it was just formatted");
                Scalar::F64(read).cast(x.dtype()).to_f64() == value
            })
            .unwrap_or_else(|| format!("{value:e}")),
        4 => format!("{:e}", value as f32),
        _ => format!("{value:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    Some((digits, exponent.parse().expect("the exponent is an integer")))
}

fn positional(value: f64, (digits, exponent): &(String, i32), prefix: &str) -> Halves {
    let decimals = (digits.len() as i32 - 1 - exponent).clamp(0, PRECISION as i32) as usize;
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    Halves { left: format!("{prefix}{whole}"), right: Some(format!(".{}", fraction.trim_end_matches('0'))) }
}

fn scientific(value: f64, (digits, exponent): &(String, i32), mantissa: usize, prefix: &str) -> Halves {
    // Digits cut short are rounded, which may carry into the exponent.
    let (digits, exponent) = if digits.len() - 1 > mantissa {
        let text = format!("{value:.mantissa$e}");
        let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
        (digits.replace('.', ""), exponent.parse().expect("the exponent is an integer"))
    } else {
        (digits.clone(), *exponent)
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    let right = format!(".{:0<mantissa$}e{sign}{:02}", &digits[1..], exponent.abs());
    Halves { left: format!("{prefix}{}", &digits[..1]), right: Some(right) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16, f16};

    #[track_caller]
    fn check(tensor: impl Into<Tensor>, expected: &str) {
        assert_eq!(tensor.into().to_string(), expected);
    }

    #[test]
    fn as_numpy_prints() {
        check(vec![1.0, 1.25, -10.0], "[  1.     1.25 -10.  ]");
        check(vec![0.1f32, 0.2], "[0.1 0.2]");
        check(vec![1.0 / 3.0], "[0.33333333]");
        check(vec![f16::from_f32(0.1), f16::ONE], "[0.1 1. ]");
        check(vec![bf16::from_f32(3.0), bf16::from_f32(0.1)], "[3.  0.1]");
        check(vec![1.0, f64::NAN, -f64::INFINITY], "[  1.  nan -inf]");
        check(vec![1e-5, 1.0, 1.5e5], "[1.0e-05 1.0e+00 1.5e+05]");
        check(vec![1e10], "[1.e+10]");
        check(vec![1e300, -1e-300], "[ 1.e+300 -1.e-300]");
        check(vec![1.23456789012e9], "[1.23456789e+09]");
        check(vec![9.99999999999e9], "[1.00000000e+10]");
        check(vec![0.0, -0.0], "[ 0. -0.]");
        check(vec![1i8, -20, 3], "[  1 -20   3]");
        check(vec![u64::MAX], "[18446744073709551615]");
        check(vec![true, false], "[ true false]");
        check(vec![Complex::new(1.0f32, 2.5), Complex::new(-3.0, -4.0)], "[ 1.+2.5j -3.-4.j ]");
        check(Tensor::scalar(1.0f64), "1.0");
        check(Tensor::scalar(-7i32), "-7");
        check(Tensor::zeros(DType::F32, [0, 3]).unwrap(), "[]");
        check(
            Tensor::arange(8).unwrap().reshape([2, 2, 2]).unwrap(),
            "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]",
        );
        let debug = format!("{:?}", Tensor::arange(4).unwrap().reshape([2, 2]).unwrap());
        assert_eq!(debug, "i64[2, 2]\n[[0 1]\n [2 3]]");
    }

    #[test]
    fn rows_break_before_the_margin() {
        check(
            Tensor::arange(30).unwrap(),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]",
        );
    }

    #[test]
    fn large_tensors_are_summarised() {
        check(Tensor::arange(1001).unwrap(), "[   0    1    2 ...  998  999 1000]");
        let huge = Tensor::scalar(0i64).broadcast_to([1 << 40, 1 << 40]).unwrap();
        let row = "[0 0 0 ... 0 0 0]";
        let rows = format!("[{row}\n {row}\n {row}\n ...\n {row}\n {row}\n {row}]");
        check(huge.clone(), &rows);
        // 2 to the 16th: no dimension is long, and yet there are too many.
        let deep = Tensor::scalar(1.0f32).broadcast_to([2; 16]).unwrap();
        let text = deep.to_string();
        assert_eq!(text.matches("1.").count(), 1);
        assert_eq!(text.matches("...").count(), 16);
    }
}
