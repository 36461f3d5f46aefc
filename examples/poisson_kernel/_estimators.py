"""The three estimators of the mixture of Poissons."""

import numpy as np
from sklearn.utils.validation import validate_data

from .._estimator import (
    AnnealedMixin,
    MixtureMixin,
    SVIPlusMixin,
    TemperedEstimator,
    annealed,
    document,
    store,
    svi_plus,
)
from ._model import PoissonMixtureModel

# $names stand for the paragraphs that all estimators share, see `document`.
_DOCUMENTATION = """Mixture of Poissons, for counts of events: $kind.

    Parameters
    ----------
    n_components : int, default=8
        Number of components; more than are needed stay empty.
    {own}
    learning_rate : LearningRate or float, default=None
        How far each step goes toward its target, see `sktemper.learning_rates`.
    $moves
    max_iter : int, default=100
        Passes over the data.
    $n_init
    batch_size : int, "auto" or None, default=None
        Rows of a step; None is all of them.
    $total_samples
    $evaluate_every

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior means of the rates.
    weights_ : ndarray of shape (n_components,)
        Posterior means of the weights.
    $policies
    """
_TEMPERING = """tempering : Tempering, "global", "local" or None, default=None
        The temperature during training, see `sktemper.tempering`; None is T=1."""
_TARGET = """$schedule
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        What the temperature flattens, see `sktemper.tempering.Annealing`."""


def _documentation(kind, own):
    return document(
        _DOCUMENTATION.replace("{own}", own),
        kind=kind,
        samples="samples",
        unit="sample",
        observed="sample",
        tol_of_bound="",
        moves_strings='"split-merge"',
        moves_default="None",
        moves_meaning="births, splits and merges of components.",
    )


class _PoissonMixture(MixtureMixin, TemperedEstimator):
    """What the three share."""

    _fixed_by_fit = ("n_components",)  # a fitted model keeps these

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _validate(self, X, reset):
        dtypes = [np.float64, np.float32]
        return validate_data(
            self, X, reset=reset, dtype=dtypes, ensure_non_negative=True
        )

    def _make_model(self, n_features, dtype):
        return PoissonMixtureModel(self.n_components, n_features, dtype=dtype)

    @property
    def components_(self):
        """Posterior means of the rates, of shape (n_components, n_features)."""
        gammas = self._state().globals_.components
        return ((gammas[..., 0] + 1.0) / gammas[..., 1]).astype(self.state_.dtype)


class TemperedPoissonMixture(_PoissonMixture):  # noqa: D101 (composed __doc__)
    __doc__ = _documentation(
        "under any tempering", _TEMPERING + "\n    $gradient_noise"
    )

    def __init__(
        self,
        n_components=8,
        *,
        tempering=None,
        gradient_noise=None,
        learning_rate=None,
        moves=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class AnnealedPoissonMixture(AnnealedMixin, _PoissonMixture):  # noqa: D101
    __doc__ = _documentation("annealed", _TARGET + "\n    $gradient_noise")
    _slots, _parameter_constraints = annealed(_PoissonMixture)

    def __init__(
        self,
        n_components=8,
        *,
        schedule=None,
        target="local_step",
        gradient_noise=None,
        learning_rate=None,
        moves=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())


class SVIPlusPoissonMixture(SVIPlusMixin, _PoissonMixture):  # noqa: D101
    __doc__ = _documentation("with tuneable gradient noise", "$effective_batch_size")
    _slots, _parameter_constraints = svi_plus(_PoissonMixture)

    def __init__(
        self,
        n_components=8,
        *,
        effective_batch_size=0.5,
        distribution="dirichlet",
        tempering=None,
        learning_rate=None,
        moves=None,
        max_iter=100,
        n_init=1,
        batch_size=None,
        total_samples=None,
        evaluate_every=0,
        validation_fraction=0.1,
        n_iter_no_change=None,
        tol=1e-3,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        store(self, locals())
