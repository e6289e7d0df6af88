"""Writes `complex.txt`: what NumPy says about functions of complex numbers, `function re im re im` a line.

Run it with NumPy 2.4: `python complex.py > complex.txt`. Left out is where NumPy loses digits or signs that C99 has, and
where C99 leaves a sign open.
"""

import math
import warnings

import numpy as np

warnings.filterwarnings("ignore")
inf, nan = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -2.0, inf, -inf, nan]
POINTS = [(x, y) for x in SPECIAL for y in SPECIAL] + [
    (-1e200, 0.0), (1e200, 1e200), (400.0, 1.0), (3.0, 4.0), (-4.0, -0.0), (1.0, 400.0), (1.0, -800.0),
    (1e-200, 1e-200), (1.5e308, 1.5e308), (1e-310, 0.0), (0.5, 2.0), (-0.5, -0.0), (709.5, 1.0), (710.2, 0.5),
    (-745.0, 2.0), (1.0, 1e-200), (-1.0, 1e-20), (0.6, 0.8), (1e-8, 1e-9), (1e10, 1e-10), (1e160, 1.0),
    (1.0, 1e160), (1e20, -1e20), (-3.25, 0.125), (0.3, -0.7), (-12.0, 7.5), (1e-5, -2e-3),
]
FUNCTIONS = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2,
    "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "square": np.square, "reciprocal": np.reciprocal,
    "sign": np.sign, "abs": np.abs,
}


def is_open(name, z):
    parts = [z.real, z.imag]
    finite = all(map(math.isfinite, parts))
    size = max(map(abs, parts))
    return (
        name == "log1p" and size < 0.5
        or name == "expm1" and not finite
        or name in ("cos", "cosh") and not finite and 0.0 in parts
        or name == "exp" and z.real == -inf
        or name == "atan" and math.isinf(z.real) and math.isnan(z.imag)
        or name == "reciprocal" and (z == 0 or finite and not 1e-300 < size < 1e300)
        or name == "sign" and size > 1e307
        or name == "square" and size == 1e20
    )


for name, function in FUNCTIONS.items():
    for x, y in POINTS:
        z = complex(x, y)
        w = complex(function(np.complex128(z)))
        if not is_open(name, z):
            print(name, *map(repr, (z.real, z.imag, w.real, w.imag)))
