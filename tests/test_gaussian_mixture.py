"""The Gaussian mixture's estimators: scikit-learn's contract, policies and moves."""

import warnings

import numpy as np
import pytest
from fits import fitted_model, with_models
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from sktemper import (
    AnnealedGaussianMixture,
    AnnealedStudentMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper._engine import _moves as moves_of_loop
from sktemper._families._mixture import MixtureModel
from sktemper.moves import BirthMoves, MoveSequence, ReheatMoves, SplitMergeMoves

TYPES = ("full", "tied", "diag", "spherical")
PRIORS = ("dirichlet_process", "dirichlet_distribution")
ESTIMATORS = (TemperedGaussianMixture, AnnealedGaussianMixture, SVIPlusGaussianMixture)
FEW = MoveSequence([SplitMergeMoves(3, n_iter=2), BirthMoves(2, n_iter=2)])
X, _ = make_blobs(
    120, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=[1, 0.5, 1.5], random_state=0
)
X.flags.writeable = False

each_type = pytest.mark.parametrize("covariance_type", TYPES)
each_prior = pytest.mark.parametrize("weight_prior", PRIORS)
unconverged = pytest.mark.filterwarnings("ignore:.*did not converge.*")


def plain(n_components=3, **parameters):
    """Return a mixture with scikit-learn's algorithm and priors."""
    theirs = {"tempering": None, "priors": "scikit-learn", "random_state": 0}
    parameters = {**theirs, **parameters}
    return TemperedGaussianMixture(n_components, **parameters)


def assert_valid(mixture, data=X):
    """Assert that all parameters are valid and all results are finite."""
    assert (mixture.weights_ > 0).all()
    assert mixture.weights_.sum() == pytest.approx(1, rel=1e-5)
    assert (np.asarray(mixture.weight_concentration_) > 0).all()
    assert (mixture.mean_precision_ > 0).all()
    model = fitted_model(mixture)
    assert (np.asarray(mixture.degrees_of_freedom_) > model.family.law.least).all()
    covariances = mixture.covariances_
    if mixture.covariance_type != "auto":  # which shows matrices
        covariances = model.covariance.matrices(covariances)
    assert (np.linalg.eigvalsh(covariances) > 0).all()
    assert np.isfinite(mixture.means_).all()
    assert np.isfinite(mixture.lower_bound_)
    assert np.isfinite(mixture.score_samples(data)).all()
    np.testing.assert_allclose(mixture.predict_proba(data).sum(axis=1), 1, rtol=1e-5)


# -- fitted attributes -----------------------------------------------------------------


@pytest.mark.every(3)
@each_type
@each_prior
def test_attributes(covariance_type, weight_prior):
    mixture = plain(
        8,
        covariance_type=covariance_type,
        weight_concentration_prior_type=weight_prior,
        max_iter=1000,
    ).fit(X)
    assert_valid(mixture)
    assert mixture.converged_
    assert mixture.n_iter_ < 1000
    np.testing.assert_array_equal(mixture.labels_, mixture.predict(X))
    proba = mixture.predict_proba(X)
    np.testing.assert_array_equal(mixture.labels_, proba.argmax(axis=1))
    np.testing.assert_array_equal(mixture.transform(X), proba)
    np.testing.assert_array_equal(clone(mixture).fit_predict(X), mixture.labels_)
    np.testing.assert_array_equal(clone(mixture).fit_transform(X), proba)
    counts = mixture.mean_precision_ - mixture.mean_precision_prior_
    np.testing.assert_allclose(counts, proba.sum(axis=0), atol=0.2)
    assert mixture.n_active_components_ == (counts > 0.5).sum()
    assert 3 <= mixture.n_active_components_ <= 8
    assert mixture.score(X) == pytest.approx(mixture.score_samples(X).mean())
    assert mixture.lower_bound_ == mixture.lower_bound(X)
    bounds = mixture.lower_bounds_
    assert len(bounds) == mixture.n_iter_
    assert (np.diff(bounds) > -1e-9).all()
    assert abs(bounds[-1] - bounds[-2]) < 1e-3 <= abs(bounds[-2] - bounds[-3])
    assert mixture.lower_bound_ >= bounds[-1] - 1e-9
    model = fitted_model(mixture)
    covariances = model.covariance.matrices(mixture.covariances_)
    precisions = model.covariance.matrices(mixture.precisions_)
    roots = model.covariance.matrices(mixture.precisions_cholesky_)
    identity = np.broadcast_to(np.eye(2), precisions.shape)
    np.testing.assert_allclose(covariances @ precisions, identity, atol=1e-9)
    np.testing.assert_allclose(roots @ np.swapaxes(roots, 1, 2), precisions)


def test_a_fit_reports_whether_it_converged():
    unfitted = AnnealedGaussianMixture(1, max_iter=0, random_state=0).fit(X)
    assert unfitted.n_iter_ == 0 and not unfitted.converged_
    assert_valid(unfitted)
    assert "move_step" not in AnnealedGaussianMixture(1).fit(X).history_
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        mixture = plain(5, max_iter=3).fit(X)
    assert not mixture.converged_
    assert mixture.n_iter_ == 3
    mixture.set_params(max_iter=1000, warm_start=True).fit(X)  # no warning
    assert mixture.converged_
    stopped = plain(5, max_iter=1000, tol=10.0).fit(X)
    assert stopped.n_iter_ < mixture.n_iter_
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        assert plain(5, tol=0.0, max_iter=8).fit(X).n_iter_ == 8
    # convergence is not checked with mini-batches
    batches = plain(5, batch_size=40, learning_rate=0.5).fit(X)
    assert not batches.converged_ and batches.lower_bounds_ == []


@unconverged
def test_passes_are_logged_at_intervals(caplog):
    caplog.set_level("INFO", "sktemper")
    for interval, expected in ((10, [10, 20]), (7, [7, 14, 21]), (50, [])):
        caplog.clear()
        mixture = plain(5, max_iter=22, tol=0.0, verbose=1, verbose_interval=interval)
        mixture.fit(X)
        lines = [record.getMessage() for record in caplog.records]
        assert [int(line.split()[1]) for line in lines] == expected


# -- streams and weights ---------------------------------------------------------------


def test_a_stream_may_begin_with_few_samples_and_continue_with_one():
    mixture = plain(8).partial_fit(X[:4])
    assert_valid(mixture)
    mixture.partial_fit(X[4:5])
    assert mixture.n_samples_seen_ == 5
    assert_valid(mixture)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        plain(8).partial_fit(X[:1])


# -- samples ---------------------------------------------------------------------------


@each_type
def test_samples_are_of_the_mixture(covariance_type):
    mixture = plain(3, covariance_type=covariance_type).fit(X)
    drawn, labels = mixture.sample(6000)
    assert drawn.shape == (6000, 2) and labels.shape == (6000,)
    assert (np.diff(labels) >= 0).all()  # sorted by component, as in scikit-learn
    model = fitted_model(mixture)
    covariances = model.covariance.matrices(mixture.covariances_)
    for k in range(3):
        own = drawn[labels == k]
        assert len(own) / 6000 == pytest.approx(mixture.weights_[k], abs=0.03)
        np.testing.assert_allclose(own.mean(axis=0), mixture.means_[k], atol=0.2)
        np.testing.assert_allclose(np.cov(own.T), covariances[k], rtol=0.15, atol=0.15)
    again, same = mixture.sample(6000)
    np.testing.assert_array_equal(again, drawn)
    np.testing.assert_array_equal(same, labels)
    assert mixture.sample()[0].shape == (1, 2)
    with pytest.raises(ValueError, match="at least one sample"):
        mixture.sample(0)


@pytest.mark.parametrize("estimator", [AnnealedGaussianMixture, AnnealedStudentMixture])
def test_samples_have_the_correlations_of_columns_in_other_units(estimator):
    units = np.array([1.0, 1e18])
    mixture = estimator(1, random_state=0).fit(X * units)
    drawn, _ = mixture.sample(20_000)
    expected, correlation = np.corrcoef(X.T), np.corrcoef(drawn.T)
    np.testing.assert_allclose(correlation, expected, atol=0.05)
    covariance = mixture.covariances_[0] / np.outer(units, units)
    np.testing.assert_allclose(np.cov((drawn / units).T), covariance, rtol=0.1)


# -- bad input -------------------------------------------------------------------------

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize(
    "parameters",
    [
        {"degrees_of_freedom_prior": 1.0},
        {"degrees_of_freedom_prior": 0.5},
        {"mean_prior": np.zeros(3)},
        {"mean_prior": np.zeros((2, 1))},
        {"covariance_prior": np.eye(3)},
        {"covariance_prior": [[1.0, 2.0], [3.0, 1.0]]},
        {"covariance_prior": -MATRIX, "covariance_type": "tied"},
        {"covariance_prior": MATRIX, "covariance_type": "diag"},
        {"covariance_prior": [1.0, -1.0], "covariance_type": "diag"},
        {"n_components": 121},
    ],
    ids=str,
)
def test_bad_parameters_raise_the_errors_of_scikit_learn(parameters):
    with pytest.raises(ValueError) as theirs:
        BayesianGaussianMixture(**parameters).fit(X)
    message = str(theirs.value)
    for cls in ESTIMATORS:
        with pytest.raises(ValueError) as ours:
            cls(**parameters).fit(X)
        # scikit-learn's message calls the prior a precision
        expected = message.replace(" precision'", " covariance_prior'")
        assert str(ours.value).strip(".") == expected.strip(".")
        assert not hasattr(cls(**parameters), "n_features_in_")


@pytest.mark.every(11)
@unconverged
@each_type
@each_prior
@pytest.mark.filterwarnings("ignore:.*too few rows for full covariances")
@pytest.mark.filterwarnings("ignore:Columns are correlated within components")
@pytest.mark.filterwarnings("ignore:reg_covar=1e-06 is added")
@pytest.mark.filterwarnings("ignore:(Single values of|Column 2 of X has the values)")
def test_data_without_a_regular_covariance(covariance_type, weight_prior):
    """Data have constant or duplicate features, or fewer samples than features."""
    random = np.random.default_rng(0)
    constant = np.hstack([X, np.full((120, 1), 0.1)])
    copied = np.hstack([X, X[:, :1]])
    shared = dict(
        covariance_type=covariance_type,
        weight_concentration_prior_type=weight_prior,
        random_state=0,
    )
    for data in (constant, copied, random.normal(size=(8, 12)), np.zeros((9, 2))):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Number of distinct clusters")
            ours = plain(3, **shared).fit(data)
            AnnealedGaussianMixture(3, **shared, max_iter=9, moves=FEW).fit(data)
        assert_valid(ours, data)
    with pytest.raises(ValueError, match="singular"):
        plain(2, **shared, reg_covar=0.0).fit(np.zeros((9, 2)))
    shared["priors"] = "scikit-learn"
    regular = plain(2, **shared).fit(X * [1e-7, 1e7])  # the same data in other units
    covariance = np.cov((X * [1e-7, 1e7]).T)
    expected = {
        "full": covariance,
        "tied": covariance,
        "diag": np.diag(covariance),
        "spherical": np.diag(covariance).mean(),
    }[covariance_type]
    np.testing.assert_allclose(regular.covariance_prior_, expected)


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore:The priors keep clusters together")
@each_type
def test_collapsed_components_raise_the_error_of_scikit_learn(covariance_type):
    random = np.random.default_rng(0)
    copies = np.repeat(random.normal(size=(6, 3)), 10, axis=0)
    prior = {"diag": np.full(3, 1e-30), "spherical": 1e-30}
    shared = dict(
        n_components=6,
        covariance_type=covariance_type,
        covariance_prior=prior.get(covariance_type, 1e-30 * np.eye(3)),
        reg_covar=0,
        random_state=0,
    )
    own = {"priors": "scikit-learn"}
    for cls in ESTIMATORS:
        if covariance_type == "full":
            with pytest.raises(ValueError, match="ill-defined empirical covariance"):
                BayesianGaussianMixture(**shared).fit(copies)
            with pytest.raises(ValueError, match="ill-defined.*increase reg_covar"):
                cls(**shared, **own).fit(copies)
        else:  # other types have regular covariances
            assert np.isfinite(cls(**shared, **own).fit(copies).lower_bound_)
        regular = {**shared, **own, "reg_covar": 1e-6}
        assert np.isfinite(cls(**regular).fit(copies).means_).all()


# -- moves -----------------------------------------------------------------------------


def lattice(n_columns):
    """Return clusters in two rows, and the index of the cluster of each sample."""
    centers = [[8 * i, 8 * j] for j in range(2) for i in range(n_columns)]
    return make_blobs(240, centers=centers, cluster_std=0.7, random_state=3)


def badly_started(n_columns, **parameters):
    """Return a mixture whose start merges two clusters and divides another."""
    data, cells = lattice(n_columns)
    k = 2 * n_columns
    bad = np.maximum(cells - 1, 0)
    bad[(cells == k - 1) & (data[:, 0] > 8 * (n_columns - 1))] = k - 1
    return started_at(np.eye(k)[bad], plain(k, **{"max_iter": 200, **parameters}))


def started_at(responsibilities, mixture):
    """Return the mixture with given responsibilities as its start."""

    def change(model):
        model.init = lambda X, n_components, random, weight: responsibilities

    return with_models(mixture, change)


@pytest.mark.every(17)
@each_prior
@pytest.mark.parametrize(
    ("moves", "n_columns", "covariance_type"),
    [
        *((SplitMergeMoves(20), 3, kind) for kind in TYPES),
        *((BirthMoves(20), 2, kind) for kind in TYPES if kind != "tied"),
    ],
    ids=str,
)
def test_moves_find_the_clusters(
    moves, n_columns, covariance_type, weight_prior, monkeypatch
):
    monkeypatch.setattr(MixtureModel, "final_order", lambda *fitted: None)
    data, cells = lattice(n_columns)
    shared = dict(
        covariance_type=covariance_type,
        weight_concentration_prior_type=weight_prior,
        # scikit-learn's prior of diagonal precisions favours merged clusters
        priors="learned" if covariance_type == "diag" else "scikit-learn",
    )
    stuck = badly_started(n_columns, **shared).fit(data)
    moved = badly_started(n_columns, **shared, moves=moves).fit(data)
    assert adjusted_rand_score(cells, stuck.labels_) < 0.9
    assert adjusted_rand_score(cells, moved.labels_) == 1
    assert moved.lower_bound_ > stuck.lower_bound_ + 5
    history = moved.history_
    assert len(history["move_step"]) <= 20
    bounds, kept = history["move_bound"], history["move_kept"]
    assert kept.any()
    if not kept[0]:  # moves sum the bound of the present parameters in another order
        assert bounds[0] == pytest.approx(stuck.lower_bound_, rel=1e-12)
    rises = np.diff(bounds, prepend=stuck.lower_bound_ if kept[0] else bounds[0])
    assert (rises[kept] > 0).all() and (rises[~kept] == 0).all()
    assert history["move_bound"][-1] == pytest.approx(moved.lower_bound_, rel=1e-12)


def test_moves_on_a_part_of_the_samples():
    """Proposals are tried on some samples, and kept if the bound of all rises."""
    data, cells = lattice(2)
    shared = dict(moves=SplitMergeMoves(20, max_samples=100))
    moved = badly_started(2, **shared).fit(data)
    assert adjusted_rand_score(cells, moved.labels_) == 1
    bound = moved.history_["move_bound"][-1]
    assert bound == pytest.approx(moved.lower_bound_, rel=1e-12)
    weight = np.random.default_rng(0).integers(1, 4, 240)
    weighted = badly_started(2, **shared).fit(data, sample_weight=weight)
    bounds = weighted.history_["move_bound"]
    assert (np.diff(bounds) >= 0).all()
    repeated = np.repeat(data, weight, axis=0)
    # the bound of repeated rows under the priors of the weighted fit
    assert bounds[-1] == pytest.approx(weighted.lower_bound(repeated), rel=1e-9)


@unconverged
def test_reheating_assigns_samples_again():
    """The data have a tight cluster inside of a wide one; the start is arbitrary."""
    random = np.random.default_rng(2)
    wide = random.normal(size=(300, 6))
    tight = 0.3 * random.normal(size=(60, 6)) + 1.0
    data, cells = np.concatenate([wide, tight]), np.repeat([0, 1], [300, 60])
    few = np.eye(2)[(np.arange(360) < 25).astype(int)]
    mixture = started_at(few, plain(2, max_iter=200))
    stuck = mixture.fit(data).lower_bound_
    assert adjusted_rand_score(cells, mixture.labels_) < 0.1
    moved = mixture.set_params(moves=ReheatMoves()).fit(data)
    assert moved.history_["move_kept"].tolist() == [True]
    assert moved.lower_bound_ > stuck + 100
    assert adjusted_rand_score(cells, moved.labels_) > 0.9


def in_minibatches(**parameters):
    """Return a badly started mixture with mini-batches; its moves use some samples."""
    shared = dict(batch_size=16, max_iter=2, moves=SplitMergeMoves(20))
    return badly_started(2, **{**shared, **parameters})


def test_moves_after_minibatches_are_judged_on_some_samples(monkeypatch):
    monkeypatch.setattr(moves_of_loop, "ROWS_SAMPLED", 160)
    data, cells = lattice(2)  # 240 samples
    stuck = in_minibatches(moves=None).fit(data)
    assert adjusted_rand_score(cells, stuck.labels_) < 0.9
    moved = in_minibatches().fit(data)
    assert adjusted_rand_score(cells, moved.labels_) == 1
    assert moved.lower_bound_ > stuck.lower_bound_ + 5
    # the final counts include all samples
    counts = moved.mean_precision_ - moved.mean_precision_prior_
    np.testing.assert_allclose(counts.sum(), 240)
    settled = badly_started(2, moves=SplitMergeMoves(20)).fit(data)
    assert moved.lower_bound_ == pytest.approx(settled.lower_bound_, abs=0.1)
    unmoved = in_minibatches(moves=SplitMergeMoves(0)).fit(data)
    np.testing.assert_array_equal(unmoved.means_, stuck.means_)


@pytest.mark.parametrize("prior", ["dirichlet_process", "dirichlet_distribution"])
def test_a_component_of_a_single_sample_is_active(prior):
    X = np.append(np.random.default_rng(0).normal(size=20), 1e3)[:, None]
    mixture = TemperedGaussianMixture(
        3,
        tempering=None,
        weight_concentration_prior_type=prior,
        weight_concentration_prior=1e-3,
        batch_size=None,
        random_state=0,
    )
    labels = mixture.fit(X).labels_
    assert (labels == labels[-1]).sum() == 1
    assert mixture.n_active_components_ == len(np.unique(labels))
