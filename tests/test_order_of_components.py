"""Components are sorted by size at the end of a fit; streams keep their order."""

import numpy as np
import pytest
from registry import ROWS, with_attributes
from scipy import sparse

from sktemper._families._wide_mixture import Wide
from sktemper.learning_rates import AdaptiveRate

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MIXTURES = [name for name, row in ROWS.items() if hasattr(row.estimator(), "predict")]
MIXTURES = [name for name in MIXTURES if name.endswith("Mixture")]
OTHERS = {
    "GaussianMixture": [
        {"weight_concentration_prior_type": "dirichlet_distribution"},
        {"covariance_type": "tied"},
        {"covariance_type": "low_rank"},
        {"covariance_type": "diag", "batch_size": 40},
    ],
    "StudentMixture": [{"covariance_type": "tied"}],
}
CASES = [
    (name, options) for name in MIXTURES for options in [{}, *OTHERS.get(name, [])]
]


def counts_of(mixture):
    state = mixture.state_
    return mixture._fitted_model().component_counts(state.globals_, state.hyper)


def unsorted(row, X, **options):
    """Return a fit whose components keep an order that is not by size."""
    for seed in range(20):
        own = row.estimator("Annealed", random_state=seed, **options)
        mixture = with_attributes(own, {"keeps_order": True}).fit(X)
        if (np.diff(counts_of(mixture)) > 1.0).any():
            return mixture
    raise AssertionError("all seeds happen to sort the components")


@pytest.mark.every(3)
@pytest.mark.parametrize("name, options", CASES)
def test_fits_end_with_the_largest_component(name, options):
    row = ROWS[name]
    X = row.data(120)[: 40 + 3 * 25]  # groups of different sizes
    options = {"n_components": 5, "max_iter": 30, "moves": None, **options}
    other = unsorted(row, X, **options)
    seed = other.random_state
    one = row.estimator("Annealed", random_state=seed, **options).fit(X)
    assert (np.diff(counts_of(one)) <= 1e-6).all()
    order = np.argsort(-np.round(counts_of(other), 6), kind="stable")
    has_sticks = np.ndim(one.state_.globals_.weights) == 2
    tolerance = {"atol": 0.1} if has_sticks else {"rtol": 1e-6, "atol": 1e-9}
    ours, theirs = one.predict_proba(X), other.predict_proba(X)[:, order]
    np.testing.assert_allclose(ours, theirs, **tolerance)
    if has_sticks:  # the weights of the best order have the higher bound
        assert one.lower_bound_ >= other.lower_bound_
    else:
        assert one.lower_bound_ == pytest.approx(other.lower_bound_, rel=1e-9)
    assert one.lower_bound_ == one.lower_bound(X)
    labels = one.labels_
    assert np.array_equal(labels, one.predict(X))
    # a stream continues in this order: no component changes its place
    before = one.predict_proba(X)
    one.set_params(batch_size=None, learning_rate=0.01).partial_fit(X)
    assert np.abs(one.predict_proba(X) - before).max() < 0.2


def test_sparse_components_are_sorted():
    X = sparse.random(300, 20_000, 0.0005, "lil", random_state=0)
    X[:100, :5] = X[100:, 5:10] = 3.0
    X = sparse.csr_array(X).ceil()
    row = ROWS["MultinomialMixture"]
    other = unsorted(row, X, n_components=2, max_iter=30)
    mixture = row.estimator("Annealed", **other.get_params(deep=False)).fit(X)
    assert isinstance(mixture.state_.globals_.components, Wide)
    np.testing.assert_allclose(mixture.components_, other.components_[::-1], rtol=1e-9)


def test_adaptive_rates_start_anew():
    """Their moving averages are in the earlier order of the components."""
    row, rate = ROWS["GaussianMixture"], AdaptiveRate(n_warmup_batches=2)
    X = row.data(120)
    other = unsorted(row, X, learning_rate=rate, batch_size=40, max_iter=30)
    mixture = row.estimator("Annealed", **other.get_params(deep=False)).fit(X)
    labels = mixture.labels_
    for _ in range(5):
        mixture.partial_fit(X)
    assert np.array_equal(mixture.predict(X), labels)


def test_a_start_that_is_kept_is_not_sorted():
    row = ROWS["GaussianMixture"]
    X = row.data(120)
    means = X[[3, 0, 1]]
    mixture = row.estimator("Annealed", means_init=means, max_iter=0, n_components=3)
    np.testing.assert_allclose(mixture.fit(X).means_, means)
