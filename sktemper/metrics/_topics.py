"""What several measures need: blocks of rows, and the topics of any estimator."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

__all__ = ["BLOCK", "components_of", "scaled"]

#: Rows scored at a time: the data are never copied whole.
BLOCK = 1000


def components_of(estimator, n_features):
    """Return ``components_`` of a fitted model for data of so many features."""
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
    components = check_array(
        estimator.components_, dtype=[np.float64, np.float32], input_name="components_"
    )
    if components.shape[1] != n_features:
        raise ValueError(
            f"X has {n_features} features, but the model was fitted to "
            f"{components.shape[1]}."
        )
    return components


def scaled(components):
    """Return rows over powers of two, so that no sum of squares overflows."""
    _, exponents = np.frexp(np.abs(components).max(axis=1, keepdims=True))
    return np.ldexp(components, -exponents)
