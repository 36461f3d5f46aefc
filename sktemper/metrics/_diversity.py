"""Diversity of topics: the share of distinct words."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import validate_params

from .._utils._arguments import Interval
from .._utils._typing import Int
from ._topics import topics_of


@validate_params(
    {"n_words": [Interval(Integral, 2, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def topic_diversity(topics_or_estimator: Any, *, n_words: Int = 25) -> float:
    """Return the share of distinct words among the top words of all topics.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or for each topic the column indices of its
        words, the most probable first.
    n_words : int, default=25
        Largest number of words of each topic to use.

    Returns
    -------
    diversity : float
        Between 1 / n_topics, if all topics have the same words, and 1, if no two topics
        have a common word.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or if there is no topic.

    See Also
    --------
    npmi_coherence : Coherence of topics.  Consider both, because topics of randomly
        drawn words are diverse too.

    References
    ----------
    .. [1] A. B. Dieng, F. J. R. Ruiz and D. M. Blei (2020). "Topic modeling in
           embedding spaces". TACL 8, 439-453.

    Examples
    --------
    >>> from sktemper.metrics import topic_diversity
    >>> topic_diversity([[0, 1, 2], [0, 3, 4]])
    0.8333333333333334
    """
    words = np.concatenate(topics_of(topics_or_estimator, n_words))
    return len(np.unique(words)) / len(words)
