"""Copies of rows, of which a mixture would make components of their own."""

import math
from collections import Counter

import numpy as np
from scipy.sparse import issparse

#: Largest number of rows that are compared.
ROWS_COMPARED = 20_000
#: Rows are copies if a row has at least this many others on average.  A bootstrap
#: sample has 1, and with 2 mixtures begin to have superfluous components.
LEAST_COPIES = 1.5
#: Of pairs that agree in half of the columns, this share must agree in all.  It is
#: lower if rows are equal because values are coarse.
LEAST_WHOLE = 0.9


def rows_repeat(estimator, X, n_rows):
    """Return the message of a warning about copies of rows, or None.

    Parameters
    ----------
    estimator : TemperedEstimator
    X : ndarray or CSR of shape (n_sampled, n_features)
    n_rows : int
        Number of rows of the training data.
    """
    n_copies = _n_copies(X, n_rows, estimator.n_components)
    if n_copies == 0:
        return None
    return (
        f"A row of X occurs {1 + n_copies:.3g} times on average, and copies count as "
        "further observations, so that components may describe single rows. Unless "
        "they are observations of their own, fit each row once: np.unique(X, axis=0), "
        "or drop_duplicates() of a data frame."
    )


def _n_copies(X, n_rows, n_components):
    """Return the mean number of copies of a row, without the row; 0 if it is chance."""
    if X.shape[0] > ROWS_COMPARED:
        random = np.random.default_rng(0)
        X = X[np.sort(random.choice(X.shape[0], ROWS_COMPARED, replace=False))]
    numbers, n = _counts(X), X.shape[0]
    if len(numbers) == n or n_components == 1:
        return 0.0
    copies = _n_pairs(numbers) * (n_rows - 1) / (n * (n - 1))
    # two different rows a component, and no more, are categories
    if copies < LEAST_COPIES or 2 * n_components * (1 + copies) >= n_rows:
        return 0.0
    if n == n_rows and math.gcd(*numbers) - 1 >= LEAST_COPIES:
        return copies
    halves = (_n_pairs(_counts(X[:, start::2])) for start in (0, 1))
    return copies if _n_pairs(numbers) >= LEAST_WHOLE * max(halves) else 0.0


def _n_pairs(numbers):
    return sum(number * (number - 1) for number in numbers)


def _counts(X):
    """Return how often each row occurs."""
    if not issparse(X):
        return list(Counter(row.tobytes() for row in np.ascontiguousarray(X)).values())
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    rows = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends)
    return list(Counter(rows).values())
