//! Answers of NumPy and SciPy, as `golden.py` wrote them.

use tj_ir::Function;
use tj_tensor::{DType, f16};

use crate::support::{Item, Owned, try_call};

/// `f64 2x3 1.0 2.0 ...`.
fn parse(line: &str) -> Owned {
    let words: Vec<&str> = line.split_whitespace().collect();
    let sizes = words[1].split('x').filter(|size| *size != ".");
    let shape: Vec<usize> = sizes.map(|size| size.parse().expect("a size")).collect();
    let ints = || words[2..].iter().map(|word| word.parse::<i64>().expect("an integer"));
    let floats = || words[2..].iter().map(|word| word.parse::<f64>().expect("a float"));
    match words[0] {
        "f64" => Owned::new(&shape, &floats().collect::<Vec<_>>()),
        "f32" => Owned::new(&shape, &floats().map(|x| x as f32).collect::<Vec<_>>()),
        "f16" => Owned::new(&shape, &floats().map(f16::from_f64).collect::<Vec<_>>()),
        "i64" => Owned::new(&shape, &ints().collect::<Vec<_>>()),
        "i8" => Owned::new(&shape, &ints().map(|x| x as i8).collect::<Vec<_>>()),
        "u8" => Owned::new(&shape, &ints().map(|x| x as u8).collect::<Vec<_>>()),
        dtype => panic!("no dtype {dtype}"),
    }
}

fn agree<T: Item>(found: &Owned, expected: &Owned, tolerance: f64) -> bool {
    let (found, expected) = (found.elements::<T>(), expected.elements::<T>());
    let numbers = expected.iter().map(|x| x.to_f64().abs()).filter(|x| x.is_finite());
    let allowed = tolerance * numbers.fold(0.0, f64::max);
    found.iter().zip(expected).all(|(a, b)| {
        let (a, b) = (a.to_f64(), b.to_f64());
        let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        same || (a - b).abs() <= allowed && tolerance > 0.0
    })
}

#[test]
fn answers_are_those_of_numpy() {
    let cases = include_str!("../golden.txt").split("\n\n");
    let mut n_cases = 0;
    for case in cases {
        let mut lines = case.trim().lines();
        let head = lines.next().unwrap();
        let (name, words) = head.trim_end_matches(')').split_once('(').unwrap();
        let (a, b) = words.split_once(", ").unwrap();
        let function = Function::by_name(name, a.parse().unwrap(), b.parse().unwrap()).unwrap();
        let (mut ins, mut outs) = (Vec::new(), Vec::new());
        for line in lines {
            match line.split_once(' ').unwrap() {
                ("in", rest) => ins.push(parse(rest)),
                (_, rest) => outs.push(parse(rest)),
            }
        }
        let shapes: Vec<(DType, &[usize])> = outs.iter().map(|out| (out.dtype, &*out.shape)).collect();
        let found = try_call(function, &ins.iter().collect::<Vec<_>>(), &shapes).unwrap();
        // What moves, compares or adds in a defined order has defined bits.
        let code = function.words()[0];
        let tolerance = |eps: f64| if code <= 8 { 0.0 } else { 256.0 * eps };
        for (found, expected) in found.iter().zip(&outs) {
            let agrees = match expected.dtype.name() {
                "f64" => agree::<f64>(found, expected, tolerance(f64::EPSILON)),
                "f32" => agree::<f32>(found, expected, tolerance(f32::EPSILON.into())),
                "f16" => agree::<f16>(found, expected, 0.0),
                _ => found == expected,
            };
            assert!(agrees, "{head}\n{ins:?}\n{found:?}\n{expected:?}");
        }
        n_cases += 1;
    }
    assert!(n_cases > 80, "{n_cases} cases");
}
