"""Weights count rows: a fit warns if they leave at most one row for each component.

The fit with the factor of the warning is better and does not warn, and no more than one
in twenty fits with the weights of a survey, a decay or a sample does.
"""

import re
import warnings

import numpy as np

from .draws import LENGTH, cells, generator, too_many
from .registry import SUBJECTS

#: Each class with its first options.
CLASSES = list({type(one.make()): one for one in reversed(SUBJECTS)}.values())[::-1]
N_ROWS = 120


def fitted(subject, X, weight, **parameters):
    """Return a fit, and its warnings about weights."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = subject.make(**parameters).fit(X, sample_weight=weight)
    messages = [str(one.message) for one in caught]
    return estimator, [one for one in messages if one.startswith("sample_weight")]


@cells("subject", CLASSES, every=7)
def test_the_factor_of_the_warning_makes_the_fit_better(subject):
    random = generator("light weights", subject.name)
    X, weight = subject.draw(random, N_ROWS), random.uniform(0.5, 2.0, N_ROWS)
    weight /= weight.sum() / random.choice([1e-3, 1.0, subject.make().n_components])
    light, (message,) = fitted(subject, X, weight)
    factor = float(re.search(r"multiply them by (\S+),", message)[1])
    better, messages = fitted(subject, X, factor * weight)
    assert not messages
    # the score of rankings hardly differs if most items are popular ones
    assert better.lower_bound(X) > light.lower_bound(X)


def plausible(random, n_rows):
    """Return weights that count rows, of one of many kinds."""
    ages = np.sort(random.integers(0, 3 * n_rows, n_rows))
    chances = random.beta(1.0, 2.0, n_rows)
    kinds = [
        random.gamma(2.0, random.uniform(0.1, 1000), n_rows),  # of a survey
        0.5 ** (ages / random.uniform(0.1, 3.0) / n_rows),  # halved after some time
        chances,
        1.0 / np.maximum(chances, 1e-3),
        (random.random(n_rows) < random.uniform(0.1, 1.0)) * 1.0,  # of a part
        random.poisson(1.0, n_rows) * 1.0,  # of a bootstrap sample
        random.uniform(size=n_rows),
        random.dirichlet(np.ones(n_rows)) * n_rows,
    ]
    return kinds[random.integers(len(kinds))]


def test_plausible_weights_cause_no_warning():
    random, n_draws = generator("plausible weights"), 40 * LENGTH
    count = 0
    for _ in range(n_draws):
        subject = CLASSES[random.integers(len(CLASSES))]
        X, weight = subject.draw(random, N_ROWS), plausible(random, N_ROWS)
        count += len(fitted(subject, X, weight, max_iter=1)[1])
    assert not too_many(count, n_draws, 0.05)
