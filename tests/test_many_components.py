"""Fits with many components, features or words, whose temporary arrays are large.

numpy reuses the memory of temporaries of at least 256 KiB, and the result then has the
temporary's memory order.  Kernels need C order.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sktemper

#: Numbers of components and of columns of the data.
SIZES = [(200, 6), (3, 200)]
MODELS = {
    "LDA": {"batch_size": 20},
    "FactorialMixture": {"posterior": "structured"},
    "GaussianMixture": {"covariance_type": "full"},
    "MatrixFactorization": {},
    "ImplicitFactorization": {},
    "MultinomialMixture": {},
    "BernoulliMixture": {},
}


def data_of(model, n_columns):
    random = np.random.default_rng(0)
    if model in ("LDA", "MultinomialMixture", "BernoulliMixture"):
        n_rows = 20 if model == "LDA" else 210
        X = random.poisson(0.5, (n_rows, n_columns)).astype(np.float64)
        return np.minimum(X, 1) if model == "BernoulliMixture" else X
    if model.endswith("Factorization"):
        return 1.0 + random.poisson(0.5, (4, n_columns))
    return random.normal(size=(210 if model == "GaussianMixture" else 20, n_columns))


@pytest.mark.every(9)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("Annealed", marks=pytest.mark.deep),
        "Tempered",
        pytest.param("SVIPlus", marks=pytest.mark.deep),
    ],
)
def test_it_fits_and_transforms(kind, model, size):
    n_components, n_columns = size
    X = data_of(model, n_columns)
    cls = getattr(sktemper, kind + model, None) or getattr(sktemper, model, None)
    if cls is None:
        pytest.skip("the model has no class of SVI+")
    estimator = cls(n_components, max_iter=1, random_state=0, **MODELS[model])
    if "moves" in estimator.get_params():
        estimator.set_params(moves=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X)
        estimator.partial_fit(X)
    assert np.isfinite(estimator.lower_bound(X))
    if hasattr(estimator, "transform"):
        assert np.isfinite(estimator.transform(X)).all()
    if model == "FactorialMixture":
        X[::2, 0] = np.nan
        assert np.isfinite(estimator.set_params(posterior="factorized").fit(X).score(X))
