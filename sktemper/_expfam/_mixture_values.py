"""Values of a mixture: parameters, priors, and tables for local steps."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._natural import Natural

__all__ = ["Mixture", "MixtureHyper", "Prepared"]


@dataclass(frozen=True)
class Mixture(Natural):
    """Natural parameters of a mixture, or statistics to add to them.

    Attributes
    ----------
    weights : ndarray
        Parameters of the distribution of the weights, see `WEIGHTS`.
    components : ndarray of shape (n_components, n_natural)
        Parameters of the distributions of the components, see `Family`.
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
    """Values of a mixture for local steps.

    Attributes
    ----------
    log_weights : ndarray of shape (n_components,)
        E log pi.
    tables : object
        Result of `Family.prepare` for the components.
    globals_ : Mixture
    hyper : object
    """

    log_weights: np.ndarray
    tables: Any
    globals_: Mixture
    hyper: Any
