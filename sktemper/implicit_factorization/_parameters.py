"""Classes for the parameters of implicit feedback, and for moments of Gaussians."""

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
        Weight w0 of a pair that is not stored.
    noise_variance : float
    target_square : float
        Mean square of the targets of all pairs, stored or not, at the start.
    is_start : bool
        True before the first step.  The items' moments are then random, and the items'
        prior is not learned from them.
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

    The parameters of an item are the sum of a common part and its own part.  The common
    part is large compared with the sums over the few pairs of an item.  It is kept once
    in float64, so that the items' own parts lose no precision in float32.

    Attributes
    ----------
    common : ndarray of shape (n_natural,)
        The packed lower triangle of a precision, and the precision times the mean.
    own : ndarray of shape (n_panels, n_items, panel_width)
        The items' own parts, in the layout of ``_loops.h``.
    """

    common: np.ndarray
    own: np.ndarray


class Gaussians(NamedTuple):
    """Posteriors of users or items.

    Attributes
    ----------
    table : ndarray of shape (n_panels, n_rows, panel_width)
        Moments of the posteriors, in the layout of ``_loops.h``.
    means : ndarray of shape (n_rows, n_components)
    log_determinants : ndarray of shape (n_rows,)
        Log determinants of the precisions.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).
    products : ndarray of shape (n_rows,)
        Inner products of E[x] with the linear sums.
    moments : Moments
        Weighted sums of the moments.
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
    """Moments of the items and the priors, which local steps need.

    Attributes
    ----------
    items : Gaussians
    shared : ndarray of shape (n_packed,)
        A term of the precision of every user: w0 times the packed sum of E[x x^T] over
        all items.
    hyper : Hyper
    """

    items: Gaussians
    shared: np.ndarray
    hyper: Hyper


def moments_of(total, weight, rank):
    """Return `Moments` from one vector of packed sums of E[x x^T] and sums of E[x]."""
    n_packed = len(total) - rank
    return Moments(float(weight), total[n_packed:], unpacked(total[:n_packed], rank))
