"""Data, draws and comparisons that several surfaces share."""

import functools
import sys
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import ESTIMATORS, digest_of

NAMES = sorted(ESTIMATORS)
QUERIES = "transform", "predict", "predict_proba", "score_samples", "score"


class Draws:
    """Draws of one case, which is smaller the smaller the drawn numbers are."""

    def __init__(self, data):
        self._draw = data.draw

    def __call__(self, strategy):
        return self._draw(strategy)

    def one_of(self, *values):
        return self._draw(st.sampled_from(values))

    def between(self, least, most):
        return self._draw(st.integers(least, most))

    def happens(self, share):
        """Return whether something of about this probability happens."""
        return self.between(0, 99) >= 100 * (1 - share)

    def generator(self):
        return np.random.default_rng(self.between(0, 2**32 - 1))

    def place(self, size):
        """Return an index below ``size``, which may differ between runs."""
        return int(self.generator().integers(size))


# -- estimators and their data ---------------------------------------------------------
@functools.cache
def data_of(name, n_rows=24):
    """Return the data of a model, with values that float16 represents."""
    X = ESTIMATORS[name][0].data(120)[:n_rows]
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64)
        X.data = np.fmax(np.rint(X.data * 8), 1) / 8  # DIA stores no zeros
        return X
    return np.rint(np.asarray(X, dtype=np.float64) * 8) / 8


def new(name, **parameters):
    row, kind = ESTIMATORS[name]
    return row.estimator(kind, **{"max_iter": 2, **parameters})


@functools.cache
def trained(name, method="fit"):
    return getattr(new(name), method)(data_of(name))


def answers(estimator, X):
    """Return the results of all methods, of arrays as arrays."""
    names = [name for name in QUERIES if hasattr(estimator, name)]
    return {name: np.asarray(getattr(estimator, name)(X)) for name in names}


# -- comparisons -----------------------------------------------------------------------
def same_bits(found, expected, what):
    assert digest_of(found) == digest_of(expected), f"{what}: other bits"


def equal(found, expected, what, rtol=1e-6, atol=1e-9):
    found, expected = np.asarray(found), np.asarray(expected)
    if np.float32 in (found.dtype, expected.dtype):
        rtol, atol = 1e-4, 1e-6
    same = found.shape == expected.shape
    same = same and np.allclose(found, expected, rtol, atol, equal_nan=True)
    assert same, f"{what} differs"


def same_answers(found, expected, what):
    for name, values in expected.items():
        if name != "predict" or "predict_proba" not in expected:  # ties have two labels
            equal(found[name], values, f"{what}: {name}")
