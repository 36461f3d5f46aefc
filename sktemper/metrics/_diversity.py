"""Diversity of topics: the share of distinct words."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import validate_params

from .._arguments import Interval
from ._topics import topics_of

__all__ = ["topic_diversity"]


@validate_params(
    {"n_words": [Interval(Integral, 2, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def topic_diversity(topics_or_estimator, *, n_words=25):
    """Share of distinct words among the top words of all topics.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
        A fitted model with ``components_``; or the topics, each by the columns of its
        words, the most probable first.
    n_words : int, default=25
        Number of words of each topic to use; fewer if a topic has fewer.

    Returns
    -------
    diversity : float
        Between 1 / n_topics, where all topics have the same words, and 1, where no
        word is in two of them.

    Raises
    ------
    ValueError
        If a topic has fewer than two words, or there is none.

    See Also
    --------
    npmi_coherence : To be read together: topics of words drawn at random are diverse.

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
