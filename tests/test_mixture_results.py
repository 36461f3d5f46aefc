"""Results that all mixtures have: criteria, profiles, samples, imputation, exports."""

import numpy as np
import pandas as pd
import pytest
from registry import ROWS
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedFactorialMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMixedMixture,
    AnnealedMultinomialMixture,
    TemperedFactorialMixture,
)
from sktemper._estimator._mixtures import MixtureMixin
from sktemper.datasets import make_lda_documents
from sktemper.plotting import ClassProfilesDisplay

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")


def blobs(n_samples=300):
    centers = [[0, 0, 0], [9, 0, 3], [0, 9, 1]]
    return make_blobs(n_samples, centers=centers, random_state=0)[0]


def answers(n_samples=400, seed=0):
    random = np.random.default_rng(seed)
    probabilities = np.array([[0.9, 0.8, 0.2, 0.1, 0.9], [0.1, 0.3, 0.8, 0.9, 0.2]])
    y = random.integers(2, size=n_samples)
    return (random.random((n_samples, 5)) < probabilities[y]).astype(float)


@pytest.fixture(scope="module")
def bernoulli():
    return AnnealedBernoulliMixture(4, random_state=0).fit(answers())


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_criteria_of_gaussians_are_those_of_scikit_learn(covariance_type):
    X = blobs()
    options = {"covariance_type": covariance_type, "random_state": 0}
    ours = AnnealedGaussianMixture(6, **options).fit(X)
    theirs = GaussianMixture(3, **options).fit(X)
    assert ours.n_active_components_ == 3
    assert ours.n_parameters_ == theirs._n_parameters()
    # the posterior predictive density is near the maximum of the likelihood
    assert abs(ours.bic(X) - theirs.bic(X)) < 0.02 * theirs.bic(X)
    assert ours.bic(X) - ours.aic(X) == pytest.approx(
        ours.n_parameters_ * (np.log(len(X)) - 2)
    )
    weight = np.arange(len(X)) % 3
    repeated = np.repeat(X, weight, axis=0)
    for criterion in ("bic", "aic", "icl", "entropy_r2"):
        function = getattr(ours, criterion)
        assert function(X, weight) == pytest.approx(function(repeated), rel=1e-9)


def test_criteria_and_profiles_name_the_method_that_an_own_mixture_lacks():
    class Own(AnnealedBernoulliMixture):
        _n_parameters, _profiles = MixtureMixin._n_parameters, MixtureMixin._profiles

    mixture = Own(2, random_state=0).fit(answers())
    with pytest.raises(NotImplementedError, match="Own has no _n_parameters"):
        mixture.bic(answers())
    with pytest.raises(NotImplementedError, match="Own has no _profiles"):
        mixture.profiles()


def test_criteria_of_binary_columns_are_those_of_mixed_kinds(bernoulli):
    X = answers()
    mixed = AnnealedMixedMixture(4, kinds="binary", random_state=0).fit(X)
    assert bernoulli.n_parameters_ == mixed.n_parameters_ == 11
    for criterion in ("bic", "aic", "icl", "entropy_r2"):
        ours, theirs = (getattr(one, criterion)(X) for one in (bernoulli, mixed))
        assert ours == pytest.approx(theirs, rel=1e-6)
    ones = mixed.profiles().query("option == '1'").reset_index(drop=True)
    numbers = ["class", "size", "mean", "low", "high"]
    np.testing.assert_allclose(bernoulli.profiles()[numbers], ones[numbers], rtol=1e-5)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(2))
def test_criteria_find_the_number_of_features(seed):
    random = np.random.default_rng(seed)
    components = random.normal(size=(4, 9))
    X = (random.random((300, 4)) < 0.4) @ components
    X += 0.3 * random.normal(size=X.shape)
    fits = [AnnealedFactorialMixture(k, random_state=0).fit(X) for k in (3, 4, 5)]
    for criterion in ("bic", "aic"):
        values = [getattr(one, criterion)(X) for one in fits]
        assert np.argmin(values) == 1
    assert fits[1].n_parameters_ == 4 * 9 + 4 + 1
    known = clone(fits[1]).set_params(noise_variance=0.09, inclusion_probability=0.4)
    assert known.fit(X).n_parameters_ == 4 * 9
    assert not hasattr(known, "icl")  # features are no classes


@pytest.mark.parametrize("name", ROWS)
def test_estimators_have_only_attributes_that_they_can_use(name):
    row = ROWS[name]
    estimator = row.estimator("Annealed").fit(row.data(120))
    names = [name for name in dir(estimator) if name[0] != "_" and name[-1] == "_"]
    assert [name for name in names if not hasattr(estimator, name)] == []
    can, is_mixture = row.capabilities(), hasattr(estimator, "predict_proba")
    for name in ("alarms_", "renewals_", "stream_history_", "clear_memory"):
        assert hasattr(estimator, name) == ("renewals" in can)
    for name in ("icl", "entropy_r2", "profiles", "labels_"):
        assert hasattr(estimator, name) == is_mixture
    assert hasattr(estimator, "expand_features") == hasattr(estimator, "drop_features")
    assert not hasattr(estimator, "temperatures")  # of single samples


@pytest.mark.every(3)
@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_profiles_of_gaussians_are_intervals_of_their_posterior(covariance_type):
    mixture = AnnealedGaussianMixture(
        3, covariance_type=covariance_type, random_state=0, degrees_of_freedom_prior=4
    ).fit(blobs(60))
    model, expected = mixture._fitted()
    nu = np.broadcast_to(expected.freedom, 3)[0]
    S = np.broadcast_to(expected.inverse_scale, (3, *expected.inverse_scale.shape))
    S = expected.inverse_scale if covariance_type != "tied" else S[0]
    S = S[0] if covariance_type != "tied" else S
    random, size = np.random.default_rng(0), 40_000
    if covariance_type in ("full", "tied"):
        scale = np.linalg.inv(S)
        precisions = stats.wishart(nu, scale).rvs(size, random_state=random)
        variances = np.diagonal(np.linalg.inv(precisions), axis1=1, axis2=2)
    elif covariance_type == "diag":
        variances = 1 / random.gamma(nu / 2, 2 / S, (size, 3))
    else:
        variances = 1 / random.gamma(3 * nu / 2, 2 / (3 * S), (size, 1))
        variances = np.repeat(variances, 3, axis=1)
    widths = np.sqrt(variances / expected.precision[0])
    means = mixture.means_[0] + widths * random.normal(size=variances.shape)
    table = mixture.profiles(interval=0.9).query("`class` == 0")
    for option, draws in (("mean", means), ("sd", np.sqrt(variances))):
        ends = table[table["option"] == option][["low", "high"]].to_numpy().T
        close = {"atol": 0.03 * draws.std()}
        np.testing.assert_allclose(
            np.quantile(draws, [0.05, 0.95], axis=0), ends, **close
        )


def test_shares_of_words_are_means_of_dirichlets():
    X = make_lda_documents(100, n_features=12, n_components=2, random_state=0)
    mixture = AnnealedMultinomialMixture(3, random_state=0).fit(X)
    table = mixture.profiles()
    k = table["class"].iloc[0]
    own = table[table["class"] == k]
    np.testing.assert_allclose(own["mean"], mixture.components_[k], rtol=1e-5)
    total = mixture.concentration_[k].sum()
    ends = stats.beta(a := mixture.concentration_[k], total - a).ppf([[0.025], [0.975]])
    np.testing.assert_allclose(own[["low", "high"]].to_numpy().T, ends)
    assert mixture.n_parameters_ == 12 * mixture.n_active_components_ - 1


def test_imputed_answers_are_the_most_probable(bernoulli):
    X = answers(40, seed=1)
    gaps = np.random.default_rng(2).random(X.shape) < 0.3
    X[gaps] = np.nan
    filled = bernoulli.impute(X)
    assert np.array_equal(filled[~gaps], X[~gaps])
    for row, column in np.argwhere(gaps):
        both = np.repeat(X[row : row + 1], 2, axis=0)
        both[:, column] = 0, 1
        likely = bernoulli.score_samples(both).argmax()
        # responsibilities of mean-field posteriors differ by terms of order 1 / n
        assert (
            filled[row, column] == likely
            or np.ptp(bernoulli.score_samples(both)) < 0.05
        )
    frame = pd.DataFrame(X, columns=list("abcde"), index=range(7, 47))
    named = AnnealedBernoulliMixture(4, random_state=0).fit(
        pd.DataFrame(answers(), columns=list("abcde"))
    )
    assert named.impute(frame).equals(
        pd.DataFrame(filled, columns=frame.columns, index=frame.index)
    )
    codes = AnnealedBernoulliMixture(2, binarize=1.5, random_state=0).fit(answers() + 1)
    with pytest.raises(ValueError, match="binarize=1.5 does not separate"):
        codes.impute(X)


def test_statistics_of_missing_answers(bernoulli):
    X = np.tile(answers(1, seed=1), (4000, 1))
    X[:, 2:4] = np.nan
    mode, median, mean, sample = (
        bernoulli.impute(X, name) for name in ("mode", "median", "mean", "sample")
    )
    share = bernoulli.predict_proba(X[:1]) @ bernoulli.components_
    np.testing.assert_allclose(mean[:, 2:4], np.tile(share[:, 2:4], (4000, 1)))
    assert np.array_equal(mode, median) and np.array_equal(mode, np.rint(mean))
    np.testing.assert_allclose(sample.mean(axis=0), mean[0], atol=0.03)
    # both gaps of a row come from one component
    by_class = bernoulli.components_[:, 2] * bernoulli.components_[:, 3]
    both = bernoulli.predict_proba(X[:1]) @ by_class
    np.testing.assert_allclose((sample[:, 2] * sample[:, 3]).mean(), both, atol=0.03)


def test_samples_of_a_factorial_mixture_have_its_moments():
    X = np.random.default_rng(0).normal(size=(200, 4)) + [[3, 0, 0, 1]]
    model = TemperedFactorialMixture(2, tempering=None, random_state=0).fit(X)
    drawn, features = model.sample(50_000)
    p, components = model.inclusion_probability_, model.components_
    covariance = (components.T * (p * (1 - p))) @ components
    covariance += model.noise_variance_ * np.eye(4)
    np.testing.assert_allclose(drawn.mean(axis=0), p @ components, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.1)
    np.testing.assert_allclose(features.mean(axis=0), p, atol=0.02)


@pytest.mark.parametrize("covariance_type", ("auto", *COVARIANCE_TYPES))
def test_exported_gaussian_mixtures_predict_the_same(covariance_type):
    X = pd.DataFrame(blobs(), columns=list("abc"))
    mixture = AnnealedGaussianMixture(
        6, covariance_type=covariance_type, random_state=0
    ).fit(X)
    other = mixture.to_sklearn()
    assert np.array_equal(other.predict(X), mixture.predict(X))
    np.testing.assert_allclose(
        other.predict_proba(X), mixture.predict_proba(X), rtol=1e-7, atol=1e-12
    )
    assert other.sample(5)[0].shape == (5, 3)


def test_gaussian_mixtures_are_exported_to_onnx():
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    X = blobs().astype(np.float32)
    mixture = AnnealedGaussianMixture(3, random_state=0).fit(X)
    onnx = skl2onnx.to_onnx(mixture.to_sklearn(), X[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(onnx)
    labels = session.run(None, {session.get_inputs()[0].name: X})[0]
    assert np.array_equal(labels.ravel(), mixture.predict(X))


def test_exported_topics_predict_the_same():
    X = make_lda_documents(60, n_features=40, n_components=3, random_state=0)
    lda = AnnealedLDA(3, random_state=0, mean_change_tol=1e-8, max_doc_update_iter=2000)
    other = lda.fit(X).to_sklearn()
    np.testing.assert_allclose(other.transform(X), lda.transform(X), atol=1e-4)
    assert other.score(X) == pytest.approx(lda.lower_bound(X), rel=1e-6)
    lda = AnnealedLDA(3, random_state=0, doc_topic_prior=[0.1, 0.2, 0.3]).fit(X)
    with pytest.raises(ValueError, match="same doc_topic_prior"):
        lda.to_sklearn()


def test_labels_that_a_search_passes_do_not_change_fits():
    X = blobs(120)
    y = np.random.default_rng(0).integers(3, size=120)
    options = {"scoring": "adjusted_rand_score", "cv": 2}
    search = GridSearchCV(
        AnnealedGaussianMixture(random_state=0), {"n_components": [2, 4]}, **options
    ).fit(X, y)
    own = clone(search.best_estimator_).fit(X)
    assert np.array_equal(search.best_estimator_.means_, own.means_)
    assert np.array_equal(own.means_, clone(own).fit(X, y=np.full(120, -1)).means_)


@pytest.mark.parametrize(
    "estimator, X",
    [
        (AnnealedGaussianMixture(3, random_state=0), blobs()),
        (AnnealedBernoulliMixture(4, random_state=0), answers()),
    ],
    ids=["gaussian", "bernoulli"],
)
def test_pictures_of_profiles_are_drawn_for_arrays(estimator, X):
    display = ClassProfilesDisplay.from_estimator(estimator.fit(X))
    assert len(display.labels_) == X.shape[1]
    assert display.labels_[0].startswith("0: ")
