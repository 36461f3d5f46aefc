"""Warnings at the end of a fit about missing components, or priors that merge them."""

import numpy as np

from .._expfam import USED, Search
from ..model import IllDefined
from ._empirical import LEARNED, learned_priors, restarted

__all__ = ["advice"]

#: Largest number of rows that the checks use.
ROWS_LOOKED_AT = 5000
#: Least rise of the lower bound by another component, in nats, that causes a warning.
LEAST_GAIN, LEAST_GAIN_OF_PRIORS = 20.0, 100.0

MORE_COMPONENTS = (
    "All {n_components} components are in use, and one more would raise the lower "
    "bound by about {gain:.0f} nats. Raise n_components."
)
OTHER_PRIORS = (
    "The priors keep clusters together that are separate in the data: with learned "
    "priors, a split of a component would raise the lower bound by about {gain:.0f} "
    'nats. Use priors="learned", and leave priors that you do not know at None.'
)


def advice(model, other, state, X, sample_weight):
    """Return the message of a warning about the number of components, or None.

    Parameters
    ----------
    model : GaussianMixtureModel
    other : GaussianMixtureModel or None
        The same model with learned priors; None disables the check of the priors.
    state : State
    X : ndarray of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    message : str or None
    """
    step = -(-len(X) // ROWS_LOOKED_AT)
    block = model.take(X, slice(None, None, step))
    block = model.complete(block, state.globals_, state.hyper)
    weight = np.full(len(block), float(step))
    if sample_weight is not None:
        weight = step * sample_weight[::step]
    hyper = state.hyper
    shares, _, _ = model.responsibilities(block, model.prepare(state.globals_, hyper))
    shares = shares.astype(np.float64)
    used = weight @ shares >= USED
    try:
        if used.all():
            gain = best_split(model, hyper, block, shares, weight)
            if gain > LEAST_GAIN:
                count = model.n_components
                return MORE_COMPONENTS.format(n_components=count, gain=gain)
        elif other is not None:
            hyper = priors_of(other, model.usual(state.globals_), hyper, used)
            gain = best_split(other, hyper, block, shares, weight)
            if gain > LEAST_GAIN_OF_PRIORS:
                return OTHER_PRIORS.format(gain=gain)
    except IllDefined:
        pass
    return None


def best_split(model, hyper, block, shares, weight):
    """Return the largest gain of a split whose second part is a new component."""
    search = Search(model, hyper, block, shares, weight)
    return max(search.splits.values(), default=-np.inf)


def priors_of(model, usual, hyper, used):
    """Return the priors that a model learns from the posteriors of another model.

    Parameters
    ----------
    model : GaussianMixtureModel
    usual : Usual
        Posteriors of the other model.
    hyper : Hyper
        Priors of the other model.
    used : ndarray of bool of shape (n_components,)
        Whether each component is not empty.

    Returns
    -------
    hyper : Hyper
    """
    family, everything = model.family_of(hyper), frozenset(LEARNED)
    law, kind = family.law, family.covariance
    if used.sum() > 1:
        return learned_priors(family, hyper, usual, used, everything)
    covariances = usual.inverse_scale / kind.widened(usual.freedom)
    return restarted(hyper, covariances[used][0], law, everything)
