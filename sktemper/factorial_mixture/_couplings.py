"""How the features of samples depend on one another, values missing or not."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..model import Stopped
from . import _kernels

__all__ = ["Coupling", "Couplings", "grams"]

#: The most entries of the grams of samples that miss values that are kept; and of those
#: that are built at once where they are more, few enough for a cache.
MOST_ENTRIES, ENTRIES_AT_ONCE = 2**22, 2**20


class Coupling(NamedTuple):
    """How features depend on one another in some samples of a block.

    Attributes
    ----------
    rows : slice or ndarray
        Which samples these are.
    gram : ndarray
        E[mu mu^T] over the noise variance: of shape (n_components, n_components) if it
        is one for all of them; otherwise (n_rows, n_entries), the upper triangle of
        each, row by row.
    diagonal : ndarray of shape (1, n_components) or (n_rows, n_components)
    of_each : bool
        Whether each sample has its own.
    """

    rows: Any
    gram: np.ndarray
    diagonal: np.ndarray
    of_each: bool

    def without_each(self):
        """Yield the couplings of all features but one, of the same rows.

        Each overwrites the arrays of the one before: where every sample has a gram,
        these are large, and few of their entries change.
        """
        n_features, gram = self.diagonal.shape[1], None
        for k in range(n_features):
            left = np.delete(np.arange(n_features), k)
            if not self.of_each:
                gram = self.gram[np.ix_(left, left)]
            elif k == 0:
                gram = self.gram[:, n_features:].copy()
            else:  # what was feature k there is now the one before it
                new = entries_of(k - 1, np.arange(n_features - 1), n_features - 1)
                gram[:, new] = self.gram[:, entries_of(k - 1, left, n_features)]
            diagonal = np.take(self.diagonal, left, axis=1)
            yield Coupling(slice(None), gram, diagonal, self.of_each)


def entries_of(one, others, n_features):
    """Return where the pairs of a feature and others stand in an upper triangle."""
    low, high = np.minimum(one, others), np.maximum(one, others)
    return low * (2 * n_features - low - 1) // 2 + high


class Couplings:
    """The couplings of a block's samples: of all that miss nothing, and of the others.

    Those of the latter are kept from one iteration to the next if they are not too
    large; otherwise they are built anew, some at a time, in the same memory.

    Parameters
    ----------
    model : FactorialMixtureModel
    block : Samples
    prepared : Prepared
    completing : bool
        Whether missing values are latent, or left out.
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
    """Return the `Coupling` of samples that miss values, its grams in ``out``."""
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
