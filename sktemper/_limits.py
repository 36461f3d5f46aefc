"""How large and how small numbers may be, so that all that is computed stays finite.

What the kernels keep in the dtype of the data are values, squares of them, and sums of
up to 10^8 squares; all else is float64.  So a value x has to keep

- 10^8 x^2 finite in the dtype: x < 1.8e15 in float32, 1.3e150 in float64;
- x^2 / v times counts, weights and sizes finite in float64, for any variance v that is
  let through.  Those are let through whose roots are between 1 / x and x, so that
  x^2 / v reaches x^4: with x = 1e60 it leaves 68 decades to the rest.

Of priors that are no variances (concentrations, degrees of freedom, precisions in
those of samples), 1 / p and p^2 / 10^8 have to be finite in float32; 1e-30 to 1e23
would do, and 1e30 does where nothing squares them.
"""

import numpy as np
from scipy.sparse import issparse

from ._arguments import refuse

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_WEIGHT",
    "check_counts",
    "check_prior",
    "check_values",
    "check_variances",
    "checked_weights",
    "largest_value",
]

#: Largest absolute value of data, for each dtype that models compute in.
LARGEST_VALUE = {"float32": 1e15, "float64": 1e60}
#: Largest count, also after its multiplication by the weight of its sample: above,
#: float32 overflows where the inner loops multiply.
LARGEST_COUNT = 1e30
#: Largest weight of a sample; one of a batch must have at least its inverse.
LARGEST_WEIGHT = 1e15
#: Weights below this share of the largest are 0: in a batch of their own they would be
#: all there is, and quotients by them overflow.
LEAST_SHARE = 1e-30
#: Where priors that are no variances may be.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-30, 1e30


def largest_value(dtype):
    """Return the largest absolute value of data that a model computes with in a dtype.

    Parameters
    ----------
    dtype : {float32, float64}

    Returns
    -------
    limit : float
    """
    return LARGEST_VALUE[np.dtype(dtype).name]


def check_values(X, dtype, name="X", training=False):
    """Raise if data are so large, or all so small, that squares leave the dtype.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Of numbers; NaN is no value.
    dtype : {float32, float64}
        What will be computed in.
    name : str, default="X"
    training : bool, default=False
        Whether a model learns variances from them: they may not all be too small then,
        unless they are 0.

    Raises
    ------
    ValueError
    """
    values = X.data if issparse(X) else np.asarray(X)
    if values.size == 0 or values.dtype.kind not in "iuf":
        return
    limit = largest_value(dtype)
    top = max(float(_fmax(values)), -float(_fmin(values)))
    remedy = "Scale the data" + (
        "." if np.dtype(dtype) == np.float64 else ", or fit to float64."
    )
    if top > limit:
        raise ValueError(
            f"{name} has values of {top:.3g}, but in {np.dtype(dtype)} they may be at "
            f"most {limit:g}: squares would overflow. {remedy}"
        )
    if training and 0 < top < 1 / limit:
        raise ValueError(
            f"{name} has no values above {top:.3g}, but in {np.dtype(dtype)} some must "
            f"be at least {1 / limit:g}: squares would vanish. {remedy}"
        )


def _fmax(values):
    return np.fmax.reduce(values, axis=None)


def _fmin(values):
    return np.fmin.reduce(values, axis=None)


def check_variances(variances, dtype, name):
    """Raise if a prior variance, or the diagonal of a covariance, cannot be used.

    Parameters
    ----------
    variances : float, array-like or None
        None is not known yet.
    dtype : {float32, float64}
        What will be computed in.
    name : str
        Of what they are, for the message.

    Raises
    ------
    ValueError
    """
    if variances is None:
        return
    limit = largest_value(dtype) ** 2
    low, high = np.min(variances), np.max(variances)
    if not (low >= 1 / limit and high <= limit):
        value = high if low >= 1 / limit else low
        raise ValueError(
            f"{name} of {value:.3g}: in {np.dtype(dtype)} variances must be between "
            f"{1 / limit:.0e} and {limit:.0e}. Scale the data, or give other priors."
        )


def check_prior(value, name):
    """Raise if a prior's parameter that is no variance cannot be used.

    Parameters
    ----------
    value : float, ndarray or None
        Positive; None has a default.
    name : str

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
    """
    if value is None:
        return
    low, high = np.min(value), np.max(value)
    if not (low >= SMALLEST_PRIOR and high <= LARGEST_PRIOR):
        refuse(
            name,
            f"between {SMALLEST_PRIOR:g} and {LARGEST_PRIOR:g}",
            float(high if low >= SMALLEST_PRIOR else low),
        )


def checked_weights(sample_weight):
    """Return weights of samples, those that cannot count as 0.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_samples,)
        Not negative.

    Returns
    -------
    sample_weight : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If they are too large, or all too small.
    """
    top = float(sample_weight.max(initial=0))
    if top > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has a weight of {top:.3g}, but they may be at most "
            f"{LARGEST_WEIGHT:g}. Divide them by their mean."
        )
    if 0 < top < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has none above {top:.3g}, but one must be at least "
            f"{1 / LARGEST_WEIGHT:g}. Divide them by their mean."
        )
    lost = sample_weight < top * LEAST_SHARE
    return np.where(lost, 0.0, sample_weight) if lost.any() else sample_weight


def check_counts(X, sample_weight=None):
    """Raise if counts to be trained on are all too small, or weights make them large.

    Parameters
    ----------
    X : ndarray or sparse matrix
    sample_weight : ndarray of shape (n_samples,), default=None

    Raises
    ------
    ValueError
    """
    counts = X.data if issparse(X) else X
    largest = float(counts.max(initial=0))
    if 0 < largest < 1 / LARGEST_COUNT:
        raise ValueError(
            f"X has no counts above {largest:.3g}, but one must be at least "
            f"{1 / LARGEST_COUNT:g}."
        )
    if sample_weight is None:
        return
    top = float(sample_weight.max(initial=0))
    if top * largest > LARGEST_COUNT:
        raise ValueError(
            f"sample_weight of {top:.3g} times counts of {largest:.3g} may be above "
            f"{LARGEST_COUNT:g}, the largest count. Scale either."
        )
