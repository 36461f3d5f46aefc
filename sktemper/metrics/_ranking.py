"""Ranking metrics of held-out items, and scorers of rankings for searches."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._ranking._entries import kept
from .._ranking._labels import labels_of
from .._ranking._measures import MEASURES, ranking_measures
from .._utils._budgets import VALUES_AT_ONCE, slices
from .._utils._constraints import Interval, WholeNumber, check_arguments
from .._utils._docstrings import completed_by
from .._utils._frames import check_same_rows
from .._utils._notices import warn
from .._utils._typing import DataLike, Float, Int
from .._utils._validation import check_unmasked
from ..model_selection import train_test_split_entries
from ._ratings import as_ratings
from ._scorer import Scorer

_ENTRIES = ["array-like", "sparse matrix"]
_SHARED = {
    "X_test": _ENTRIES,
    "X_seen": [*_ENTRIES, None],
    "relevant": [Interval(Real, None, None, closed="both"), None],
}
_CONSTRAINTS = _SHARED | {"k": [WholeNumber(1)], "per_user": ["boolean"]}


@check_arguments(**_CONSTRAINTS)
def precision_at_k(
    scores: Any,
    X_test: DataLike,
    *,
    k: Int = 10,
    X_seen: DataLike | None = None,
    relevant: Float | None = None,
    per_user: bool = False,
) -> float | np.ndarray:
    r"""Return the share of the first k items that are relevant.

    The precision of a user is :math:`|R \cap T_k| / k`, where R is the set of the
    user's relevant items, and :math:`T_k` the set of the first k items of the ranking.
    It is less than 1 if the user has fewer than k relevant items.

    Parameters
    ----------
    scores : array-like of shape (n_users, n_items), callable or estimator
        Scores of all items; larger is better.  A callable gets blocks of rows of
        ``X_seen`` and returns a dense array of scores; so does the method
        ``item_scores``, or else ``predict``, of an estimator.
    X_test : {array-like, sparse matrix} of shape (n_users, n_items)
        Held-out data.  The relevant items are the stored entries of a sparse matrix, or
        the entries of a dense array that are neither 0 nor NaN.
    k : int, default=10
        Number of items shown to a user.
    X_seen : {array-like, sparse matrix} of shape (n_users, n_items), default=None
        Known data of the same users.  The items of a user in ``X_seen`` are left out of
        the ranking and of the relevant items.  Required for a callable or an estimator.
    relevant : float, default=None
        Smallest value in ``X_test`` of a relevant item, such as 4 stars.  None uses all
        entries.
    per_user : bool, default=False
        Whether to return the value of each user instead of the mean.

    Returns
    -------
    value : float or ndarray of shape (n_users,)
        Mean over the users with relevant items; or the value of each user, NaN for
        users without relevant items.  `ranking_report` counts the users of both kinds.

    Raises
    ------
    ValueError
        If no user has relevant items, shapes or labels differ, or a score is NaN.

    See Also
    --------
    ranking_report : Several measures in one pass.
    sktemper.model_selection.train_test_split_entries : Hide part of each user's items.

    Notes
    -----
    The value is the expectation over random orders of items with equal scores [1]_.  A
    model that gives all items the same score is therefore as good as chance, for any
    order of the columns.

    References
    ----------
    .. [1] F. McSherry, M. Najork, "Computing information retrieval performance measures
       efficiently in the presence of tied scores", ECIR 2008.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sktemper.metrics import precision_at_k
    >>> scores = [[0.9, 0.5, 0.5, 0.1]]
    >>> X_test = sparse.csr_array([[0, 1, 0, 1]])
    >>> precision_at_k(scores, X_test, k=2)  # the second place is drawn
    0.25
    >>> precision_at_k(scores, X_test, k=2, X_seen=sparse.csr_array([[1, 0, 0, 0]]))
    0.5
    """
    return _measured(scores, X_test, X_seen, relevant, ("precision", k), per_user)


@completed_by(precision_at_k, "Returns", "Raises", "See Also")
@check_arguments(**_CONSTRAINTS)
def recall_at_k(
    scores: Any,
    X_test: DataLike,
    *,
    k: Int = 10,
    X_seen: DataLike | None = None,
    relevant: Float | None = None,
    per_user: bool = False,
) -> float | np.ndarray:
    r"""Return the share of the relevant items that are among the first k items.

    The recall of a user is :math:`|R \cap T_k| / \min(k, |R|)` [1]_, where R is the set
    of the user's relevant items, and :math:`T_k` the set of the first k items of the
    ranking.  A common variant divides by :math:`|R|` instead, and has smaller values.
    Equal scores count as in `precision_at_k`.

    References
    ----------
    .. [1] D. Liang, R. Krishnan, M. Hoffman, T. Jebara, "Variational autoencoders for
       collaborative filtering", WWW 2018.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sktemper.metrics import recall_at_k
    >>> X_test = sparse.csr_array([[0, 1, 0, 1]])
    >>> recall_at_k([[0.9, 0.7, 0.5, 0.1]], X_test, k=3)
    0.5
    """
    return _measured(scores, X_test, X_seen, relevant, ("recall", k), per_user)


@completed_by(precision_at_k, "Returns", "Raises", "See Also")
@check_arguments(**_CONSTRAINTS)
def ndcg_at_k(
    scores: Any,
    X_test: DataLike,
    *,
    k: Int = 10,
    X_seen: DataLike | None = None,
    relevant: Float | None = None,
    per_user: bool = False,
) -> float | np.ndarray:
    r"""Return the normalized discounted cumulative gain (nDCG) of the first k items.

    The gain of a user is the sum of :math:`1 / \log_2(1 + r)` over the ranks r of
    relevant items, from 1 to k.  It is divided by its maximum,
    :math:`\sum_{r=1}^{\min(k, |R|)} 1 / \log_2(1 + r)` [1]_, where R is the set of the
    user's relevant items.  All relevant items have the same gain, and equal scores
    count as in `precision_at_k`.

    Notes
    -----
    `sklearn.metrics.ndcg_score` averages over ties too, and supports different gains,
    but takes only dense arrays and cannot leave out the known items of a user.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR
       techniques", ACM Transactions on Information Systems 20(4), 2002.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sktemper.metrics import ndcg_at_k
    >>> X_test = sparse.csr_array([[0, 1, 0, 0]])
    >>> round(ndcg_at_k([[0.9, 0.7, 0.5, 0.1]], X_test), 4)
    0.6309
    """
    return _measured(scores, X_test, X_seen, relevant, ("ndcg", k), per_user)


@completed_by(precision_at_k)
@check_arguments(**_SHARED, measures=["array-like"])
def ranking_report(
    scores: Any,
    X_test: DataLike,
    *,
    measures: Sequence = ("precision@10", "recall@20", "ndcg@100"),
    X_seen: DataLike | None = None,
    relevant: Float | None = None,
) -> dict[str, Any]:
    """Compute several measures of a ranking in one pass, with the number of users.

    Parameters
    ----------
    measures : list of str, default=("precision@10", "recall@20", "ndcg@100")
        Names of measures: "precision", "recall" or "ndcg", then "@" and k, for
        `precision_at_k`, `recall_at_k` and `ndcg_at_k`.

    Returns
    -------
    report : dict
        For each measure its mean over the users with relevant items; "n_users", the
        number of these users; and "n_left_out", the number of users without relevant
        items.

    Raises
    ------
    ValueError
        If no user has relevant items, shapes or labels differ, a score is NaN, or a
        measure is unknown.

    Examples
    --------
    >>> from scipy import sparse
    >>> from sktemper.metrics import ranking_report
    >>> X_test = sparse.csr_array([[0, 1, 0, 1], [0, 0, 0, 0]])
    >>> scores = [[0.9, 0.7, 0.5, 0.1], [0.9, 0.7, 0.5, 0.1]]
    >>> ranking_report(scores, X_test, measures=["precision@2", "recall@2"])
    {'precision@2': 0.5, 'recall@2': 0.5, 'n_users': 1, 'n_left_out': 1}
    """
    wanted = [_kind_and_k(name) for name in measures]
    values = _values(scores, X_test, X_seen, relevant, wanted)
    is_scored = ~np.isnan(values[0])
    means = [float(row[is_scored].mean()) for row in values]
    n_users = int(is_scored.sum())
    return dict(
        zip(measures, means, strict=True),
        n_users=n_users,
        n_left_out=len(is_scored) - n_users,
    )


def _kind_and_k(name):
    """Return the kind and k of a measure such as "ndcg@100"."""
    kind, _, k = str(name).partition("@")
    if kind not in MEASURES or not k.isdecimal() or int(k) < 1:
        raise ValueError(
            f"{name!r} is no measure: expected one of {', '.join(MEASURES)}, then @ "
            "and a positive integer, such as 'ndcg@100'."
        )
    return kind, int(k)


def _measured(scores, X_test, X_seen, relevant, measure, per_user):
    (values,) = _values(scores, X_test, X_seen, relevant, [measure])
    return values if per_user else float(np.nanmean(values))


def _values(scores, X_test, X_seen, relevant, wanted):
    """Return each user's measures, ndarray of shape (n_measures, n_users)."""
    if not wanted:
        raise ValueError("measures is empty: name at least one, such as 'ndcg@100'.")
    held_out = _pattern(X_test, "X_test", relevant)
    n_users, n_items = held_out.shape
    # measures that do not depend on the ranking
    longest = [k for kind, k in wanted if kind != "ndcg" and k >= n_items]
    if longest:
        warn(
            f"k={max(longest)} shows all of the {n_items} items: for any scores, "
            "recall is then 1 and precision the share of relevant items. Use a "
            "smaller k.",
            UndefinedMetricWarning,
        )
    seen = None if X_seen is None else _pattern(X_seen, "X_seen")
    if seen is not None:
        check_same_rows(X_test=X_test, X_seen=X_seen)
        _check_same_table(X_seen, X_test, seen.shape == held_out.shape)
        _check_shape("X_seen", seen.shape, held_out.shape)
        held_out = sparse.csr_array(held_out - held_out.multiply(seen))  # all are 1
        held_out.eliminate_zeros()
    if held_out.nnz == 0:
        raise ValueError(
            "No user has a relevant item: X_test needs entries, and values of at least "
            "relevant if this is set"
            + ("; entries in X_seen do not count." if seen is not None else ".")
        )
    of_rows = _scores_of(scores, X_seen, held_out.shape)
    values = np.empty((len(wanted), n_users))
    for rows in slices(n_users, n_items, VALUES_AT_ONCE):
        block = _ranked_scores(of_rows(rows), None if seen is None else seen[rows])
        relevant_of = held_out[rows].tocoo()
        values[:, rows] = ranking_measures(
            block, relevant_of.row, relevant_of.col, wanted
        )
    return values


def _pattern(X, name, least=None):
    """Return ones in place of entries, CSR with sorted indices; X is not changed."""
    ratings = as_ratings(X, name)
    chosen = np.ones(ratings.nnz, bool)
    if least is not None:
        chosen = ratings.data >= least
    elif not sparse.issparse(X):  # stored zeros are entries
        chosen = ratings.data != 0
    pattern = kept(ratings, chosen)
    pattern.data = np.ones(pattern.nnz)
    return pattern


def _check_same_table(X_seen, X_test, same_shape):
    """Raise if two matrices with labels differ in their users or items."""
    advice = (
        "make X_test with user_labels=X_seen.user_labels, "
        'item_labels=X_seen.item_labels and unknown="ignore".'
    )
    for name in ("user_labels", "item_labels"):
        seen, held_out = labels_of(X_seen, name), labels_of(X_test, name)
        if seen is None or held_out is None or np.array_equal(seen, held_out):
            continue
        what = name.split("_")[0]
        order = ", or has them in another order" if same_shape else ""
        raise ValueError(f"X_test has other {what}s than X_seen{order}: {advice}")


def _check_shape(name, shape, expected):
    if shape != expected:
        raise ValueError(
            f"{name} has shape {shape}, but X_test has shape {expected}: both need the "
            "same users and items."
        )


def _scores_of(scores, X_seen, shape):
    """Return a function that maps a slice of rows to their scores."""
    method = next(
        (m for m in ("item_scores", "predict") if hasattr(scores, m)), "__call__"
    )
    if not callable(getattr(scores, method, None)):
        check_unmasked(scores, "scores", may_be_nan=False)
        scores = _as_scores(scores)
        _check_shape("scores", scores.shape, shape)
        return lambda rows: scores[rows]
    if isinstance(scores, BaseEstimator):
        check_is_fitted(scores)
    if X_seen is None:
        raise ValueError("An estimator or a callable needs X_seen to score items.")
    if not hasattr(X_seen, "iloc"):
        X_seen = X_seen.tocsr() if sparse.issparse(X_seen) else np.asarray(X_seen)

    def of_rows(rows):
        part = X_seen.iloc[rows] if hasattr(X_seen, "iloc") else X_seen[rows]
        found = _as_scores(getattr(scores, method)(part))
        if found.shape != (part.shape[0], shape[1]):
            raise ValueError(
                f"scores of {part.shape[0]} users have shape {found.shape}; expected "
                f"{(part.shape[0], shape[1])}."
            )
        return found

    return of_rows


def _as_scores(values):
    return check_array(
        values,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        input_name="scores",
    )


def _ranked_scores(scores, seen):
    """Return scores in which exactly the items that are not candidates are -inf."""
    if np.isnan(scores).any():
        raise ValueError(
            "scores contains NaN, which has no place in a ranking: use -inf for the "
            "last place."
        )
    scores = np.maximum(scores, np.finfo(scores.dtype).min)
    if seen is not None:
        rows = np.repeat(np.arange(seen.shape[0]), np.diff(seen.indptr))
        scores[rows, seen.indices] = -np.inf
    return scores


# -- scorers ---------------------------------------------------------------------------
def _hidden_items_measure(estimator, X, measure, relevant, **split):
    """Return a measure of rankings; hidden items of each row of ``X`` are relevant."""
    X_seen, X_test = train_test_split_entries(X, **split)
    options = {"measures": [measure], "X_seen": X_seen, "relevant": relevant}
    return ranking_report(estimator, X_test, **options)[measure]


def make_ranking_scorer(
    measure: str = "ndcg@100",
    *,
    test_size: Float | Literal["half"] = "half",
    relevant: Float | None = None,
    random_state: Int = 0,
) -> Callable:
    """Make a scorer that hides part of each user's items and ranks the other items.

    Pass the scorer as ``scoring`` to `sklearn.model_selection.GridSearchCV` and similar
    tools.  Their folds are sets of users, so that the users of the test fold are new to
    the model.  The model gets part of the items of each of these users and ranks all
    other items; the hidden items are the relevant ones.

    Parameters
    ----------
    measure : str, default="ndcg@100"
        Name of the measure: "precision", "recall" or "ndcg", then "@" and k, for
        `precision_at_k`, `recall_at_k` and `ndcg_at_k`.
    test_size : float, int or "half", default="half"
        Part of the items to hide, as in
        `sktemper.model_selection.train_test_split_entries`: "half" assigns the items
        of a user alternately to the two parts, as ``score`` does.
    relevant : float, default=None
        Smallest value of a relevant item, such as 4 stars.  With None, all hidden items
        are relevant.
    random_state : int, default=0
        Seed of the choice of hidden items.  With a fixed seed, all models of a search
        are compared on the same items.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X)`` returns a float; higher is better.

    Raises
    ------
    ValueError
        If the measure is unknown.  The scorer itself raises ValueError if no user has a
        relevant hidden item.

    See Also
    --------
    ranking_scorer : The scorer with the defaults.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktemper import TemperedMatrixFactorization, metrics
    >>> from sktemper.datasets import make_ratings
    >>> X = make_ratings(100, 30, n_ratings=1000, random_state=0)
    >>> search = GridSearchCV(
    ...     TemperedMatrixFactorization(tol=1, random_state=0),
    ...     {"n_components": [1, 5]},
    ...     scoring=metrics.make_ranking_scorer("precision@5", relevant=4),
    ...     cv=3,
    ... )
    >>> bool(0 < search.fit(X).best_score_ < 1)
    True
    """
    _kind_and_k(measure)
    parameters = {
        "measure": measure,
        "test_size": test_size,
        "relevant": relevant,
        "random_state": random_state,
    }
    return Scorer(_hidden_items_measure, "make_ranking_scorer", parameters)


#: Scorer with the defaults: nDCG at 100 of the hidden half of each user's items.
ranking_scorer = make_ranking_scorer()
