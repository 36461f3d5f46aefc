"""Rows of a fit count in a stream as if they had been one, in random order.

Their weights then have the sum of the weights of a stream, of which half are left after
each half-life.
"""

import numpy as np
import pytest
from scipy.integrate import quad

from sktemper import AnnealedLDA, TemperedBernoulliMixture
from sktemper.model import Powers, Request

from .draws import LENGTH, cells, generator
from .registry import MODELS, documents

STREAMING = [row for row in MODELS if "half_life" in row.make().get_params()]


def natural(estimator, weight=1.0):
    """Return the parameters if each row counts ``weight`` times."""
    model, state = estimator._new_model(), estimator._state()
    block = model.take(estimator.rows_, slice(0, 2))
    prepared = model.prepare(*state.parameters)
    sums = model.local_step(block, prepared, Request(want=("statistics",))).statistics
    prior = model.target_parameters(sums, 0.0, Powers(), state.hyper)
    parameters = model.natural_parameters(state.globals_)
    return prior + weight * (parameters - prior)


@cells("subject", STREAMING, every=4)
@pytest.mark.filterwarnings("ignore")
def test_rows_of_a_fit_count_as_those_of_a_stream(subject):
    for draw in range(LENGTH):
        random = generator("stream", subject.name, draw)
        X, half_life = subject.draw(random, 120), float(10 ** random.uniform(0, 4))
        weight = random.gamma(2.0, size=120)
        estimator = subject.make(random_state=0, half_life=half_life, renewals=None)
        estimator.fit(X, sample_weight=weight)
        estimator.rows_ = estimator._validate(X[:2], reset=False)
        ages = (lambda age, unit=half_life: 2 ** (-age / unit)), 0.0, weight.sum()
        total, _ = quad(*ages, limit=500)
        expected = natural(estimator, total / weight.sum())
        # rows of hardly any weight say nothing, and take no time
        estimator.partial_fit(X[:2], sample_weight=np.full(2, 1e-9))
        atol = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(natural(estimator), expected, rtol=1e-5, atol=atol)


def test_merged_topics_keep_their_weight_in_a_stream():
    X = documents(np.random.default_rng(0), 400)
    lda = AnnealedLDA(6, half_life=50, renewals=None, random_state=0).fit(X[:200])
    lda = lda.partial_fit(X[200:]).merge_topics(3)
    before = lda.components_.sum()
    assert lda.partial_fit(X[:1]).components_.sum() == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize("fit_forgets", [True, False])
def test_counts_of_a_stream_after_a_fit(fit_forgets):
    X = (np.random.default_rng(0).random((1000, 3)) < 0.5).astype(float)
    mixture = TemperedBernoulliMixture(1, tempering=None, renewals=None, random_state=0)
    mixture.set_params(half_life=100 if fit_forgets else None).fit(X)
    mixture.set_params(half_life=100)
    size, kept = quad(lambda age: 2 ** (-age / 100), 0, 1000)[0], 2**-0.5
    sums = size * X.mean(axis=0)
    for start in range(0, 400, 50):
        mixture.partial_fit(X[start : start + 50])
        before, size = size, kept * size + 50
        sums = kept * before / size * sums + X[start : start + 50].sum(axis=0)
    found = mixture.concentration_[0] - 1.0  # without the prior
    np.testing.assert_allclose(found[:, 0], sums, rtol=1e-5)
