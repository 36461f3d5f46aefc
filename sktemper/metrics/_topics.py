"""Helper functions of metrics: validation of components and topics."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, check_is_fitted

#: Number of rows scored at a time, so that the data are never copied whole.
BLOCK = 1000


def components_of(estimator, n_features=None):
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    components = check_array(
        estimator.components_, dtype=[np.float64, np.float32], input_name="components_"
    )
    if n_features is not None and components.shape[1] != n_features:
        raise ValueError(
            f"X has {n_features} features, but the model was fitted to "
            f"{components.shape[1]}."
        )
    return components


def check_columns(estimator, X):
    """Raise if the columns of a data frame differ from the columns of the fit.

    Raises
    ------
    ValueError
        If the names or their order differ; the message is scikit-learn's.
    """
    if hasattr(estimator, "feature_names_in_") and hasattr(X, "columns"):
        _check_feature_names(estimator, X, reset=False)


def scaled(components):
    """Divide each row by a power of two, so that the sum of its squares is finite."""
    _, exponents = np.frexp(np.abs(components).max(axis=1, keepdims=True))
    return np.ldexp(components, -exponents)


def topics_of(topics_or_estimator, n_words, n_features=None):
    """Return for each topic the column indices of its words, most probable first.

    Parameters
    ----------
    topics_or_estimator : object or list of lists of int
    n_words : int
        Largest number of words of each topic.
    n_features : int, default=None
        Number of columns of the data; None if there are no data.
    """
    if hasattr(topics_or_estimator, "components_") or isinstance(
        topics_or_estimator, BaseEstimator
    ):
        components = components_of(topics_or_estimator, n_features)
        topics = np.argsort(-components, axis=1, kind="stable")
    else:
        topics = _listed(topics_or_estimator)
    if len(topics) == 0:
        raise ValueError("There is no topic: pass a fitted model or at least one list.")
    for topic in topics:
        if topic.ndim != 1 or len(topic) < 2:
            raise ValueError("A topic must be a list of two words or more.")
        if topic.dtype.kind not in "iu":
            raise ValueError(
                "A topic must be a list of column numbers, integers from 0, not of "
                f"{topic.dtype}; or pass a fitted model to use its top words."
            )
        if topic.min() < 0 or (n_features is not None and topic.max() >= n_features):
            raise ValueError(
                f"A topic has words outside the {n_features} columns of X."
                if n_features is not None
                else "A topic has a negative column number."
            )
        if len(np.unique(topic)) < len(topic):
            raise ValueError(
                "A topic has a column number twice: list each word of a topic once."
            )
    return [topic[:n_words] for topic in topics]


def _listed(topics):
    try:
        return [np.asarray(topic) for topic in topics]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(
            "Topics must be a fitted model with components_, or lists of column "
            f"numbers, got {topics!r}."
        ) from error
