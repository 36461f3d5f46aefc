"""The search for the best split of a Gaussian component, by a kernel."""

import functools

import numpy as np

from .._families import ILL_DEFINED, starts_of_axes
from ..model import IllDefined, Stopped
from . import _kernels

#: Largest number of columns.  The kernel computes the products of all columns; with
#: more columns, principal axes are found faster without them.
MOST_COLUMNS = 64
#: Ends of a search, see ``_blocks.h``.
STOPPED, NONE, ILL = -1, 0, 2


def split_finder(family, block):
    """Return `best_split` of a family and rows without gaps, or None.

    See `Family.split_finder`.
    """
    is_given = isinstance(block, np.ndarray) and block.dtype == family.dtype
    if not is_given or block.shape[1] > MOST_COLUMNS:
        return None
    return None if family.is_noisy else functools.partial(best_split, family)


def best_split(family, block, coordinates, weight, prior, whole):
    """Return the best split of a component, as `best_split` of ``_families``."""
    D, kinds = family.n_features, family.covariance.kinds
    shares, moved = np.empty(len(block)), np.empty(family.n_natural)
    starts = starts_of_axes(D)
    status, entropy = _kernels.best_split(
        np.ascontiguousarray(block),
        np.ascontiguousarray(coordinates, dtype=block.dtype),
        weight,
        family.origin,
        family.added_variances,
        prior,
        whole.statistics,
        kinds,
        (whole.concentration, whole.count),
        family.stop,
        starts.T.copy(),
        _kernels.ascent_scratch(2 * starts.shape[1], D, *kinds),
        shares,
        moved,
    )
    if status == STOPPED:
        raise Stopped
    if status == ILL:
        raise IllDefined(ILL_DEFINED)
    return None if status == NONE else (shares, moved, moved[0], entropy)
