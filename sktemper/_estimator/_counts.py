"""Validation of counts."""

from scipy.sparse import issparse

from .._limits import LARGEST_COUNT
from .._validation import check_data, looks_like_text

__all__ = ["validate_counts"]


def validate_counts(estimator, X, reset):
    """Validate a matrix of counts, CSR or dense; integers stay integers."""
    try:
        X = check_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_non_negative=True,
        )
    except (TypeError, ValueError) as error:
        remedy = _remedy_for_counts(X, str(error))
        if remedy is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{error}\n{remedy}") from error
    counts = X.data if issparse(X) else X
    if X.dtype.kind == "f" and float(counts.max(initial=0)) > LARGEST_COUNT:
        raise ValueError(
            f"{type(estimator).__name__} takes no counts above {LARGEST_COUNT:g}."
        )
    return X


def _remedy_for_counts(X, message):
    """Return what makes counts of data that were refused, or None."""
    if "Negative values" in message:
        return (
            "Counts are not negative. HashingVectorizer and FeatureHasher give hashes "
            "a sign unless alternate_sign=False."
        )
    if looks_like_text(X):
        return (
            "Texts are to be counted first, by "
            "sklearn.feature_extraction.text.CountVectorizer."
        )
    return None
