"""Scorers of rankings, for searches and cross-validation."""

from collections.abc import Callable
from typing import Literal

from .._utils._typing import Float, Int
from ..model_selection import train_test_split_entries
from ._ranking import _parsed, ranking_report


class RankingScorer:
    """Scorer of rankings, a callable ``scorer(estimator, X)``.

    Parameters
    ----------
    measure, test_size, relevant, random_state
        As in `make_ranking_scorer`.
    """

    def __init__(self, measure, test_size, relevant, random_state):
        self.measure, self.test_size = measure, test_size
        self.relevant, self.random_state = relevant, random_state

    def __call__(self, estimator, X, y=None):
        """Return the measure; the hidden items of each row of ``X`` are relevant."""
        X_seen, X_test = train_test_split_entries(
            X, test_size=self.test_size, random_state=self.random_state
        )
        report = ranking_report(
            estimator,
            X_test,
            measures=[self.measure],
            X_seen=X_seen,
            relevant=self.relevant,
        )
        return report[self.measure]

    def __repr__(self):
        return (
            f"make_ranking_scorer({self.measure!r}, test_size={self.test_size!r}, "
            f"relevant={self.relevant!r}, random_state={self.random_state!r})"
        )


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
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.metrics import make_ranking_scorer
    >>> X = make_ratings(100, 30, n_ratings=1000, random_state=0)
    >>> search = GridSearchCV(
    ...     TemperedMatrixFactorization(tol=1, random_state=0),
    ...     {"n_components": [1, 5]},
    ...     scoring=make_ranking_scorer("precision@5", relevant=4),
    ...     cv=3,
    ... )
    >>> bool(0 < search.fit(X).best_score_ < 1)
    True
    """
    _parsed(measure)
    return RankingScorer(measure, test_size, relevant, random_state)


#: Scorer with the defaults: nDCG at 100 of the hidden half of each user's items.
ranking_scorer = make_ranking_scorer()
