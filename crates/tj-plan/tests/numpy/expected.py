"""Writes `expected.txt`: what NumPy says about every case of `numpy.rs`, by name.

Run it with NumPy 2.4: `python expected.py > expected.txt`.
"""

import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
SIZES = [(3, 4), (0, 4), (3, 0), (1, 1), (0, 0), (5, 2)]


class Data:
    def __init__(self, n, m):
        self.n, self.m = n, m

    def of(self, name, shape, dtype):
        shape = tuple({"n": self.n, "m": self.m}.get(c) if c in "nm" else int(c) for c in shape)
        i = np.arange(int(np.prod(shape)), dtype=np.int64)
        v = (i * 37 + ord(name) * 11 + 5) % 23 - 11
        if dtype == bool:
            return (v % 3 == 0).reshape(shape)
        if np.issubdtype(dtype, np.floating):
            return (v / 4).astype(dtype).reshape(shape)
        return v.astype(dtype).reshape(shape)

    def f(self, name, shape):
        return self.of(name, shape, np.float64)

    def g(self, name, shape):
        return self.of(name, shape, np.float32)

    def i(self, name, shape):
        return self.of(name, shape, np.int64)

    def w(self, name, shape):
        return self.of(name, shape, np.int8)

    def z(self, name, shape):
        return self.f(name, shape) + 1j * self.f(name.upper(), shape)

    def y(self, name, shape):
        return (self.g(name, shape) + 1j * self.g(name.upper(), shape)).astype(np.complex64)

    def b(self, name, shape):
        return self.of(name, shape, bool)

    def nan(self, name, shape):
        x = self.of(name, shape, np.float64)
        return np.where(x < -1.5, np.nan, x)


CASES = {}
exec(open(__file__.replace("expected.py", "cases.py")).read())


def text(x):
    if x.dtype == bool:
        return [str(int(v)) for v in x.ravel()]
    return [repr(v) for v in x.ravel().tolist()]


for name, case in CASES.items():
    for n, m in SIZES:
        try:
            x = np.asarray(case(Data(n, m)))
            if np.iscomplexobj(x):
                # As pairs.
                x = np.stack([x.real, x.imag], -1)
        except (ValueError, IndexError, np.linalg.LinAlgError) as error:
            print(f"{name} {n} {m} error")
            continue
        dtype = {"bool": "bool"}.get(x.dtype.name, x.dtype.name.replace("uint", "u").replace("int", "i").replace("float", "f"))
        shape = ",".join(map(str, x.shape))
        print(f"{name} {n} {m} {dtype} [{shape}] {' '.join(text(x))}".rstrip())
