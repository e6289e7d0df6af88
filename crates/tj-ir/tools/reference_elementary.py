"""Writes tests/elementary_ulp/reference.txt: elementary functions with 2000 bits, at some arguments of every kind.

    python3 -m venv v && v/bin/pip install mpmath && v/bin/python reference_elementary.py > ../tests/elementary_ulp/reference.txt

A line is a function, its arguments, and `hi lo k`: the value is (hi + lo) * 2^k, with |hi| between 1 and 2.
"""

import math
import random

from mpmath import acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, erf, erfc, exp, expm1, hypot, ldexp, log
from mpmath import log10, log1p, mp, mpf, power, sin, sinh, sqrt, tan, tanh

mp.prec = 2000


def odd_cbrt(x):
    return cbrt(x) if x >= 0 else -cbrt(-x)


def softplus(x):
    return log1p(exp(x))


# Intervals in which functions change, as in `samples`.
ONE = {
    "exp": (exp, -750, 709),
    "exp2": (lambda x: power(2, x), -1080, 1023),
    "expm1": (expm1, -750, 709),
    "log": (log, 0, 4),
    "log2": (lambda x: log(x) / log(mpf(2)), 0, 4),
    "log10": (log10, 0, 4),
    "log1p": (log1p, -1, 3),
    "sin": (sin, -1000, 1000),
    "cos": (cos, -1000, 1000),
    "tanh": (tanh, -21, 21),
    "sigmoid": (lambda x: 1 / (1 + exp(-x)), -750, 712),
    "erf": (erf, -6.2, 6.2),
    "tan": (tan, -1000, 1000),
    "asin": (asin, -1, 1),
    "acos": (acos, -1, 1),
    "atan": (atan, -10, 10),
    "sinh": (sinh, -710, 710),
    "cosh": (cosh, -710, 710),
    "asinh": (asinh, -10, 10),
    "acosh": (acosh, 1, 10),
    "atanh": (atanh, -1, 1),
    "cbrt": (odd_cbrt, -8, 8),
    "erfc": (erfc, -6, 27.5),
    "gelu": (lambda x: x * erfc(-x / sqrt(mpf(2))) / 2, -39, 9),
    "silu": (lambda x: x / (1 + exp(-x)), -750, 40),
    "softplus": (softplus, -750, 40),
    "log_sigmoid": (lambda x: -softplus(-x), -750, 40),
}
POSITIVE = {"log", "log2", "log10"}
TWO = {
    "pow": power,
    "atan2": atan2,
    "hypot": hypot,
    "logaddexp": lambda x, y: max(x, y) + log1p(exp(min(x, y) - max(x, y))),
}


def line(name, arguments, value):
    if value == 0:
        return
    k = int(mp.floor(log(abs(value)) / log(mpf(2))))
    scaled = ldexp(value, -k)
    hi = float(scaled)
    print(name, *map(repr, arguments), repr(hi), repr(float(scaled - hi)), k)


random.seed(1)
for name, (function, lo, hi) in ONE.items():
    arguments = [random.uniform(lo, hi) for _ in range(8)]
    arguments += [random.uniform(-0.7, 0.7), random.uniform(-2, 2), math.ldexp(random.uniform(-1, 1), -20), 1e-12, -1e-12]
    arguments += [1 + 2.0**-52, 1 - 2.0**-53, 1 + 1e-7, 0.7, 2.5, 3.5, -1e-30, 1e-99, 1e-200]
    if name in ("sin", "cos", "tan"):
        # Near multiples of pi/2, and all of the range.
        arguments += [1e22, 1.7e308, 6381956970095103 * 2.0**797, math.pi, -3 * math.pi / 2, 1e5]
    if name in ("log", "log2", "log10", "asinh", "acosh", "cbrt", "hypot", "atan"):
        arguments += [1e300, 1e11, 3e99, 1e-300]
    for x in arguments:
        inside = x > 0 if name in POSITIVE else x > -1 if name == "log1p" else abs(x) < 1 if name in ("asin", "acos", "atanh") else True
        if inside and (name != "acosh" or x > 1):
            line(name, [x], function(mpf(x)))
for name, function in TWO.items():
    for number in range(24):
        sign = lambda: random.choice([-1, 1])
        reach = [1, 10, 300, 1000][number % 4]
        x = sign() * 2 ** random.uniform(-reach, reach)
        y = x * sign() * 2 ** random.uniform(-2, 2) if number % 3 else sign() * 2 ** random.uniform(-reach, reach)
        if name == "pow":
            x = abs(x)
            y = random.uniform(-1070, 1020) / (math.log2(x) or 1)
        if name == "logaddexp":
            x, y = random.uniform(-20, 20), random.uniform(-20, 20)
        line(name, [x, y], function(mpf(x), mpf(y)))
