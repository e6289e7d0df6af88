"""Writes golden.txt: what NumPy and SciPy answer. Made with NumPy 2.4 and SciPy 1.17.

A line `function(a, b)` begins a case; lines `in` and `out` follow with dtype, shape and elements, row-major. Complex
numbers are pairs. Run it as `python golden.py > golden.txt`.
"""

import numpy as np
from scipy import linalg as sl

rng = np.random.default_rng(7)
NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "uint8": "u8", "int8": "i8"}


def pairs(x):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        return np.stack([x.real, x.imag], -1)
    return x


def show(kind, x):
    x = np.ascontiguousarray(pairs(x)) if np.ndim(x) else pairs(x)
    shape = "x".join(str(n) for n in x.shape) or "."
    print(kind, NAMES[x.dtype.name], shape, *(repr(v.item()) for v in x.ravel()))


def case(name, a, b, ins, outs):
    print(f"\n{name}({a}, {b})")
    for x in ins:
        show("in", x)
    for x in outs:
        show("out", x)


def normal(*shape, complex=False, dtype=np.float64):
    x = rng.standard_normal(shape).round(3)
    if complex:
        return x + 1j * rng.standard_normal(shape).round(3)
    return x.astype(dtype)


nan, inf = np.nan, np.inf
for x in [np.array([[3.0, nan, -0.0, 0.0, -inf], [nan, 2.0, 2.0, inf, -1.0]]),
          np.array([1.5, -2.0, nan, 0.5], np.float16), np.array([3, 1, 2, 1, 255, 0], np.uint8)]:
    case("sort", 0, 0, [x], [np.sort(x, stable=True)])
    case("argsort", 0, 0, [x], [np.argsort(x, stable=True)])
s = np.array([-inf, -1.0, 0.0, 0.0, 2.0, inf, nan, nan])
v = np.array([nan, inf, -0.0, 1.0, -inf, 2.0])
case("searchsorted", 0, 0, [s, v], [np.searchsorted(s, v, "left")])
case("searchsorted", 1, 0, [s, v], [np.searchsorted(s, v, "right")])

for x in [normal(2, 5), normal(6, dtype=np.float32), normal(5, dtype=np.float16), np.array([1, nan, 2.0, -1.0])]:
    # NumPy accumulates halves in halves.
    for code, op in [(0, np.add), (1, np.multiply), (2, np.maximum), (3, np.minimum)]:
        case("scan", 2 * code, 0, [x], [op.accumulate(x, -1)])
x = np.array([[100, 100, 3], [-7, 9, 100]], np.int8)
case("scan", 0, 0, [x], [np.cumsum(x, -1, dtype=np.int8)])
x = normal(2, 4)
case("scan", 1, 0, [x], [np.cumulative_sum(x, axis=-1, include_initial=True)])
x = normal(4, complex=True)
case("scan", 2, 1, [x], [np.cumprod(x)])

x, at = normal(2, 3, 2), np.array([2, -1, 0, -3])
case("take", 0, 0, [x, at], [np.take(x, at, axis=1)])
x, at = normal(2, 4), np.array([[3, -1, 0], [1, 1, -4]])
case("take_along", 0, 0, [x, at], [np.take_along_axis(x, at, -1)])
for code, op in [(1, np.add), (2, np.multiply), (3, np.maximum), (4, np.minimum)]:
    x, at, u = normal(4, 2), np.array([1, -1, 1, 0]), normal(4, 2)
    y = x.copy()
    op.at(y, at, u)
    case("scatter", code, 0, [x, at, u], [y])

for c in [False, True]:
    f = int(c)
    a = normal(2, 4, 4, complex=c)
    h = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(4)
    l = np.linalg.cholesky(h)
    case("cholesky", 0, f, [h], [l])
    case("cholesky", 1, f, [h], [np.conj(np.swapaxes(l, -1, -2))])
    case("det", 0, f, [a], [np.linalg.det(a)])
    case("slogdet", 0, f, [a], np.linalg.slogdet(a))
    case("inv", 0, f, [a], [np.linalg.inv(a)])
    b = normal(2, 4, 3, complex=c)
    case("solve", 0, f, [a, b], [np.linalg.solve(a, b)])
    case("eigvalsh", 0, f, [h], [np.linalg.eigvalsh(h)])
    for m, n in [(3, 5), (5, 3), (4, 4)]:
        a = normal(m, n, complex=c)
        case("svdvals", 0, f, [a], [np.linalg.svd(a, compute_uv=False)])
a = normal(3, 3, dtype=np.float32)
case("inv", 0, 0, [a], [np.linalg.inv(a.astype(np.float64)).astype(np.float32)])
a = np.array([[1.0, 2.0], [2.0, 4.0]])
case("det", 0, 0, [a], [np.linalg.det(a)])
case("slogdet", 0, 0, [a], np.linalg.slogdet(a))
h = sl.hilbert(6)
case("eigvalsh", 0, 0, [h], [sl.eigvalsh(h)])
case("svdvals", 0, 0, [h], [sl.svdvals(h)])

for n in [1, 2, 3, 5, 8, 12, 17]:
    x = normal(2, n, complex=True)
    case("fft", 0, 0, [x], [np.fft.fft(x)])
    case("fft", 1, 0, [x], [np.fft.ifft(x, norm="forward")])
    r = normal(2, n)
    case("rfft", 0, 0, [r], [np.fft.rfft(r)])
    # Not the spectrum of anything: the imaginary parts at both ends are ignored.
    z = normal(2, n // 2 + 1, complex=True)
    case("irfft", 0, 0, [z], [np.fft.irfft(z, n, norm="forward")])
x = normal(6, complex=True)
case("fft", 0, 0, [pairs(x).astype(np.float32)], [pairs(np.fft.fft(x)).astype(np.float32)])
