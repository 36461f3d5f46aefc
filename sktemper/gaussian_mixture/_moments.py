"""Moments of samples, and their sums: 1, x, and of the second ones what is kept.

Those of a covariance that is a matrix are the products ``x_i x_j``, i <= j, packed;
else they are the squares.
"""

import numpy as np

from ..model import Stopped
from . import _kernels

__all__ = ["ONCE", "factors_of", "moments", "weighted_moments"]

#: What samples count for, by default.
ONCE = np.ones(1)


def factors_of(request, n_rows):
    """Return what each sample of a block counts for, (n_rows,), or (1,) if all do."""
    power = request.powers.statistics
    if request.unit_noise is None and isinstance(power, float):
        return np.full(1, power)
    return request.factors(n_rows)


def moments(model, block, hyper):
    """Return the moments of each sample, of shape (n_rows, n_moments)."""
    out = np.empty((len(block), model.n_moments))
    _kernels.moments(block, hyper.origin, model.covariance.products, out)
    return out


def weighted_moments(model, block, hyper, shares, factors, n_moments):
    """Return sums of the first so many moments of samples, times shares and factors.

    Parameters
    ----------
    model : GaussianMixtureModel
    block : ndarray of shape (n_rows, n_features)
    hyper : Hyper
    shares : ndarray of shape (n_rows, n_sums)
    factors : ndarray of shape (n_rows,) or (1,)
    n_moments : int

    Returns
    -------
    sums : ndarray of shape (n_sums, n_moments)

    Raises
    ------
    Stopped
        If the model was told to stop.
    """
    out = np.empty((shares.shape[1], n_moments))
    dtype = block.dtype if block.dtype == shares.dtype else np.float64
    stopped = _kernels.weighted_moments(
        np.asarray(block, dtype=dtype),
        hyper.origin,
        not model.covariance.products,
        np.ascontiguousarray(shares, dtype=dtype),
        factors,
        model.stop,
        out,
    )
    if stopped:
        raise Stopped
    return out
