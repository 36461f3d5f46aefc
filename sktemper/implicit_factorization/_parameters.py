"""The values of a factorization of implicit feedback, and moments of Gaussians."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._expfam import GaussianPrior, Moments, unpacked

__all__ = ["Gaussians", "Hyper", "Items", "Prepared"]


class Hyper(NamedTuple):
    """Priors, the noise variance, and the weight of pairs that are not stored.

    Attributes
    ----------
    n_components : int
        Rank.
    zero_weight : float
        w0.
    noise_variance : float
    target_square : float
        Mean square of the targets at the start, unknown pairs included.
    is_start : bool
        Whether no step was taken yet: the items' moments are random and tell nothing of
        their prior.
    users, items : GaussianPrior
    """

    n_components: int
    zero_weight: float
    noise_variance: float
    target_square: float
    is_start: bool
    users: GaussianPrior
    items: GaussianPrior


@dataclass(frozen=True)
class Items:
    """Natural parameters of the items' posteriors.

    Those of an item are the common ones and its own.  What items have in common is
    large beside what few pairs say of one: it stands once, in float64, so that the rest
    loses nothing in float32.

    Attributes
    ----------
    common : ndarray of shape (n_natural,)
        A packed precision, and precision times mean.
    own : ndarray of shape (n_panels, n_items, panel_width)
        As kernels lay out sums.
    """

    common: np.ndarray
    own: np.ndarray


class Gaussians(NamedTuple):
    """Posteriors of users or items.

    Attributes
    ----------
    table : ndarray of shape (n_panels, n_rows, panel_width)
        Their moments as kernels take them, see ``_loops.h``.
    means : ndarray of shape (n_rows, n_components)
    log_determinants : ndarray of shape (n_rows,)
        Of the precisions.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).
    products : ndarray of shape (n_rows,)
        E[x] times the linear sums that they were made of.
    moments : Moments
        Weighted sums.
    """

    table: np.ndarray
    means: np.ndarray
    log_determinants: np.ndarray
    prior_traces: np.ndarray
    products: np.ndarray
    moments: Moments

    def entropies(self):
        """Return the entropy of each posterior, ndarray of shape (n_rows,)."""
        constant = self.means.shape[1] * (1 + math.log(2 * math.pi))
        return 0.5 * (constant - self.log_determinants)


class Prepared(NamedTuple):
    """Moments of the items, and the priors, for local steps.

    Attributes
    ----------
    items : Gaussians
    shared : ndarray of shape (n_packed,)
        w0 times the sum of all items' E[x x^T], packed: of unknown pairs.
    hyper : Hyper
    """

    items: Gaussians
    shared: np.ndarray
    hyper: Hyper


def moments_of(total, weight, rank):
    """Return the `Moments` of sums of E[x x^T], packed, and E[x]."""
    n_packed = len(total) - rank
    return Moments(float(weight), total[n_packed:], unpacked(total[:n_packed], rank))
