"""Scorers of topics, for searches and cross-validation."""

from collections.abc import Callable
from typing import Literal

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._utils._constraints import WholeNumber, check_arguments
from .._utils._docstrings import completed_by
from .._utils._typing import Int, Seed
from ._completion import OPTIONS, completion_log_likelihood
from ._scorer import Scorer
from ._topics import npmi_coherence, topic_diversity


def _model_and_counts(estimator, X, looks_at_data=True):
    """Return the topic model in an estimator, and the transformed data it gets.

    The estimator is a topic model, a `Pipeline` whose last step is one, or a search
    whose best estimator is one of these.
    """
    while True:
        if isinstance(estimator, BaseEstimator):
            check_is_fitted(estimator)
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if looks_at_data and len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            break
    if not hasattr(estimator, "components_"):
        raise TypeError(
            "A scorer of topics needs a topic model with components_, or a Pipeline "
            f"whose last step is one; got {type(estimator).__name__}."
        )
    return estimator, X


def _completion(estimator, X, **parameters):
    return completion_log_likelihood(*_model_and_counts(estimator, X), **parameters)


def _npmi(estimator, X, **parameters):
    return npmi_coherence(*_model_and_counts(estimator, X), **parameters).mean()


def _diversity(estimator, X, **parameters):
    model, _ = _model_and_counts(estimator, X, looks_at_data=False)
    return topic_diversity(model, **parameters)


@completed_by(completion_log_likelihood)
@check_arguments(**OPTIONS)
def make_completion_scorer(
    *,
    split: Literal["words", "tokens"] = "words",
    temperatures: Literal["unit", "learned"] = "unit",
    random_state: Seed = 0,
) -> Callable:
    """Make a scorer that returns `completion_log_likelihood`.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=0
        Seed of the random split with ``split="tokens"``.  With an int, all models are
        scored on the same halves.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)`` returns a float, in nats per held-out token.

    See Also
    --------
    completion_scorer : The scorer with the defaults.

    References
    ----------
    .. [1] S. Mandt, J. McInerney, F. Abrol, R. Ranganath, D. Blei, "Variational
           tempering", AISTATS 2016.

    Examples
    --------
    >>> from sktemper.metrics import make_completion_scorer
    >>> make_completion_scorer(split="tokens")
    make_completion_scorer(split='tokens', temperatures='unit', random_state=0)
    """
    parameters = {
        "split": split,
        "temperatures": temperatures,
        "random_state": random_state,
    }
    return Scorer(_completion, "make_completion_scorer", parameters)


@check_arguments(n_words=[WholeNumber(2)])
def make_npmi_scorer(*, n_words: Int = 10) -> Callable:
    """Make a scorer that returns the mean of `npmi_coherence` over the topics.

    The reference documents are the scored documents; in a search, these are the
    documents of a fold's test set.

    Parameters
    ----------
    n_words : int, default=10
        Number of words of each topic to use.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)`` returns a float between -1 and 1.

    See Also
    --------
    npmi_scorer : The scorer with the default.

    Examples
    --------
    >>> from sktemper.metrics import make_npmi_scorer
    >>> make_npmi_scorer(n_words=5)
    make_npmi_scorer(n_words=5)
    """
    return Scorer(_npmi, "make_npmi_scorer", {"n_words": n_words})


@check_arguments(n_words=[WholeNumber(2)])
def make_diversity_scorer(*, n_words: Int = 25) -> Callable:
    """Make a scorer that returns `topic_diversity`.

    Parameters
    ----------
    n_words : int, default=25
        Number of words of each topic to use.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)`` returns a float between 0 and 1; ``X`` is
        ignored.

    See Also
    --------
    diversity_scorer : The scorer with the default.

    Examples
    --------
    >>> from sktemper.metrics import make_diversity_scorer
    >>> make_diversity_scorer(n_words=10)
    make_diversity_scorer(n_words=10)
    """
    return Scorer(_diversity, "make_diversity_scorer", {"n_words": n_words})


#: Held-out log-likelihood per token by document completion: the ``score`` of an LDA.
completion_scorer = make_completion_scorer()
#: Mean coherence of the topics.
npmi_scorer = make_npmi_scorer()
#: Share of distinct words among the top words of all topics.
diversity_scorer = make_diversity_scorer()
