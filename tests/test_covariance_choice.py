"""The choice of a covariance type by evidence, ``covariance_type="auto"``."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from sktemper import (
    AnnealedGaussianMixture,
    SVIPlusGaussianMixture,
    TemperedGaussianMixture,
)
from sktemper.gaussian_mixture import _choice
from sktemper.moves import SplitMergeMoves
from sktemper.plotting import _ellipses

QUICK = dict(n_components=4, covariance_type="auto", random_state=0)
FEW = SplitMergeMoves(3)
unconverged = pytest.mark.filterwarnings("ignore:.*did not converge.*")


def clusters(kind, n_rows=240, n_columns=3, seed=0):
    """Return three clusters of a covariance type, and their labels."""
    random = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 3
    X = random.standard_normal((n_rows, n_columns))
    if kind == "diag":
        X *= np.array([[0.3, 1, 2], [2, 0.3, 1], [1, 2, 0.3]])[labels]
    if kind == "full":
        mixing = random.standard_normal((3, n_columns, n_columns))
        X = np.einsum("kij,nj,nk->ni", mixing, X, np.eye(3)[labels])
    return X + 12 * np.eye(3, n_columns)[labels], labels


def fitted(X, **parameters):
    return AnnealedGaussianMixture(**{**QUICK, "moves": FEW, **parameters}).fit(X)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_the_type_is_that_of_the_data(kind):
    X, labels = clusters(kind)
    mixture = fitted(X)
    assert mixture.covariance_type_ == kind
    assert adjusted_rand_score(labels, mixture.labels_) == 1


def test_rows_may_have_missing_values():
    X, labels = clusters("spherical")
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    mixture = fitted(X)
    assert mixture.covariance_type_ == "spherical"
    assert adjusted_rand_score(labels, mixture.labels_) > 0.9
    explicit = fitted(X, covariance_type="spherical")
    assert mixture.lower_bound_ == explicit.lower_bound_


@pytest.mark.every(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("random_state", [3, "generator"])
def test_the_fit_is_that_of_the_chosen_type(random_state, weighted):
    X, _ = clusters("diag")
    weight = np.arange(len(X)) % 3.0 if weighted else None

    def fit(covariance_type):
        random = random_state
        if random == "generator":
            random = np.random.RandomState(5)
        mixture = AnnealedGaussianMixture(
            4, covariance_type=covariance_type, moves=FEW, random_state=random
        )
        return mixture.fit(X, sample_weight=weight)

    auto, told = fit("auto"), fit("diag")
    assert auto.covariance_type_ == told.covariance_type_ == "diag"
    np.testing.assert_array_equal(auto.means_, told.means_)
    np.testing.assert_array_equal(auto.covariances_, told.covariances_)


def test_the_chosen_type_has_the_highest_evidence(monkeypatch):
    X, _ = clusters("full", seed=1)
    evidence = {}
    compute = _choice._evidence

    def recorded(estimator, covariance_type, X, weight):
        evidence[covariance_type] = compute(estimator, covariance_type, X, weight)
        return evidence[covariance_type]

    monkeypatch.setattr(_choice, "_evidence", recorded)
    mixture = fitted(X)
    assert set(evidence) == {"spherical", "diag", "full"}
    assert mixture.covariance_type_ == max(evidence, key=evidence.get)
    # six entries of the covariance prior are learned
    assert evidence["full"] == pytest.approx(mixture.lower_bound_ - 6, abs=1e-6)


def test_full_covariances_need_rows_and_few_columns():
    assert "full" in _choice.candidates(300, 150)
    assert "full" not in _choice.candidates(299, 150)
    assert "full" not in _choice.candidates(10_000, 151)
    assert fitted(clusters("spherical", 30, 20)[0]).covariance_type_ != "full"


def test_many_rows_are_compared_by_some(monkeypatch):
    X, _ = clusters("diag", 600)
    monkeypatch.setattr(_choice, "ROWS_OF_CHOICE", 200)
    rows, weight = _choice._some(X, None, 4)
    assert len(rows) == 200 and weight is None
    rows, weight = _choice._some(X, np.arange(600) % 2.0, 4)
    assert len(rows) == 150 and (weight == 1).all()
    assert len(_choice._some(X, None, 500)[0]) == 300
    assert fitted(X).covariance_type_ == "diag"


@pytest.mark.every(2)
@unconverged
@pytest.mark.parametrize(
    "cls", [TemperedGaussianMixture, AnnealedGaussianMixture, SVIPlusGaussianMixture]
)
def test_streams_need_a_fit_first(cls):
    X, _ = clusters("diag")
    mixture = cls(4, covariance_type="auto", random_state=0, max_iter=20)
    with pytest.raises(ValueError, match="call fit before partial_fit"):
        mixture.partial_fit(X)
    assert not hasattr(mixture, "covariance_type_")
    mixture.fit(X)
    known = mixture.covariance_type_
    means = mixture.means_
    mixture.partial_fit(X + 1)
    assert mixture.covariance_type_ == known
    assert not np.array_equal(mixture.means_, means)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": "scikit-learn"}, "priors='scikit-learn'"),
        ({"covariance_prior": np.eye(3)}, "covariance_prior"),
        ({"degrees_of_freedom_prior": 5}, "degrees_of_freedom_prior"),
    ],
)
def test_priors_that_depend_on_the_type_raise(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(clusters("full")[0], **parameters)


def test_a_new_fit_chooses_anew_and_an_error_leaves_the_old_fit():
    mixture = fitted(clusters("diag")[0])
    X, _ = clusters("spherical")
    with pytest.raises(ValueError, match="covariance_prior"):
        clone(mixture).set_params(covariance_prior=1.0).fit(X)
    mixture.set_params(degrees_of_freedom_prior=9.0)
    with pytest.raises(ValueError, match="degrees_of_freedom_prior"):
        mixture.fit(X)
    assert mixture.covariance_type_ == "diag"
    assert mixture.predict(X).shape == (240,)
    mixture.set_params(degrees_of_freedom_prior=None).fit(X)
    assert mixture.covariance_type_ == "spherical"
    told = mixture.set_params(covariance_type="full").fit(X)
    assert told.covariance_type_ == "full"


def test_pickles_and_searches():
    X, _ = clusters("diag")
    mixture = fitted(X)
    loaded = pickle.loads(pickle.dumps(mixture))
    assert loaded.covariance_type == "auto" and loaded.covariance_type_ == "diag"
    np.testing.assert_array_equal(loaded.predict(X), mixture.predict(X))
    assert not hasattr(clone(mixture), "covariance_type_")
    search = GridSearchCV(
        TemperedGaussianMixture(
            3, tempering=None, moves=None, random_state=0, max_iter=20
        ),
        {"covariance_type": ["auto", "spherical"]},
        cv=2,
    ).fit(X)
    assert search.best_params_ == {"covariance_type": "auto"}
    auto, spherical = search.cv_results_["mean_test_score"]
    assert auto > spherical


def test_ellipses_of_the_chosen_type():
    mixture = fitted(clusters("diag")[0])
    drawn = _ellipses._full_covariances(mixture)
    np.testing.assert_array_equal(
        np.diagonal(drawn, axis1=1, axis2=2), mixture.covariances_
    )
