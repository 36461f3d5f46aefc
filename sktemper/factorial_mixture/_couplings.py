"""Couplings between the features of samples, with or without missing values."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..model import Stopped
from . import _kernels

__all__ = ["Coupling", "Couplings", "grams"]

#: Grams of samples with missing values are kept if they have at most `MOST_ENTRIES`
#: entries in total.  Otherwise grams with about `ENTRIES_AT_ONCE` entries, which fit
#: into a cache, are computed at a time.
MOST_ENTRIES, ENTRIES_AT_ONCE = 2**22, 2**20


class Coupling(NamedTuple):
    """Coupling between the features in some samples of a block.

    Attributes
    ----------
    rows : slice or ndarray
        Indices of these samples in the block.
    gram : ndarray
        E[mu mu^T] divided by the noise variance, where mu are the components.  If all
        samples share the gram, its shape is (n_components, n_components).  Otherwise
        its shape is (n_rows, n_entries), with an upper triangle for each sample, row by
        row.
    diagonal : ndarray of shape (1, n_components) or (n_rows, n_components)
        Diagonal of the gram.
    of_each : bool
        Whether each sample has its own gram.
    """

    rows: Any
    gram: np.ndarray
    diagonal: np.ndarray
    of_each: bool

    def without_each(self):
        """Yield the couplings of all features except one, for the same rows.

        Each coupling overwrites the arrays of the previous coupling, because arrays are
        large if each sample has a gram, and few entries change.
        """
        n_features, gram = self.diagonal.shape[1], None
        for k in range(n_features):
            left = np.delete(np.arange(n_features), k)
            if not self.of_each:
                gram = self.gram[np.ix_(left, left)]
            elif k == 0:
                gram = self.gram[:, n_features:].copy()
            else:  # feature k - 1 replaces feature k
                new = entries_of(k - 1, np.arange(n_features - 1), n_features - 1)
                gram[:, new] = self.gram[:, entries_of(k - 1, left, n_features)]
            diagonal = np.take(self.diagonal, left, axis=1)
            yield Coupling(slice(None), gram, diagonal, self.of_each)


def entries_of(one, others, n_features):
    """Return the indices, in an upper triangle, of pairs of ``one`` with ``others``."""
    low, high = np.minimum(one, others), np.maximum(one, others)
    return low * (2 * n_features - low - 1) // 2 + high


class Couplings:
    """Couplings of the samples of a block.

    Samples without missing values share one coupling.  The couplings of other samples
    are kept for later iterations over this object if they are small enough.  Otherwise
    they are computed in each iteration, for some samples at a time, in the same memory.

    Parameters
    ----------
    model : FactorialMixtureModel
    block : Samples
    prepared : Prepared
    completing : bool
        Whether missing values are latent variables; otherwise the model leaves them
        out.
    """

    def __init__(self, model, block, prepared, completing):
        self.model, self.block, self.prepared = model, block, prepared
        self.completing = completing
        self.whole, self.parts = slice(None), ()
        if block.missing is not None:
            lacking = block.observed < model.n_features
            rows = np.flatnonzero(lacking)
            self.whole = np.flatnonzero(~lacking)
            n_entries = model.n_components * (model.n_components + 1) // 2
            size = max(len(rows), 1)
            if size * n_entries > MOST_ENTRIES:
                size = max(ENTRIES_AT_ONCE // n_entries, 1)
            self.parts = [
                rows[start : start + size] for start in range(0, len(rows), size)
            ]
            self.room = np.empty((min(size, len(rows)), n_entries), dtype=model.dtype)
        self.kept = None

    def __iter__(self):
        if isinstance(self.whole, slice) or len(self.whole):
            hyper, spread = self.prepared.hyper, self.prepared.spread
            gram = self.prepared.products + self.model.n_features * spread
            gram = gram / hyper.noise_variance
            yield Coupling(self.whole, gram, np.diag(gram)[None], False)
        for rows in self.parts:
            if self.kept is None:
                built = grams(
                    self.model,
                    self.block,
                    rows,
                    self.prepared,
                    self.completing,
                    self.room[: len(rows)],
                )
                if len(self.parts) > 1:
                    yield built
                    continue
                self.kept = built
            yield self.kept


def grams(model, block, rows, prepared, completing, out):
    """Return the `Coupling` of samples with missing values; write grams to ``out``."""
    noise, K = prepared.hyper.noise_variance, model.n_components
    entries = np.triu_indices(K)
    diagonal = np.empty((len(rows), K))
    status = _kernels.grams(
        block.missing[rows],
        prepared.means / math.sqrt(noise),
        prepared.products[entries] / noise,
        prepared.spread[entries] / noise,
        completing,
        model.stop,
        out,
        diagonal,
    )
    if status < 0:
        raise Stopped
    return Coupling(rows, out, diagonal, True)
