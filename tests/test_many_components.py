"""Fits with many components, features or words, whose temporary arrays are large.

numpy reuses the memory of temporaries of at least 256 KiB, and the result then has the
temporary's memory order.  Kernels need C order.
"""

import numpy as np
import pytest
from registry import ROWS
from scipy import sparse

#: Numbers of components and of columns of the data.
SIZES = [(200, 6), (3, 200)]
OTHERS = {
    "LDA": {"batch_size": 20},
    "GaussianMixture": {"covariance_type": "full"},
    "StudentMixture": {"covariance_type": "full"},
    "MixedMixture": {"kinds": "from_dtype"},
}


def data_of(row, n_columns):
    """Return rows of the model, with its columns repeated or left out.

    A mixture needs as many rows as components.
    """
    n_rows = 210 if row.name.endswith("Mixture") else 20
    X = row.data(n_rows)
    X = np.nan_to_num(X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    X = np.resize(X.T, (n_columns, n_rows)).T
    return np.random.default_rng(0).permuted(X, axis=0)


@pytest.mark.every(11)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("kind", ["Tempered", "Annealed", "SVIPlus"])
@pytest.mark.filterwarnings("ignore")
def test_it_fits_and_transforms(kind, row, size):
    n_components, n_columns = size
    X, moves = data_of(row, n_columns), {"moves": None} if row.moves else {}
    options = {"max_iter": 1, **moves, **OTHERS.get(row.name, {})}
    estimator = row.estimator(kind, n_components=n_components, **options)
    estimator.fit(X)
    estimator.partial_fit(X)
    assert np.isfinite(estimator.lower_bound(X))
    assert np.isfinite(estimator.transform(X)).all()
    if row.name == "FactorialMixture":
        X[::2, 0] = np.nan
        assert np.isfinite(estimator.set_params(posterior="factorized").fit(X).score(X))
