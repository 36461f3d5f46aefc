"""Path of temperatures of a mixture: power, dip, partitions, picture."""

import pickle

import numpy as np
import pandas as pd
import pytest
from registry import ROWS
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
    TemperedGaussianMixture,
)
from sktemper._utils._evidence import effective_rows
from sktemper._utils._separation import bipartitions, dip, dip_of_chance, largest_dip
from sktemper.model_selection import _agreement, _rows_of_level, temperature_path
from sktemper.plotting import TemperaturePathDisplay

quiet = pytest.mark.filterwarnings("ignore::UserWarning")
MIXTURES = [
    name
    for name, row in ROWS.items()
    if hasattr(row.estimator(row.kinds[0]), "_tempered_fits")
]


def three_shapes(random, n_rows=150):
    """Draw three separated clusters, none of them Gaussian."""
    X = [
        random.gamma(2.0, size=(n_rows, 2)),
        random.standard_t(5, size=(n_rows, 2)) + [16.0, 0.0],
        6.0 * random.random((n_rows, 2)) + [4.0, 14.0],
    ]
    return np.concatenate(X), np.repeat(np.arange(3), n_rows)


@pytest.fixture(scope="module")
def shapes():
    return three_shapes(np.random.default_rng(0))


@pytest.fixture(scope="module")
def path(shapes):
    mixture = AnnealedGaussianMixture(8, random_state=0)
    return temperature_path(mixture, shapes[0], random_state=0)


# -- dip -------------------------------------------------------------------------------
def nearest_unimodal(x):
    """Return the distance of sorted numbers to the nearest unimodal distribution.

    There is a linear program for each place of the mode, where the distribution
    function may jump: `x` has this place twice.
    """
    n, found = len(x), []
    for mode in range(n):
        own, rows, limits = np.insert(np.arange(n), mode, mode), [], []

        def at_most(limit, rows=rows, limits=limits, **parts):
            rows.append([parts.get(f"G{k}", 0.0) for k in range(n + 1)])
            rows[-1].append(parts.get("distance", 0.0))
            limits.append(limit)

        for k, rank in enumerate(own):
            if k != mode + 1:
                at_most(rank / n, **{f"G{k}": 1.0, "distance": -1.0})
            if k != mode:
                at_most(-(rank + 1) / n, **{f"G{k}": -1.0, "distance": -1.0})
            if k < n:
                at_most(0.0, **{f"G{k}": 1.0, f"G{k + 1}": -1.0})
            is_left, is_right = k + 2 <= mode, mode < k and k + 2 <= n
            if is_left or is_right:
                first, second = 1.0 / np.diff(x[own[k : k + 3]])
                steps = {f"G{k}": -first, f"G{k + 1}": first + second}
                steps[f"G{k + 2}"] = -second
                sign = 1.0 if is_left else -1.0
                at_most(0.0, **{name: sign * step for name, step in steps.items()})
        cost = np.append(np.zeros(n + 1), 1.0)
        found.append(linprog(cost, np.array(rows), limits, bounds=(0.0, 1.0)).fun)
    return min(found)


@pytest.mark.parametrize("seed", range(2))
def test_the_dip_is_the_distance_to_the_nearest_unimodal_distribution(seed):
    random = np.random.default_rng(seed)
    pair = np.concatenate([random.normal(size=6), random.normal(9, 1, 5)])
    for one in map(np.sort, (random.normal(size=9), random.gamma(0.3, size=12), pair)):
        assert dip(one) == pytest.approx(nearest_unimodal(one), abs=1e-7)


def test_dips_that_chance_reaches_are_those_of_the_published_table():
    # quantiles .95 and .99 for 200 and 500 numbers, `qDiptab` of the R package diptest
    table = {200: (0.0368418, 0.0426865), 500: (0.0237295, 0.0274518)}
    for n_rows, quantiles in table.items():
        for n_looks, quantile in zip((1, 5), quantiles, strict=True):
            expected = quantile * np.sqrt(n_rows)
            assert dip_of_chance(n_looks) == pytest.approx(expected, rel=0.015)


def test_sides_are_the_clusters_and_the_nodes_of_their_tree():
    shares = np.full((40, 5), 0.01)
    shares[np.arange(40), np.arange(40) // 10] = 0.96
    shares[:10, 1] = shares[20:30, 3] = 0.2  # 0 is near 1, and 2 near 3
    sides = [np.flatnonzero(side).tolist() for side in bipartitions(shares)]
    assert sides[:4] == [[0], [1], [2], [3]]
    assert sorted(sides[4:]) == [[0, 1], [2, 3]]
    assert not list(bipartitions(shares[:10]))
    assert len(list(bipartitions(shares[:20]))) == 1


def test_the_order_of_rows_does_not_matter_for_the_dip():
    random = np.random.default_rng(0)
    shares = random.dirichlet([0.2, 0.3, 0.4], size=90)
    expected = largest_dip(shares)
    assert largest_dip(shares[random.permutation(90)]) == pytest.approx(expected)


def test_many_rows_count_as_at_most_300():
    assert effective_rows(300) == 150.0
    assert effective_rows(1e9) == pytest.approx(300.0)


# -- power of the likelihood -----------------------------------------------------------
@pytest.mark.parametrize("name", MIXTURES)
@quiet
def test_a_power_is_a_weight_of_all_rows(name):
    row = ROWS[name]
    X = row.data(80)
    mixture = row.estimator(row.kinds[0], n_components=3, random_state=0).fit(X)
    rows, half = np.arange(X.shape[0]), np.full(X.shape[0], 0.5)
    one = mixture._tempered_fits(X, None)[1](rows, 0.5, 3)
    other = mixture._tempered_fits(X, half)[1](rows, 1.0, 3)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.temperature_ == 1.0
    assert getattr(one, "covariance_type_", 0) == getattr(
        mixture, "covariance_type_", 0
    )


def test_rows_of_a_level_have_the_weight_that_the_power_leaves():
    random = np.random.default_rng(0)
    rows, weight = np.arange(0, 8000, 2), random.uniform(0.5, 2.0, size=4000)
    for level in (1, 3, 6, 9):
        drawn, power, _ = _rows_of_level(rows, weight, level, 5)
        assert len(drawn) == min(4000, max(600, 4 * 4000 // 2**level))
        assert set(drawn) <= set(rows)
        left = power * weight[np.searchsorted(rows, drawn)].sum()
        assert left == pytest.approx(0.5**level * weight.sum())


# -- partitions ------------------------------------------------------------------------
def test_clusters_that_are_no_gaussians_are_found(path, shapes):
    X, y = shapes
    assert path.n_clusters_ == 3 < path.numbers_of_clusters_[0]
    assert adjusted_rand_score(path.labels_, y) > 0.98
    assert path.agreement_ == path.agreements_[path.level_] > 0.5
    assert path.separation_ > 1.0
    np.testing.assert_array_equal(path.predict(X), path.labels_)
    np.testing.assert_array_equal(path.partitions_[path.level_], path.labels_)
    assert path.numbers_of_clusters_[-1] == 1
    assert np.isnan(path.agreements_[-1])
    assert path.temperatures_.tolist() == [2.0**k for k in range(len(path.fits_))]


def test_the_path_of_an_estimator_begins_with_its_fit(path, shapes):
    mixture = AnnealedGaussianMixture(8, random_state=0)
    expected = clone(mixture).fit(shapes[0]).labels_
    np.testing.assert_array_equal(path.partitions_[0], expected)
    assert not hasattr(mixture, "state_")


@pytest.mark.parametrize("draw", ["normal", "standard_t", "gamma", "uniform"])
def test_one_cluster_of_any_shape_has_no_gap(draw):
    random = np.random.default_rng(0)
    parameters = {"standard_t": (3,), "gamma": (2.0,)}.get(draw, ())
    X = getattr(random, draw)(*parameters, size=(500, 2))
    mixture = AnnealedGaussianMixture(8, random_state=0)
    path = temperature_path(mixture, X, random_state=0)
    assert path.n_clusters_ == 1 or path.agreement_ == 0.0
    assert path.separation_ <= 1.0
    if path.n_clusters_ == 1 and len(path.fits_) == 1:
        assert path.agreement_ == 1.0


def test_results_do_not_depend_on_jobs_or_containers(path, shapes):
    X, _ = shapes
    mixture = AnnealedGaussianMixture(8, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(len(X))[::-1])
    for data, n_jobs in (X, 2), (frame, None):
        other = temperature_path(mixture, data, n_jobs=n_jobs, random_state=0)
        np.testing.assert_array_equal(other.partitions_, path.partitions_)
        assert other.separation_ == path.separation_
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.predict(X), path.labels_)


def test_data_are_validated_once_and_a_fitted_estimator_is_not_changed(shapes):
    X, calls = shapes[0], []

    class Mixture(TemperedGaussianMixture):
        def _validate(self, X, reset):
            calls.append(reset)
            return super()._validate(X, reset)

    mixture = Mixture(4, random_state=0).fit(X[::3])
    before = mixture.predict_proba(X)
    calls.clear()
    temperature_path(mixture, X, random_state=0)
    assert calls == [True, False]  # for the fit, and for all levels
    np.testing.assert_array_equal(mixture.predict_proba(X), before)


@quiet
@pytest.mark.parametrize("name", MIXTURES)
def test_every_mixture_has_a_path(name):
    row = ROWS[name]
    X = row.data(80)
    random = np.random.default_rng(0)
    weight = random.integers(0, 3, size=X.shape[0]).astype(float)
    mixture = row.estimator(row.kinds[0], n_components=4, random_state=0)
    path = temperature_path(mixture, X, sample_weight=weight, random_state=0)
    assert path.partitions_.shape == (len(path.fits_), X.shape[0])
    assert 0.0 <= path.agreement_ <= 1.0
    np.testing.assert_array_equal(path.predict(X), path.labels_)


@quiet
def test_columns_of_a_frame_keep_their_kinds():
    random = np.random.default_rng(0)
    y = np.arange(240) % 3
    drinks = np.array(["tea", "coffee", "water"])
    X = pd.DataFrame({name: drinks[y] for name in "ab"}, index=np.arange(240)[::-1])
    X["amount"] = random.gamma(2.0, size=240) + 9.0 * y
    X["rare"] = np.where(np.arange(240) == 7, "once", "often")  # not in all levels
    X.loc[::5, "amount"] = np.nan
    mixture = AnnealedMixedMixture(6, random_state=0)
    path = temperature_path(mixture, X, random_state=0)
    assert adjusted_rand_score(y, path.labels_) > 0.9
    kinds = [[column.kind for column in one.columns_] for one in path.fits_]
    assert kinds == [kinds[0]] * len(kinds)


@quiet
def test_data_in_parts_and_sparse_counts():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    rates = random.gamma(0.3, 3.0, size=(3, 40))
    X = sparse.csr_array(random.poisson(rates[y]))
    mixture = AnnealedMultinomialMixture(6, random_state=0)
    for data in X, [X[:50], X[50:]]:
        path = temperature_path(mixture, data, random_state=0)
        assert adjusted_rand_score(y, path.labels_) == 1.0


@quiet
def test_gaps_and_single_precision(shapes):
    X, y = (part[::2] for part in shapes)
    random = np.random.default_rng(0)
    X = np.where(random.random(X.shape) < 0.1, np.nan, X).astype(np.float32)
    mixture = AnnealedGaussianMixture(6, covariance_type="diag", random_state=0)
    path = temperature_path(mixture, X, random_state=0)
    assert adjusted_rand_score(path.labels_, y) > 0.8
    assert path.separation_ > 1.0


@quiet
def test_low_rank_scores_are_kept():
    X, y = three_shapes(np.random.default_rng(1), 60)
    noise = np.random.default_rng(2).normal(size=(180, 30))
    X = np.concatenate([X, 0.1 * noise], axis=1)
    mixture = AnnealedGaussianMixture(4, covariance_type="low_rank", random_state=0)
    path = temperature_path(mixture, X, random_state=0)
    assert {one.covariance_type_ for one in path.fits_} == {"low_rank"}
    assert len({one.covariances_.shape[1:] for one in path.fits_}) == 1


def test_the_agreement_is_the_adjusted_rand_index_of_repeated_rows():
    labels = np.random.default_rng(0).integers(0, 3, size=(2, 50))
    expected = adjusted_rand_score(*labels)
    assert _agreement(*labels, np.ones(50)) == pytest.approx(expected)
    assert _agreement(labels[0], labels[0], np.ones(50)) == pytest.approx(1.0)
    repeats = np.random.default_rng(1).integers(1, 4, size=50)
    expected = adjusted_rand_score(*np.repeat(labels, repeats, axis=1))
    assert _agreement(*labels, repeats.astype(float)) == pytest.approx(expected)


def test_bad_input_is_refused(shapes):
    X, _ = shapes
    with pytest.raises(TypeError, match="must be a mixture"):
        temperature_path(object(), X)
    with pytest.raises(ValueError, match="NaN|infinity"):
        temperature_path(AnnealedGaussianMixture(3), np.full((20, 2), np.inf))
    with pytest.raises(ValueError, match="sample_weight"):
        temperature_path(AnnealedGaussianMixture(3), X, sample_weight=np.ones(3))


# -- picture ---------------------------------------------------------------------------
def test_the_picture_has_a_bar_for_each_temperature(path, plt):
    display = TemperaturePathDisplay.from_path(path)
    assert len(display.bars_) == len(path.fits_)
    for bar, n_clusters in zip(display.bars_, path.numbers_of_clusters_, strict=True):
        heights = [part.get_height() for part in bar]
        assert len(heights) == n_clusters
        assert sum(heights) == pytest.approx(1.0)
    np.testing.assert_array_equal(display.line_.get_ydata(), path.agreements_)
    assert "Gap" in display.axes_[0].get_title()
    labels = [one.get_text() for one in display.axes_[1].get_xticklabels()]
    assert labels[:3] == ["1", "2", "4"]


def test_other_objects_have_no_picture(plt):
    with pytest.raises(TypeError, match="TemperaturePath"):
        TemperaturePathDisplay.from_path(object())
