"""The functions of one operand: value, first and second derivative from their definitions, in many digits.

`smooth` takes a finite number inside the open domain and away from kinks and returns (value, first, second). `at` holds what
is so at kinks, poles, bounds and infinities; None is a number that is not to be checked. Outside of both the value and the
derivative are NaN.
"""

import math
from dataclasses import dataclass, field
from typing import Callable

from mpmath import mp, mpf

from rounding import INF, NAN, next_down, next_up

ELEMENTARY = (700, 1000)
GAMMA = (90, 140)


@dataclass
class Op:
    name: str
    smooth: Callable
    at: dict = field(default_factory=dict)
    domain: Callable = lambda x: True
    # A value of zero has the sign of x.
    signed_zero: bool = False
    # What is so at a finite point outside the domain that `at` does not name.
    outside: tuple = (NAN, NAN, None)
    # At NaN the value is NaN, except where a case says otherwise.
    nan: tuple = (NAN, NAN, None)
    # Jumps at whole numbers and halves.
    is_stepped: bool = False
    digits: tuple = ELEMENTARY
    points: tuple = ()


def limits(below, above):
    return {-INF: below, INF: above}


def both_zeros(row):
    return {"+0": row, "-0": row}


# Helpers that do not cancel.


def sigma(x):
    """The sigmoid with two derivatives."""
    e = mp.exp(-abs(x))
    value = (1 if x >= 0 else e) / (1 + e)
    first = e / (1 + e) ** 2
    second = first * mp.expm1(-abs(x)) / (1 + e)
    return value, first, second if x >= 0 else -second


def softplus(x):
    value, first, _ = sigma(x)
    return max(x, mpf(0)) + mp.log1p(mp.exp(-abs(x))), value, first


def erfc(x):
    """From 1e5 on the first term of the expansion, of which nothing is left in f64."""
    if x > 100000:
        return mp.exp(-x * x) / (x * mp.sqrt(mp.pi))
    return mp.erfc(x)


def digammas(x):
    """ψ, ψ' and ψ'' by recurrence to a large argument, the asymptotic series there, reflection below 0."""
    if x < 0:
        up = digammas(1 - x)
        sine, cosine = mp.sinpi(x), mp.cospi(x)
        cotangent = cosine / sine
        return (
            up[0] - mp.pi * cotangent,
            (mp.pi / sine) ** 2 - up[1],
            up[2] - 2 * mp.pi**3 * cosine / sine**3,
        )
    zeroth, first, second = mpf(0), mpf(0), mpf(0)
    while x < 100:
        zeroth -= 1 / x
        first += 1 / x**2
        second -= 2 / x**3
        x += 1
    zeroth += mp.log(x) - 1 / (2 * x)
    first += 1 / x + 1 / (2 * x**2)
    second -= 1 / x**2 + 1 / x**3
    for k in range(1, 200):
        term = mp.bernoulli(2 * k) / x ** (2 * k)
        zeroth -= term / (2 * k)
        first += term / x
        second -= (2 * k + 1) * term / x**2
        if abs(term) < mpf(10) ** (-mp.dps - 10):
            return zeroth, first, second
    raise ArithmeticError("the series has not settled")


def log_gamma(x):
    if x > 0:
        return mp.re(mp.loggamma(x))
    return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.re(mp.loggamma(1 - x))


# One function each.


def flat(f):
    return lambda x: (f(x), mpf(0), mpf(0))


def half_to_even(x):
    low = mp.floor(x)
    rest = x - low
    if rest == 0.5:
        return low if low % 2 == 0 else low + 1
    return low if rest < 0.5 else low + 1


def tan(x):
    t = mp.tan(x)
    first = 1 / mp.cos(x) ** 2
    return t, first, 2 * t * first


def power(n):
    def smooth(x):
        zero = mpf(0)
        return (
            x**n if n else mpf(1),
            n * x ** (n - 1) if n else zero,
            n * (n - 1) * x ** (n - 2) if n not in (0, 1) else zero,
        )

    return smooth


def root_power(y):
    def smooth(x):
        exponent = mpf(y)
        value = mp.sqrt(x) ** int(2 * y) if (2 * y).is_integer() else mp.exp(exponent * mp.log(x))
        return value, exponent * value / x, exponent * (exponent - 1) * value / x**2

    return smooth


def cbrt(x):
    root = mp.cbrt(abs(x))
    sign = 1 if x > 0 else -1
    return sign * root, 1 / (3 * root**2), -2 * sign / (9 * root**5)


def tanh(x):
    first = 1 / mp.cosh(x) ** 2
    t = mp.tanh(x)
    return t, first, -2 * t * first


def erf_first(x):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def sinc(x):
    z = mp.pi * x
    if abs(x) > 0.01:
        value = mp.sinpi(x) / z
        first = (mp.cospi(x) - value) / x
        # (x·v)'' = -π²·x·v.
        return value, first, -mp.pi**2 * value - 2 * first / x
    value, first, second = mpf(0), mpf(0), mpf(0)
    term, k = mpf(1), 0
    while True:
        # term = (-1)^k π^(2k) / (2k+1)!
        n = 2 * k
        value += term * x**n
        first += term * n * x ** (n - 1) if n else 0
        second += term * n * (n - 1) * x ** (n - 2) if n else 0
        k += 1
        term *= -(mp.pi**2) / ((2 * k) * (2 * k + 1))
        if k > 3 and abs(term * x ** (2 * k)) < mpf(10) ** (-2 * mp.dps):
            return value, first, second


def silu(x):
    s = sigma(x)
    return x * s[0], s[0] + x * s[1], 2 * s[1] + x * s[2]


def gelu(x):
    upper = erfc(-x / mp.sqrt(2)) / 2
    density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
    return x * upper, upper + x * density, density * (2 - x * x)


def gelu_tanh(x):
    """x·(1 + tanh u)/2 = x·sigmoid(2u) with u = √(2/π)·(x + 0.044715·x³)."""
    scale, cubic = 2 * mp.sqrt(2 / mp.pi), mpf("0.044715")
    u, first, second = scale * (x + cubic * x**3), scale * (1 + 3 * cubic * x**2), scale * 6 * cubic * x
    s = sigma(u)
    return x * s[0], s[0] + x * s[1] * first, 2 * s[1] * first + x * (s[2] * first**2 + s[1] * second)


def mish(x):
    """x·t with t = tanh(softplus x) = n/(n+2), n = e^x·(e^x + 2)."""
    s = sigma(x)
    e = mp.exp(-abs(x))
    if x > 0:
        bottom = 1 + 2 * e + 2 * e**2
        t = (1 + 2 * e) / bottom
        rest = 4 * (1 + e) ** 2 * e**2 / bottom**2
    else:
        bottom = e**2 + 2 * e + 2
        t = e * (e + 2) / bottom
        rest = 4 * (1 + e) ** 2 / bottom**2
    # rest = 1 - t².
    first = rest * s[0]
    second = -2 * t * first * s[0] + rest * s[1]
    return x * t, t + x * first, 2 * first + x * second


SELU_ALPHA = "1.6732632423543772848170429916717"
SELU_SCALE = "1.0507009873554804934193349852946"


def elu(scale, alpha):
    def smooth(x):
        scaled, scaled_alpha = mpf(scale), mpf(scale) * mpf(alpha)
        if x > 0:
            return scaled * x, scaled, mpf(0)
        tail = scaled_alpha * mp.exp(x)
        return scaled_alpha * mp.expm1(x), tail, tail

    return smooth


def pieces(slope_below, slope_above, bound=None):
    """Linear below and above 0, or between two bounds."""

    def smooth(x):
        slope = mpf(slope_above if x > 0 else slope_below)
        if bound and not bound[0] < x < bound[1]:
            return mpf(bound[0] if x <= bound[0] else bound[1]), mpf(0), mpf(0)
        return slope * x, slope, mpf(0)

    return smooth


def near(x, *steps):
    """The point, its neighbours in f64, and the points that are `steps` away."""
    found = [x, next_up(x), next_down(x)]
    for step in steps:
        found += [x + step, x - step]
    return tuple(found)


def whole_below_zero(x):
    return x <= 0 and mp.isint(x)


def selu_at_zero():
    mp.dps = 50
    return mpf(SELU_ALPHA) * mpf(SELU_SCALE)


def log_op(name, base, points):
    def smooth(x):
        b = mpf(1) if base is None else mp.log(base)
        return mp.log(x) / b, 1 / (x * b), -1 / (x**2 * b)

    at = {"+0": (-INF, INF, None), "-0": (-INF, None, None), INF: (INF, 0.0, 0.0)}
    return Op(name, smooth, at, lambda x: x > 0, points=points)


FLOORED = dict(signed_zero=True, is_stepped=True, nan=(NAN, None, None), points=(2.4999999999999996, -2.4999999999999996, 0.49999999999999994,
    -0.49999999999999994, 3.5, -3.5, 4503599627370495.5, -4503599627370495.5, 4503599627370497.0, 0.3, -0.3))


def rounding(name, f, infinity=INF):
    zero = {"+0": (0.0, 0.0, 0.0), "-0": (-0.0, 0.0, 0.0)}
    return Op(name, flat(f), limits((-infinity, 0.0, 0.0), (infinity, 0.0, 0.0)) | zero, **FLOORED)


def powi(n):
    name = f"powi_{n}"
    if n >= 0:
        top = [(1.0, 0.0, 0.0), (INF, 1.0, 0.0), (INF, INF, 2.0)][n] if n < 3 else (INF, INF, INF)
        odd = n % 2 == 1
        low = (
            -top[0] if odd else top[0],
            -top[1] if not odd and top[1] == INF else top[1],
            -top[2] if odd and top[2] == INF else top[2],
        )
        nan = (1.0, None, None) if n == 0 else (NAN, NAN if n > 1 else None, None)
        return Op(name, power(n), limits(low, top), signed_zero=odd, nan=nan, points=(1.0000000000000002, 0.1, -0.1, 1e103, 1e155))
    if n == -1:
        return Op(name, power(-1), RECIP_AT, lambda x: x != 0, signed_zero=True, points=RECIP_POINTS)
    at = {"+0": (INF, -INF, None), "-0": (INF, None, None)} | limits((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return Op(name, power(n), at, lambda x: x != 0, points=RECIP_POINTS)


def powf(y):
    over = y > 1
    at = {INF: (INF, INF, 0.0) if over else (INF, 0.0, 0.0) if y > 0 else (0.0, 0.0, 0.0)}
    at[-INF] = (INF if y > 0 else 0.0, None, None)
    if over:
        at |= both_zeros((0.0, 0.0, None))
    elif y > 0:
        at |= {"+0": (0.0, INF, None), "-0": (0.0, None, None)}
    else:
        at |= {"+0": (INF, -INF, None), "-0": (INF, None, None)}
    return Op(f"powf_{y}", root_power(y), at, lambda x: x > 0, points=(4.0, 9.0, 0.1, 1.0000000000000002, 1e200))


RECIP_AT = {"+0": (INF, -INF, None), "-0": (-INF, -INF, None)} | limits((-0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
RECIP_POINTS = (5.562684646268003e-309, 5.56268464626801e-309, 1e-155, 1e155, 1e-103, 7.458340731200207e-155, 0.1)
LOG_POINTS = near(1.0, 1e-10, 0.001) + (math.e, 0.1, 10.0, 1e-5, 1024.0)
HALF_PI, PI = 1.5707963267948966, 3.141592653589793
CIRCLE = (PI, HALF_PI, -HALF_PI, next_up(HALF_PI), next_down(HALF_PI), 2 * PI, PI / 4, 3 * HALF_PI, 11.0, 22.0, 355.0,
    6381956970095103.0 * 2.0**797, 0.1, -PI)
NAN_SINE = limits((NAN, NAN, None), (NAN, NAN, None))
EXP_POINTS = (709.782712893384, 709.7827128933841, -708.3964185322641, -744.4400719213812, -745.1332191019411, -745.1332191019412,
    0.1, 1e-5, -1e-5, -36.7, 36.7)
GAMMA_POINTS = near(1.0, 1e-8, 0.01) + near(2.0, 1e-8, 0.01) + (
    -2.457024738220800, -2.747682646727412, -3.143580888349980, -3.955294284858598, -4.039361839740537, -1.9999999999999998,
    -2.0000000000000004, -3.0, -4.0, -20.0, -20.5, -100.00000000000001, -170.5, 1.4616321449683623, 0.1, 6.0, 171.6, 2.5e305,
    2.6e305, -1e5 - 0.5, -4503599627370495.5)
DIGAMMA_POINTS = near(1.4616321449683623, 1e-8, 0.01) + (-0.5040830082644554, -1.5734984731623904, -2.610720868444145, 0.1, 6.0,
    -1.9999999999999998, -2.0000000000000004, -3.0, -20.5, -100.00000000000001, -4503599627370495.5, 15.0, 0.001, -0.001)
SIGMOID_POINTS = (-709.0, -710.0, -36.0, 36.0, 37.0, -37.0, -744.0, -746.0, 16.0, -16.0, 0.1, -0.1)
GELU_POINTS = (-0.7517915241935645, -8.0, -13.0, -26.0, -37.0, -38.0, -38.5, -39.0, 5.0, 6.0, 8.3, 9.0, -5.0, 1.4142135623730951,
    -1.4142135623730951, 0.1, -0.1)
KINK = (0.1, -0.1, next_up(1.0), next_down(1.0), -next_up(1.0), -next_down(1.0), 6.0, -6.0)

OPS = [
    Op("neg", lambda x: (-x, mpf(-1), mpf(0)), {"+0": (-0.0, -1.0, 0.0), "-0": (0.0, -1.0, 0.0)}
        | limits((INF, -1.0, 0.0), (-INF, -1.0, 0.0)), nan=(NAN, None, None)),
    Op("abs", lambda x: (abs(x), mp.sign(x), mpf(0)), both_zeros((0.0, 0.0, None)) | limits((INF, -1.0, 0.0), (INF, 1.0, 0.0)),
        points=KINK),
    rounding("sign", mp.sign, 1.0),
    rounding("floor", mp.floor),
    rounding("ceil", mp.ceil),
    rounding("round", half_to_even),
    rounding("trunc", lambda x: mp.floor(x) if x > 0 else mp.ceil(x)),
    Op("square", power(2), limits((INF, -INF, 2.0), (INF, INF, 2.0)), points=(0.1, 1e-155, 1e154, 1.34078079299426e154, 94906267.0)),
    Op("sqrt", root_power(0.5), {"+0": (0.0, INF, None), "-0": (-0.0, None, None), INF: (INF, 0.0, 0.0)}, lambda x: x > 0,
        points=(4.0, 9.0, 0.1, 1e-200, next_down(1.0), next_up(1.0), 2.2227587494850775e-162)),
    Op("rsqrt", root_power(-0.5), {"+0": (INF, -INF, None), "-0": (-INF, None, None), INF: (0.0, 0.0, 0.0)}, lambda x: x > 0,
        points=(4.0, 9.0, 0.1, 1e-200, 1e-206, 1e-130)),
    Op("cbrt", cbrt, {"+0": (0.0, INF, None), "-0": (-0.0, INF, None)} | limits((-INF, 0.0, 0.0), (INF, 0.0, 0.0)),
        points=(8.0, -8.0, 27.0, 0.1, 0.001, -1e-200)),
    Op("recip", power(-1), RECIP_AT, lambda x: x != 0, signed_zero=True, points=RECIP_POINTS),
    Op("exp", lambda x: (mp.exp(x),) * 3, limits((0.0, 0.0, 0.0), (INF, INF, INF)), points=EXP_POINTS),
    Op("exp2", lambda x: (mp.power(2, x), mp.ln(2) * mp.power(2, x), mp.ln(2) ** 2 * mp.power(2, x)),
        limits((0.0, 0.0, 0.0), (INF, INF, INF)),
        points=(1023.0, 1023.9999999999999, 1024.0, -1022.0, -1022.5, -1074.0, -1074.5, -1075.0, -1075.5, -1076.0, 0.1)),
    Op("expm1", lambda x: (mp.expm1(x), mp.exp(x), mp.exp(x)), limits((-1.0, 0.0, 0.0), (INF, INF, INF)), signed_zero=True,
        points=EXP_POINTS + (1e-4, -1e-4, 1e-3, 0.34657359027997264, 0.35, -0.35, -37.5)),
    log_op("log", None, LOG_POINTS),
    log_op("log2", 2, LOG_POINTS + (8.0, 0.125)),
    Op("log1p", lambda x: (mp.log1p(x), 1 / (1 + x), -1 / (1 + x) ** 2), {-1.0: (-INF, INF, None), INF: (INF, 0.0, 0.0)},
        lambda x: x > -1, signed_zero=True, points=(next_up(-1.0), -0.9999999, -0.99, 1e-4, -1e-4, 1e-3, 0.41421356237309503, -0.29, 0.1, -1.0)),
    Op("sin", lambda x: (mp.sin(x), mp.cos(x), -mp.sin(x)), NAN_SINE, signed_zero=True, points=CIRCLE),
    Op("cos", lambda x: (mp.cos(x), -mp.sin(x), -mp.cos(x)), NAN_SINE, points=CIRCLE),
    Op("tan", tan, NAN_SINE, signed_zero=True, points=CIRCLE),
    Op("asin", lambda x: (mp.asin(x), 1 / mp.sqrt(1 - x**2), x / mp.sqrt(1 - x**2) ** 3),
        {1.0: (lambda: mp.pi / 2, INF, None), -1.0: (lambda: -mp.pi / 2, INF, None)}, lambda x: abs(x) < 1, signed_zero=True,
        points=near(1.0, 1e-10) + (-next_down(1.0), 0.1, -0.1, 0.7071067811865476, 0.99, -0.99, 0.9999999999)),
    Op("acos", lambda x: (mp.acos(x), -1 / mp.sqrt(1 - x**2), -x / mp.sqrt(1 - x**2) ** 3),
        {1.0: (0.0, -INF, None), -1.0: (lambda: mp.pi + 0, -INF, None)}, lambda x: abs(x) < 1,
        points=near(1.0, 1e-10) + (-next_down(1.0), 0.1, -0.1, 0.7071067811865476, 0.99, -0.99, 0.9999999999)),
    Op("atan", lambda x: (mp.atan(x), 1 / (1 + x**2), -2 * x / (1 + x**2) ** 2),
        limits((lambda: -mp.pi / 2, 0.0, 0.0), (lambda: mp.pi / 2, 0.0, 0.0)), signed_zero=True, points=(0.1, 0.4375, 2.4375, 1e5, 1e155)),
    Op("sinh", lambda x: (mp.sinh(x), mp.cosh(x), mp.sinh(x)), limits((-INF, INF, -INF), (INF, INF, INF)), signed_zero=True,
        points=(710.4758600739439, 710.475860073944, 0.1, -0.1, 1e-3, 22.0, -22.0, 709.9)),
    Op("cosh", lambda x: (mp.cosh(x), mp.sinh(x), mp.cosh(x)), limits((INF, -INF, INF), (INF, INF, INF)),
        points=(710.4758600739439, 710.475860073944, 0.1, -0.1, 1e-3, 22.0, -22.0, 709.9)),
    Op("tanh", tanh, limits((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), signed_zero=True,
        points=(0.1, 1e-3, 0.55, 18.0, 19.0, 22.0, -19.0, 350.0, 372.0, 373.0, 400.0)),
    Op("asinh", lambda x: (mp.asinh(x), 1 / mp.sqrt(1 + x**2), -x / mp.sqrt(1 + x**2) ** 3),
        limits((-INF, 0.0, 0.0), (INF, 0.0, 0.0)), signed_zero=True, points=(0.1, 1e-3, -1e-3, 1e-5, 268435456.0, 1e155, -1e155)),
    Op("acosh", lambda x: (mp.acosh(x), 1 / mp.sqrt(x**2 - 1), -x / mp.sqrt(x**2 - 1) ** 3),
        {1.0: (0.0, INF, None), INF: (INF, 0.0, 0.0)}, lambda x: x > 1,
        points=near(1.0, 1e-14, 1e-10, 1e-4) + (1.1, 268435456.0, 1e155, 5.0, 10.0)),
    Op("atanh", lambda x: (mp.atanh(x), 1 / (1 - x**2), 2 * x / (1 - x**2) ** 2), {1.0: (INF, INF, None), -1.0: (-INF, INF, None)},
        lambda x: abs(x) < 1, signed_zero=True, points=near(1.0, 1e-10) + (-next_down(1.0), 0.1, -0.1, 1e-3, 0.99, -0.99, 0.9999999999)),
    *(powi(n) for n in (0, 1, 2, 3, 5, -1, -2)),
    *(powf(y) for y in (0.5, 1.5, -0.5, 0.3)),
    Op("clamp_0_1", pieces(1, 1, (0, 1)), both_zeros((0.0, 0.0, None)) | {1.0: (1.0, 0.0, None)}
        | limits((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), points=KINK),
    Op("erf", lambda x: (mp.erf(x), erf_first(x), -2 * x * erf_first(x)), limits((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), signed_zero=True,
        points=(0.1, 0.84375, 1.25, 2.857, 5.9, 6.0, -5.9, 26.0, 27.0, 1e-3, -1e-3)),
    Op("erfc", lambda x: (erfc(x), -erf_first(x), 2 * x * erf_first(x)), limits((2.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        points=(0.1, 0.84375, 1.25, 2.857, 5.0, 10.0, 25.0, 26.0, 26.5, 26.54325845425098, 27.0, 27.2, 27.3, 28.0, -5.9, -6.0)),
    Op("lgamma", lambda x: (log_gamma(x), *digammas(x)[:2]), limits((INF, None, None), (INF, INF, 0.0)),
        lambda x: not whole_below_zero(x), digits=GAMMA, outside=(INF, None, None), points=GAMMA_POINTS),
    Op("digamma", digammas, {"+0": (-INF, INF, None), "-0": (None, None, None), -INF: (NAN, None, None), INF: (INF, 0.0, 0.0)},
        lambda x: not whole_below_zero(x), digits=GAMMA, outside=(NAN, None, None), points=DIGAMMA_POINTS),
    Op("sinc", sinc, both_zeros((1.0, 0.0, lambda: -mp.pi**2 / 3)) | limits((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        points=(0.1, -0.1, 0.001, 0.01, 1e-4, 1e-5, next_up(1.0), next_down(1.0), 10.0, 10.5, 4503599627370495.5,
            1.4302966531242027)),
    Op("relu", pieces(0, 1), both_zeros((0.0, 0.0, None)) | limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), points=KINK),
    Op("leaky_relu_0.01", pieces(0.01, 1), {"+0": (0.0, 0.01, None), "-0": (-0.0, 0.01, None)}
        | limits((-INF, 0.01, 0.0), (INF, 1.0, 0.0)), points=KINK),
    Op("elu_1", elu(1, 1), both_zeros((0.0, 1.0, None)) | limits((-1.0, 0.0, 0.0), (INF, 1.0, 0.0)), signed_zero=True,
        points=EXP_POINTS + KINK),
    Op("selu", elu(SELU_SCALE, SELU_ALPHA), both_zeros((0.0, selu_at_zero, None))
        | limits((lambda: -selu_at_zero(), 0.0, 0.0), (INF, lambda: mpf(SELU_SCALE), 0.0)), signed_zero=True, points=EXP_POINTS + KINK),
    Op("gelu", gelu, limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), signed_zero=True, points=GELU_POINTS),
    Op("gelu_tanh", gelu_tanh, limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), signed_zero=True, points=GELU_POINTS + (-0.7524614220710162,
        -21.0, -21.5, -22.0)),
    Op("silu", silu, limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), signed_zero=True, points=SIGMOID_POINTS + (-1.2784645427610738, 2.3993572805154675)),
    Op("softplus", softplus, limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), points=SIGMOID_POINTS),
    Op("sigmoid", sigma, limits((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), points=SIGMOID_POINTS),
    Op("log_sigmoid", lambda x: (-softplus(-x)[0], sigma(-x)[0], -sigma(x)[1]), limits((-INF, 1.0, 0.0), (0.0, 0.0, 0.0)),
        points=SIGMOID_POINTS),
    Op("hard_tanh", pieces(1, 1, (-1, 1)), {-1.0: (-1.0, 0.0, None), 1.0: (1.0, 0.0, None)}
        | limits((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), signed_zero=True, points=KINK),
    Op("mish", mish, limits((0.0, 0.0, 0.0), (INF, 1.0, 0.0)), signed_zero=True, points=SIGMOID_POINTS + (-1.1924313959563407,)),
]
