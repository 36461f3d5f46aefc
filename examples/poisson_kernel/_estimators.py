"""The three estimators of the mixture of Poissons."""

from typing import Unpack

import numpy as np

from .._estimator._constructors import Streaming
from .._estimator._estimator import TemperedEstimator
from .._estimator._mixtures import MixtureMixin
from .._estimator._variants import AnnealedMixin, SVIPlusMixin, training_constructor
from .._utils._validation import check_data, check_values
from ._model import PoissonMixtureModel


class TemperedPoissonMixture(MixtureMixin, TemperedEstimator):
    """Mixture of Poissons, for counts of events: under any tempering.

    Descriptions of parameters that are not below stand in the base classes.

    Parameters
    ----------
    tempering : Tempering or None, default=None
        Temperature of a fit, see `sktemper.tempering`; None is 1.
    """

    @training_constructor(Streaming)
    def __init__(
        self,
        n_components=8,
        *,
        tempering=None,
        max_iter=100,
        moves=None,
        batch_size=None,
        gradient_noise=None,
        **parameters: Unpack[Streaming],
    ): ...

    _fixed_by_fit = ("n_components",)  # cannot change in a fitted model

    _input_tags = {"positive_only": True}

    def _validate(self, X, reset):
        dtypes = [np.float64, np.float32]
        return check_data(self, X, reset=reset, dtype=dtypes, ensure_non_negative=True)

    def _check_range(self, X, dtype, training=False):
        check_values(X, dtype)

    @staticmethod
    def _make_model(settings, n_features, dtype):
        return PoissonMixtureModel(settings.n_components, n_features, dtype=dtype)

    def _n_parameters(self, n_classes):
        return n_classes * self.n_features_in_

    @property
    def components_(self):
        """Posterior means of the rates, of shape (n_components, n_features)."""
        shapes, rates = np.hsplit(self._state().globals_.components, 2)
        return ((shapes + 1.0) / rates).astype(self.state_.dtype)


class AnnealedPoissonMixture(AnnealedMixin, TemperedPoissonMixture):
    """Mixture of Poissons, for counts of events: annealed."""

    def __init__(
        self,
        n_components=8,
        *,
        schedule=None,
        target="local_step",
        moves="split_merge",
        **parameters: Unpack[Streaming],
    ): ...


class SVIPlusPoissonMixture(SVIPlusMixin, TemperedPoissonMixture):
    """Mixture of Poissons, for counts of events: with tunable gradient noise.

    Parameters
    ----------
    effective_batch_size : float, int, Schedule or callable, default=0.5
        Size of a batch without added noise that would have the same gradient noise.
    noise_distribution : {"dirichlet", "gaussian"}, default="dirichlet"
        Distribution of the random weights of samples.
    """

    def __init__(
        self,
        n_components=8,
        *,
        effective_batch_size=0.5,
        noise_distribution="dirichlet",
        **parameters: Unpack[Streaming],
    ): ...
