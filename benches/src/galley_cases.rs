//! The cases of the suite in which the order of sums matters, on its data.
//!
//! Keys of joins come as lists and become matrices with a 1 a row when they are read, and features are blocks of columns of one
//! table, so that a join is a product; sets of vertices are sparse vectors.

use std::ops::Range;
use std::sync::Arc;

use tensorjit::{
    CompileOptions, DType, Duplicates, Format, GalleyScheduler, LazyTensor, Reassociate, Scalar, Tensor,
    compute_as, defer, einop, minimum,
};

use crate::Failure;
use crate::sparse::{Data, Program};

/// Options under the scheduler that reads data.
pub fn planned(options: CompileOptions) -> CompileOptions {
    let scheduler = GalleyScheduler::new(Reassociate::Expand);
    CompileOptions { scheduler: Some(Arc::new(scheduler)), ..options }
}

/// The program of a case at a size, which names a variant.
///
/// # Errors
/// A case that is not part of the suite.
pub fn program(name: &str, size: &str) -> Result<Program, Failure> {
    let kind = size.split('_').find(|word| word.starts_with(|c: char| c.is_alphabetic())).unwrap_or(size);
    let last = size.split('_').next_back().unwrap_or(size);
    let number = name.split('_').next().unwrap_or(name);
    Ok(match (number, kind, last) {
        ("g1", "star", _) => Program::Lazy(|d| Ok(joined(d)?.matmul(&d.lazy("th")?))),
        ("g1", "nn", _) => Program::Lazy(network),
        ("g1", "self", _) => Program::Lazy(pairs),
        ("g2", ..) => Program::Lazy(|d| {
            let x = joined(d)?;
            Ok(x.transpose().matmul(&x))
        }),
        ("g3", "mul", _) => Program::Lazy(|d| product(d, |a, b| a * b)),
        ("g3", "sum", _) => Program::Lazy(|d| Ok(product(d, |a, b| a.matmul(b))?.sum(()))),
        ("g3", ..) => Program::Lazy(|d| product(d, |a, b| a.matmul(b))),
        ("g4", _, "path3") => Program::Lazy(|d| walk(d, "A[i,j] * A[j,k] * A[k,l]")),
        ("g4", _, "path4") => Program::Lazy(|d| walk(d, "A[i,j] * A[j,k] * A[k,l] * A[l,m]")),
        ("g4", _, "labelled4") => Program::Lazy(|d| {
            walk(d, "L0[i] * A[i,j] * L1[j] * A[j,k] * L2[k] * A[k,l] * L3[l] * A[l,m] * L4[m]")
        }),
        ("g5", _, "star3") => Program::Lazy(|d| walk(d, "A[i,j] * A[i,k] * A[i,l]")),
        ("g5", _, "tree5") => Program::Lazy(|d| walk(d, "A[i,j] * A[j,k] * A[j,l] * A[i,m]")),
        ("g6", _, "cycle4") => Program::Lazy(|d| walk(d, "A[i,j] * A[j,k] * A[k,l] * A[l,i]")),
        ("g6", _, "labelled3") => {
            Program::Lazy(|d| walk(d, "L0[i] * A[i,j] * L1[j] * A[j,k] * L2[k] * A[k,i]"))
        }
        ("g6", _, "labelled4") => {
            Program::Lazy(|d| walk(d, "L0[i] * A[i,j] * L1[j] * A[j,k] * L2[k] * A[k,l] * L3[l] * A[l,i]"))
        }
        ("g6", _, "triangle") | ("g7", ..) => Program::Lazy(|d| walk(d, "A[i,j] * A[j,k] * A[i,k]")),
        ("g8", ..) => Program::Host(levels),
        ("g9", ..) => Program::Lazy(|d| Ok(d.lazy("s")? * d.lazy("a")?.matmul(&d.lazy("b")?))),
        ("g10", ..) => Program::Lazy(|d| {
            let text = "M[i,j] += B[i,k,l] * C[k,j] * D[l,j]";
            Ok(einop(text, &[("B", &d.lazy("b")?), ("C", &d.lazy("c")?), ("D", &d.lazy("d")?)]))
        }),
        ("g11", ..) => Program::Lazy(|d| {
            let difference = d.lazy("x")? - d.lazy("u")?.expand_dims(1) * d.lazy("v")?;
            Ok(difference.square().sum(()))
        }),
        ("g12", "minplus", _) => Program::Lazy(|d| {
            Ok(einop("C[i,j] min= A[i,k] + B[k,j]", &[("A", &d.lazy("a")?), ("B", &d.lazy("b")?)]))
        }),
        ("g12", "relax", _) => Program::Lazy(|d| Ok(relaxed(&d.lazy("far")?, &d.lazy("d")?))),
        ("g12", "bellman", _) => Program::Host(distances),
        ("g12", "viterbi", _) => Program::Host(best_states),
        ("g13", ..) => Program::Host(adapting),
        _ => return Err(format!("case {name} at {size} is not part of the suite").into()),
    })
}

/// Brings what was read into the forms that programs take.
///
/// # Errors
/// An input that is missing, or of another kind.
pub fn prepare(name: &str, size: &str, data: &mut Data) -> Result<(), Failure> {
    match name.split('_').next().unwrap_or(name) {
        "g1" | "g2" if !size.starts_with("self") => {
            let rows =
                |name: &str, data: &Data| -> Result<usize, Failure> { Ok(data.tensor(name)?.shape()[0]) };
            for (key, columns) in [("o", "ox"), ("c", "cx"), ("s", "sx"), ("p", "px")] {
                let columns = rows(columns, data)?;
                let matrix = keys(data.tensor(key)?, columns)?;
                data.tensors.insert(format!("k{key}"), matrix);
            }
            for (name, within) in [("ox", 0..10), ("cx", 10..41), ("sx", 41..67), ("px", 67..139)] {
                let block = block(data.tensor(name)?, &within, 139)?;
                data.tensors.insert(name.to_string(), block);
            }
        }
        "g1" => {
            let (parts, suppliers) = (data.tensor("px")?.shape()[0], data.tensor("sx")?.shape()[0]);
            for (key, columns) in [("p", parts), ("s", suppliers)] {
                let matrix = keys(data.tensor(key)?, columns)?;
                data.tensors.insert(format!("k{key}"), matrix);
            }
            for name in ["px", "sx"] {
                let width = data.tensor(name)?.shape()[1];
                let block = block(data.tensor(name)?, &(0..width), width)?;
                data.tensors.insert(name.to_string(), block);
            }
        }
        "g4" | "g6" => {
            for number in 0..5 {
                let label = match (
                    data.tensors.get(&format!("ls_{number}")),
                    data.tensors.get(&format!("diag_{number}")),
                ) {
                    (Some(vector), _) => vector.clone(),
                    (None, Some(matrix)) => compute_as(defer(matrix).sum(1), &data.options)?.0,
                    (None, None) => continue,
                };
                let label = label.to_dense()?.with_fill(Some(Scalar::zero(label.dtype())))?;
                data.tensors.insert(format!("L{number}"), label.with_format(&Format::coo(1))?);
            }
        }
        "g10" => {
            let column = |name: &str, data: &Data| -> Result<Tensor, Failure> {
                Ok(data.tensor(name)?.cast(DType::I64)?)
            };
            let coordinates = [column("i", data)?, column("k", data)?, column("l", data)?];
            let (rows, columns) = (data.size("ni")?, data.tensor("c")?.shape()[0]);
            let shape = [rows, columns, data.tensor("d")?.shape()[0]];
            let b = Tensor::coo(shape, &coordinates, data.tensor("v")?.clone(), Duplicates::Sum)?;
            data.tensors.insert("b".to_string(), b.with_format(&Format::csf(3))?);
        }
        "g12" if size.starts_with("relax") || size.starts_with("bellman") => {
            let far = unreachable(data.tensor("a")?)?;
            data.tensors.insert("far".to_string(), far);
        }
        _ => {}
    }
    Ok(())
}

/// A 1 in each row, in the column that its key names.
fn keys(key: &Tensor, columns: usize) -> Result<Tensor, Failure> {
    let rows = key.shape()[0];
    let positions: Vec<i64> = (0..=rows as i64).collect();
    Ok(Tensor::csr([rows, columns], positions, key.cast(DType::I64)?, Tensor::full([rows], 1.0_f32)?)?)
}

/// A table as some of the columns of a wider one, without what is 0.
fn block(table: &Tensor, within: &Range<usize>, width: usize) -> Result<Tensor, Failure> {
    let filled = table.clone().with_fill(Some(0.0_f32.into()))?;
    let (coordinates, values) = filled.to_entries()?;
    let columns = compute_as(defer(&coordinates[1]) + within.start as i64, &CompileOptions::default())?.0;
    let shape = [table.shape()[0], width];
    let zero = Scalar::from(0.0_f32);
    let coordinates = [coordinates[0].clone(), columns];
    Ok(Tensor::from_entries(shape, &coordinates, values, zero, Duplicates::Refuse, &Format::csr())?)
}

/// Weights of edges, infinite where there is none.
fn unreachable(a: &Tensor) -> Result<Tensor, Failure> {
    let (coordinates, values) = a.to_entries()?;
    let far = Scalar::from(f32::INFINITY);
    Ok(Tensor::from_entries(a.shape(), &coordinates, values, far, Duplicates::Refuse, &Format::csr())?)
}

/// The table of features of all lines.
fn joined(data: &Data) -> Result<LazyTensor, Failure> {
    let input = |name: &str| data.lazy(name);
    let orders = input("ko")?.matmul(&(input("ox")? + input("kc")?.matmul(&input("cx")?)));
    Ok(orders + input("ks")?.matmul(&input("sx")?) + input("kp")?.matmul(&input("px")?))
}

fn network(data: &Data) -> Result<LazyTensor, Failure> {
    let hidden = joined(data)?.matmul(&data.lazy("w1")?).relu();
    let hidden = hidden.matmul(&data.lazy("w2")?).relu();
    Ok(hidden.matmul(&data.lazy("w3")?).sigmoid())
}

/// A prediction for each pair of lines of one part.
fn pairs(data: &Data) -> Result<LazyTensor, Failure> {
    let (kp, ks) = (data.lazy("kp")?, data.lazy("ks")?);
    let th = data.lazy("th")?;
    let part = |range: Range<i64>| th.index([tensorjit::at(range.start, range.end, 1)]);
    let left = kp.matmul(&data.lazy("px")?).matmul(&part(0..72))
        + ks.matmul(&data.lazy("sx")?).matmul(&part(72..98));
    let right = ks.matmul(&data.lazy("sx")?).matmul(&part(98..124));
    Ok(kp.matmul(&kp.transpose()) * (left.expand_dims(1) + right))
}

fn product(data: &Data, times: fn(&LazyTensor, &LazyTensor) -> LazyTensor) -> Result<LazyTensor, Failure> {
    let mut all = data.lazy("ms_0")?;
    let mut number = 1;
    while data.tensors.contains_key(&format!("ms_{number}")) {
        all = times(&all, &data.lazy(&format!("ms_{number}"))?);
        number += 1;
    }
    Ok(all)
}

/// The number of assignments of vertices.
fn walk(data: &Data, pattern: &str) -> Result<LazyTensor, Failure> {
    let a = data.lazy("a")?;
    let labels: Vec<(String, LazyTensor)> = (0..5)
        .map(|number| format!("L{number}"))
        .filter(|name| pattern.contains(name.as_str()))
        .map(|name| Ok((name.clone(), data.lazy(&name)?)))
        .collect::<Result<_, Failure>>()?;
    let mut operands: Vec<(&str, &LazyTensor)> = vec![("A", &a)];
    operands.extend(labels.iter().map(|(name, label)| (name.as_str(), label)));
    Ok(einop(&format!("p[] += {pattern}"), &operands))
}

/// Levels from a source, by what each level tells its neighbours.
fn levels(data: &Data) -> Result<Tensor, Failure> {
    let a = data.lazy("a")?;
    let n = data.tensor("a")?.shape()[0];
    let source = data.size("source")?;
    let mut level: Tensor =
        (0..n).map(|vertex| if vertex == source { 0_i64 } else { -1 }).collect::<Vec<_>>().into();
    let one = Tensor::full([1], 1_i64)?;
    let mut reached = Tensor::coo([n], &[vec![source as i64].into()], one, Duplicates::Refuse)?;
    let mut step = 0_i64;
    while reached.stored_count() > 0 {
        step += 1;
        let known = tensorjit::defer_owned(level);
        let new = defer(&reached).matmul(&a).greater(0).logical_and(known.less(0));
        let levels = tensorjit::where_(&new, step, known);
        (level, reached) = compute_as((levels, new.cast(DType::I64)), &data.options)?.0;
    }
    Ok(level)
}

/// Distances after one more edge.
fn relaxed(far: &LazyTensor, d: &LazyTensor) -> LazyTensor {
    minimum(einop("e[j] min= A[i,j] + D[i]", &[("A", far), ("D", d)]), d)
}

fn distances(data: &Data) -> Result<Tensor, Failure> {
    let far = data.lazy("far")?;
    let n = data.tensor("far")?.shape()[0];
    let most = data.number("far")? as f32;
    let source = data.size("source")?;
    let start: Vec<f32> = (0..n).map(|vertex| if vertex == source { 0.0 } else { most }).collect();
    let mut d = Tensor::from(start);
    loop {
        let lazy = defer(&d);
        let next = relaxed(&far, &lazy);
        let changed = next.not_equal(&lazy).any(());
        let (new, changed) = compute_as((next, changed), &data.options)?.0;
        d = new;
        if changed.get(&[])? == Scalar::Bool(false) {
            return Ok(d);
        }
    }
}

fn best_states(data: &Data) -> Result<Tensor, Failure> {
    let (moves, emit) = (data.lazy("move")?, data.tensor("emit")?);
    let seen = data.tensor("seen")?.cast(DType::I64)?.to_vec::<i64>()?;
    let said: Vec<LazyTensor> = (0..emit.shape()[1])
        .map(|kind| {
            Ok(defer(
                &compute_as(
                    defer(emit).index([tensorjit::at(None, None, 1), (kind as i64).into()]),
                    &data.options,
                )?
                .0,
            ))
        })
        .collect::<Result<_, Failure>>()?;
    let mut best = compute_as(data.lazy("first")? + &said[seen[0] as usize], &data.options)?.0;
    for &kind in &seen[1..] {
        let reached = einop("w[j] max= V[i] + M[i,j]", &[("V", &defer(&best)), ("M", &moves)]);
        best = compute_as(reached + &said[kind as usize], &data.options)?.0;
    }
    Ok(best)
}

/// One program five times, while densities change ends; the products on top of each other.
fn adapting(data: &Data) -> Result<Tensor, Failure> {
    let b = data.lazy("b")?;
    let mut all = Vec::new();
    for number in 0..5 {
        let (a, c) = (data.lazy(&format!("aa_{number}"))?, data.lazy(&format!("cc_{number}"))?);
        all.push(compute_as(a.matmul(&b).matmul(&c), &data.options)?.0);
    }
    let all: Vec<LazyTensor> =
        all.iter().map(|product| Ok(defer(&product.to_dense()?))).collect::<Result<_, Failure>>()?;
    Ok(compute_as(tensorjit::concat(&all, 0), &data.options)?.0)
}
