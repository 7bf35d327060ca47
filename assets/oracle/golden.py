"""Writes golden.csv, vectors.ron and golden.log: right values of functions and of their derivatives, from many digits.

Every number is computed at two precisions, and the nearest f64 of both must agree. The derivatives are compared with central
differences of the values in many digits, and the values with the C library. The log holds what came of it.
"""

import math
import random
import sys
from pathlib import Path

import mpmath
from mpmath import mp, mpf

import functions
import pairs
import vectors
from rounding import INF, MAX, NAN, bits, exact, is_negative_zero, nearest, unsigned

HERE = Path(__file__).parent
SEED = 20240229
PAIR_DIGITS = (700, 1000)
# Far below the smallest subnormal: derivatives of this size are not compared.
TINY = mpf(10) ** -335

BOTH_SIGNS = (0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-100, 1e-16, 1e-8, 20.0, 40.0,
    90.0, 700.0, 709.7, 710.0, 745.0, 800.0, 1e4, 1e8, 1e16, 1e100, 1e300, MAX, INF)
COMMON = tuple(sign * x for x in BOTH_SIGNS for sign in (1.0, -1.0)) + (NAN,)


def random_points(name):
    source = random.Random(f"{SEED} {name}")
    near = [source.uniform(-6, 6) for _ in range(5)]
    inner = [source.uniform(-1, 1) for _ in range(3)]
    far = [source.choice((-1, 1)) * 10 ** source.uniform(-20, 20) for _ in range(3)]
    return near + inner + far


def random_pairs(name, is_second_positive):
    source = random.Random(f"{SEED} {name}")
    found = []
    for _ in range(20):
        x, y = source.uniform(-6, 6), source.uniform(-6, 6)
        if name == "pow":
            x = abs(x)
        found.append((x, abs(y) if is_second_positive else y))
    return found


def once(points):
    """In order, each bit pattern once."""
    return list({bits(x) if isinstance(x, float) else tuple(map(bits, x)): x for x in points}.values())


def key(x):
    return "-0" if is_negative_zero(x) else "+0" if x == 0 else x


def is_smooth(op, x):
    return math.isfinite(x) and key(x) not in op.at and op.domain(exact(x))


def raw(op, x):
    if math.isnan(x):
        return op.nan
    if key(x) in op.at:
        return tuple(v() if callable(v) else v for v in op.at[key(x)])
    return op.smooth(exact(x)) if is_smooth(op, x) else op.outside


def rounded(row):
    """Derivatives of zero have no sign: theirs would say nothing."""
    value, *rest = [None if v is None else nearest(v) for v in row]
    return (value, *map(unsigned, rest))


def at_both(digits, what, compute):
    rows = []
    for count in digits:
        mp.dps = count
        rows.append(rounded(compute()))
    assert list(map(bits, rows[0])) == list(map(bits, rows[1])), (what, rows)
    return rows[1]


def unary_row(op, x):
    value, first, second = at_both(op.digits, (op.name, x), lambda: raw(op, x))
    if value == 0 and op.signed_zero and math.isfinite(x):
        value = math.copysign(0.0, x)
    return value, first, second


class Difference:
    """Central differences over a step of 10^-k, in many digits; the worst relative error, and where."""

    def __init__(self):
        self.worst, self.where, self.count = mpf(0), None, 0

    def add(self, f, x, claimed, step, where):
        slope = (f(x + step) - f(x - step)) / (2 * step)
        error = abs(slope - claimed)
        if max(abs(slope), abs(claimed)) > TINY:
            error /= max(abs(claimed), mpf(10) ** -330)
        else:
            error = mpf(0)
        self.count += 1
        if error > self.worst:
            self.worst, self.where = error, where


def check_derivatives(op, points):
    """Of every smooth point, however large or small."""
    first, second = Difference(), Difference()
    gamma = op.digits == functions.GAMMA
    for x in points:
        if not is_smooth(op, x) or (op.is_stepped and x % 0.5 == 0):
            continue
        mp.dps = op.digits[1]
        center = exact(x)
        shrink = mpf(10) ** (-30 if gamma else -250)
        distance = min(abs(center), abs(center - mp.nint(center))) if center != mp.nint(center) else min(abs(center), mpf(1))
        step = shrink * (min(distance, mpf(1)) if center else mpf(1))
        if gamma and abs(x) > 1e15:
            step = shrink * abs(center)
        claimed = op.smooth(center)
        first.add(lambda z: op.smooth(z)[0], center, claimed[1], step, x)
        second.add(lambda z: op.smooth(z)[1], center, claimed[2], step, x)
    return first, second


LIBRARY = {
    **{name: getattr(math, name) for name in ("sqrt exp expm1 log log2 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
        "atanh erf erfc lgamma cbrt exp2 floor ceil trunc atan2 hypot pow").split()},
    "neg": lambda x: -x, "abs": abs, "rem": math.fmod, "recip": lambda x: 1 / x, "square": lambda x: x * x, "round": round,
    **{f"powi_{n}": lambda x, n=n: math.pow(x, n) for n in (0, 1, 2, 3, 5, -1, -2)},
    **{f"powf_{y}": lambda x, y=y: math.pow(x, y) for y in (0.5, 1.5, -0.5, 0.3)},
}


def ulps(a, b):
    if a == b:
        return 0
    return abs(a - b) / math.ulp(max(abs(a), abs(b)))


def check_library(name, rows):
    """The greatest distance to the C library in units of the last place, over points where both are finite; where only one is
    finite or NaN, they are listed."""
    worst, where, unlike, count = 0, None, [], 0
    for operands, value in rows:
        if value is None:
            continue
        try:
            other = LIBRARY[name](*operands)
        except (ValueError, OverflowError, ZeroDivisionError):
            continue
        count += 1
        if math.isnan(other) and math.isnan(value):
            continue
        if not (math.isfinite(other) and math.isfinite(value)):
            if other != value:
                unlike.append((operands, value, other))
            continue
        # Python's floor and its like give whole numbers, whose zero has no sign.
        if value == 0 and other == 0 and isinstance(other, float) and is_negative_zero(value) != is_negative_zero(other):
            unlike.append((operands, value, other))
        # Python's own lgamma is right only absolutely near its zeros.
        distance = abs(value - other) / math.ulp(max(abs(value), 1.0)) if name == "lgamma" else ulps(value, other)
        if distance > worst:
            worst, where = distance, operands
    return count, worst, where, unlike


def check_partials(name, f, points):
    """Of pairs of finite numbers that are neither zeros nor ties."""
    found = Difference()
    smooth = SMOOTH_PAIRS.get(name)
    for x, y in points if smooth else ():
        if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0 or x == y:
            continue
        mp.dps = PAIR_DIGITS[1]
        value, dx, dy = (v if v is None else mpf(v) for v in f(x, y))
        if mp.isnan(value):
            continue
        a, b = exact(x), exact(y)
        step = mpf(10) ** -200 * min(abs(a), abs(b), mpf(1))
        for claimed, along, center in ((dx, lambda z: smooth(z, b), a), (dy, lambda z: smooth(a, z), b)):
            if claimed is not None and not mp.isnan(claimed):
                found.add(along, center, claimed, step, (x, y))
    return found


def smooth_pow(x, y):
    """For a base below 0 only in x: y is a whole number there."""
    if x > 0:
        return mp.exp(y * mp.log(x))
    whole = int(mp.nint(y))
    size = mp.exp(whole * mp.log(-x))
    return -size if whole % 2 else size


SMOOTH_PAIRS = {
    "atan2": lambda y, x: mp.atan2(y, x),
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "pow": smooth_pow,
    "xlogy": lambda x, y: x * mp.log(y),
}


def unary(log):
    lines = []
    for op in functions.OPS:
        points = once([*COMMON, *op.points, *random_points(op.name)])
        rows = [(x, unary_row(op, x)) for x in points]
        lines += [f"{op.name},{bits(x)}," + ",".join(map(bits, row)) for x, row in rows]
        first, second = check_derivatives(op, points)
        for what, found in (("first", first), ("second", second)):
            assert found.worst < mpf(10) ** -25, (op.name, what, found.where, found.worst)
        worst = mp.nstr(max(first.worst, second.worst), 2)
        log.append(f"{op.name}: {len(rows)} rows; {first.count} points against differences, worst relative error {worst}")
        log += library_lines(op.name, [((x,), row[0]) for x, row in rows])
    return lines


def binary(log):
    lines = []
    for name, f, grid, is_second_positive in pairs.PAIRS:
        points = once([*grid, *random_pairs(name, is_second_positive)])
        rows = []
        for x, y in points:
            row = at_both(PAIR_DIGITS, (name, x, y), lambda: f(x, y))
            rows.append(((x, y), row[0]))
            lines.append(f"{name},{bits(x)};{bits(y)},{bits(row[0])},{bits(row[1])};{bits(row[2])},")
        found = check_partials(name, f, points)
        assert found.worst < mpf(10) ** -25, (name, found.where, found.worst)
        worst = mp.nstr(found.worst, 2)
        log.append(f"{name}: {len(rows)} rows; {found.count} partials against differences, worst relative error {worst}")
        log += library_lines(name, rows)
    return lines


def library_lines(name, rows):
    if name not in LIBRARY:
        return []
    count, worst, where, unlike = check_library(name, rows)
    assert worst < 16, (name, where, worst)
    at = f" at {where}" if worst else ""
    return [f"  C library: {count} values, at most {worst:.0f} units of the last place away{at}"] + [
        f"  C library otherwise at {operands}: {other} for {value}" for operands, value, other in unlike
    ]


def main():
    log = [
        f"mpmath {mpmath.__version__}",
        f"digits: {functions.ELEMENTARY} for elementary functions, {functions.GAMMA} for lgamma and digamma, {PAIR_DIGITS} for pairs,"
        f" {vectors.DIGITS} for vectors; both of each gave the same f64 everywhere",
        f"random points from seed {SEED}",
        "",
    ]
    lines = ["op,operands,value,gradient,second"] + unary(log) + binary(log)
    (HERE / "golden.csv").write_text("\n".join(lines) + "\n")
    log += ["", f"golden.csv: {len(lines) - 1} rows, {len(functions.OPS) + len(pairs.PAIRS)} ops"]
    vectors.write(HERE / "vectors.ron", log)
    (HERE / "golden.log").write_text("\n".join(log) + "\n")
    print("\n".join(log), file=sys.stderr)


if __name__ == "__main__":
    main()
