"""The values of a mixture: parameters, priors, and what local steps need of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

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
    components : ndarray of shape (n_components, n_natural)
        Of the components' distributions, see `Family`.
    """

    weights: np.ndarray
    components: np.ndarray


class MixtureHyper(NamedTuple):
    """Priors: the concentration of the weights, and parameters of a component.

    Attributes
    ----------
    weight_concentration : float
    component : ndarray of shape (n_natural,)
    """

    weight_concentration: float
    component: np.ndarray


class Prepared(NamedTuple):
    """A mixture as its local steps use it.

    Attributes
    ----------
    log_weights : ndarray of shape (n_components,)
        E log pi.
    tables : object
        The components, from `Family.prepare`.
    globals_ : Mixture
    hyper : object
    """

    log_weights: np.ndarray
    tables: Any
    globals_: Mixture
    hyper: Any
