"""The local step: optimal probabilities of the features of samples."""

import math

import numpy as np
from scipy.special import logit

from ..model import Stopped
from . import _kernels

__all__ = ["Inference"]


class Inference:
    """Optimisation of nu, the probabilities of the features of some samples.

    Parameters
    ----------
    model : FactorialMixtureModel
    block : Samples
    hyper : Hyper
    powers : Powers
    products : ndarray of shape (n_rows, n_components)
        Products of samples and means, divided by the noise variance.
    couplings : iterable of Coupling
        Couplings of all rows.
    """

    def __init__(self, model, block, hyper, powers, products, couplings):
        self.model, self.block, self.hyper, self.powers = model, block, hyper, powers
        self.products, self.couplings = products, couplings

    def best(self, local_init=None):
        """Return nu and the results of `run`, from the best start of each sample.

        The starts are the priors, with cooling, and ``local_init`` if it is given.
        """
        prior = self.hyper.inclusion_probability.astype(self.model.dtype)
        fresh = prior[None].repeat(len(self.products), axis=0)
        if local_init is None:
            return fresh, *self.run(fresh, cooled=True)
        nu = np.array(local_init, dtype=self.model.dtype, order="C")
        likelihoods, scores, bounds, n_iterations = self.run(nu, cooled=False)
        if self.model.local_cooling is not None:
            *others, more_iterations = self.run(fresh, cooled=True)
            n_iterations += more_iterations
            better = np.flatnonzero(others[2] > bounds)
            if len(better):
                for kept, other in zip(
                    (nu, likelihoods, scores, bounds), (fresh, *others), strict=True
                ):
                    kept[better] = other[better]
        return nu, likelihoods, scores, bounds, n_iterations

    def run(self, nu, *, cooled):
        """Optimise nu in place.

        Returns
        -------
        likelihoods, scores, bounds : ndarray of shape (n_rows,)
            Results for each row.
        n_iterations : int
            Number of sweeps, summed over the rows.
        """
        noise, prior = self.hyper.noise_variance, self.hyper.inclusion_probability
        likelihoods, scores, bounds, n_iterations = self._optimise(
            nu, cooled and self.model.local_cooling is not None
        )
        squares = self.block.squares / (2 * noise)
        likelihoods -= squares
        scores -= squares
        scores += np.log1p(-prior).sum()
        normalisers = self.block.observed * (0.5 * math.log(2 * math.pi * noise))
        bounds += self.powers.local * (scores - normalisers)
        return likelihoods, scores, bounds, n_iterations

    def _optimise(self, nu, cooled):
        """Optimise nu in place; return likelihoods, scores, entropies and sweeps."""
        model = self.model
        powers = np.asarray(self.powers.local, dtype=float)
        outcomes = [np.empty(len(nu)) for _ in range(3)]
        prior_logits = logit(self.hyper.inclusion_probability)
        n_iterations = 0
        for rows, gram, diagonal, of_each in self.couplings:
            offsets = prior_logits - 0.5 * diagonal
            heats = np.maximum(0.5 * diagonal.max(axis=1), 1.0)
            parts = [part[rows] for part in (nu, *outcomes)]
            sweeps = _kernels.local_step(
                self.products[rows],
                np.ascontiguousarray(gram, dtype=model.dtype),
                np.ascontiguousarray(offsets, dtype=model.dtype),
                prior_logits.astype(model.dtype),
                of_each,
                np.atleast_1d(powers[rows] if powers.ndim else powers),
                powers.ndim > 0,
                heats if cooled else np.ones_like(heats),
                model.local_cooling or 1.0,
                model.tol,
                model.max_iter,
                model.stop,
                *parts,
            )
            if sweeps < 0:
                raise Stopped
            n_iterations += sweeps
            if not isinstance(rows, slice):
                for whole, part in zip((nu, *outcomes), parts, strict=True):
                    whole[rows] = part
        return *outcomes, n_iterations
