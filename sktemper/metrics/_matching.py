"""Matching of the components of two fits."""

from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions, validate_params

from .._utils._typing import ArrayLike
from .._utils._validation import check_unmasked
from ._topics import scaled


@validate_params(
    {
        "components_a": ["array-like"],
        "components_b": ["array-like"],
        "metric": [StrOptions({"cosine", "jensenshannon"})],
    },
    prefer_skip_nested_validation=True,
)
def match_components(
    components_a: ArrayLike,
    components_b: ArrayLike,
    *,
    metric: Literal["cosine", "jensenshannon"] = "cosine",
) -> tuple[np.ndarray, np.ndarray]:
    """Match the components of two fits one to one, to maximize the total similarity.

    Two fits may find the same components in different orders.  This function finds the
    assignment with the largest sum of similarities [1]_.

    Parameters
    ----------
    components_a : array-like of shape (n_components_a, n_features)
        Components of the first fit, such as ``components_`` or ``means_``.
    components_b : array-like of shape (n_components_b, n_features)
        Components of the second fit, at least as many as in ``components_a``.
    metric : {"cosine", "jensenshannon"}, default="cosine"
        Similarity of two components: their cosine, or 1 minus the Jensen-Shannon
        distance (base 2) of the components, normalized to distributions.

    Returns
    -------
    permutation : ndarray of shape (n_components_a,)
        Indices such that ``components_b[permutation]`` has the order of
        ``components_a``.
    similarities : ndarray of shape (n_components_a,)
        Similarity of each pair; the mean measures how stable the components are.

    Raises
    ------
    ValueError
        If the numbers of features differ, or ``components_b`` has fewer components than
        ``components_a``.  With "jensenshannon", also if a component is zero or has
        negative entries.

    References
    ----------
    .. [1] H. W. Kuhn (1955). "The Hungarian method for the assignment problem".
           Naval Research Logistics Quarterly 2, 83-97.

    Examples
    --------
    >>> from sktemper.metrics import match_components
    >>> a = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> b = [[0.0, 0.2, 0.8], [0.0, 1.0, 0.0], [0.9, 0.1, 0.0]]
    >>> permutation, similarities = match_components(a, b)
    >>> permutation
    array([2, 0])
    >>> similarities
    array([1., 1.])
    """
    non_negative = metric == "jensenshannon"
    check_unmasked(components_a, "components_a", may_be_nan=False)
    check_unmasked(components_b, "components_b", may_be_nan=False)
    a, b = (
        scaled(
            check_array(
                part,
                dtype=np.float64,
                ensure_non_negative=non_negative,
                input_name=name,
            )
        )
        for part, name in (
            (components_a, "components_a"),
            (components_b, "components_b"),
        )
    )
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"components_a has {a.shape[1]} features, but components_b has "
            f"{b.shape[1]}: both fits must have the same features."
        )
    if len(a) > len(b):
        raise ValueError(
            f"components_a has {len(a)} components and components_b only {len(b)}: "
            "swap the arguments, so that each component of the first fit has a match."
        )
    similarities = _SIMILARITIES[metric](a, b)
    rows, permutation = linear_sum_assignment(similarities, maximize=True)
    return permutation, similarities[rows, permutation]


def _jensen_shannon_similarity(a, b):
    if min(a.sum(axis=1).min(), b.sum(axis=1).min()) <= 0:
        raise ValueError(
            "metric='jensenshannon' needs components with a positive sum, but one is "
            "zero; leave it out, or use metric='cosine'."
        )
    # Rounding can make the divergence of equal rows negative, and its root NaN.
    distances = np.nan_to_num(cdist(a, b, "jensenshannon"))
    return 1.0 - distances / np.sqrt(np.log(2.0))


_SIMILARITIES = {
    "cosine": cosine_similarity,
    "jensenshannon": _jensen_shannon_similarity,
}
