//! Against every element of the result asked where it comes from.

use tj_ir::Dim;
use tj_ir::expr::Indices;
use tj_tensor::{Duplicates, Format, Scalar, Tensor};

use super::{Moves, Part, Place, Test, What};
use crate::LibraryError;

/// A tensor of this shape, with an entry at every third place or so.
fn sparse(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let values =
        (0..count).map(|at| if (at * 7 + seed).is_multiple_of(3) { at as i64 + 1 } else { 0 }).collect();
    let dense = Tensor::from_shape_vec(shape, values).unwrap();
    dense.with_fill(Some(Scalar::I64(0))).unwrap().with_format(&Format::coo(shape.len())).unwrap()
}

fn place(dim: &Dim) -> Place {
    assert!(Place::is_one(dim), "{dim}");
    Place::new(dim, &|_| None).unwrap()
}

/// What a part reads, where, and when.
type Reads<'t> = (&'t Tensor, Indices, Vec<(Dim, Test)>);

fn part<'t>((tensor, at, when): &Reads<'t>) -> Part<'t> {
    Part {
        what: What::Tensor(tensor),
        at: at.iter().map(place).collect(),
        when: when.iter().map(|(dim, test)| (place(dim), *test)).collect(),
        lists: Vec::new(),
    }
}

#[track_caller]
fn check(shape: &[usize], reads: &[Reads<'_>]) {
    let moves = Moves {
        shape: shape.to_vec(),
        others: Vec::new(),
        dtype: tj_tensor::DType::I64,
        fill: Scalar::I64(0),
        parts: reads.iter().map(part).collect(),
    };
    let format = Format::coo(shape.len());
    let found: Result<Tensor, LibraryError> = moves.tensor(&format, &mut |_| Ok(()));
    let found = found.unwrap();
    let count: usize = shape.iter().product();
    let mut expected = Vec::new();
    for mut at in 0..count {
        let mut indices = vec![0; shape.len()];
        for (index, &extent) in indices.iter_mut().zip(shape).rev() {
            *index = (at % extent) as i64;
            at /= extent;
        }
        let value = |dim: &Dim| dim.eval(&|symbol| Some(indices[symbol.as_index()? as usize])).unwrap();
        let holds = |(dim, test): &(Dim, Test)| match test {
            Test::Zero => value(dim) == 0,
            Test::NotZero => value(dim) != 0,
            Test::NotNegative => value(dim) >= 0,
        };
        let here = reads.iter().find(|(_, _, when)| when.iter().all(holds));
        let read = here.map(|(tensor, at, _)| {
            let at: Vec<usize> = at.iter().map(|dim| value(dim) as usize).collect();
            tensor.get(&at).unwrap()
        });
        expected.push(read.map_or(0, |value| value.to_f64() as i64));
    }
    assert_eq!(found.to_vec::<i64>().unwrap(), expected);
}

fn i(index: u32) -> Dim {
    Dim::index(index)
}

fn at<const N: usize>(dims: [Dim; N]) -> Indices {
    dims.into_iter().collect()
}

fn number(n: i64) -> Dim {
    Dim::from(n)
}

#[test]
fn steps_and_reversed_axes() {
    let x = sparse(&[7, 9], 0);
    check(&[4, 3], &[(&x, at([i(0) * 2, i(1) * 3 + 1]), vec![])]);
    check(&[7, 5], &[(&x, at([number(6) - i(0), number(8) - i(1) * 2]), vec![])]);
    check(&[9], &[(&x, at([number(3), i(0)]), vec![])]);
    check(&[7], &[(&x, at([i(0), i(0) + 1]), vec![])]);
    check(&[0, 9], &[(&x, at([i(0), i(1)]), vec![])]);
}

#[test]
fn other_shapes() {
    for (from, to) in [
        (vec![4, 6], vec![8, 3]),
        (vec![6, 4], vec![8, 3]),
        (vec![2, 3, 4], vec![4, 6]),
        (vec![5, 7], vec![7, 5]),
    ] {
        let x = sparse(&from, 1);
        let flat = (0..to.len()).fold(Dim::ZERO, |flat, d| flat * to[d] as i64 + i(d as u32));
        let map = (0..from.len()).map(|d| {
            let below: usize = from[d + 1..].iter().product();
            flat.floordiv(&number(below as i64)).modulo(&number(from[d] as i64))
        });
        check(&to, &[(&x, map.clone().collect(), vec![])]);
        // The first is smaller than its modulus.
        let first = flat.floordiv(&number(from[1..].iter().product::<usize>() as i64));
        check(&to, &[(&x, std::iter::once(first).chain(map.skip(1)).collect(), vec![])]);
    }
    let x = sparse(&[24], 2);
    check(&[4, 6], &[(&x, at([i(0) * 6 + i(1)]), vec![])]);
    // Neither is worth more than all of the other.
    check(&[10, 9], &[(&x, at([i(0) + i(1)]), vec![])]);
}

#[test]
fn repetitions_and_turns() {
    let x = sparse(&[3, 4], 0);
    check(&[9, 8], &[(&x, at([i(0).modulo(&number(3)), i(1).floordiv(&number(2))]), vec![])]);
    check(&[3, 4], &[(&x, at([(i(0) - 2).modulo(&number(3)), (i(1) + 1).modulo(&number(4))]), vec![])]);
    check(&[3, 2, 4], &[(&x, at([i(0), i(2)]), vec![])]);
    // Turned as a whole.
    let turned = (i(0) * 4 + i(1) - 5).modulo(&number(12));
    check(&[3, 4], &[(&x, at([turned.floordiv(&number(4)), turned.modulo(&number(4))]), vec![])]);
}

#[test]
fn beside_each_other_and_in_borders() {
    let (x, y) = (sparse(&[3, 4], 0), sparse(&[2, 4], 1));
    let clamped = |dim: Dim, size: i64| dim.min(&number(size - 1)).max(&Dim::ZERO);
    let first = (&x, at([clamped(i(0), 3), i(1)]), vec![(number(2) - i(0), Test::NotNegative)]);
    let second = (&y, at([clamped(i(0) - 3, 2), i(1)]), vec![(i(0) - 3, Test::NotNegative)]);
    check(&[5, 4], &[first, second]);
    let inside = vec![(i(0) - 2, Test::NotNegative), (number(4) - i(0), Test::NotNegative)];
    check(&[6, 4], &[(&x, at([clamped(i(0) - 2, 3), i(1)]), inside)]);
    // What is clamped without a condition reads its edges again and again.
    check(&[6, 4], &[(&x, at([clamped(i(0) - 2, 3), i(1)]), vec![])]);
}

#[test]
fn triangles_and_diagonals() {
    let (x, v) = (sparse(&[5, 5], 1), sparse(&[5], 0));
    check(&[5, 5], &[(&x, at([i(1), i(0)]), vec![(i(0) - i(1) - 1, Test::NotNegative)])]);
    check(&[5, 5], &[(&v, at([i(0)]), vec![(i(0) - i(1), Test::Zero)])]);
    let elsewhere = (&x, at([number(4) - i(0), i(1)]), vec![(i(0) - i(1), Test::NotZero)]);
    check(&[5, 5], &[(&v, at([i(1)]), vec![(i(0) - i(1), Test::Zero)]), elsewhere]);
}

#[test]
fn values_go_where_conditions_say() {
    let when = vec![(place(&(i(0) + 1 - i(1))), Test::Zero)];
    let part = Part { what: What::Value(Scalar::I64(7)), at: Vec::new(), when, lists: Vec::new() };
    let moves = Moves {
        shape: vec![3, 3],
        others: Vec::new(),
        dtype: tj_tensor::DType::I64,
        fill: Scalar::I64(0),
        parts: vec![part],
    };
    let found: Result<Tensor, LibraryError> = moves.tensor(&Format::csr(), &mut |_| Ok(()));
    assert_eq!(found.unwrap().to_vec::<i64>().unwrap(), [0, 7, 0, 0, 0, 7, 0, 0, 0]);
}

#[test]
fn a_long_axis_costs_nothing() {
    let end = (1_i64 << 60) - 1;
    let coordinates = [Tensor::from(vec![1_i64, 4, end])];
    let x = Tensor::coo([1 << 60], &coordinates, vec![1_i64, 2, 3], Duplicates::Refuse).unwrap();
    let part =
        |at: Dim| Part { what: What::Tensor(&x), at: vec![place(&at)], when: Vec::new(), lists: Vec::new() };
    let moves = |at, extent: usize| Moves {
        shape: vec![extent],
        others: Vec::new(),
        dtype: tj_tensor::DType::I64,
        fill: Scalar::I64(0),
        parts: vec![part(at)],
    };
    let places = |moves: &Moves<'_>| {
        let found: Result<Tensor, LibraryError> = moves.tensor(&Format::csf(1), &mut |_| Ok(()));
        let (coordinates, _) = found.unwrap().to_entries().unwrap();
        coordinates[0].to_vec::<i64>().unwrap()
    };
    assert_eq!(places(&moves(number(end) - i(0), 1 << 60)), [0, end - 4, end - 1]);
    assert_eq!(places(&moves(i(0) * 2, 1 << 59)), [2]);
    assert_eq!(places(&moves((i(0) - 3).modulo(&number(1 << 60)), 1 << 60)), [2, 4, 7]);
}

#[test]
fn memory_is_asked_for_before_it_is_taken() {
    let x = sparse(&[3], 0);
    let at = vec![place(&i(1))];
    let moves = Moves {
        shape: vec![100_000, 3],
        others: Vec::new(),
        dtype: tj_tensor::DType::I64,
        fill: Scalar::I64(0),
        parts: vec![Part { what: What::Tensor(&x), at, when: Vec::new(), lists: Vec::new() }],
    };
    let refused = || LibraryError::Argument { function: "move", problem: "no".to_string() };
    let allow = &mut |bytes| if bytes > 1 << 20 { Err(refused()) } else { Ok(()) };
    assert_eq!(moves.tensor::<LibraryError>(&Format::csr(), allow).unwrap_err(), refused());
}

#[test]
fn rows_are_taken_by_a_list() {
    let x = sparse(&[4, 3], 0);
    let lists = vec![(0, vec![3, 1, 3, 0])];
    let part = Part { what: What::Tensor(&x), at: vec![place(&i(0)), place(&i(1))], when: Vec::new(), lists };
    let moves = Moves {
        shape: vec![4, 3],
        others: Vec::new(),
        dtype: tj_tensor::DType::I64,
        fill: Scalar::I64(0),
        parts: vec![part],
    };
    let found: Result<Tensor, LibraryError> = moves.tensor(&Format::csr(), &mut |_| Ok(()));
    let elements = x.to_vec::<i64>().unwrap();
    let expected: Vec<i64> = [3, 1, 3, 0].iter().flat_map(|row| elements[row * 3..][..3].to_vec()).collect();
    assert_eq!(found.unwrap().to_vec::<i64>().unwrap(), expected);
}
