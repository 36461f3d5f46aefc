"""Kinds of columns of numbers by the shapes of their distributions.

A mixture gains a superfluous class where the density of a column within a class has
another shape than the data.  The kind of a column is therefore normal, or normal after
a logarithm, only if a second class would gain too little to be kept, or if the column
alone has several modes.  Otherwise it is a histogram, whose shape is free.
"""

import numpy as np

#: Numbers with at most this number of distinct values are no density.
FEW_VALUES = 10
#: Least weight of an interval in the tails of a histogram, and of an atom; and the
#: ratio of the weight of an atom to the median weight of its neighbours.
LEAST_ROWS, ATOM_RATIO, NEIGHBOURS = 10, 5.0, 3
#: A valley between modes is lower than this share of the lower mode, modes are higher
#: than this share of the highest, and the roots of their counts differ by this.
VALLEY, LEAST_MODE, LEAST_STEP = 0.7, 0.05, 1.5
#: Largest ratio of the excess kurtosis to the squared skewness of classes that are seen
#: in one column; it is 1.5 for Gamma distributions.
FLATNESS = 0.5
#: Number of points of a density estimate.
N_POINTS = 256


def shape_of(numbers, weight, only_numbers=False):
    """Return "gaussian", "lognormal" or "histogram" for a column of numbers.

    Parameters
    ----------
    numbers : ndarray of shape (n_values,)
        Distinct values.
    weight : ndarray of shape (n_values,)
        Weight of each value.
    only_numbers : bool, default=False
        Whether no column of the table has options, so that classes can be seen in the
        shapes of columns only.
    """
    total, order = weight.sum(), np.argsort(numbers)
    numbers, weight = numbers[order], weight[order]
    if len(numbers) < 2:
        return "gaussian"
    if not is_density(numbers, weight):
        return "histogram"
    limit = np.log1p(total)  # as the BIC's penalty of two parameters
    normal_gain, is_flat = second_class_gain(numbers, weight)
    is_normal = normal_gain <= limit
    if numbers[0] > 0:
        logs = np.log(numbers)
        if second_class_gain(logs, weight)[0] <= limit:
            _, spread = _moments(numbers, weight)
            mean, log_spread = _moments(logs, weight)
            log_gain = total * (np.log(spread) - np.log(log_spread) - mean)
            if not is_normal or log_gain > limit:
                return "lognormal"
    is_mixture = only_numbers and is_flat
    if is_normal or is_mixture or has_modes(numbers, weight):
        return "gaussian"
    return "histogram"


def is_density(numbers, weight):
    """Return whether distinct numbers are not few that repeat, and none is an atom."""
    repeats = weight.sum() > FEW_VALUES * len(numbers)
    return not ((len(numbers) <= FEW_VALUES and repeats) or _has_atom(weight))


def _moments(numbers, weight):
    """Return the mean and the standard deviation."""
    mean = weight @ numbers / weight.sum()
    return mean, np.sqrt(weight @ (numbers - mean) ** 2 / weight.sum())


def second_class_gain(numbers, weight):
    """Return the gain of log-likelihood by a second normal class, and the flatness.

    The gain is about n (S^2 / 12 + K^2 / 48) for the skewness S and the excess kurtosis
    K, half of the statistic of Jarque and Bera: the leading terms of the divergence of
    a distribution from the normal one of its mean and variance.  The second result is
    whether K is as small, given S, as for classes of different means.
    """
    mean, spread = _moments(numbers, weight)
    if not spread > 0:
        return 0.0, False
    z = (numbers - mean) / spread
    skewness, kurtosis = (weight @ z**power / weight.sum() for power in (3, 4))
    excess = kurtosis - 3.0
    gain = weight.sum() * (skewness**2 / 12.0 + excess**2 / 48.0)
    return gain, excess <= FLATNESS * skewness**2


def _has_atom(weight):
    """Return whether a value is much more frequent than the values next to it."""
    if weight.max() <= LEAST_ROWS:
        return False
    n = len(weight)
    padded = np.pad(weight, NEIGHBOURS, constant_values=np.nan)
    shifts = [k for k in range(2 * NEIGHBOURS + 1) if k != NEIGHBOURS]
    around = np.nanmedian([padded[k : k + n] for k in shifts], axis=0)
    return bool((weight > LEAST_ROWS + ATOM_RATIO * around).any())


def has_modes(numbers, weight):
    """Return whether a kernel estimate of the density has a clear valley.

    The bandwidth is Silverman's, and at least the usual distance between values.
    """
    total, cumulative = weight.sum(), np.cumsum(weight)
    low, first, third, high = numbers[
        cumulative.searchsorted(np.array([0.005, 0.25, 0.75, 0.995]) * total)
    ]
    _, spread = _moments(numbers, weight)
    spread = min(spread, (third - first) / 1.34) or spread
    steps = np.diff(numbers)  # a gap is the larger of the steps to both neighbours
    gaps = np.maximum(np.append(steps[0], steps), np.append(steps, steps[-1]))
    order = np.argsort(gaps)
    usual = gaps[order][np.cumsum(weight[order]).searchsorted(0.5 * total)]
    width = max(0.9 * spread * total**-0.2, usual)
    points = np.linspace(low - 2.0 * width, high + 2.0 * width, N_POINTS)
    step = points[1] - points[0]
    places = np.rint((numbers - points[0]) / step)
    inside = (places >= 0) & (places < N_POINTS)
    counts = np.bincount(places[inside].astype(int), weight[inside], N_POINTS)
    kernel = np.exp(-0.5 * ((points[:, None] - points) / width) ** 2)
    counts = kernel @ counts
    left, right = np.maximum.accumulate(counts), np.maximum.accumulate(counts[::-1])
    lower = np.minimum(left, right[::-1])  # of the highest modes on both sides
    found = (lower >= LEAST_MODE * counts.max()) & (counts < VALLEY * lower)
    return bool((found & (np.sqrt(lower) - np.sqrt(counts) > LEAST_STEP)).any())
