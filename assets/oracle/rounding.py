"""From numbers of many digits to the nearest f64, and the bits of an f64."""

import math
import struct

from mpmath import mp, mpf

INF = math.inf
NAN = math.nan
MAX = 1.7976931348623157e308


def exact(x):
    """The f64 as a number of many digits, without rounding; infinities and NaN stay f64."""
    return mpf(x) if math.isfinite(x) else x


def nearest(number):
    """The f64 nearest to a number, ties to even, subnormals and overflow included."""
    if isinstance(number, float):
        return number
    if not isinstance(number, mpf):
        number = mpf(number)
    if mp.isnan(number):
        return NAN
    if mp.isinf(number):
        return INF if number > 0 else -INF
    sign, mantissa, exponent, _ = number._mpf_
    if mantissa == 0:
        return 0.0
    # The value is mantissa · 2^exponent; `top` is the exponent of its leading bit.
    top = mantissa.bit_length() - 1 + exponent
    if top > 1024:
        magnitude = INF
    elif top < -1076:
        magnitude = 0.0
    else:
        last = max(top - 52, -1074)
        shift = last - exponent
        if shift <= 0:
            units = mantissa << -shift
        else:
            units, rest, half = mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)
            if rest > half or (rest == half and units & 1):
                units += 1
        # At most 53 bits, so the scaling is exact, or an overflow.
        try:
            magnitude = math.ldexp(units, last)
        except OverflowError:
            magnitude = INF
    return -magnitude if sign else magnitude


def bits(x):
    """16 hex digits; every NaN is the quiet one; nothing for a number that is not to be checked."""
    if x is None:
        return ""
    if math.isnan(x):
        return "7ff8000000000000"
    return struct.pack(">d", x).hex()


def unsigned(x):
    """A zero without its sign; what is not to be checked stays so."""
    return 0.0 if x == 0 else x


def next_up(x):
    return math.nextafter(x, INF)


def next_down(x):
    return math.nextafter(x, -INF)


def is_negative_zero(x):
    return x == 0 and math.copysign(1.0, x) < 0
