"""Scorers of rankings, for `GridSearchCV` and the like."""

from ..model_selection import train_test_split_entries
from ._ranking import _parsed, ranking_report

__all__ = ["ranking_scorer"]


class RankingScorer:
    """What `ranking_scorer` returns: ``scorer(estimator, X)``."""

    def __init__(self, measure, test_size, relevant, random_state):
        self.measure, self.test_size = measure, test_size
        self.relevant, self.random_state = relevant, random_state

    def __call__(self, estimator, X, y=None):
        """Return the measure of the hidden part of each row of ``X``."""
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
            f"ranking_scorer({self.measure!r}, test_size={self.test_size!r}, "
            f"relevant={self.relevant!r}, random_state={self.random_state!r})"
        )


def ranking_scorer(
    measure="ndcg@100", *, test_size="half", relevant=None, random_state=0
):
    """Return a scorer that hides a part of each user's items and ranks the others.

    For ``scoring=`` of `sklearn.model_selection.GridSearchCV` and the like, whose folds
    are of users: those of the test fold are new to the model, which is shown a part of
    their items, and ranks what is left.  The hidden items are the relevant ones.

    Parameters
    ----------
    measure : str, default="ndcg@100"
        "precision", "recall" or "ndcg", "@" and k, see `ndcg_at_k`.
    test_size : float, int or "half", default="half"
        What is hidden, as of `sktemper.model_selection.train_test_split_entries`:
        "half" deals the items of a user in turn, as ``score`` does.
    relevant : float, default=None
        Only what is at least this is relevant, such as 4 stars.
    random_state : int, default=0
        By which the hidden part is drawn; the same for all candidates.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X)`` is a float; higher is better.

    Raises
    ------
    ValueError
        If there is no such measure; from the scorer, if no user has a hidden item that
        is relevant.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktemper import TemperedMatrixFactorization
    >>> from sktemper.datasets import make_ratings
    >>> from sktemper.metrics import ranking_scorer
    >>> X = make_ratings(200, 50, n_ratings=3000, random_state=0)
    >>> search = GridSearchCV(
    ...     TemperedMatrixFactorization(random_state=0),
    ...     {"n_components": [1, 5]},
    ...     scoring=ranking_scorer("precision@10", relevant=4),
    ...     cv=3,
    ... )
    >>> bool(0 < search.fit(X).best_score_ < 1)
    True
    """
    _parsed(measure)
    return RankingScorer(measure, test_size, relevant, random_state)
