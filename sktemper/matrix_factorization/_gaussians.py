"""Posteriors of users and items, and their moments for kernels."""

import math
from typing import NamedTuple

import numpy as np

from .._expfam import Moments, unpacked
from ..model import Stopped
from . import _kernels

__all__ = ["Gaussians", "moments_of_table", "posteriors_of", "refuse_precisions"]

#: Approximate number of multiplications, and least number of Gaussians, between two
#: checks for Ctrl-C in computations of the calling thread.
COST_AT_ONCE, FEWEST_AT_ONCE = 2**24, 256


class Gaussians(NamedTuple):
    """Posteriors of users or items.

    Attributes
    ----------
    means : ndarray of shape (n_rows, n_own)
    covariances : ndarray of shape (n_rows, n_own * (n_own + 1) / 2) or None
        Packed lower triangles.
    log_determinants : ndarray of shape (n_rows,)
        Log determinants of the precisions; NaN for indefinite precisions.
    prior_traces : ndarray of shape (n_rows,)
        trace(prior precision E[x x^T]).
    products, prior_products : ndarray of shape (n_rows,)
        Inner products of E[x] with the linear part of the sums from which the posterior
        is computed, and with the linear parameters of the prior.
    table : ndarray of shape (n_rows, width)
        Moments of the posteriors in the layout of the kernels, see ``_loops.h``.
    """

    means: np.ndarray
    covariances: np.ndarray
    log_determinants: np.ndarray
    prior_traces: np.ndarray
    products: np.ndarray
    prior_products: np.ndarray
    table: np.ndarray

    def replaced(self, rows, others):
        """Return posteriors of which some are replaced; both have no covariances.

        Arrays may be changed in place.
        """
        if len(rows) == len(self.means):
            return others
        self.means[rows] = others.means
        self.log_determinants[rows] = others.log_determinants
        self.prior_traces[rows] = others.prior_traces
        self.products[rows] = others.products
        self.prior_products[rows] = others.prior_products
        self.table[rows] = others.table
        return self

    def entropies(self):
        """Return the entropy of each posterior, ndarray of shape (n_rows,)."""
        constant = self.means.shape[1] * (1 + math.log(2 * math.pi))
        return 0.5 * (constant - self.log_determinants)


def posteriors_of(model, sums, scales, prior, with_covariances):
    """Return posteriors with the natural parameters prior + scales * sums.

    Parameters
    ----------
    model : MatrixFactorizationModel
    sums : ndarray of shape (n_rows, n_natural or more)
    scales : float or ndarray of shape (n_rows,)
    prior : ndarray of shape (n_natural,)
    with_covariances : bool

    Returns
    -------
    posteriors : Gaussians
    n_indefinite : int
        Number of precisions that are not positive definite.
    """
    n_rows = len(sums)
    out = Gaussians(
        np.empty((n_rows, model.n_own)),
        np.empty((n_rows, model.n_packed)) if with_covariances else None,
        *np.empty((4, n_rows)),
        model.room.empty((n_rows, model.width), model.dtype),
    )
    scales = np.ascontiguousarray(np.broadcast_to(scales, n_rows), dtype=np.float64)
    prior, n_indefinite = np.ascontiguousarray(prior), 0
    chunk_size = max(COST_AT_ONCE // model.n_own**3, FEWEST_AT_ONCE)
    for start in range(0, n_rows, chunk_size):
        part = slice(start, start + chunk_size)
        found = _kernels.gaussians(
            sums[part],
            scales[part],
            prior,
            model.n_components,
            model.biases,
            model.stop,
            out.table[part],
            out.means[part],
            None if out.covariances is None else out.covariances[part],
            out.log_determinants[part],
            out.prior_traces[part],
            out.products[part],
            out.prior_products[part],
        )
        if found < 0:
            raise Stopped
        n_indefinite += found
    return out, n_indefinite


def moments_of_table(table, factors, n_components, biases):
    """Return the `Moments` of weighted posteriors, from their table."""
    sums = _kernels.table_sums(table, np.ascontiguousarray(factors, dtype=np.float64))
    d, n_own = n_components, n_components + biases
    n_products = d * (d + 1) // 2
    first = sums[n_products : n_products + n_own].copy()
    second = np.empty((n_own, n_own))
    second[:d, :d] = unpacked(sums[:n_products], d)
    if biases:
        mixed = sums[n_products + n_own : n_products + 2 * n_own + 1]
        second[d, :d] = second[:d, d] = mixed[:d]
        second[d, d] = mixed[d + 1]
        first[d] = mixed[d]
    return Moments(float(factors.sum()), first, second)


def refuse_precisions(dtype, items=None):
    """Raise an error about a precision that is not positive definite.

    The precision is of a user if the moments of items are given.
    """
    found = f"A precision is not positive definite after rounding to {dtype}"
    if items is not None:
        tops = np.abs(items).max(axis=1)
        found = (
            f"{found}. It is of a user; item {tops.argmax()} has moments of "
            f"{tops.max():.3g}"
        )
    raise ValueError(
        f"{found}: noise_variance is too small, or negative gradient noise has moved "
        "precisions of items toward 0. Set noise_variance or effective_batch_size to a "
        "larger value, set the distribution of the noise to 'dirichlet', or pass X as "
        "float64."
    )
