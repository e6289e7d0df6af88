"""Writes `expected.txt`: what NumPy says about every case of `main.rs`, by name and size.

Run it with NumPy 2.4: `python expected.py > expected.txt`. A case with several results has a line for each.
"""

import warnings

import numpy as np

warnings.filterwarnings("ignore")
SIZES = [(3, 4), (0, 4), (3, 0), (1, 1), (5, 2), (2, 7)]


class Data:
    def __init__(self, n, m):
        self.n, self.m = n, m

    def of(self, name, shape, dtype):
        shape = tuple({"n": self.n, "m": self.m}.get(c) if c in "nm" else int(c) for c in shape)
        i = np.arange(int(np.prod(shape)), dtype=np.int64)
        v = (i * 37 + ord(name) * 11 + 5) % 7 - 3
        if dtype == bool:
            return (v % 3 == 0).reshape(shape)
        if np.issubdtype(dtype, np.floating):
            # Zeros of both signs, and NaN.
            v = np.where(v == 3, np.nan, v / 2)
            return np.where((v == 0) & (i % 2 == 1), -0.0, v).astype(dtype).reshape(shape)
        return v.astype(dtype).reshape(shape)

    def f(self, name, shape):
        return self.of(name, shape, np.float64)

    def g(self, name, shape):
        return self.of(name, shape, np.float32)

    def i(self, name, shape):
        return self.of(name, shape, np.int64)

    def w(self, name, shape):
        return self.of(name, shape, np.int8)

    def u(self, name, shape):
        return self.of(name, shape, np.uint16)

    def b(self, name, shape):
        return self.of(name, shape, bool)

    def z(self, name, shape):
        return self.i(name, shape) + 1j * self.i(name.upper(), shape)


def unique(x, *parts):
    values = np.unique(x, equal_nan=False, sorted=True) if not parts else None
    found = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    given = dict(zip(["values", "indices", "inverse", "counts"], found))
    assert values is None or np.array_equal(values, found[0], equal_nan=values.dtype.kind == "f")
    return [given[part] for part in ("values", *parts)]


CASES = {
    "nonzero": lambda d: np.nonzero(d.i("a", "nm")),
    "nonzero_float": lambda d: np.nonzero(d.f("a", "nm2")),
    "nonzero_bool": lambda d: np.nonzero(d.b("a", "n")),
    "nonzero_complex": lambda d: np.nonzero(d.z("a", "nm")),
    "argwhere": lambda d: [np.argwhere(d.i("a", "nm") > 0)],
    "argwhere_of_one": lambda d: [np.argwhere(np.sum(d.i("a", "nm")))],
    "masked": lambda d: [d.f("a", "nm")[d.b("b", "nm")]],
    "masked_rows": lambda d: [d.i("a", "nm")[d.b("b", "n")]],
    "masked_slices": lambda d: [d.w("a", "nm3")[d.b("b", "nm")]],
    "masked_complex": lambda d: [d.z("a", "nm")[d.b("b", "nm")]],
    "masked_bool": lambda d: [d.b("a", "nm")[d.b("b", "nm")]],
    "masked_u16": lambda d: [d.u("a", "nm")[d.b("b", "nm")]],
    "masked_f32": lambda d: [d.g("a", "nm")[d.g("a", "nm") > 0]],
    "masked_whole": lambda d: [d.i("a", "nm")[np.sum(d.i("b", "nm")) > 0]],
    "masked_computed": lambda d: [(d.f("a", "nm") * 2 + 1)[d.f("a", "nm") < d.f("b", "m")]],
    "masked_transposed": lambda d: [d.i("a", "nm").T[d.b("b", "mn")]],
    "compress": lambda d: [np.compress(d.i("b", "m"), d.i("a", "nm"), 1)],
    "compress_first": lambda d: [np.compress(d.b("b", "n"), d.i("a", "nm2"), 0)],
    "compress_flat": lambda d: [d.i("a", "nm").ravel()[d.b("b", "nm").ravel()]],
    "repeat": lambda d: [np.repeat(d.i("a", "nm"), np.abs(d.i("b", "m")), 1)],
    "repeat_first": lambda d: [np.repeat(d.f("a", "nm"), np.abs(d.w("b", "n")), 0)],
    "repeat_flat": lambda d: [np.repeat(d.w("a", "nm"), np.abs(d.i("b", "nm")).ravel())],
    "repeat_one": lambda d: [np.repeat(d.i("a", "nm"), np.abs(d.i("b", "1")), 0)],
    "repeat_complex": lambda d: [np.repeat(d.z("a", "nm"), np.abs(d.i("b", "n")), 0)],
    "repeat_negative": lambda d: [np.repeat(d.i("a", "nm"), d.i("b", "m") - 9, 1)],
    "unique_values": lambda d: unique(d.i("a", "nm")),
    "unique_float": lambda d: unique(d.f("a", "nm")),
    "unique_f32": lambda d: unique(d.g("a", "nm3")),
    "unique_bool": lambda d: unique(d.b("a", "nm"), "counts"),
    "unique_i8": lambda d: unique(d.w("a", "nm"), "counts"),
    "unique_u16": lambda d: unique(d.u("a", "nm"), "counts"),
    "unique_inverse": lambda d: unique(d.i("a", "nm"), "inverse"),
    "unique_inverse_float": lambda d: unique(np.where(np.isnan(d.f("a", "nm")), 7.0, d.f("a", "nm")), "inverse"),
    "unique_all": lambda d: unique(d.i("a", "nm2"), "indices", "inverse", "counts"),
    "unique_complex": lambda d: unique(d.z("a", "nm"), "indices", "inverse", "counts"),
    "unique_of_one": lambda d: unique(np.sum(d.i("a", "nm")), "indices", "inverse", "counts"),
    "mask_of_mask": lambda d: [(x := d.i("a", "nm")[d.b("b", "nm")])[x > 0]],
    "mask_of_mask_of_mask": lambda d: [(y := (x := d.i("a", "nm")[d.b("b", "nm")])[x > -2] * 3)[y < 6] + 1],
    "unique_of_mask": lambda d: unique(d.i("a", "nm")[d.b("b", "nm")], "counts"),
    "sum_of_mask": lambda d: [np.sum(d.i("a", "nm")[d.b("b", "nm")])],
    "rows_of_mask": lambda d: [np.sum(d.i("a", "nm")[d.b("b", "n")] * d.i("c", "m"), 0)],
    "nonzero_take": lambda d: [np.take(d.i("a", "nm"), np.nonzero(d.b("b", "n"))[0], 0)],
    "two_masks": lambda d: [(m := d.b("b", "nm"), d.i("a", "nm")[m] - d.i("c", "nm")[m] * 2)[1]],
    "outer_of_masks": lambda d: [d.i("a", "n")[d.b("b", "n")][:, None] + d.i("c", "m")[d.b("e", "m")]],
    "product_of_mask": lambda d: [d.i("a", "nm")[d.b("b", "n")] @ d.i("c", "m3")],
    "sorted_mask": lambda d: [np.sort(d.i("a", "nm")[d.b("b", "nm")])[::-1]],
    "slice_of_mask": lambda d: [d.i("a", "nm")[d.b("b", "nm")][1:]],
    "joined_masks": lambda d: [np.concatenate([d.i("a", "nm")[d.b("b", "nm")], d.i("c", "n")])],
    "count_of_mask": lambda d: [(x := d.i("a", "nm")[d.b("b", "nm")], x * x.size)[1]],
    "greatest_of_mask": lambda d: [np.max(d.i("a", "nm")[d.i("a", "nm") > 0])],
    "mask_and_rest": lambda d: [d.i("a", "nm")[d.b("b", "nm")], d.i("a", "nm") + 1, np.sum(d.i("a", "nm"), 0)],
    "wrong_mask": lambda d: [d.i("a", "nm")[d.b("b", "mn")]],
    "wrong_counts": lambda d: [np.repeat(d.i("a", "nm"), np.abs(d.i("b", "m")), 0)],
}


def text(x):
    if np.iscomplexobj(x):
        x = np.stack([x.real, x.imag], -1)
    return [repr(v) for v in x.astype(np.float64).ravel().tolist()]


for name, case in CASES.items():
    for n, m in SIZES:
        try:
            results = [np.asarray(x) for x in case(Data(n, m))]
        except (ValueError, IndexError) as error:
            print(f"{name} {n} {m} error")
            continue
        for x in results:
            dtype = x.dtype.name.replace("uint", "u").replace("int", "i").replace("float", "f").replace("complex", "c")
            shape = ",".join(map(str, x.shape))
            print(f"{name} {n} {m} {dtype} [{shape}] {' '.join(text(x))}".rstrip())
