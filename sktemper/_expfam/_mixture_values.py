"""The values of a mixture: parameters, priors, and what local steps need of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._natural import Natural

__all__ = ["Mixture", "MixtureHyper", "Prepared"]


@dataclass(frozen=True)
class Mixture(Natural):
    """Natural parameters of a mixture, or what is added to them.

    Attributes
    ----------
    weights : ndarray
        Of the distribution of the weights, see `WEIGHTS`.
    components : ndarray of shape (n_components, ...)
        Of the components' distributions, see `Family`.
    """

    weights: np.ndarray
    components: np.ndarray


class MixtureHyper(NamedTuple):
    """Priors: the concentration of the weights, and parameters of a component."""

    weight_concentration: float
    component: np.ndarray


class Prepared(NamedTuple):
    """What a local step needs of the mixture.

    Attributes
    ----------
    log_weights : ndarray of shape (n_components,)
        E log pi.
    expected : ndarray of shape (prod(family.shape), n_components)
        E u of the components, a column each.
    globals_ : Mixture
    hyper : MixtureHyper
    """

    log_weights: np.ndarray
    expected: np.ndarray
    globals_: Mixture
    hyper: MixtureHyper
