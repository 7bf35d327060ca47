"""The functions of two operands: (value, d/dx, d/dy) at two f64 numbers, conventions written out case by case.

The first operand is called x, also in atan2, whose first operand is the ordinate. None is a number that is not to be checked.
"""

import math

from mpmath import mp, mpf

from rounding import INF, NAN, exact, is_negative_zero

ANY_NAN = (NAN, NAN, NAN)


def has_nan(x, y):
    return math.isnan(x) or math.isnan(y)


def atan2(x, y):
    """Here x is the ordinate and y the abscissa: atan2(x, y)."""
    if has_nan(x, y):
        return ANY_NAN
    value = angle(x, y)
    if (x == 0 and y == 0) or math.isinf(x) or math.isinf(y):
        return value, 0.0, 0.0
    a, b = exact(x), exact(y)
    square = a * a + b * b
    return value, b / square, -a / square


def angle(x, y):
    side = math.copysign(1.0, x)
    if math.isinf(x):
        quarter = {INF: 1, -INF: 3}.get(y, 2)
        return side * quarter * mp.pi / 4
    if x == 0 or math.isinf(y):
        return side * (mp.pi if math.copysign(1.0, y) < 0 else 0.0)
    return mp.atan2(exact(x), exact(y))


def hypot(x, y):
    if has_nan(x, y):
        # C99 has inf where the other operand is infinite; such pairs are not in the table.
        return ANY_NAN
    if math.isinf(x) and math.isinf(y):
        return INF, None, None
    if math.isinf(x):
        return INF, math.copysign(1.0, x), 0.0
    if math.isinf(y):
        return INF, 0.0, math.copysign(1.0, y)
    if x == 0 and y == 0:
        return 0.0, 0.0, 0.0
    a, b = exact(x), exact(y)
    length = mp.sqrt(a * a + b * b)
    return length, a / length, b / length


def is_whole(y):
    return math.isinf(y) or float(y).is_integer()


def is_odd(y):
    return not math.isinf(y) and float(y).is_integer() and int(y) % 2 == 1


def raised(a, y):
    """a^y for a > 0, exact where y is a small whole number."""
    if float(y).is_integer() and abs(y) < 1100:
        return a ** int(y)
    return mp.exp(exact(y) * mp.log(a))


def pow(x, y):
    if y == 0:
        if math.isnan(x):
            return 1.0, None, None
        dy = NAN if x < 0 else 0.0 if x == 0 else None if x == INF else mp.log(exact(x))
        return 1.0, 0.0, dy
    if x == 1 and math.isnan(y):
        return 1.0, None, None
    if has_nan(x, y):
        return NAN, None if y == 1 else NAN, None if x == 0 else NAN
    if x == 0:
        return pow_of_zero(x, y)
    if math.isinf(x):
        return pow_of_infinity(x, y)
    if math.isinf(y):
        return pow_to_infinity(x, y)
    if x < 0 and not is_whole(y):
        return ANY_NAN
    a, b = exact(abs(x)), exact(y)
    size = raised(a, y)
    value = -size if x < 0 and is_odd(y) else size
    return value, b * value / exact(x), value * mp.log(a) if x > 0 else NAN


def pow_of_zero(x, y):
    sign = -1.0 if is_negative_zero(x) and is_odd(y) else 1.0
    if y > 1:
        return sign * 0.0, 0.0, 0.0
    if y == 1:
        return x, 1.0, 0.0
    if y > 0:
        return 0.0, None if is_negative_zero(x) else INF, 0.0
    doubtful = is_negative_zero(x) or math.isinf(y)
    return sign * INF, None if doubtful else -INF, None if doubtful else -INF


def pow_of_infinity(x, y):
    if x < 0:
        sign = -1.0 if is_odd(y) else 1.0
        return sign * (INF if y > 0 else 0.0), None, None
    if y < 0:
        return 0.0, 0.0, 0.0
    return INF, INF if y > 1 else 1.0 if y == 1 else 0.0, INF


def pow_to_infinity(x, y):
    if abs(x) == 1:
        return 1.0, None, None
    grows = (abs(x) > 1) == (y > 0)
    value = INF if grows else 0.0
    if x < 0:
        return value, None, None
    if not grows:
        return value, 0.0, 0.0
    sign = 1.0 if y > 0 else -1.0
    return value, sign * INF, sign * INF


def rem(x, y):
    """C's fmod."""
    if has_nan(x, y):
        return NAN, None, NAN
    if y == 0 or math.isinf(x):
        return NAN, None, None
    if math.isinf(y):
        return x, 1.0, 0.0
    quotient = abs(exact_ratio(x, y))
    rest = abs(exact(x)) - quotient * abs(exact(y))
    value = math.copysign(0.0, x) if rest == 0 else -rest if x < 0 else rest
    return value, 1.0, quotient if (x < 0) != (y < 0) else -quotient


def exact_ratio(x, y):
    """trunc(|x/y|), exactly."""
    a, b = abs(x).as_integer_ratio(), abs(y).as_integer_ratio()
    return mpf((a[0] * b[1]) // (a[1] * b[0]))


def maximum(x, y):
    if has_nan(x, y):
        return ANY_NAN
    if x == y:
        return x, 0.5, 0.5
    return max(x, y), float(x > y), float(y > x)


def minimum(x, y):
    if has_nan(x, y):
        return ANY_NAN
    if x == y:
        return x, 0.5, 0.5
    return min(x, y), float(x < y), float(y < x)


def log_of(y):
    if y < 0:
        return NAN
    return -INF if y == 0 else INF if y == INF else mp.log(exact(y))


def xlogy(x, y):
    if has_nan(x, y):
        return NAN, None if math.isnan(x) else NAN, None if x == 0 else NAN
    if x == 0:
        return 0.0, log_of(y), 0.0
    if y < 0:
        return ANY_NAN
    sign = math.copysign(1.0, x)
    if y == 0:
        return -sign * INF, -INF, None if is_negative_zero(y) else sign * INF
    if math.isinf(x):
        if y == 1:
            return None, 0.0, x
        return x if y > 1 else -x, log_of(y), None if y == INF else x
    if y == INF:
        return sign * INF, INF, 0.0
    a, b = exact(x), exact(y)
    return a * mp.log(b), mp.log(b), a / b


ZEROS = (0.0, -0.0)
ENDS = (math.inf, -math.inf, math.nan)
LINE = (*ZEROS, 1.0, -1.0, 0.5, -2.0, 3.0, *ENDS)
WIDE = (5e-324, -1e-310, 1e-300, -1e-16, 1e8, -1e100, 1e300, 1.7976931348623157e308)


def grid(first, second):
    return [(x, y) for x in first for y in second]


def unlike(pairs):
    """Without an infinity beside a NaN."""
    return [(x, y) for x, y in pairs if not (math.isinf(x) and math.isnan(y) or math.isnan(x) and math.isinf(y))]


LENGTHS = grid(LINE, LINE) + grid(WIDE, WIDE) + [(3.0, 4.0), (3e-320, 4e-320), (3e300, 4e300), (1e-200, 1e-200), (1.0, 1e-8),
    (1e8, 1.0), (1.0, 1e-20), (-5.0, 12.0)]
POW_X = (*ZEROS, 1.0, -1.0, 2.0, 0.5, -2.0, 1e-300, 1.0000000000000002, *ENDS)
POW_Y = (*ZEROS, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 700.0, 1e-300, *ENDS)
POW_MORE = [(10.0, 308.0), (10.0, 309.0), (10.0, -323.0), (10.0, -324.0), (0.1, 3.0), (-3.0, 3.0), (-3.0, 1e16), (-0.5, 1e300),
    (1.0000000000000002, 1e16), (0.9999999999999999, 1e16), (0.9999999999999999, 1e18), (1.0000000000000002, -3e18), (2.0, 1023.5),
    (2.0, -1074.0), (2.0, -1074.5), (-2.0, -1075.0), (1e300, 1e-16), (5e-324, 0.5), (5e-324, 1e-310), (-5e-324, 2.0), (1e-310, -1.0),
    (94906267.0, 2.0), (1.7976931348623157e308, 1.0), (1e8, 38.5), (0.001, 102.0), (7.0, 0.3333333333333333)]
REM_MORE = [(5.3, 2.0), (-5.3, 2.0), (5.3, -2.0), (-5.3, -2.0), (6.0, 3.0), (1e300, 3.0), (1.7976931348623157e308, 5e-324), (1.0, 0.1),
    (0.3, 0.1), (1e16, 7.0), (5e-324, 1.0), (1e-310, 1e-311), (1.0, 1e300), (10.0, 9.999999999999998), (0.9999999999999999, 1.0)]
XLOGY_X = (*ZEROS, 1.0, -1.0, 0.5, 5e-324, 1e300, -1e300, math.inf, math.nan)
XLOGY_Y = (*ZEROS, 1.0, 0.5, 2.0, 5e-324, 1e300, 1.0000000000000002, -1.0, math.inf, math.nan)

# (name, function, points, whether the second operand of the random points is positive).
PAIRS = [
    ("atan2", atan2, LENGTHS, False),
    ("hypot", hypot, unlike(LENGTHS), False),
    ("pow", pow, grid(POW_X, POW_Y) + POW_MORE, False),
    ("rem", rem, grid(LINE, LINE) + REM_MORE, False),
    ("maximum", maximum, grid(LINE, LINE) + grid(WIDE, WIDE[:3]), False),
    ("minimum", minimum, grid(LINE, LINE) + grid(WIDE, WIDE[:3]), False),
    ("xlogy", xlogy, grid(XLOGY_X, XLOGY_Y), True),
]
