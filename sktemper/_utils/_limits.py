"""Limits of the size of numbers, within which all results are finite.

Kernels store values, their squares, and sums of up to 10^8 squares in the dtype of the
data.  All other numbers are float64.  The limit x of values therefore satisfies two
conditions:

- 10^8 x^2 is finite in the dtype: x < 1.8e15 in float32, and x < 1.3e150 in float64.
- x^2 / v, times counts, weights and sizes, is finite in float64 for each allowed
  variance v.  Standard deviations from 1 / x to x are allowed, so that x^2 / v reaches
  x^4.  With x = 1e60, this leaves 68 decades for the other factors.

Prior parameters that are not variances are concentrations, degrees of freedom, and
precisions relative to the precision of samples.  For such a parameter p, 1 / p and
p^2 / 10^8 must be finite in float32.  This holds from 1e-30 to 1e23.  The upper limit
is nevertheless 1e30, because parameters above 1e23 are not squared.
"""

import numpy as np
from scipy.sparse import issparse

from ._arguments import refuse

#: Largest absolute value of data, for each dtype that models compute in.
LARGEST_VALUE = {"float32": 1e15, "float64": 1e60}
#: The same by dtype, because the name of a dtype takes long to build.
_LARGEST_OF_DTYPE = {np.dtype(name): value for name, value in LARGEST_VALUE.items()}
#: Largest count, also after multiplication by the weight of its sample.  Products of
#: larger counts overflow in float32.
LARGEST_COUNT = 1e30
#: Upper limit of weights of samples.  The largest weight of the data must be at least
#: the inverse of this limit.
LARGEST_WEIGHT = 1e15
#: Weights below this share of the largest weight are set to 0, because a division by
#: the weights of a batch would overflow if the batch has only such weights.
LEAST_SHARE = 1e-30
#: Limits of prior parameters that are not variances.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-30, 1e30


def largest_value(dtype):
    """Return the largest allowed absolute value of data for a dtype.

    Parameters
    ----------
    dtype : {float32, float64}

    Returns
    -------
    limit : float
    """
    return _LARGEST_OF_DTYPE[np.dtype(dtype)]


def check_values(X, dtype, name="X", training=False):
    """Raise if values are so large, or all so small, that squares exceed the dtype.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Numbers.  NaN is ignored.
    dtype : {float32, float64}
        Dtype of the computation.
    name : str, default="X"
        Name of ``X`` in messages.
    training : bool, default=False
        Whether a model learns variances from the data.  If so, values that are all tiny
        but not 0 are refused too.

    Raises
    ------
    ValueError
    """
    values = X.data if issparse(X) else np.asarray(X)
    if values.size == 0 or values.dtype.kind not in "iuf":
        return
    limit = largest_value(dtype)
    top = max(float(_fmax(values)), -float(_fmin(values)))
    if not (top > limit or (training and 0 < top < 1 / limit)):
        return  # also if all values are NaN
    remedy = "Scale the data" + (
        "." if np.dtype(dtype) == np.float64 else ", or fit to float64."
    )
    if top > limit:
        raise ValueError(
            f"{name} has values of {top:.3g}, but in {np.dtype(dtype)} they may be at "
            f"most {limit:g}: squares would overflow. {remedy}"
        )
    raise ValueError(
        f"{name} has no values above {top:.3g}, but in {np.dtype(dtype)} some must be "
        f"at least {1 / limit:g}: squares would vanish. {remedy}"
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
        None means that the variances are not known yet.
    dtype : {float32, float64}
        Dtype of the computation.
    name : str
        Name in the message.

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
    """Raise if a prior parameter that is not a variance cannot be used.

    Parameters
    ----------
    value : float, ndarray or None
        Positive; None stands for a default.
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
    """Return weights of samples, with negligible weights set to 0.

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
        If a weight is too large, or if all weights are too small.
    """
    top = float(sample_weight.max(initial=0))
    if top > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has a weight of {top:.3g}, but weights may be at most "
            f"{LARGEST_WEIGHT:g}. Divide the weights by their mean."
        )
    if 0 < top < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has no weight above {top:.3g}, but one must be at least "
            f"{1 / LARGEST_WEIGHT:g}. Divide the weights by their mean."
        )
    lost = sample_weight < top * LEAST_SHARE
    return np.where(lost, 0.0, sample_weight) if lost.any() else sample_weight


def check_counts(X, sample_weight=None):
    """Raise if training counts are all too small, or too large after weighting.

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
            f"{LARGEST_COUNT:g}, the largest count. Scale the weights or the counts."
        )
