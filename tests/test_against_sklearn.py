"""At T=1 the LDA estimators agree with scikit-learn's LatentDirichletAllocation."""

import numpy as np
import pytest
from fits import new_model
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.decomposition import _lda as sklearn_lda

from sktemper import TemperedLDA
from sktemper.datasets import make_lda_documents
from sktemper.learning_rates import RobbinsMonro

K = 7


class FromOnes(LatentDirichletAllocation):
    """scikit-learn's estimator, with gamma starting at ones, as in this package."""

    def _e_step(self, X, cal_sstats, random_init, parallel=None):
        return super()._e_step(X, cal_sstats, False, parallel)


@pytest.fixture(scope="module")
def X():
    return make_lda_documents(200, 100, K, doc_length=40, random_state=0).astype(float)


@pytest.fixture
def exact_digamma(monkeypatch):
    """Replace scikit-learn's three-term series of digamma by scipy's function.

    The series changes the parameters by parts of 1e-4.
    """

    def expectation_1d(doc_topic, doc_topic_prior, out):
        doc_topic += doc_topic_prior
        out[:] = np.exp(psi(doc_topic) - psi(doc_topic.sum()))

    def expectation_2d(array):
        return psi(array) - psi(array.sum(axis=1, keepdims=True))

    monkeypatch.setattr(
        sklearn_lda,
        "cy_dirichlet_expectation_1d",
        dict.fromkeys(["float", "double"], expectation_1d),
    )
    monkeypatch.setattr(sklearn_lda, "_dirichlet_expectation_2d", expectation_2d)


SHARED = {
    "n_components": K,
    "doc_topic_prior": 0.1,
    "topic_word_prior": 0.05,
    "mean_change_tol": 1e-3,
    "random_state": 3,
}
OURS = {**SHARED, "init_params": "random", "doc_update": "variational"}


def batch_fits(X):
    # scikit-learn checks perp_tol only after evaluations, and by default makes none.
    theirs = FromOnes(learning_method="batch", max_iter=4, **SHARED).fit(X)
    ours = TemperedLDA(tempering=None, batch_size=None, max_iter=4, **OURS).fit(X)
    return theirs, ours


def online_fits(X):
    theirs = FromOnes(total_samples=X.shape[0], batch_size=50, **SHARED)
    ours = TemperedLDA(
        tempering=None,
        learning_rate=RobbinsMonro(offset=10, decay=0.7),
        total_samples=X.shape[0],
        batch_size=50,
        **OURS,
    )
    for _ in range(2):
        for start in range(0, X.shape[0], 50):
            theirs.partial_fit(X[start : start + 50])
            ours.partial_fit(X[start : start + 50])
    return theirs, ours


@pytest.mark.every(2)
@pytest.mark.parametrize("fits", [batch_fits, online_fits])
def test_fits_agree(X, fits, exact_digamma):
    theirs, ours = fits(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-9)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9)
    np.testing.assert_allclose(
        ours.transform(X, normalize=False), theirs._unnormalized_transform(X), rtol=1e-9
    )


def test_initial_topics_agree(X):
    theirs = FromOnes(learning_method="online", max_iter=1, **SHARED)
    theirs.random_state_ = np.random.RandomState(SHARED["random_state"])
    theirs._init_latent_vars(X.shape[1], dtype=X.dtype)
    ours = TemperedLDA(tempering=None, batch_size=50, **OURS)
    model = new_model(ours, X.shape[1])
    start = model.initial_globals(X, np.random.RandomState(SHARED["random_state"]))
    np.testing.assert_array_equal(start.dense().T, theirs.components_)
