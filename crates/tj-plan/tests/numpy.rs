//! Array functions against NumPy.
//!
//! `numpy/expected.py` says what each case gives for some pairs of sizes, 0 and 1 among them; here the same case is
//! built with sizes that are numbers and with sizes that are symbols, and interpreted as traced, as canonical and as
//! fused plan. All must give NumPy's values, and fail where NumPy fails.

#![expect(clippy::unwrap_used, reason = "a test stops where something is not as it should be")]

#[path = "numpy/names.rs"]
mod names;

use tj_ir::fft::{self, Norm};
use tj_ir::random::{Key, integers, normal, uniform};
use tj_ir::trace::trace;
use tj_ir::{
    Axes, Dim, DimError, Indexing, LazyTensor, Op, Symbol, Window, arange, at, axis, broadcast_arrays,
    complex, concat, cross, einop, einsum, eye, full, inner, input, kron, linalg, linspace, meshgrid, number,
    outer, stack, tensordot, vecdot, where_,
};
use tj_plan::{DefaultScheduler, Form, Plan, Scheduler, canonicalise, fuse, interpret, verify, verify_fused};
use tj_tensor::{Complex, DType, Scalar, Tensor};

/// Where the arguments of a case come from: each is an input `name` of a shape such as `nm2`.
struct Data {
    n: Dim,
    m: Dim,
}

impl Data {
    fn of(&self, name: &str, shape: &str, dtype: DType) -> LazyTensor {
        let size = |letter: char| match letter {
            'n' => self.n.clone(),
            'm' => self.m.clone(),
            digit => Dim::from(digit.to_digit(10).unwrap()),
        };
        input(name, dtype, shape.chars().map(size)).unwrap()
    }

    fn f(&self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::F64)
    }

    fn g(&self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::F32)
    }

    fn i(&self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::I64)
    }

    fn w(&self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::I8)
    }

    fn nan(&self, name: &str, shape: &str) -> LazyTensor {
        let x = self.f(name, shape);
        where_(&x.less(-1.5), f64::NAN, &x)
    }

    fn z(&self, name: &str, shape: &str) -> LazyTensor {
        complex(self.f(name, shape), self.f(&name.to_uppercase(), shape))
    }

    fn y(&self, name: &str, shape: &str) -> LazyTensor {
        complex(self.g(name, shape), self.g(&name.to_uppercase(), shape))
    }

    fn b(&self, name: &str, shape: &str) -> LazyTensor {
        self.of(name, shape, DType::Bool)
    }
}

/// The elements that `expected.py` gives the input of this name.
fn elements(name: &str, shape: &[usize], dtype: DType) -> Tensor {
    let seed = i64::from(name.as_bytes()[0]);
    let value = |i: usize| (i as i64 * 37 + seed * 11 + 5).rem_euclid(23) - 11;
    let count = shape.iter().product();
    let list = |f: &dyn Fn(i64) -> f64| (0..count).map(|i| f(value(i))).collect::<Vec<f64>>();
    let values = if dtype.is_bool() {
        list(&|v| f64::from(u8::from(v.rem_euclid(3) == 0)))
    } else if dtype.is_float() {
        list(&|v| v as f64 / 4.0)
    } else {
        list(&|v| v as f64)
    };
    Tensor::from_shape_vec(shape, values).unwrap().cast(dtype).unwrap()
}

/// All three forms of the plan at these sizes; an error of any kind is `None`.
fn run(tensor: &LazyTensor, n: i64, m: i64) -> Option<Vec<Tensor>> {
    let value = |symbol: &Symbol| match symbol.to_string().as_str() {
        "N" => Some(n),
        "M" => Some(m),
        _ => None,
    };
    let traced = Plan::from_trace(trace(&[], std::slice::from_ref(tensor)).ok()?);
    if !traced.guards.iter().all(|guard| guard.condition.holds(&value).unwrap()) {
        return None;
    }
    let shape = |dims: &[Dim]| -> Result<Vec<usize>, DimError> {
        dims.iter().map(|dim| Ok(dim.eval(&value)? as usize)).collect()
    };
    let inputs: Vec<Tensor> = traced
        .inputs
        .iter()
        .map(|decl| elements(decl.name.as_deref().unwrap(), &shape(&decl.shape).unwrap(), decl.dtype))
        .collect();
    verify(&traced, Form::Traced).unwrap();
    let canonical = canonicalise(&traced);
    verify(&canonical, Form::Canonical).unwrap();
    let fused = fuse(&canonical, &DefaultScheduler.group(&canonical, &tj_plan::Sizes)).unwrap();
    verify_fused(&fused).unwrap();
    let results = [&traced, &canonical, &fused.plan].map(|plan| {
        interpret(plan, &inputs, &value).unwrap_or_else(|error| panic!("{error} in\n{plan}")).remove(0)
    });
    Some(results.to_vec())
}

fn shown(tensor: &Tensor) -> String {
    let shape: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
    format!("{} [{}]", tensor.dtype(), shape.join(","))
}

fn items(tensor: &Tensor) -> Vec<Scalar> {
    let count: usize = tensor.shape().iter().product();
    let flat = tensor.reshape([count]).unwrap();
    (0..count).map(|i| flat.get(&[i]).unwrap()).collect()
}

/// Equal; floats up to rounding in another order.
fn close(got: Scalar, want: f64) -> bool {
    if got.dtype().is_int() {
        return got.to_i64() as f64 == want;
    }
    let got = got.to_f64();
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-6 * want.abs().max(1e-6)
}

type Case = (&'static str, fn(&Data) -> LazyTensor);

fn check(cases: &[Case]) {
    let expected = include_str!("numpy/expected.txt");
    for (name, case) in cases {
        let mut found = 0;
        for line in expected.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if words[0] != *name {
                continue;
            }
            found += 1;
            let (n, m): (i64, i64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            let fixed = Data { n: n.into(), m: m.into() };
            let symbolic = Data { n: Dim::new("N", ..).unwrap(), m: Dim::new("M", ..).unwrap() };
            for data in [fixed, symbolic] {
                let tensor = case(&data);
                let what = format!("{name} of {n}, {m} as {:?}: {tensor:?}", data.n);
                let Some(results) = run(&tensor, n, m) else {
                    assert_eq!(words[3], "error", "{what}");
                    continue;
                };
                for result in results {
                    assert_eq!(shown(&result), format!("{} {}", words[3], words[4]), "{what}");
                    let items = items(&result);
                    assert_eq!(items.len(), words.len() - 5, "{what}");
                    for (k, (got, want)) in items.iter().zip(&words[5..]).enumerate() {
                        let number: f64 = want.parse().unwrap();
                        assert!(close(*got, number), "{what}: element {k} is {got:?}, not {want}");
                    }
                }
            }
        }
        assert!(found > 0, "{name} is not in expected.txt");
    }
}

#[test]
fn arranging() {
    check(&[
        ("stack", |d| stack(&[d.f("a", "nm"), d.f("b", "nm")], 1)),
        ("stack_last", |d| stack(&[d.f("a", "n"), d.f("b", "n"), d.f("c", "n")], -1)),
        ("unstack", |d| d.f("a", "n3").unstack(-1).remove(2)),
        ("roll", |d| d.i("a", "nm").roll(2, 1)),
        ("roll_back", |d| d.i("a", "nm").roll(-7, 0)),
        ("roll_flat", |d| d.i("a", "nm").roll(3, None)),
        ("repeat", |d| d.i("a", "nm").repeat(3, 0)),
        ("repeat_flat", |d| d.i("a", "nm").repeat(2, None)),
        ("repeat_none", |d| d.i("a", "nm").repeat(0, 1)),
        ("tile", |d| d.i("a", "nm").tile([2, 3])),
        ("tile_lead", |d| d.i("a", "n").tile([2, 1, 2])),
        ("tile_last", |d| d.i("a", "nm").tile([2])),
        ("moveaxis", |d| d.i("a", "nm2").moveaxis(&[0, 1], &[-1, 0])),
        ("swapaxes", |d| d.i("a", "nm2").swapaxes(0, -1)),
        ("matrix_transpose", |d| d.i("a", "nm2").matrix_transpose()),
        ("flatten", |d| d.i("a", "nm2").flatten()),
        ("flip", |d| d.i("a", "nm2").flip([0, 2])),
        ("flip_all", |d| d.i("a", "nm").flip(())),
        ("reshape", |d| d.i("a", "nm").reshape([d.m.clone(), d.n.clone()])),
        ("reshape_open", |d| d.i("a", "n6").reshape([-1, 3])),
        ("squeeze", |d| d.i("a", "1n1m").squeeze([0, 2])),
        ("expand_dims", |d| d.i("a", "nm").expand_dims([0, 3])),
        ("broadcast_arrays", |d| broadcast_arrays(&[d.i("a", "n1"), d.i("b", "m")]).remove(0)),
        ("meshgrid", |d| meshgrid(&[d.i("a", "n"), d.i("b", "m"), d.i("c", "2")], Indexing::Xy).remove(1)),
        ("meshgrid_ij", |d| meshgrid(&[d.i("a", "n"), d.i("b", "m")], Indexing::Ij).remove(0)),
        ("slice_axis", |d| d.i("a", "nm").slice_axis(1, at(1, None, 2))),
    ]);
}

#[test]
fn joining() {
    check(&[
        ("concat", |d| concat(&[d.f("a", "nm"), d.f("b", "2m"), d.f("c", "nm")], 0)),
        ("concat_last", |d| concat(&[d.f("a", "nm"), d.f("b", "n1")], -1)),
        ("concat_flat", |d| concat(&[d.f("a", "nm"), d.f("b", "n")], None)),
        ("concat_many", |d| {
            concat(&[d.i("a", "n"), d.i("b", "m"), d.i("c", "0"), d.i("d", "3"), d.i("e", "n")], 0)
        }),
        ("concat_promotes", |d| concat(&[d.w("a", "n"), d.f("b", "m")], 0)),
        ("concat_computed", |d| concat(&[d.f("a", "nm").sum(0), d.f("b", "n") * 2], 0) + 1),
        ("concat_bool", |d| concat(&[d.b("a", "n"), d.b("b", "m")], 0)),
        ("pad", |d| d.f("a", "nm").pad([(1, 2), (0, 3)], 0.5)),
        ("pad_none", |d| d.i("a", "nm").pad([(0, 0), (0, 0)], 0_i64)),
        ("pad_before", |d| d.w("a", "n").pad([(2, 0)], 7_i64)),
    ]);
}

#[test]
fn diagonals() {
    check(&[
        ("tril", |d| d.f("a", "nm").tril(0)),
        ("tril_up", |d| d.i("a", "2nm").tril(1)),
        ("triu", |d| d.f("a", "nm").triu(-1)),
        ("triu_bool", |d| d.b("a", "nm").triu(1)),
        ("diagonal", |d| d.i("a", "nm").diagonal(0)),
        ("diagonal_up", |d| d.i("a", "2nm").diagonal(1)),
        ("diagonal_down", |d| d.i("a", "nm").diagonal(-2)),
        ("trace", |d| d.i("a", "2nm").trace(1)),
        ("diag", |d| d.i("a", "n").diag(0)),
        ("diag_up", |d| d.f("a", "n").diag(2)),
        ("diag_down", |d| d.f("a", "n").diag(-1)),
        ("diag_of", |d| d.i("a", "nm").diag(1)),
    ]);
}

#[test]
fn creating() {
    check(&[
        ("eye", |d| eye(d.n.clone(), d.m.clone(), 1, DType::I64)),
        ("full", |d| full([d.n.clone(), 2.into(), d.m.clone()], 2.5)),
        ("zeros_like", |d| d.w("a", "nm").zeros_like()),
        ("arange", |d| arange(2, &d.n + &d.m, 2)),
        ("arange_down", |d| arange(d.m.clone(), -3, -3)),
        ("linspace", |d| linspace(-1.0, 2.5, &d.n + 1, DType::F64)),
    ]);
}

#[test]
fn einsums() {
    check(&[
        ("ein_mm", |d| einsum("ik,kj->ij", &[&d.f("a", "n3"), &d.f("b", "3m")])),
        ("ein_mm_t", |d| einsum("ik,jk->ji", &[&d.i("a", "n3"), &d.i("b", "m3")])),
        ("ein_implicit", |d| einsum("ba,cb", &[&d.i("a", "nm"), &d.i("b", "2n")])),
        ("ein_trace", |d| einsum("ii->", &[&d.i("a", "nn")])),
        ("ein_trace_implicit", |d| einsum("ii", &[&d.w("a", "nn")])),
        ("ein_diag", |d| einsum("ii->i", &[&d.i("a", "nn")])),
        ("ein_iij", |d| einsum("iij->j", &[&d.i("a", "nnm")])),
        ("ein_transpose", |d| einsum("ij->ji", &[&d.i("a", "nm")])),
        ("ein_sum", |d| einsum("ij->j", &[&d.i("a", "nm")])),
        ("ein_outer", |d| einsum("i,j->ij", &[&d.f("a", "n"), &d.f("b", "m")])),
        ("ein_dot", |d| einsum("i,i", &[&d.f("a", "n"), &d.f("b", "n")])),
        ("ein_mv", |d| einsum("ij, j -> i", &[&d.f("a", "nm"), &d.f("b", "m")])),
        ("ein_vm", |d| einsum("i,ij->j", &[&d.f("a", "n"), &d.f("b", "nm")])),
        ("ein_hadamard", |d| einsum("ij,ij->ij", &[&d.f("a", "nm"), &d.f("b", "nm")])),
        ("ein_batch", |d| einsum("bij,bjk->bik", &[&d.i("a", "2n3"), &d.i("b", "23m")])),
        ("ein_batch_mv", |d| einsum("bij,bj->bi", &[&d.i("a", "2nm"), &d.i("b", "2m")])),
        ("ein_batch_vm", |d| einsum("bj,bji->ib", &[&d.i("a", "nm"), &d.i("b", "nm2")])),
        ("ein_batch_dot", |d| einsum("bi,bi->b", &[&d.i("a", "nm"), &d.i("b", "nm")])),
        ("ein_two_summed", |d| einsum("iab,abj->ij", &[&d.i("a", "nm2"), &d.i("b", "m23")])),
        ("ein_two_mixed", |d| einsum("aib,bja->jia", &[&d.i("a", "nm2"), &d.i("b", "23n")])),
        ("ein_many_free", |d| einsum("abk,kcd->dabc", &[&d.i("a", "nm2"), &d.i("b", "232")])),
        ("ein_summed_first", |d| einsum("ij,k->i", &[&d.i("a", "nm"), &d.i("b", "3")])),
        ("ein_three", |d| einsum("ij,jk,kl->il", &[&d.i("a", "nm"), &d.i("b", "m3"), &d.i("c", "3n")])),
        ("ein_three_shared", |d| einsum("ij,ik,i->jk", &[&d.i("a", "nm"), &d.i("b", "n2"), &d.i("c", "n")])),
        ("ein_ellipsis", |d| einsum("...ij,...jk->...ik", &[&d.i("a", "2nm"), &d.i("b", "m3")])),
        ("ein_ellipsis_mid", |d| einsum("i...j->...i", &[&d.i("a", "n2m")])),
        ("ein_ellipsis_implicit", |d| einsum("i...,...j", &[&d.i("a", "n2"), &d.i("b", "2m")])),
        ("ein_one", |d| einsum("ij,ij->ij", &[&d.i("a", "n1"), &d.i("b", "nm")])),
        ("ein_one_summed", |d| einsum("ij,jk->ik", &[&d.i("a", "n1"), &d.i("b", "m2")])),
        ("ein_scalar", |d| einsum(",i->i", &[&d.i("a", ""), &d.i("b", "n")])),
        ("ein_bool", |d| einsum("ij,jk->ik", &[&d.b("a", "nm"), &d.b("b", "m3")])),
        ("ein_narrow", |d| einsum("ij,jk->ik", &[&d.w("a", "nm"), &d.w("b", "m3")])),
        ("ein_promotes", |d| einsum("i,i->i", &[&d.w("a", "n"), &d.f("b", "n")])),
    ]);
}

#[test]
fn products() {
    check(&[
        ("tensordot", |d| tensordot(&d.i("a", "nm2"), &d.i("b", "m23"), 2)),
        ("tensordot_pairs", |d| tensordot(&d.i("a", "nm2"), &d.i("b", "2m3"), ([1, 2], [1, 0]))),
        ("tensordot_none", |d| tensordot(&d.i("a", "n"), &d.i("b", "m"), 0)),
        ("vecdot", |d| vecdot(&d.i("a", "nm"), &d.i("b", "m"), -1)),
        ("vecdot_axis", |d| vecdot(&d.i("a", "nm"), &d.i("b", "nm"), -2)),
        ("inner", |d| inner(&d.i("a", "nm"), &d.i("b", "2m"))),
        ("outer", |d| outer(&d.i("a", "n"), &d.i("b", "m"))),
        ("kron", |d| kron(&d.i("a", "nm"), &d.i("b", "2n"))),
        ("kron_ranks", |d| kron(&d.i("a", "n"), &d.i("b", "2m"))),
        ("cross", |d| cross(&d.i("a", "n3"), &d.i("b", "3"), -1)),
        ("cross_axis", |d| cross(&d.i("a", "3n"), &d.i("b", "3n"), -2)),
    ]);
}

#[test]
fn statistics() {
    check(&[
        ("any", |d| d.b("a", "nm").any(1)),
        ("any_all_axes", |d| d.i("a", "nm").any(())),
        ("all", |d| d.b("a", "nm").all(0)),
        ("all_float", |d| d.nan("a", "nm").all(axis(1).keepdims())),
        ("count_nonzero", |d| d.i("a", "nm").count_nonzero(0)),
        ("argmax", |d| d.f("a", "nm").argmax(1)),
        ("argmax_flat", |d| d.i("a", "nm").argmax(None)),
        ("argmax_nan", |d| d.nan("a", "nm").argmax(-1)),
        ("argmin_nan", |d| d.nan("a", "nm").argmin(0)),
        ("argmin_narrow", |d| d.w("a", "n").argmin(0)),
        ("argmax_bool", |d| d.b("a", "nm").argmax(0)),
        ("argmax_ties", |d| d.i("a", "nm").floor_divide(100).argmax(1)),
        ("argmax_scalar", |d| d.f("a", "").argmax(None)),
        ("var", |d| d.f("a", "nm").var(1, 0.0)),
        ("var_sample", |d| d.i("a", "nm").var((), 1.0)),
        ("std", |d| d.f("a", "nm").std(axis(0).keepdims(), 1.0)),
        ("std_narrow", |d| d.w("a", "nm").std([0, 1], 0.0)),
        ("ptp", |d| d.i("a", "nm").ptp(0)),
        ("average", |d| d.f("a", "nm").average(1, &(d.f("b", "nm") + 9))),
        ("sum_in", |d| d.w("a", "nm").sum_in(0, DType::I8)),
        ("prod_in", |d| d.w("a", "nm").prod_in(1, DType::F64)),
        ("diff", |d| d.i("a", "nm").diff(1, 0)),
        ("diff_twice", |d| d.f("a", "nm").diff(2, -1)),
        ("diff_bool", |d| d.b("a", "n").diff(1, 0)),
        ("reduce_and", |d| d.w("a", "nm").reduce(Op::And, 0)),
        ("reduce_or", |d| d.i("a", "nm").reduce(Op::Or, 1)),
        ("reduce_xor", |d| d.i("a", "nm").reduce(Op::Xor, Axes::all().keepdims())),
        ("reduce_xor_bool", |d| d.b("a", "nm").reduce(Op::Xor, 1)),
        ("reduce_logical_xor", |d| d.nan("a", "nm").reduce(Op::LogicalXor, 0)),
        ("reduce_logical_and", |d| d.f("a", "nm").reduce(Op::LogicalAnd, 1)),
        ("reduce_logaddexp", |d| d.f("a", "nm").reduce(Op::Logaddexp, 1)),
        ("reduce_hypot", |d| d.i("a", "nm").reduce(Op::Hypot, 0)),
        ("reduce_fmax", |d| d.nan("a", "nm").reduce(Op::Fmax, 1)),
        ("reduce_subtract", |d| d.f("a", "nm").reduce(Op::Sub, 0)),
        ("reduce_divide", |d| (d.i("a", "nm") + 20).reduce(Op::Div, axis(1).keepdims())),
        ("reduce_copysign", |d| d.f("a", "nm").reduce(Op::Copysign, 1)),
        ("nansum", |d| d.nan("a", "nm").nansum(0)),
        ("nanprod", |d| d.nan("a", "nm").nanprod(1)),
        ("nanmax", |d| d.nan("a", "nm").nanmax(1)),
        ("nanmin", |d| d.nan("a", "nm").nanmin(0)),
        ("nanmin_int", |d| d.i("a", "nm").nanmin(())),
        ("nanmean", |d| d.nan("a", "nm").nanmean(0)),
        ("nanvar", |d| d.nan("a", "nm").nanvar(0, 0.0)),
        ("nanstd", |d| d.nan("a", "nm").nanstd(1, 1.0)),
        ("logsumexp", |d| d.f("a", "nm").logsumexp(1)),
        ("logsumexp_large", |d| (d.f("a", "nm") * 1000).logsumexp(axis(0).keepdims())),
        ("softmax", |d| (d.f("a", "nm") * 300).softmax(1)),
        ("log_softmax", |d| (d.i("a", "nm") * 300).log_softmax(0)),
    ]);
}

#[test]
fn assignments() {
    check(&[
        ("op_mm", |d| einop("C[i,j] += A[i,k] * B[k,j]", &[("A", &d.i("A", "n3")), ("B", &d.i("B", "3m"))])),
        ("op_tropical", |d| {
            einop("C[i,j] min= A[i,k] + B[k,j]", &[("A", &d.f("A", "n3")), ("B", &d.f("B", "3m"))])
        }),
        ("op_transpose", |d| einop("C[j,i] = A[i,j]", &[("A", &d.i("A", "nm"))])),
        ("op_diag", |d| einop("C[i] = A[i,i]", &[("A", &d.i("A", "nn"))])),
        ("op_trace", |d| einop("C += A[i,i]", &[("A", &d.i("A", "nn"))])),
        ("op_prod", |d| einop("C[i] *= A[i,j]", &[("A", &d.w("A", "n3"))])),
        ("op_max", |d| einop("C[j] max= A[i,j] // 2 % 3", &[("A", &d.i("A", "5m"))])),
        ("op_any", |d| einop("C[i] |= A[i,j] & B[j]", &[("A", &d.b("A", "nm")), ("B", &d.b("B", "m"))])),
        ("op_all", |d| {
            einop("C[i] and= A[i,j] != B[j] or not A[i,j]", &[("A", &d.i("A", "nm")), ("B", &d.i("B", "m"))])
        }),
        ("op_or", |d| {
            einop("C[j] or= A[i,j] > 2 and B[i] < 3", &[("A", &d.i("A", "nm")), ("B", &d.i("B", "n"))])
        }),
        ("op_weak", |d| einop("C[i,j] = 2 * 3.5 * A[i,j] - -1", &[("A", &d.g("A", "nm"))])),
        ("op_calls", |d| {
            einop(
                "C[i] += max(exp(A[i,j]), sqrt(abs(B[j])))",
                &[("A", &d.f("A", "nm")), ("B", &d.f("B", "m"))],
            )
        }),
        ("op_precedence", |d| {
            einop(
                "C[i] = A[i] + 2 * (B[i] - 3) * -A[i] & 6 | 1 ^ B[i]",
                &[("A", &d.i("A", "n")), ("B", &d.i("B", "n"))],
            )
        }),
        ("op_scalar", |d| einop("C[i] = s * A[i]", &[("s", &d.f("s", "")), ("A", &d.f("A", "n"))])),
        ("op_three", |d| {
            einop(
                "C[i,l] += A[i,j] * B[j,k] * D[k,l]",
                &[("A", &d.i("A", "nm")), ("B", &d.i("B", "m2")), ("D", &d.i("D", "2n"))],
            )
        }),
        ("op_one", |d| einop("C[i,j] += A[i,k] * B[k,j]", &[("A", &d.i("A", "n1")), ("B", &d.i("B", "3m"))])),
        ("op_narrow", |d| einop("C[i] += A[i,j] + 1", &[("A", &d.w("A", "nm"))])),
        ("op_unreduced", |d| einop("C[i] += A[i] - 1", &[("A", &d.i("A", "n"))])),
        ("op_fixed", |d| einop("C[i,j] = A[i,0,j] - A[i,-1,j]", &[("A", &d.i("A", "n2m"))])),
        ("op_guarded", |d| einop("C[j] = A[2,j] - A[-3,j]", &[("A", &d.i("A", "nm"))])),
    ]);
}

#[test]
fn windows() {
    check(&[
        ("window", |d| d.i("a", "nm").sliding_window_view([Window::new(1, 2)])),
        ("window_two", |d| {
            d.i("a", "nm").sliding_window_view([0, 1].map(|a| Window::new(a, 2))).max([-2, -1])
        }),
        ("window_stride", |d| d.i("a", "m8").sliding_window_view([Window::new(1, 3).stride(2).dilation(2)])),
        ("convolution", |d| {
            einsum(
                "cpk,ock->op",
                &[&d.i("a", "nm").sliding_window_view([Window::new(1, 2)]), &d.i("b", "3n2")],
            )
        }),
    ]);
}

#[test]
fn random_numbers() {
    check(&[
        ("random_uniform", |d| uniform(7, [d.n.clone(), d.m.clone()], DType::F64)),
        ("random_narrow", |d| uniform(1_u64 << 40, [d.n.clone(), 3.into()], DType::F32)),
        ("random_scalar", |_| uniform(Key::from(3).fold_in(9), (), DType::F64)),
        ("random_key", |_| uniform(Key::from(&number(3_u64)).fold_in(9), (), DType::F64)),
        ("random_integers", |d| integers(5, -3, 9, [d.n.clone(), d.m.clone()], DType::I8)),
        ("random_large", |d| {
            integers(6, i64::MIN, i64::MAX, [d.n.clone()], DType::I64).floor_divide(1_i64 << 30)
        }),
        ("random_normal", |d| normal(8, [d.n.clone(), d.m.clone()], DType::F64)),
        ("random_normal_narrow", |d| normal(9, [d.n.clone()], DType::F32).cast(DType::F64)),
    ]);
}

#[test]
fn complex_arithmetic() {
    check(&[
        ("z_add", |d| d.z("a", "nm") + d.z("b", "m") * 2),
        ("z_number", |d| d.z("a", "nm") * Complex::new(2.5, -1.0) - 1),
        ("z_promotes", |d| d.i("a", "n") * Complex::new(0.5, 1.0)),
        ("z_mixed", |d| d.y("a", "nm") * d.g("b", "m")),
        ("z_widens", |d| d.y("a", "nm") + d.f("b", "m")),
        ("z_div", |d| d.z("a", "nm") / (d.z("b", "nm") + Complex::new(0.0, 7.0))),
        ("z_div_real", |d| d.z("a", "nm") / (d.f("b", "m") + 9)),
        ("z_div_zero", |d| d.z("a", "nm") / 0),
        ("z_parts", |d| d.z("a", "nm").real() - d.z("a", "nm").imag()),
        ("z_angle", |d| d.z("a", "nm").angle()),
        ("z_angle_real", |d| d.f("a", "nm").angle()),
        ("z_abs", |d| d.y("a", "nm").abs()),
        ("z_power", |d| d.z("a", "nm").pow(3)),
        ("z_power_back", |d| (d.z("a", "nm") + 5).pow(-2)),
        ("z_power_pair", |d| (d.z("a", "nm") + 4).pow(d.z("b", "m"))),
        ("z_power_real", |d| (d.z("a", "nm") + 4).pow(0.5)),
        ("z_round", |d| d.z("a", "nm").round()),
        ("z_equal", |d| d.z("a", "nm").equal(d.f("a", "nm"))),
        ("z_logical", |d| (d.z("a", "nm") * d.b("c", "nm")).logical_xor(d.z("b", "nm"))),
        ("z_where", |d| where_(&d.b("c", "nm"), d.z("a", "nm"), 1.5)),
    ]);
}

#[test]
fn complex_arrays() {
    check(&[
        ("z_sum", |d| d.z("a", "nm").sum(1)),
        ("z_sum_all", |d| d.y("a", "nm").sum(())),
        ("z_mean", |d| d.z("a", "nm").mean(0)),
        ("z_var", |d| d.z("a", "nm").var(1, 0.0)),
        ("z_prod", |d| d.z("a", "nm").prod(1)),
        ("z_prod_axes", |d| d.z("a", "2nm").prod(Axes::from([0, 2]).keepdims())),
        ("z_any", |d| (d.z("a", "nm") * d.b("c", "nm")).any(1)),
        ("z_count", |d| (d.z("a", "nm") * d.b("c", "nm")).count_nonzero(0)),
        ("z_cumsum", |d| d.z("a", "nm").cumulative_sum(0)),
        ("z_cumprod", |d| d.z("a", "nm").cumulative_prod(1)),
        ("z_matmul", |d| d.z("a", "nm").matmul(&d.z("b", "m3"))),
        ("z_matvec", |d| d.f("a", "nm").matmul(&d.z("b", "m"))),
        ("z_einsum", |d| einsum("ij,kj->ik", &[&d.z("a", "nm"), &d.z("b", "3m")])),
        ("z_tensordot", |d| tensordot(&d.z("a", "nm"), &d.z("b", "mn"), ([0, 1], [1, 0]))),
        ("z_vecdot", |d| vecdot(&d.z("a", "nm"), &d.z("b", "nm"), -1)),
        ("z_transpose", |d| d.z("a", "nm").transpose().conj()),
        ("z_slice", |d| d.z("a", "nm").index([at(None, None, -1), at(1, None, 1)])),
        ("z_concat", |d| concat(&[d.z("a", "nm"), d.f("b", "nm")], 1)),
        ("z_reshape", |d| d.z("a", "n6").reshape([-1, 3]) * 2),
        ("z_roll", |d| d.z("a", "nm").roll(1, 0)),
        ("z_take", |d| d.z("a", "5m").take(&(d.i("i", "n") % 5), 0)),
    ]);
}

#[test]
fn fourier_transforms() {
    check(&[
        ("fft", |d| fft::fft(&d.z("a", "nm"), None, -1, Norm::Backward)),
        ("fft_real", |d| fft::fft(&d.g("a", "nm"), None, 0, Norm::Ortho)),
        ("fft_cut", |d| fft::fft(&d.z("a", "nm"), Dim::from(2), -1, Norm::Forward) * 2),
        ("fft_long", |d| fft::fft(&d.i("a", "nm"), Dim::from(7), 0, Norm::Backward)),
        ("ifft", |d| fft::ifft(&d.z("a", "nm"), None, -1, Norm::Backward)),
        ("fftn", |d| fft::fftn(&d.z("a", "nm"), None, (), Norm::Forward)),
        ("ifftn", |d| fft::ifftn(&d.z("a", "2nm"), Some(&[3.into(), 4.into()]), [2, 0], Norm::Backward)),
        ("rfft", |d| fft::rfft(&d.f("a", "nm"), None, -1, Norm::Backward)),
        ("rfft_long", |d| fft::rfft(&d.g("a", "nm"), Dim::from(6), 0, Norm::Ortho)),
        ("irfft", |d| fft::irfft(&d.z("a", "nm"), None, -1, Norm::Backward)),
        ("irfft_odd", |d| fft::irfft(&d.z("a", "nm"), Dim::from(5), 0, Norm::Forward)),
        ("rfftn", |d| fft::rfftn(&d.f("a", "nm"), None, (), Norm::Backward)),
        ("irfftn", |d| fft::irfftn(&d.z("a", "nm"), Some(&[3.into(), 5.into()]), [0, 1], Norm::Backward)),
        ("hfft", |d| fft::hfft(&d.z("a", "nm"), Dim::from(5), -1, Norm::Backward)),
        ("ihfft", |d| fft::ihfft(&d.f("a", "nm"), None, -1, Norm::Ortho)),
        ("fftfreq", |d| fft::fftfreq(&d.n + 1, 0.5, DType::F64)),
        ("rfftfreq", |d| fft::rfftfreq(&d.n + 1, 0.25, DType::F64)),
        ("fftshift", |d| fft::fftshift(&d.z("a", "nm"), ())),
        ("ifftshift", |d| fft::ifftshift(&d.f("a", "nm"), 0)),
    ]);
}

#[test]
fn complex_matrices() {
    check(&[
        ("z_inv", |d| linalg::inv(&(d.z("a", "n33") + eye(3, 3, 0, DType::F64) * 9))),
        ("z_det", |d| linalg::det(&d.z("a", "n33"))),
        ("z_slogdet", |d| linalg::slogdet(&(d.z("a", "n33") + eye(3, 3, 0, DType::F64) * 9)).0),
        ("z_logdet", |d| linalg::slogdet(&(d.z("a", "n33") + eye(3, 3, 0, DType::F64) * 9)).1),
        ("z_solve", |d| linalg::solve(&(d.z("a", "33") + eye(3, 3, 0, DType::F64) * 9), &d.f("b", "3m"))),
        ("z_cholesky", |d| {
            let a = d.z("a", "n33");
            linalg::cholesky(
                &(a.matmul(&a.conj().matrix_transpose()) + eye(3, 3, 0, DType::F64)),
                linalg::Triangle::Lower,
            )
        }),
        ("z_svdvals", |d| linalg::svdvals(&d.z("a", "n32"))),
        ("z_eigvalsh", |d| {
            let a = d.z("a", "n33");
            linalg::eigvalsh(&(&a + a.conj().matrix_transpose()))
        }),
        ("z_pinv", |d| linalg::pinv(&d.z("a", "n32"), 1e-13)),
        ("z_matrix_power", |d| linalg::matrix_power(&d.z("a", "n22"), 5)),
        ("z_norm", |d| linalg::vector_norm(&d.z("a", "nm"), 1, 2.0)),
        ("z_norm_one", |d| linalg::vector_norm(&d.z("a", "nm"), 0, 1.0)),
        ("z_norm_matrix", |d| linalg::matrix_norm(&d.z("a", "n32"), linalg::MatrixNorm::Nuclear)),
    ]);
}
