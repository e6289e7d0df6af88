"""Derives the coefficients in src/elementary: minimax fits, rounded to f32 or f64.

    python3 -m venv v && v/bin/pip install mpmath numpy && v/bin/python fit_elementary.py

A fit minimises max |weight * (approximation - target)| over an interval by Remez exchange in 200 bits,
rounds every coefficient, and then descends by steps of a few ulps in one or two coefficients. Rational
fits P/Q with a monic Q iterate the linear problem P - target * Q, weighted by the last 1/Q.
"""

import numpy as np
from mpmath import asin, atan, atanh, cbrt, cos, cosh, erf, erfc, exp, expm1, log, loggamma, lu_solve, matrix, mp, mpf, nint, pi
from mpmath import re, sin, sinh, sqrt, tanh

mp.prec = 200
TINY = mpf(10) ** -12
TYPES = {"f32": np.float32, "f64": np.float64}


def chebyshev(a, b, n):
    return [(a + b) / 2 - (b - a) / 2 * cos(pi * (k + mpf(1) / 2) / n) for k in range(n)]


def remez(target, weight, basis, a, b, grid=400):
    """The largest error and the coefficients."""
    n = len(basis)
    xs, points = chebyshev(a, b, n + 1), chebyshev(a, b, grid)
    rows = [([w * f(x) for f in basis], w * target(x)) for x in points for w in [weight(x)]]
    best = None
    for _ in range(30):
        lhs, rhs = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i, x in enumerate(xs):
            w = weight(x)
            for j, f in enumerate(basis):
                lhs[i, j] = w * f(x)
            lhs[i, n], rhs[i] = (-1) ** i, w * target(x)
        solution = lu_solve(lhs, rhs)
        c = [solution[i] for i in range(n)]
        e = [sum(ci * t for ci, t in zip(c, row)) - y for row, y in rows]
        worst = max(abs(v) for v in e)
        if best is None or worst < best[0]:
            best = (worst, c)
        if worst < abs(solution[n]) * mpf("1.0005"):
            break
        extrema = []  # one for each run of equal signs
        for i in range(grid):
            if not extrema or (e[i] > 0) != (e[extrema[-1]] > 0):
                extrema.append(i)
            elif abs(e[i]) > abs(e[extrema[-1]]):
                extrema[-1] = i
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(e[extrema[0]]) < abs(e[extrema[-1]]) else -1)
        if len(extrema) < n + 1:
            break
        xs = [points[i] for i in extrema]
    return best


def show(name, target, weight, basis, a, b, typ):
    a, b, cast = mpf(a), mpf(b), TYPES[typ]
    ideal, c = remez(target, weight, basis, a, b)
    c = [mpf(float(cast(float(x)))) for x in c]
    points = chebyshev(a, b, 801)
    table = np.array([[float(w * f(x)) for f in basis] for x in points for w in [weight(x)]])
    e = np.array([float(weight(x) * (sum(ci * f(x) for ci, f in zip(c, basis)) - target(x))) for x in points])
    ulps = np.array([float(np.spacing(cast(abs(float(x))))) for x in c])
    n, worst = len(c), np.abs(e).max()
    moves = [[s * (k == i) for k in range(n)] for i in range(n) for s in (1, -1, 2, -2, 8, -8, 64, -64)]
    pairs = [(s, t * r) for s in (1, -1) for t in (1, -1) for r in (1, 2, 4, 8, 16, 32, 64, 256)]
    moves += [[s * (k == i) + t * (k == j) for k in range(n)] for i in range(n) for j in range(i + 1, n) for s, t in pairs]
    moves = np.array(moves, float)
    deltas, total = moves @ (table * ulps).T, np.zeros(n)
    while True:
        errors = np.abs(e[None, :] + deltas).max(axis=1)
        i = errors.argmin()
        if errors[i] >= worst * (1 - 1e-6):
            break
        worst, e, total = errors[i], e + deltas[i], total + moves[i]
    c = [cast(float(x + mpf(k) * mpf(u))) for x, k, u in zip(c, total, ulps)]
    print(f"{name} {typ}: 2^{float(log(ideal, 2)):.1f} ideal, 2^{np.log2(worst):.1f} rounded", flush=True)
    print("   ", ", ".join(str(x) if typ == "f32" else repr(float(x)) for x in c), flush=True)


def polynomial(name, target, weight, degree, a, b, typ):
    show(name, target, weight, [(lambda x, i=i: x**i) for i in range(degree + 1)], a, b, typ)


def rational(name, target, weight, p, q, a, b, typ):
    denominator = lambda z: mpf(1)
    for _ in range(8):
        basis = [(lambda z, i=i: z**i) for i in range(p + 1)]
        basis += [(lambda z, i=i: -target(z) * z**i) for i in range(q)]
        lhs, w = lambda z: target(z) * z**q, lambda z: weight(z) / denominator(z)
        c = remez(lhs, w, basis, mpf(a), mpf(b), 200)[1][p + 1 :]
        denominator = lambda z, c=c: sum(k * z**i for i, k in enumerate(c)) + z**q
    show(name, lhs, lambda z: weight(z) / denominator(z), basis, a, b, typ)


def near_zero(f, limit):
    return lambda z: f(z) if z > TINY else limit


h = log(2) / 2 * mpf("1.0003")
for typ, d in (("f32", 4), ("f64", 9)):
    polynomial("exp P", lambda r: (expm1(r) - r) / r**2, lambda r: r**2 / exp(r), d, -h, h, typ)
for typ, d in (("f32", 6), ("f64", 11)):
    polynomial("exp2 R", lambda r: expm1(r * log(2)) / r, lambda r: r / exp(r * log(2)), d, "-0.5001", "0.5", typ)
z_log = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2
for typ, d in (("f32", 2), ("f64", 6)):
    polynomial("log Q", lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: z / 2, d, mpf(10) ** -9, z_log, typ)
for typ, p, q in (("f32", 1, 1), ("f64", 2, 3)):
    t = lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z
    rational("tanh P/Q", t, lambda z: z * sqrt(z) / tanh(sqrt(z)), p, q, mpf(10) ** -9, mpf("0.65") ** 2, typ)
s_erf = near_zero(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1)
w_erf = near_zero(lambda z: sqrt(z) / erf(sqrt(z)), sqrt(pi) / 2)
polynomial("erf S", s_erf, w_erf, 6, TINY, mpf("0.9375") ** 2, "f32")
rational("erf S", s_erf, w_erf, 5, 5, TINY, mpf("0.9375") ** 2, "f64")
split = mpf("0.9375") * mpf("0.9999")
polynomial("erf L", lambda y: log(erfc(y)), lambda y: erfc(y) / erf(y), 7, split, 4, "f32")
rational("erf -R", lambda y: -erfc(y) * exp(y * y), lambda y: exp(-y * y) / erf(y), 5, 6, split, 6, "f64")
z_trig = (pi / 4 * mpf("1.00001")) ** 2
s_sin = near_zero(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, mpf(-1) / 6)
c_cos = near_zero(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24)
for typ, d in (("f32", 2), ("f64", 5)):
    polynomial("sin S", s_sin, lambda z: z * sqrt(z) / sin(sqrt(z)), d, TINY, z_trig, typ)
    polynomial("cos C", c_cos, lambda z: z**2 / cos(sqrt(z)), d, TINY, z_trig, typ)
s_atan = near_zero(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, mpf(-1) / 3)
for typ, d in (("f32", 4), ("f64", 11)):
    z = (sqrt(2) - 1) ** 2 * mpf("1.0001")
    polynomial("atan", s_atan, lambda z: z * sqrt(z) / atan(sqrt(z)), d, TINY, z, typ)
s_asin = near_zero(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6)
for typ, d in (("f32", 5), ("f64", 12)):
    polynomial("asin", s_asin, lambda z: z * sqrt(z) / asin(sqrt(z)), d, TINY, mpf("0.2501"), typ)
s_sinh = near_zero(lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6)
c_cosh = near_zero(lambda z: (cosh(sqrt(z)) - 1) / z, mpf(1) / 2)
for typ, d in (("f32", 2), ("f64", 5)):
    polynomial("sinh", s_sinh, lambda z: z * sqrt(z) / sinh(sqrt(z)), d, TINY, h**2, typ)
    polynomial("cosh", c_cosh, lambda z: z / cosh(sqrt(z)), d, TINY, h**2, typ)
for typ, d in (("f32", 3), ("f64", 6)):
    polynomial("cbrt", cbrt, lambda m: 1 / cbrt(m), d, sqrt(mpf(1) / 2), sqrt(mpf(2)), typ)
w_pow = near_zero(lambda z: (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z**2, mpf(1) / 5)
for typ, d in (("f32", 3), ("f64", 7)):
    polynomial("pow W", w_pow, lambda z: z**2, d, mpf(10) ** -9, z_log * mpf("1.0001"), typ)
mp.prec = 300
for typ, k, d, end in (("f32", 2, 10, mpf("10.2")), ("f64", 4, 24, mpf("27.4"))):
    y_of = lambda t: k * (1 + t) / (1 - t)
    g = lambda t: (1 + 2 * y_of(t)) * exp(y_of(t) ** 2) * erfc(y_of(t))
    polynomial("erfc G", g, lambda t: 1 / g(t), d, mpf(-1), (end - k) / (end + k), typ)

lg = lambda y: re(loggamma(y))
r_near = lambda v: lg(v + mpf(3) / 2) / ((v + mpf(1) / 2) * (v - mpf(1) / 2))
s_far = lambda t: (lg(1 / sqrt(t)) - (1 / sqrt(t) - mpf(1) / 2) * log(1 / sqrt(t)) + 1 / sqrt(t) - log(2 * pi) / 2) / sqrt(t)
for typ, d, e in (("f32", 9, 2), ("f64", 21, 6)):
    polynomial("lgamma R", r_near, lambda v: 1 / r_near(v), d, mpf(TINY) - mpf(1) / 2, mpf(1) / 2 - TINY, typ)
    polynomial("lgamma S", s_far, lambda t: 12, e, mpf(10) ** -8, mpf(1) / 64, typ)

mp.prec = 1500
for typ, bits, precision, n in (("f32", 12, 24, 18), ("f64", 26, 53, 47)):
    rest, digits = 2 / pi, []
    for i in range(n):
        unit = mpf(2) ** (precision + 2 - bits - bits * i)
        digits.append(int(nint(rest / unit)))
        rest -= digits[-1] * unit
    print(f"2/pi {typ}:", digits)
