"""Splits of users' items, and the bootstrap of mixtures of mixed kinds."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from ._arguments import Interval
from ._bootstrap import bootstrap_n_components, bootstrap_profiles
from ._ranking._labels import labelled, labels_of
from ._validation import check_sparse, check_unmasked

__all__ = [
    "bootstrap_n_components",
    "bootstrap_profiles",
    "train_test_split_entries",
]


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "test_size": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"half"}),
        ],
        "per": [StrOptions({"user", "all"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def train_test_split_entries(X, *, test_size=0.1, per="user", random_state=None):
    """Split the entries of a matrix into two matrices of the same shape.

    scikit-learn's splitters hold out whole rows, that is, whole users.  This function
    holds out some entries of each user, to test predictions for users of the training
    data.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_users, n_items)
        Ratings or clicks: the stored entries of a sparse matrix, including zeros; or
        the entries of a dense array that are not NaN, or not 0 if none is NaN.
    test_size : float, int or "half", default=0.1
        Share of the entries to hold out; or number of entries to hold out of each user,
        who keeps at least one ("leave k out").  "half" splits as ``score`` does,
        without randomness: the entries of a row, in the order of columns, go
        alternately to the training and the test matrix.
    per : {"user", "all"}, default="user"
        "user" holds out a share of each user's entries, which is rounded up or down at
        random so that it is right on average; each user keeps at least one entry.
        "all" draws each entry independently.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of entries.

    Returns
    -------
    X_train, X_test : CSR matrices of shape (n_users, n_items)
        Together they have all entries of ``X``.  Both have its labels, if any.

    Raises
    ------
    ValueError
        If nothing is held out.

    See Also
    --------
    sktemper.metrics.make_ranking_scorer : Scorer with the same split, for grid search.
    sktemper.metrics.ranking_report : Ranking metrics of a model for the split.

    Examples
    --------
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.model_selection import train_test_split_entries
    >>> X = make_ratings(random_state=0)
    >>> X_train, X_test = train_test_split_entries(X, random_state=0)
    >>> X_train.shape == X_test.shape == X.shape, X_train.nnz + X_test.nnz == X.nnz
    (True, True)
    >>> _, last = train_test_split_entries(X, test_size=1, random_state=0)
    >>> bool((last.getnnz(axis=1) <= 1).all())
    True
    """
    labels = labels_of(X, "user_labels"), labels_of(X, "item_labels")
    X = _as_entries(X)
    held_out = _held_out(X, test_size, per, check_random_state(random_state))
    if not held_out.any():
        raise ValueError(
            "Nothing is held out: no user has more than one entry, or test_size is too "
            "small."
        )
    return tuple(_kept(X, chosen, labels) for chosen in (~held_out, held_out))


def _as_entries(X):
    """Return entries as CSR with sorted rows; ``X`` is not changed."""
    if sparse.issparse(X):
        X = check_array(check_sparse(X), accept_sparse="csr", input_name="X")
        if X.has_canonical_format:
            return X
        X = X.copy()
        X.sum_duplicates()
        return X
    check_unmasked(X)
    X = check_array(X, ensure_all_finite="allow-nan", input_name="X")
    missing = np.isnan(X)
    rows, columns = np.nonzero(~missing if missing.any() else X)
    starts = np.searchsorted(rows, np.arange(len(X) + 1))
    return sparse.csr_array((X[rows, columns], columns, starts), shape=X.shape)


def _held_out(X, test_size, per, random):
    """Return whether each entry is held out."""
    counts = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), counts)
    place = np.arange(X.nnz) - X.indptr[:-1][rows]
    if test_size == "half":
        return place % 2 == 1
    drawn = random.random_sample(X.nnz)
    if per == "all" and not isinstance(test_size, Integral):
        return drawn < test_size
    if isinstance(test_size, Integral):
        n_test = np.where(counts > 0, test_size, 0)
    else:
        n_test = np.floor(test_size * counts + random.random_sample(len(counts)))
    n_test = np.minimum(n_test, np.maximum(counts - 1, 0))
    # hold out the entries of each row that have the smallest random numbers
    order = np.lexsort((drawn, rows))
    held_out = np.empty(X.nnz, bool)
    held_out[order] = place < n_test[rows]
    return held_out


def _kept(X, chosen, labels):
    """Return some of the entries, in the same kind of container as ``X``."""
    starts = np.concatenate([[0], np.cumsum(chosen)])[X.indptr].astype(X.indptr.dtype)
    kind = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    part = kind((X.data[chosen], X.indices[chosen], starts), shape=X.shape)
    part.has_canonical_format = True
    return part if labels[1] is None else labelled(part, *labels)
