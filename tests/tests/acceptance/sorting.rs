//! Sorting next to what else a program does with the same data.

use tensorjit::{DType, Order};
use tj_tests::everywhere;

use crate::{declare, equal, symbols, tensor};

/// A05: a sort was scheduled after the kernel that changes what it reads.
#[test]
fn a05_a_sort_reads_what_is_also_changed() {
    let [n] = symbols(["n"]);
    let x = declare("x", DType::I64, &[&n]);
    let out = everywhere(&[x.sort(0, Order::Ascending), &x * 10], &[("x", &tensor(&[3], &[3_i64, 1, 2]))]);
    equal(&out[0], &tensor(&[3], &[1_i64, 2, 3]));
    equal(&out[1], &tensor(&[3], &[30_i64, 10, 20]));
}

/// A17: sorting keys with values overwrites the values that the program also returns.
#[test]
fn a17_sorting_keys_leaves_values_alone() {
    let [n] = symbols(["n"]);
    let (k, v) = (declare("k", DType::I64, &[&n]), declare("v", DType::I64, &[&n]));
    let p = k.argsort(0, Order::Ascending);
    let y = [k.take(&p, 0), v.take(&p, 0), v];
    let (k, v) = (tensor(&[3], &[9_i64, 2, 5]), tensor(&[3], &[70_i64, 71, 72]));
    let out = everywhere(&y, &[("k", &k), ("v", &v)]);
    equal(&out[0], &tensor(&[3], &[2_i64, 5, 9]));
    equal(&out[1], &tensor(&[3], &[71_i64, 72, 70]));
    equal(&out[2], &v);
}
