"""Annealed fits do not end below plain fits from the same start."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

import sktemper
from sktemper._engine import _fit


def grid(width, n_features=2, n_rows=400):
    """Return rows of clusters on a grid, of which no axis is preferred."""
    random = np.random.default_rng(0)
    centres = np.indices([width] * n_features).reshape(n_features, -1).T
    labels = np.arange(n_rows) % len(centres)
    return 6.0 * centres[labels] + random.normal(size=(n_rows, n_features))


def cross(n_rows=400):
    """Return rows on two orthogonal axes of the same length."""
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    X[np.arange(n_rows), np.arange(n_rows) % 2] *= 10.0
    return X


def circles():
    return make_circles(300, noise=0.05, factor=0.4, random_state=0)[0]


def bits(n_features=3, n_rows=200):
    """Return noisy answers of all combinations of independent properties."""
    random = np.random.default_rng(0)
    labels = np.arange(n_rows) % 2**n_features
    X = np.repeat((labels[:, None] >> np.arange(n_features)) & 1, 5, axis=1)
    return np.where(random.random(X.shape) < 0.1, 1 - X, X).astype(float)


def counts(n_rows=100):
    random = np.random.default_rng(0)
    chances = (np.kron(np.eye(5), np.ones(6)) + 0.1) / 9.0
    return np.stack([random.multinomial(20, chances[i % 5]) for i in range(n_rows)])


CASES = {
    "grid of 3 x 3": ("GaussianMixture", 12, lambda: grid(3)),
    "grid of 5 x 5": ("GaussianMixture", 30, lambda: grid(5, n_rows=1000)),
    "cube of 8": ("GaussianMixture", 12, lambda: grid(2, 3)),
    "cube of 27": ("GaussianMixture", 35, lambda: grid(3, 3, 1000)),
    "circles": ("GaussianMixture", 10, circles),
    "cross": ("GaussianMixture", 8, cross),
    "t, cross": ("StudentMixture", 4, cross),
    "bits": ("BernoulliMixture", 12, bits),
    "mixed bits": ("MixedMixture", 12, bits),
    "counts": ("MultinomialMixture", 8, counts),
    "features": ("FactorialMixture", 6, lambda: bits() + 0.1 * grid(2, 15, 200)),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("case", CASES)
def test_annealed_fits_are_not_below_plain_fits(case):
    name, n_components, data = CASES[case]
    X, settings = data(), {"n_components": n_components, "random_state": 0}
    settings |= {"tol": 1e-5, "max_iter": 300}
    annealed = getattr(sktemper, f"Annealed{name}")(**settings)
    settings |= {"tempering": None, "moves": None, "batch_size": None}
    plain = getattr(sktemper, f"Tempered{name}")(**settings)
    reached, least = (mixture.fit(X).lower_bound(X) for mixture in (annealed, plain))
    assert reached >= least - 1e-6 * abs(least)
    assert annealed.state_.start is None


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("n_columns", "spacing", "form"),
    [(5, 5.0, "auto"), (6, 5.0, "full"), (6, 5.0, "spherical"), (6, 6.0, "diag")],
)
def test_clusters_on_a_lattice_are_found(n_columns, spacing, form):
    random = np.random.default_rng(11)
    column, row = np.indices((n_columns, 5)).reshape(2, -1)
    centres = spacing * np.column_stack([column + row % 2 / 2, np.sqrt(0.75) * row])
    labels = random.integers(len(centres), size=2500)
    X = centres[labels] + random.normal(size=(2500, 2))
    mixture = sktemper.AnnealedGaussianMixture(
        40, covariance_type=form, random_state=0
    ).fit(X)
    assert mixture.n_active_components_ == len(centres)
    assert adjusted_rand_score(labels, mixture.labels_) > 0.9
    assert mixture.plain_is_better_


def test_an_interrupted_comparison_is_repeated(monkeypatch):
    X = grid(3)
    mixture = sktemper.AnnealedGaussianMixture(9, random_state=0, warm_start=True)
    expected = clone(mixture).fit(X)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(_fit._Fit, "_plain_fits", interrupted)
        mixture.fit(X)
    mixture.fit(X)
    assert mixture.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(mixture.means_, expected.means_)
    n_steps = mixture.n_batch_iter_
    assert mixture.fit(X).n_batch_iter_ > n_steps


def test_slow_plain_fits_are_kept_if_they_are_better(monkeypatch):
    X, mixture = circles(), sktemper.AnnealedStudentMixture(10, random_state=0)
    reached = mixture.fit(X).lower_bound_
    assert mixture.plain_is_better_
    monkeypatch.setattr(_fit._Fit, "_is_compared", lambda *arguments: False)
    assert not mixture.fit(X).plain_is_better_
    assert reached > mixture.lower_bound_ + 20


def test_slow_plain_fits_that_stay_behind_are_given_up(monkeypatch):
    steps, real = [], _fit.plain_fit

    def noted(*arguments):
        plain = real(*arguments)
        steps.append(plain.progress.steps)
        return plain

    monkeypatch.setattr(_fit, "plain_fit", noted)
    mixture = sktemper.AnnealedGaussianMixture(8, random_state=0).fit(cross())
    assert not mixture.plain_is_better_
    assert steps[0] <= 20
