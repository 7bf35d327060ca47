"""Reductions, functions of vectors and losses: the value, and the gradient of Σ weight·value for each input.

A function takes its inputs and the weights and returns (value, gradients). An input whose gradient is not to be checked, like the
index of a class, has None.
"""

from mpmath import mp, mpf

from rounding import INF, exact, nearest, unsigned

DIGITS = (700, 1000)
ZERO = mpf(0)


def total(numbers):
    return mp.fsum(numbers)


def product(numbers):
    result = mpf(1)
    for number in numbers:
        result *= number
    return result


def weights_of_exponentials(x):
    """The greatest of x, e^(x - greatest), and their sum."""
    top = max(x)
    parts = [ZERO if v == -INF else mp.exp(v - top) for v in x]
    return top, parts, total(parts)


def logsumexp(inputs, w):
    top, parts, whole = weights_of_exponentials(inputs[0])
    return [top + mp.log(whole)], [[w[0] * part / whole for part in parts]]


def softmax(inputs, w):
    _, parts, whole = weights_of_exponentials(inputs[0])
    p = [part / whole for part in parts]
    mean = total(a * b for a, b in zip(w, p))
    return p, [[a * (b - mean) for a, b in zip(p, w)]]


def log_softmax(inputs, w):
    x = inputs[0]
    top, parts, whole = weights_of_exponentials(x)
    value = [v - top - mp.log(whole) for v in x]
    return value, [[a - total(w) * part / whole for a, part in zip(w, parts)]]


def var(correction):
    def function(inputs, w):
        x = inputs[0]
        mean, count = total(x) / len(x), len(x) - correction
        value = total((v - mean) ** 2 for v in x) / count
        return [value], [[w[0] * 2 * (v - mean) / count for v in x]]

    return function


def std(correction):
    def function(inputs, w):
        x = inputs[0]
        mean, count = total(x) / len(x), len(x) - correction
        value = mp.sqrt(total((v - mean) ** 2 for v in x) / count)
        return [value], [[w[0] * (v - mean) / (count * value) if value else ZERO for v in x]]

    return function


def norm_1(inputs, w):
    x = inputs[0]
    return [total(map(abs, x))], [[w[0] * mp.sign(v) for v in x]]


def norm_2(inputs, w):
    x = inputs[0]
    value = mp.sqrt(total(v * v for v in x))
    return [value], [[w[0] * v / value if value else ZERO for v in x]]


def norm_inf(inputs, w):
    """The greatest magnitudes share the gradient evenly."""
    x = inputs[0]
    top = max(map(abs, x))
    count = sum(abs(v) == top for v in x)
    return [top], [[w[0] * mp.sign(v) / count if abs(v) == top else ZERO for v in x]]


def prod(inputs, w):
    x = inputs[0]
    return [product(x)], [[w[0] * product(x[:i] + x[i + 1 :]) for i in range(len(x))]]


def cumsum(inputs, w):
    x = inputs[0]
    return [total(x[: i + 1]) for i in range(len(x))], [[total(w[i:]) for i in range(len(x))]]


def cumprod(inputs, w):
    x = inputs[0]
    gradient = [total(w[j] * product(x[:i] + x[i + 1 : j + 1]) for j in range(i, len(x))) for i in range(len(x))]
    return [product(x[: i + 1]) for i in range(len(x))], [gradient]


def extreme(choose):
    def function(inputs, w):
        x = inputs[0]
        top = choose(x)
        count = sum(v == top for v in x)
        return [top], [[w[0] / count if v == top else ZERO for v in x]]

    return function


def mean(inputs, w):
    x = inputs[0]
    return [total(x) / len(x)], [[w[0] / len(x) for _ in x]]


def of_difference(loss, slope):
    """The mean of a loss of prediction - target."""

    def function(inputs, w):
        differences = [a - b for a, b in zip(*inputs)]
        count = len(differences)
        gradient = [w[0] * slope(d) / count for d in differences]
        return [total(map(loss, differences)) / count], [gradient, [-g for g in gradient]]

    return function


def huber(d):
    return d * d / 2 if abs(d) <= 1 else abs(d) - mpf(1) / 2


def cross_entropy_index(inputs, w):
    x, k = inputs[0], int(inputs[1][0])
    top, parts, whole = weights_of_exponentials(x)
    gradient = [w[0] * (part / whole - (i == k)) for i, part in enumerate(parts)]
    return [top - x[k] + mp.log(whole)], [gradient, None]


def cross_entropy_probabilities(inputs, w):
    x, q = inputs
    value, _ = log_softmax([x], [ZERO for _ in x])
    _, parts, whole = weights_of_exponentials(x)
    logits = [w[0] * (total(q) * part / whole - b) for part, b in zip(parts, q)]
    return [-total(a * b for a, b in zip(q, value))], [logits, [-w[0] * v for v in value]]


def bce_with_logits(inputs, w):
    x, y = inputs
    losses = [max(a, ZERO) - a * b + mp.log1p(mp.exp(-abs(a))) for a, b in zip(x, y)]
    logits = [w[0] * (1 / (1 + mp.exp(-a)) - b) / len(x) for a, b in zip(x, y)]
    return [total(losses) / len(x)], [logits, [-w[0] * a / len(x) for a in x]]


def nll(inputs, w):
    x, k = inputs[0], int(inputs[1][0])
    return [-x[k]], [[-w[0] if i == k else ZERO for i in range(len(x))], None]


def kl(inputs, w):
    """Σ p·(log p - log q) from log q and p; where a p is 0 its gradient is not checked."""
    log_q, p = inputs
    value = total(b * (mp.log(b) - a) for a, b in zip(log_q, p) if b)
    targets = None if 0 in p else [w[0] * (mp.log(b) + 1 - a) for a, b in zip(log_q, p)]
    return [value], [[-w[0] * b for b in p], targets]


def hinge(inputs, w):
    scores, y = inputs
    margins = [1 - a * b for a, b in zip(scores, y)]
    gradient = [-w[0] * b / len(y) if m > 0 else ZERO for m, b in zip(margins, y)]
    return [total(max(m, ZERO) for m in margins) / len(y)], [gradient, None]


def cosine_similarity(inputs, w):
    u, v = inputs
    length_u, length_v = (mp.sqrt(total(a * a for a in x)) for x in inputs)
    value = total(a * b for a, b in zip(u, v)) / (length_u * length_v)
    of_u = [w[0] * (b / length_v - value * a / length_u) / length_u for a, b in zip(u, v)]
    of_v = [w[0] * (a / length_u - value * b / length_v) / length_v for a, b in zip(u, v)]
    return [value], [of_u, of_v]


FUNCTIONS = {
    "logsumexp": logsumexp, "softmax": softmax, "log_softmax": log_softmax, "var_0": var(0), "var_1": var(1), "std_0": std(0),
    "std_1": std(1), "norm_1": norm_1, "norm_2": norm_2, "norm_inf": norm_inf, "prod": prod, "cumsum": cumsum, "cumprod": cumprod,
    "max": extreme(max), "min": extreme(min), "mean": mean, "mse": of_difference(lambda d: d * d, lambda d: 2 * d),
    "mae": of_difference(abs, mp.sign), "huber_1": of_difference(huber, lambda d: d if abs(d) <= 1 else mp.sign(d)),
    "cross_entropy_index": cross_entropy_index, "cross_entropy_probabilities": cross_entropy_probabilities,
    "bce_with_logits": bce_with_logits, "nll": nll, "kl": kl, "hinge": hinge, "cosine_similarity": cosine_similarity,
}

# (sentence, op, inputs, weights, whether the function is smooth there so that differences tell its gradient).
CASES = [
    ("logsumexp at an ordinary point", "logsumexp", [[0.3, -1.2, 2.5]], [1.0], True),
    ("logsumexp with a weight", "logsumexp", [[0.3, -1.2, 2.5]], [-2.5], True),
    ("logsumexp of one number is the number", "logsumexp", [[-0.7]], [1.0], True),
    ("logsumexp beyond the range of exp", "logsumexp", [[1000.0, 1000.0]], [1.0], True),
    ("logsumexp below the range of exp", "logsumexp", [[-1000.0, -1001.0, -1000.5]], [1.0], True),
    ("logsumexp far apart", "logsumexp", [[1000.0, -1000.0]], [1.0], True),
    ("logsumexp of huge numbers", "logsumexp", [[1e300, 1e300, -1e300]], [1.0], True),
    ("logsumexp of subnormals", "logsumexp", [[5e-324, -5e-324, 0.0]], [1.0], True),
    ("logsumexp with a masked number", "logsumexp", [[-INF, 0.5, -0.5]], [1.0], False),
    ("softmax at an ordinary point", "softmax", [[0.3, -1.2, 2.5]], [1.0, -0.5, 2.0], True),
    ("softmax with equal weights has no gradient", "softmax", [[0.25, -1.0, 2.0]], [1.0, 1.0, 1.0], False),
    ("softmax of equal numbers", "softmax", [[2.0, 2.0, 2.0, 2.0]], [1.0, 0.0, 0.0, -1.0], True),
    ("softmax beyond the range of exp", "softmax", [[1000.0, 1001.0, 999.0]], [1.0, -0.5, 2.0], True),
    ("softmax where all of it is in one place", "softmax", [[1000.0, -1000.0, 0.0]], [1.0, 2.0, 3.0], True),
    ("softmax with small but certain parts", "softmax", [[0.0, -40.0, -700.0]], [1.0, 2.0, 3.0], True),
    ("softmax of huge numbers", "softmax", [[1e300, -1e300, 1e300]], [1.0, 2.0, 3.0], True),
    ("softmax of subnormals", "softmax", [[5e-324, 0.0]], [1.0, 2.0], True),
    ("log softmax at an ordinary point", "log_softmax", [[0.3, -1.2, 2.5]], [1.0, -0.5, 2.0], True),
    ("log softmax beyond the range of exp", "log_softmax", [[1000.0, 0.0, -1000.0]], [0.0, 1.0, 0.0], True),
    ("log softmax near 0", "log_softmax", [[40.0, 0.0]], [1.0, 0.0], True),
    ("log softmax of huge numbers", "log_softmax", [[1e300, 1e300]], [1.0, 0.5], True),
    ("log softmax of a tie", "log_softmax", [[0.0, 0.0]], [1.0, 0.0], True),
    ("the variance", "var_0", [[0.3, -1.2, 2.5, 4.0]], [1.0], True),
    ("the variance with a weight", "var_0", [[0.3, -1.2, 2.5, 4.0]], [3.0], True),
    ("the variance of equal numbers", "var_0", [[5.0, 5.0, 5.0]], [1.0], True),
    ("the variance of one number", "var_0", [[5.0]], [1.0], True),
    ("the variance far from zero", "var_0", [[100000001.0, 100000002.0, 100000003.0]], [1.0], True),
    ("the variance of large numbers", "var_0", [[1e100, 3e100, -2e100]], [1.0], True),
    ("the variance of a sample", "var_1", [[0.3, -1.2, 2.5, 4.0]], [1.0], True),
    ("the variance of a sample of equal numbers", "var_1", [[5.0, 5.0, 5.0]], [1.0], True),
    ("the variance of a sample of two", "var_1", [[1.0, 3.0]], [0.5], True),
    ("the standard deviation", "std_0", [[0.3, -1.2, 2.5, 4.0]], [1.0], True),
    ("the standard deviation of equal numbers", "std_0", [[5.0, 5.0, 5.0]], [1.0], False),
    ("the standard deviation of zeros", "std_0", [[0.0, 0.0]], [1.0], False),
    ("the standard deviation of large numbers", "std_0", [[1e100, 3e100, -2e100]], [1.0], True),
    ("the standard deviation of a sample", "std_1", [[0.3, -1.2, 2.5, 4.0]], [-2.0], True),
    ("the standard deviation of a sample of equal numbers", "std_1", [[5.0, 5.0, 5.0]], [1.0], False),
    ("the sum of magnitudes", "norm_1", [[0.3, -1.2, 2.5]], [2.0], True),
    ("the sum of magnitudes with zeros", "norm_1", [[0.0, -1.0, -0.0, 2.0]], [1.0], False),
    ("the sum of magnitudes of subnormals", "norm_1", [[5e-324, -1e-323]], [1.0], True),
    ("the length of a vector", "norm_2", [[3.0, -4.0]], [1.0], True),
    ("the length with a weight", "norm_2", [[0.3, -1.2, 2.5]], [-0.5], True),
    ("the length of the zero vector", "norm_2", [[0.0, 0.0, 0.0]], [1.0], False),
    ("the length along an axis", "norm_2", [[0.0, -2.0]], [1.0], True),
    ("the length of a huge vector", "norm_2", [[3e300, 4e300]], [1.0], True),
    ("the length of a tiny vector", "norm_2", [[3e-300, -4e-300]], [1.0], True),
    ("the length of a subnormal vector", "norm_2", [[1.5e-323, 2e-323]], [1.0], True),
    ("the length of a vector of one subnormal", "norm_2", [[5e-324, 0.0]], [1.0], True),
    ("the length of a vector of very unlike parts", "norm_2", [[1e300, 1.0, 1e-300]], [1.0], True),
    ("the greatest magnitude", "norm_inf", [[0.3, -2.75, 2.5]], [2.0], True),
    ("the greatest magnitude at a tie", "norm_inf", [[2.0, -2.0, 1.0]], [1.0], False),
    ("the greatest magnitude of the zero vector", "norm_inf", [[0.0, 0.0]], [1.0], False),
    ("the greatest magnitude of huge numbers", "norm_inf", [[1e300, -1e308]], [1.0], True),
    ("the product", "prod", [[0.5, -1.5, 2.0]], [1.0], True),
    ("the product with a weight", "prod", [[0.3, -1.2, 2.5, 1.1]], [-2.0], True),
    ("the product of negative numbers", "prod", [[-2.0, 3.0, -1.0]], [1.0], True),
    ("the product with one zero", "prod", [[2.0, 0.0, 3.0, 4.0]], [1.0], True),
    ("the product with two zeros", "prod", [[2.0, 0.0, 0.0, 4.0]], [1.0], True),
    ("the product of zeros alone", "prod", [[0.0, 0.0, 0.0]], [1.0], True),
    ("the product of one zero alone", "prod", [[0.0]], [1.0], True),
    ("the product of large numbers", "prod", [[1e150, -1e100, 1e50]], [1.0], True),
    ("the product with a subnormal", "prod", [[5e-324, 2.0, 4.0]], [1.0], True),
    ("the running sum", "cumsum", [[0.25, -1.5, 2.0]], [1.0, -0.5, 2.0], True),
    ("the running sum of zeros", "cumsum", [[0.0, 0.0]], [1.0, 3.0], True),
    ("the running sum of large numbers", "cumsum", [[1e300, 1e300, -1e300]], [1.0, 1.0, 1.0], True),
    ("the running product", "cumprod", [[0.5, -1.5, 2.0]], [1.0, -0.5, 2.0], True),
    ("the running product with a zero", "cumprod", [[2.0, 0.0, 3.0, 4.0]], [1.0, -0.5, 2.0, 0.25], True),
    ("the running product with two zeros", "cumprod", [[2.0, 0.0, 3.0, 0.0, 5.0]], [1.0, 1.0, 1.0, 1.0, 1.0], True),
    ("the running product with a zero in front", "cumprod", [[0.0, 2.0, 3.0]], [1.0, 1.0, 1.0], True),
    ("the running product of zeros alone", "cumprod", [[0.0, 0.0, 0.0]], [1.0, 1.0, 1.0], True),
    ("the greatest", "max", [[0.3, -1.2, 2.5]], [2.0], True),
    ("the greatest at a tie of two", "max", [[2.0, 2.0, 1.0]], [1.0], False),
    ("the greatest at a tie of all", "max", [[5.0, 5.0, 5.0, 5.0]], [1.0], False),
    ("the greatest at a tie of three", "max", [[1.0, 1.0, 0.0, 1.0]], [1.0], False),
    ("the greatest of zeros of both signs", "max", [[0.0, -0.0]], [1.0], False),
    ("the greatest of numbers below zero", "max", [[-1000.0, -1e300, -1.0]], [1.0], True),
    ("the greatest with infinities", "max", [[INF, 0.0, -INF]], [1.0], False),
    ("the least", "min", [[0.3, -1.2, 2.5]], [2.0], True),
    ("the least at a tie of two", "min", [[2.0, 1.0, 1.0]], [1.0], False),
    ("the least of subnormals", "min", [[5e-324, 1e-323]], [1.0], True),
    ("the least with infinities", "min", [[INF, 0.0, -INF]], [1.0], False),
    ("the mean", "mean", [[0.3, -1.2, 2.5]], [2.0], True),
    ("the mean of zeros", "mean", [[0.0, 0.0, 0.0, 0.0]], [1.0], True),
    ("the mean of large numbers", "mean", [[1e300, -3e300]], [1.0], True),
    ("the mean squared error", "mse", [[0.3, -1.2, 2.5], [0.5, 1.0, 2.5]], [1.0], True),
    ("the mean squared error of what is right", "mse", [[1.0, -2.0], [1.0, -2.0]], [1.0], True),
    ("the mean squared error far away", "mse", [[1000.0, -1e100], [-1000.0, 1e100]], [1.0], True),
    ("the mean absolute error", "mae", [[0.3, -1.2, 2.5], [0.5, 1.0, 2.0]], [2.0], True),
    ("the mean absolute error where some is right", "mae", [[0.25, -1.0], [0.25, 1.0]], [1.0], False),
    ("the mean absolute error far away", "mae", [[1e300, -1000.0], [-1e300, 1000.0]], [1.0], True),
    ("the Huber loss on both sides of its bound", "huber_1", [[0.3, -1.2, 2.5], [0.5, 1.0, -2.5]], [1.0], True),
    ("the Huber loss at its bound", "huber_1", [[1.0, -2.0, 0.0], [0.0, -1.0, 0.0]], [1.0], True),
    ("the Huber loss far away", "huber_1", [[1e300, -1000.0], [-1e300, 1000.0]], [1.0], True),
    ("the Huber loss of subnormals", "huber_1", [[5e-324, 0.0], [0.0, 0.0]], [1.0], True),
    ("cross entropy with a class", "cross_entropy_index", [[0.3, -1.2, 2.5], [1.0]], [1.0], True),
    ("cross entropy with a class, with a weight", "cross_entropy_index", [[0.3, -1.2, 2.5], [2.0]], [0.25], True),
    ("cross entropy of equal logits", "cross_entropy_index", [[0.0, 0.0, 0.0, 0.0], [3.0]], [1.0], True),
    ("cross entropy, certain and right", "cross_entropy_index", [[1000.0, -1000.0], [0.0]], [1.0], True),
    ("cross entropy, certain and wrong", "cross_entropy_index", [[1000.0, -1000.0], [1.0]], [1.0], True),
    ("cross entropy, almost certain and right", "cross_entropy_index", [[40.0, 0.0], [0.0]], [1.0], True),
    ("cross entropy with probabilities", "cross_entropy_probabilities", [[0.3, -1.2, 2.5], [0.25, 0.5, 0.25]], [1.0], True),
    ("cross entropy with all of it in one class", "cross_entropy_probabilities", [[0.3, -1.2, 2.5], [0.0, 1.0, 0.0]], [1.0], True),
    ("cross entropy with probabilities far apart", "cross_entropy_probabilities", [[1000.0, -1000.0], [0.5, 0.5]], [1.0], True),
    ("cross entropy with probabilities that sum to two", "cross_entropy_probabilities", [[0.5, 1.0], [1.5, 0.5]], [1.0], True),
    ("binary cross entropy at an ordinary point", "bce_with_logits", [[0.3, -1.2, 2.5], [1.0, 0.0, 0.25]], [1.0], True),
    ("binary cross entropy at zero", "bce_with_logits", [[0.0], [0.0]], [1.0], True),
    ("binary cross entropy, certain and right", "bce_with_logits", [[1000.0, -1000.0], [1.0, 0.0]], [1.0], True),
    ("binary cross entropy, certain and wrong", "bce_with_logits", [[1000.0, -1000.0], [0.0, 1.0]], [1.0], True),
    ("binary cross entropy far below", "bce_with_logits", [[-90.0, -40.0], [0.0, 0.0]], [1.0], True),
    ("binary cross entropy, almost certain and right", "bce_with_logits", [[40.0], [1.0]], [1.0], True),
    ("negative log likelihood", "nll", [[-0.5, -1.5, -2.5], [1.0]], [2.0], True),
    ("negative log likelihood of the impossible", "nll", [[0.0, -1000.0], [1.0]], [1.0], True),
    ("the divergence at an ordinary point", "kl", [[-0.5, -1.5, -2.5], [0.25, 0.5, 0.25]], [1.0], True),
    ("the divergence where a target is zero", "kl", [[-0.5, -1.5, -1000.0], [0.5, 0.5, 0.0]], [1.0], False),
    ("the divergence from almost nothing", "kl", [[-1000.0, -0.5], [0.5, 0.5]], [1.0], True),
    ("the divergence of tiny probabilities", "kl", [[-700.0, 0.0], [1e-300, 1.0]], [1.0], True),
    ("the hinge loss on both sides", "hinge", [[0.3, -1.2, 2.5, 0.5], [1.0, 1.0, 1.0, -1.0]], [1.0], True),
    ("the hinge loss at the margin", "hinge", [[1.0, -1.0, 0.0], [1.0, -1.0, 1.0]], [3.0], False),
    ("the hinge loss far away", "hinge", [[-1e300, 1e300], [1.0, 1.0]], [1.0], True),
    ("the cosine of an ordinary angle", "cosine_similarity", [[0.3, -1.2, 2.5], [1.0, 0.5, -0.5]], [1.0], True),
    ("the cosine of a right angle", "cosine_similarity", [[1.0, 0.0], [0.0, 2.0]], [1.0], True),
    ("the cosine of one direction", "cosine_similarity", [[3.0, 4.0], [6.0, 8.0]], [1.0], False),
    ("the cosine of opposite directions", "cosine_similarity", [[3.0, 4.0], [-3.0, -4.0]], [1.0], False),
    ("the cosine of huge vectors", "cosine_similarity", [[3e300, 4e300], [4e300, 3e300]], [1.0], True),
    ("the cosine of tiny vectors", "cosine_similarity", [[3e-200, 4e-200], [4e-200, 3e-200]], [1.0], True),
]


def compute(op, inputs, weights):
    return FUNCTIONS[op]([[exact(v) for v in x] for x in inputs], [exact(w) for w in weights])


def rounded(result):
    value, gradients = result
    return [nearest(v) for v in value], [[] if g is None else [unsigned(nearest(v)) for v in g] for g in gradients]


def slope(f, leaves, place, i, step):
    """The central difference of a function of leaves along one element of one of them."""
    sides = []
    for sign in (1, -1):
        moved = [list(leaf) for leaf in leaves]
        moved[place][i] += sign * step
        sides.append(f(*moved))
    return (sides[0] - sides[1]) / (2 * step)


def worst_difference(op, inputs, weights):
    """Of the gradient against central differences, relative to the greatest part of the gradient of an input."""
    claimed = compute(op, inputs, weights)[1]
    numbers, w = [[exact(v) for v in x] for x in inputs], [exact(v) for v in weights]

    def weighted(*moved):
        return total(a * b for a, b in zip(w, FUNCTIONS[op](list(moved), w)[0]))

    worst = ZERO
    for place, gradient in enumerate(claimed):
        if gradient is None:
            continue
        scale = max(map(abs, gradient))
        smallest = min((abs(v) for v in numbers[place] if v), default=mpf(1))
        step = mpf(10) ** -150 * min(smallest, mpf(1))
        for i, wanted in enumerate(gradient):
            got = slope(weighted, numbers, place, i, step)
            if scale or got:
                # Below the smallest subnormal the error counts absolutely.
                worst = max(worst, abs(got - wanted) / max(scale, mpf(10) ** -340))
    return worst


def shown(x):
    return {INF: "inf", -INF: "-inf"}.get(x, repr(x)) if x == x else "NaN"


def listed(numbers):
    return "[" + ", ".join(map(shown, numbers)) + "]"


def write(path, log):
    lines = [
        "// Written by golden.py; see README.md. The gradient is that of the sum of weight times value; an empty one is not checked.",
        "[",
    ]
    counts, worst_of = {}, {}
    for name, op, inputs, weights, is_smooth in CASES:
        found = []
        for digits in DIGITS:
            mp.dps = digits
            found.append(rounded(compute(op, inputs, weights)))
        assert repr(found[0]) == repr(found[1]), (name, found)
        value, gradients = found[1]
        assert len(value) == len(weights), name
        counts[op] = counts.get(op, 0) + 1
        if is_smooth:
            worst = worst_difference(op, inputs, weights)
            assert worst < mpf(10) ** -30, (name, worst)
            worst_of[op] = max(worst_of.get(op, ZERO), worst)
        lines.append(
            f'    (name: "{name}", op: "{op}", inputs: [{", ".join(map(listed, inputs))}], weights: {listed(weights)}, '
            f'value: {listed(value)}, gradient: [{", ".join(map(listed, gradients))}]),'
        )
    lines.append("]")
    path.write_text("\n".join(lines) + "\n")
    assert set(counts) == set(FUNCTIONS)
    for op, count in counts.items():
        log.append(f"{op}: {count} cases, worst relative error against differences {mp.nstr(worst_of[op], 2)}")
    log.append(f"vectors.ron: {len(CASES)} cases, {len(FUNCTIONS)} ops")
