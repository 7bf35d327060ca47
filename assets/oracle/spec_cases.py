"""Writes assets/cases/spec_cases.ron: points where automatic differentiation goes wrong, with what is right there.

Where a function of many digits stands beside a case, its value and the central differences of it give the numbers, and what a person
wrote down must be near. Elsewhere the numbers are limits and conventions.
"""

from pathlib import Path

from mpmath import mp, mpf

import functions
import vectors
from rounding import INF, NAN, exact, nearest
from vectors import listed, product, slope

mp.dps = 400
STEP = mpf(10) ** -130

HEAD = """\
// Rows of the list of edge cases, as data. The format is that of edge_cases.ron with an id: the value is that of the sum of the
// expression, the gradient that of this sum, a leaf of the point a vector (a matrix in row-major order), `tolerance` is relative.
// Written by assets/oracle/spec_cases.py.
//
// What the names stand for, where they do not say it:
//   abs times abs              |x|·|x|
//   normalised or itself       where(n < 1e-12, x, x/n), n = norm2(x); first and second of it are its elements
//   angle between vectors      atan2(norm2(u × v), u·v) of two vectors of 3
//   axis angle to quaternion   (cos(t/2), v·sin(t/2)/t), t = norm2(v), in a form that is smooth at 0; `w of` it is the first element
//   quaternion log             v·acos(w)/norm2(q), q = (w, v)
//   step above zero            where(x > 0, 1, 0)
//   sin away from zero         where(x != 0, sin x, 0)
//   zero at zero, else x sqrt x   where(x == 0, 0, x·sqrt x)
//   select quotient or c       where(false, a/0, c)
//   pow both live, atan2, hypot   two leaves; atan2 has the ordinate first
//   x to the 2.0               an exponent that is a float; x to the 2 is an integer
//   logsumexp of the first     logsumexp with the mask [true, false]
//   product plus row minus column   Σ ((X W) + b - t)², X[2,3] W[3,1] b[1,3] t[2,1]
//   zeros 0x3 times B          zeros(0, 3) @ B(3, 2)
//   scatter set twice at 0     zeros(2) with element 0 set to v[0] and then to v[1]
//   copy, each plus one in place; overwritten   by a variable, or by slices that are set
//   square of x, p unused      x², p an argument nobody reads
//   derivative of f            a gradient as the value: the case asks for its gradient, the second derivative of f
//   derivative of rosenbrock in the first   one element of the gradient
//   halve or double            where(a > 1, a/2, 2·a); the two points must go through one graph function
//   damped spring              p = 1, v = 0; 1000 times a = -k·p - 0.1·v, v += 0.01·a, p += 0.01·v; p²
//   bounce with time of impact a ball h above the floor with speed v down and no gravity, elastic; its height at T = 1
//   free fall of 100 steps     v += -9.81·0.01, x += 0.01·v from v = 0; the last x
//
// Rows that need a test of another kind:
//   E-K32  a sample variance of one number: an error or NaN, of one documented kind, with a gradient of the shape of x
//   E-P09  the numbers are here; that the audit reports the singular point needs the audit
//   E-P16  the numbers are here; that the audit names the op needs the audit
//   E-E01  the numbers are here; in f32 sigmoid(-90) is subnormal or 0, never NaN
//   E-E18  the numbers are here; in f32 tanh(90) is 1 with derivative 0
//   E-S05  the mean of nothing: an error that names the op, or NaN
//   E-S06  the greatest of nothing: a typed error
//   E-S14  the gradient of a value that is no scalar, without a seed: an error or the documented sum
//   E-G01  a variable assigned after a trace used it: the gradient 6 at x = 3, or a typed error, never 200
//   E-G09  the zero is here; that p is listed as unused needs the list
//   E-G11  an unknown op in Gradient: a typed error, never a default
//   E-G13  the numbers are here; one function must be called at both points, in this order
//   E-T01  the norm-clipping of gradients that are all zero: zeros
//   E-T03  the norm-clipping of [inf, 1, 0]: a typed error or a skipped and reported step
//   E-T04  three steps of Adam (0.1) on x² from 1: 0.9000000005, 0.8004122286917922, 0.7015862729460296
//   E-T06  the same with saving after step 2 and loading in a fresh process: equal bits
//   E-T08  one step changes every variable whose gradient is not 0, and no other
//   E-T09  100 steps on 1, 2 and 4 threads: equal bits
//   E-T10  100000 steps: the counts of entities do not grow after the first
"""

LN2 = 0.6931471805599453
PI = 3.141592653589793


def norm(x):
    return mp.sqrt(sum(v * v for v in x))


def logsumexp(x):
    return vectors.logsumexp([x], [mpf(1)])[0][0]


def value_of(smooth):
    """The value alone of a function that gives its derivatives along."""
    return lambda x: smooth(x)[0]


sigmoid, softplus = value_of(functions.sigma), value_of(functions.softplus)
gelu, gelu_tanh = value_of(functions.gelu), value_of(functions.gelu_tanh)


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def affine(x, w, b, t):
    rows = [sum(x[3 * i + k] * w[k] for k in range(3)) for i in range(2)]
    return sum((rows[i] + b[j] - t[i]) ** 2 for i in range(2) for j in range(3))


def spring(k):
    """Position and velocity; the constants are f64."""
    p, v, step, damping = mpf(1), mpf(0), exact(0.01), exact(0.1)
    for _ in range(1000):
        v += step * (-k * p - damping * v)
        p += step * v
    return p * p


def fall(x):
    v = mpf(0)
    for _ in range(100):
        v += exact(-9.81) * exact(0.01)
        x += exact(0.01) * v
    return x


def one(f):
    """A function of one number, of leaves of one element."""
    return lambda *leaves: f(*(leaf[0] for leaf in leaves))


# (id, sentence, expression, point, value, gradient, tolerance, function for the numbers or None).
CASES = [
    ("E-K01", "abs has the minimum-norm subgradient at zero", "abs", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K02", "a product of two magnitudes is smooth at zero", "abs times abs", [[0.0]], 0.0, [[0.0]], 0, one(lambda x: x * x)),
    ("E-K03", "the one-sided truth of a square root at zero", "sqrt", [[0.0]], 0.0, [[INF]], 0, None),
    ("E-K04", "a zero cotangent stops at an infinite derivative", "zero times sqrt", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K05", "the length of the zero vector has no gradient", "norm2", [[0.0, 0.0, 0.0]], 0.0, [[0.0, 0.0, 0.0]], 0, None),
    ("E-K06", "a squared length is smooth at zero", "norm2 squared", [[0.0, 0.0]], 0.0, [[0.0, 0.0]], 0,
        lambda x: x[0] * x[0] + x[1] * x[1]),
    ("E-K07", "two particles on one spot", "norm2 of the difference", [[1.0, 1.0], [1.0, 1.0]], 0.0, [[0.0, 0.0], [0.0, 0.0]], 0, None),
    ("E-K08", "a guarded direction of the zero vector", "normalised or itself", [[0.0, 0.0]], 0.0, [[1.0, 1.0]], 0, None),
    ("E-K08", "a guarded direction of the zero vector, its first row", "first of normalised or itself", [[0.0, 0.0]], 0.0, [[1.0, 0.0]], 0, None),
    ("E-K08", "a guarded direction of the zero vector, its second row", "second of normalised or itself", [[0.0, 0.0]], 0.0, [[0.0, 1.0]], 0, None),
    ("E-K09", "relu is flat at zero", "relu", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K10", "relu(x) - relu(-x) by the convention", "relu both ways", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K12", "max(x, x) is x", "max of itself", [[3.0]], 3.0, [[1.0]], 0, one(lambda x: x)),
    ("E-K13", "a tie in a reduction is shared", "max over", [[2.0, 2.0, 1.0]], 2.0, [[0.5, 0.5, 0.0]], 0, None),
    ("E-K15", "below a clamp", "clamp 0 1", [[-1.0]], 0.0, [[0.0]], 0, None),
    ("E-K15", "inside a clamp", "clamp 0 1", [[0.5]], 0.5, [[1.0]], 0, one(lambda x: x)),
    ("E-K15", "above a clamp", "clamp 0 1", [[1.5]], 1.0, [[0.0]], 0, None),
    ("E-K16", "at the lower bound of a clamp", "clamp 0 1", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K16", "at the upper bound of a clamp", "clamp 0 1", [[1.0]], 1.0, [[0.0]], 0, None),
    ("E-K16", "relu6 agrees with a clamp below", "relu6", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-K16", "relu6 agrees with a clamp above", "relu6", [[6.0]], 6.0, [[0.0]], 0, None),
    ("E-K16", "hard tanh agrees with a clamp below", "hard tanh", [[-1.0]], -1.0, [[0.0]], 0, None),
    ("E-K16", "hard tanh agrees with a clamp above", "hard tanh", [[1.0]], 1.0, [[0.0]], 0, None),
    ("E-K17", "hypot at the origin", "hypot", [[0.0], [0.0]], 0.0, [[0.0], [0.0]], 0, None),
    ("E-K20", "atan2 at the origin", "atan2", [[0.0], [0.0]], 0.0, [[0.0], [0.0]], 0, None),
    ("E-K21", "atan2 straight up", "atan2", [[1.0], [0.0]], PI / 2, [[0.0], [-1.0]], 1e-15, one(mp.atan2)),
    ("E-K21", "atan2 straight left", "atan2", [[0.0], [-1.0]], PI, [[-1.0], [0.0]], 1e-15, None),
    ("E-K23", "acos at one", "acos", [[1.0]], 0.0, [[-INF]], 0, None),
    ("E-K24", "the angle between equal unit vectors", "angle between vectors", [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 0.0,
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 0, None),
    ("E-K25", "no turn as a quaternion", "axis angle to quaternion", [[0.0, 0.0, 0.0]], 1.0, [[0.5, 0.5, 0.5]], 1e-15, None),
    ("E-K25", "no turn as a quaternion, its real part", "w of axis angle to quaternion", [[0.0, 0.0, 0.0]], 1.0, [[0.0, 0.0, 0.0]], 0, None),
    ("E-K27", "the logarithm of the quaternion one", "quaternion log", [[1.0, 0.0, 0.0, 0.0]], 0.0, [[0.0, 0.0, 0.0, 0.0]], 0, None),
    ("E-K29", "the Bessel function I0 at zero", "bessel i0", [[0.0]], 1.0, [[0.0]], 0, one(lambda x: mp.besseli(0, x))),
    ("E-K30", "the standard deviation of equal numbers", "std", [[5.0, 5.0, 5.0]], 0.0, [[0.0, 0.0, 0.0]], 0, None),
    ("E-K31", "the variance of equal numbers", "var", [[5.0, 5.0, 5.0]], 0.0, [[0.0, 0.0, 0.0]], 0,
        lambda x: sum((v - sum(x) / 3) ** 2 for v in x) / 3),
    *(("E-K33", f"{name} is flat {where}", name, [[x]], value, [[0.0]], 0, None)
        for name, where, x, value in (
            ("floor", "between jumps", 1.5, 1.0), ("floor", "at a jump", 1.0, 1.0), ("ceil", "between jumps", 1.5, 2.0),
            ("ceil", "at a jump", 1.0, 1.0), ("round", "at a jump, to even above", 1.5, 2.0), ("round", "at a jump, to even below", 2.5, 2.0),
            ("round", "between jumps", 1.25, 1.0), ("sign", "away from its jump", 1.5, 1.0), ("sign", "at its jump", 0.0, 0.0),
            ("step above zero", "away from its jump", 1.5, 1.0), ("step above zero", "at its jump", 0.0, 0.0))),
    ("E-K35", "the square root of the smallest number", "sqrt", [[5e-324]], 2.2227587494850775e-162, [[2.2494568972715982e161]], 1e-15,
        one(mp.sqrt)),
    ("E-W01", "a dead branch with an infinite derivative", "select line or sqrt", [[0.0]], 0.0, [[1.0]], 0, None),
    ("E-W03", "a dead branch with an infinite value", "select exp or line", [[1000.0]], 1001.0, [[1.0]], 0, one(lambda x: 1 + x)),
    ("E-W04", "a product with an infinite derivative, cut out", "zero at zero, else x sqrt x", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-W05", "a dead square root below zero", "sqrt or zero", [[-1.0]], 0.0, [[0.0]], 0, None),
    ("E-W05", "a dead square root at zero", "sqrt or zero", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-W06", "a dead logarithm", "log or zero", [[-1.0]], 0.0, [[0.0]], 0, None),
    ("E-W08", "a dead quotient by zero", "select quotient or c", [[1.0], [1.0]], 1.0, [[0.0], [1.0]], 0, None),
    ("E-W10", "the branch that is taken is differentiated", "sin away from zero", [[0.0]], 0.0, [[0.0]], 0, None),
    ("E-W11", "NaN stays NaN through a magnitude", "abs of log", [[-0.5]], NAN, [[NAN]], 0, None),
    ("E-P01", "x to the 0 above zero", "x to the 0", [[2.0]], 1.0, [[0.0]], 0, None),
    ("E-P01", "x to the 0 at zero", "x to the 0", [[0.0]], 1.0, [[0.0]], 0, None),
    ("E-P01", "x to the 0 below zero", "x to the 0", [[-3.0]], 1.0, [[0.0]], 0, None),
    *(("E-P02", f"x to the {n} at zero", f"x to the {n}", [[0.0]], 0.0, [[1.0 if n == 1 else 0.0]], 0, one(lambda x, n=n: x**n))
        for n in (1, 2, 3)),
    *(("E-P02", f"the second derivative of x to the {n} at zero", f"derivative of x to the {n}", [[0.0]], first, [[second]], 0, None)
        for n, first, second in ((1, 1.0, 0.0), (2, 0.0, 2.0), (3, 0.0, 0.0))),
    ("E-P03", "a float exponent of two below zero", "x to the 2.0", [[-2.0]], 4.0, [[-4.0]], 0, one(lambda x: x * x)),
    ("E-P04", "zero to the two, both live", "pow both live", [[0.0], [2.0]], 0.0, [[0.0], [0.0]], 0, None),
    ("E-P06", "zero to the zero, both live", "pow both live", [[0.0], [0.0]], 1.0, [[0.0], [0.0]], 0, None),
    ("E-P08", "x to the half at zero is its square root", "x to the 0.5", [[0.0]], 0.0, [[INF]], 0, None),
    ("E-P09", "a singular product of powers is cut at zero", "x to the 0.3 times y to the 0.7", [[0.0], [0.0]], 0.0, [[0.0], [0.0]], 0, None),
    ("E-P10", "a product with one zero", "prod", [[2.0, 0.0, 3.0, 4.0]], 0.0, [[0.0, 24.0, 0.0, 0.0]], 0, product),
    ("E-P11", "a product with two zeros", "prod", [[2.0, 0.0, 0.0, 4.0]], 0.0, [[0.0, 0.0, 0.0, 0.0]], 0, product),
    ("E-P13", "a product with a negative number", "prod", [[-2.0, 3.0]], -6.0, [[3.0, -2.0]], 0, product),
    ("E-P16", "one over zero is infinite with its gradient", "reciprocal", [[0.0]], INF, [[-INF]], 0, None),
    ("E-P16", "zero over zero is NaN", "x over x", [[0.0]], NAN, [[NAN]], 0, None),
    ("E-E01", "sigmoid far below zero", "sigmoid", [[-90.0]], 8.194012623990515e-40, [[8.194012623990515e-40]], 1e-14, one(sigmoid)),
    ("E-E02", "sigmoid beyond the range of exp, below", "sigmoid", [[-800.0]], 0.0, [[0.0]], 0, one(sigmoid)),
    ("E-E02", "sigmoid beyond the range of exp, above", "sigmoid", [[800.0]], 1.0, [[0.0]], 0, one(sigmoid)),
    ("E-E04", "softplus beyond the range of exp, above", "softplus", [[800.0]], 800.0, [[1.0]], 0, one(softplus)),
    ("E-E04", "softplus at zero", "softplus", [[0.0]], LN2, [[0.5]], 1e-15, one(softplus)),
    ("E-E04", "softplus beyond the range of exp, below", "softplus", [[-800.0]], 0.0, [[0.0]], 0, one(softplus)),
    ("E-E05", "silu at zero", "silu", [[0.0]], 0.0, [[0.5]], 1e-15, one(lambda x: x * sigmoid(x))),
    ("E-E05", "silu at one", "silu", [[1.0]], 0.7310585786300049, [[0.9276705118714867]], 1e-14, one(lambda x: x * sigmoid(x))),
    ("E-E05", "silu beyond the range of exp", "silu", [[-800.0]], 0.0, [[0.0]], 0, one(lambda x: x * sigmoid(x))),
    ("E-E06", "the exact gelu at one", "gelu", [[1.0]], 0.8413447460685429, [[1.0833154705876864]], 1e-14, one(gelu)),
    ("E-E07", "the gelu by tanh at one", "gelu tanh", [[1.0]], 0.8411919906082767, [[1.0829640838457826]], 1e-14, one(gelu_tanh)),
    ("E-E08", "logsumexp beyond the range of exp", "logsumexp", [[1000.0, 1000.0]], 1000.6931471805599, [[0.5, 0.5]], 1e-15, logsumexp),
    ("E-E10", "logsumexp of what a mask leaves", "logsumexp of the first", [[0.0, 100.0]], 0.0, [[1.0, 0.0]], 0, lambda x: x[0]),
    ("E-E12", "log softmax far apart", "log softmax second", [[1000.0, 0.0]], -1000.0, [[-1.0, 1.0]], 0, lambda x: x[1] - logsumexp(x)),
    ("E-E13", "softmax where all of it is in one place, the first", "softmax first", [[1e4, 0.0]], 1.0, [[0.0, 0.0]], 0, None),
    ("E-E13", "softmax where all of it is in one place, the second", "softmax second", [[1e4, 0.0]], 0.0, [[0.0, 0.0]], 0, None),
    ("E-E14", "softmax at a tie", "softmax first", [[2.0, 2.0, 1.0]], 0.4223187982515182,
        [[0.24396563089491166, -0.17835316735660653, -0.06561246353830513]], 1e-14, lambda x: mp.exp(x[0] - logsumexp(x))),
    ("E-E16", "binary cross entropy at zero", "bce with logits", [[0.0], [0.0]], LN2, [[0.5], [0.0]], 1e-15,
        one(lambda x, y: softplus(x) - x * y)),
    ("E-E18", "tanh where it is flat", "tanh", [[400.0]], 1.0, [[0.0]], 0, one(mp.tanh)),
    ("E-E19", "a product that overflows is infinite, not NaN", "a times exp of minus b", [[1.0], [-1000.0]], INF, [[INF], [-INF]], 0,
        one(lambda a, b: a * mp.exp(-b))),
    ("E-S01", "both operands of a broadcast are summed back", "exp broadcast twice", [[1.0]], 2721.0001102875044, [[2721.0001102875044]],
        1e-14, one(lambda z: 1001 * mp.exp(z))),
    ("E-S03", "a row and a column are broadcast", "product plus row minus column",
        [[0.5, -1.0, 2.0, 1.5, 0.25, -0.75], [1.0, -2.0, 0.5], [0.5, 1.0, -1.5], [0.25, -2.0]], None, None, 1e-14, affine),
    ("E-S04", "the sum of nothing", "sum", [[]], 0.0, [[]], 0, None),
    ("E-S04", "the product of nothing", "prod", [[]], 1.0, [[]], 0, None),
    ("E-S08", "a product over no rows", "zeros 0x3 times B", [[1.0] * 6], 0.0, [[0.0] * 6], 0, None),
    ("E-S10", "gather adds up repeated places", "gather 0 0 1", [[1.0, 2.0]], 4.0, [[2.0, 1.0]], 0, lambda x: 2 * x[0] + x[1]),
    ("E-S11", "the last write wins", "scatter set twice at 0", [[1.0, 2.0]], 2.0, [[0.0, 1.0]], 0, lambda v: v[1]),
    ("E-S12", "the greatest of a pool", "max pool 2x2", [[1.0, 2.0, 3.0, 4.0]], 4.0, [[0.0, 0.0, 0.0, 1.0]], 0, max),
    ("E-G02", "a copy changed in place", "copy, each plus one in place", [[1.0, 2.0, 3.0]], 9.0, [[1.0, 1.0, 1.0]], 0, lambda x: sum(x) + 3),
    ("E-G03", "what is overwritten has no gradient", "overwritten", [[1.0], [1.0]], 3.0, [[0.0], [3.0]], 0, one(lambda a, b: 3 * b)),
    ("E-G04", "a copy and its source both count", "twice x plus a copy", [[1.0, 2.0, 3.0, 4.0]], 30.0, [[3.0] * 4], 0, lambda x: 3 * sum(x)),
    ("E-G08", "a value times its detached self", "x times detached x", [[3.0]], 9.0, [[3.0]], 0, None),
    ("E-G09", "an argument nobody reads has a zero", "square of x, p unused", [[3.0], [2.0]], 9.0, [[6.0], [0.0]], 0, one(lambda x, p: x * x)),
    ("E-G10", "the function does not depend on x", "independent", [[3.0]], 1.0, [[0.0]], 0, None),
    ("E-G12", "a thousand uses add up", "thousand uses", [[1.5]], 1500.0, [[1000.0]], 0, one(lambda x: 1000 * x)),
    ("E-G13", "the branch that was recorded", "halve or double", [[0.5]], 1.0, [[2.0]], 0, one(lambda a: 2 * a)),
    ("E-G13", "the other branch on the next call", "halve or double", [[3.0]], 1.5, [[0.5]], 0, one(lambda a: a / 2)),
    ("E-G16", "a cube", "x to the 3", [[2.0]], 8.0, [[12.0]], 0, one(lambda x: x**3)),
    ("E-G16", "the second derivative of a cube", "derivative of x to the 3", [[2.0]], 12.0, [[12.0]], 0, one(lambda x: 3 * x**2)),
    ("E-G16", "the third derivative of a cube", "second derivative of x to the 3", [[2.0]], 12.0, [[6.0]], 0, one(lambda x: 6 * x)),
    ("E-G17", "Rosenbrock", "rosenbrock", [[-1.2, 1.0]], 24.2, [[-215.6, -88.0]], 1e-14, rosenbrock),
    ("E-G17", "the first row of its Hessian", "derivative of rosenbrock in the first", [[-1.2, 1.0]], -215.6, [[1330.0, 480.0]], 1e-14,
        lambda x: -2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2)),
    ("E-G17", "the second row of its Hessian", "derivative of rosenbrock in the second", [[-1.2, 1.0]], -88.0, [[480.0, 200.0]], 1e-14,
        lambda x: 200 * (x[1] - x[0] ** 2)),
    ("E-L02", "the eigenvalues of a matrix that has them twice", "sum of eigenvalues", [[1.0, 0.0, 0.0, 1.0]], 2.0, [[1.0, 0.0, 0.0, 1.0]],
        1e-15, lambda x: x[0] + x[3]),
    ("E-L04", "the inverse of one", "sum of inverse", [[1.0, 0.0, 0.0, 1.0]], 2.0, [[-1.0] * 4], 1e-15,
        lambda x: (x[0] + x[3] - x[1] - x[2]) / (x[0] * x[3] - x[1] * x[2])),
    ("E-F01", "a long chain", "damped spring", [[4.0]], 0.06567261742621089, [[-0.7059475132773245]], 1e-11, one(spring)),
    ("E-F02", "a bounce at its time", "bounce with time of impact", [[1.0], [2.0]], 1.0, [[-1.0], [1.0]], 1e-15, one(lambda h, v: v - h)),
    ("E-F04", "a fall keeps what it started from", "free fall of 100 steps", [[10.0]], None, [[1.0]], 1e-13, one(fall)),
]


def near(a, b):
    return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def from_function(f, point):
    """The value, and central differences in many digits."""
    leaves = [[exact(v) for v in leaf] for leaf in point]
    value, gradient = nearest(f(*leaves)), []
    for place, leaf in enumerate(leaves):
        slopes = []
        for i, v in enumerate(leaf):
            step = STEP * (min(abs(v), mpf(1)) if v else mpf(1))
            # What is left of a zero is far below the differences that this tells apart.
            found = slope(f, leaves, place, i, step)
            slopes.append(0.0 if abs(found) < mpf(10) ** -100 else nearest(found))
        gradient.append(slopes)
    return value, gradient


def numbers(case):
    _, name, _, point, value, gradient, _, f = case
    if f is None:
        return value, gradient
    computed = from_function(f, point)
    assert value is None or near(value, computed[0]), (name, value, computed)
    if gradient is not None:
        pairs = [(a, b) for wanted, got in zip(gradient, computed[1]) for a, b in zip(wanted, got)]
        assert all(near(a, b) for a, b in pairs), (name, gradient, computed)
    return computed


def main():
    lines = [HEAD + "["]
    for case in CASES:
        identity, name, expression, point, _, _, tolerance, _ = case
        value, gradient = numbers(case)
        if len(gradient) != len(point) or any(len(a) != len(b) for a, b in zip(gradient, point)):
            raise ValueError(name)
        tail = f", tolerance: {tolerance!r}" if tolerance else ""
        lines.append(
            f'    (id: "{identity}", name: "{name}", expression: "{expression}", point: [{", ".join(map(listed, point))}], '
            f"value: {listed([value])}, gradient: [{', '.join(map(listed, gradient))}]{tail}),"
        )
    lines.append("]")
    path = Path(__file__).parent.parent / "cases" / "spec_cases.ron"
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(CASES)} cases of {len({case[0] for case in CASES})} rows")


if __name__ == "__main__":
    main()
