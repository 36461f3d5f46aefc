"""Mixins and constructors of the annealed and SVI+ estimators of each model.

Each tempered model has a general estimator with any tempering and noise, an estimator
whose tempering is always an annealing, and an estimator whose noise is always that of
SVI+.
"""

from collections.abc import Callable
from inspect import signature

from .._utils._policy import Slot
from .._utils._signatures import completed, parameters_of
from .._utils._typing import Float
from ..noise import SVIPlusNoise, as_size
from ..schedules import Schedule, as_schedule
from ..tempering import Annealing
from ._constructors import Annealed, typed_parameters
from ._estimator import TemperedEstimator


def training_constructor(types, cls=TemperedEstimator):
    """Return a decorator that completes the constructor of a general estimator.

    ``types`` is a `TypedDict` of parameters whose defaults are attributes of ``cls``.
    """
    return completed(typed_parameters(types, cls))


def _without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}


class AnnealedMixin:
    """Mixin of ``Annealed...`` estimators, with ``schedule`` and ``target``.

    These two parameters replace ``tempering`` by an annealing [2]_.  The page
    :doc:`/own_model` has an example.

    Parameters
    ----------
    schedule : Schedule or callable, default=None
        Temperature of each step, see `sktemper.schedules`.  None is
        ``ExponentialSchedule()``; try a lower start if components become equal.
    target : {"local_step", "likelihood", "posterior"}, default="local_step"
        The part of a step that is tempered, see `sktemper.tempering.Annealing`; the
        last two are for comparisons with the papers.

    References
    ----------
    .. [2] F. Abrol, S. Mandt, R. Ranganath, D. Blei, "Deterministic annealing for
       stochastic variational inference", 2014.
    """

    def __init_subclass__(cls, **kwargs):
        target = Annealing._parameter_constraints["target"]
        constraints = {"schedule": "no_validation", "target": target}
        own = {"schedule": Slot(as_schedule)}, constraints
        _exchange(cls, AnnealedMixin, "tempering", *own, Annealed)
        super().__init_subclass__(**kwargs)

    # defaults of parameters that a constructor may omit
    schedule = gradient_noise = None
    target = "local_step"

    def _tempering(self):
        return Annealing(self.schedule, self.target)

    @property
    def schedule_(self) -> Schedule:
        """The schedule of the fit, with "auto" replaced by numbers."""
        self._state()
        return self.tempering_.schedule


class SVIPlusMixin:
    """Mixin of ``SVIPlus...`` estimators, whose gradients have tunable noise.

    The parameters ``effective_batch_size`` and ``noise_distribution`` replace
    ``gradient_noise``.  The page :doc:`/own_model` has an example.
    """

    effective_batch_size: Float | Schedule | Callable
    noise_distribution: str

    def __init_subclass__(cls, **kwargs):
        known = SVIPlusNoise._parameter_constraints.copy()
        constraints = {"noise_distribution": known.pop("distribution"), **known}
        slots = {"effective_batch_size": Slot(as_size)}
        _exchange(cls, SVIPlusMixin, "gradient_noise", slots, constraints)
        super().__init_subclass__(**kwargs)

    def _noise(self):
        return SVIPlusNoise(self.effective_batch_size, self.noise_distribution)


def _exchange(cls, mixin, name, slots, constraints, types=None):
    """Replace a parameter of an estimator by those of a mixin.

    The estimator gets their slots and constraints, but entries that it declares itself
    take precedence.  If its constructor has ``**parameters`` and no body, these become
    the parameters of the next class, and those of a `TypedDict`.
    """
    if not hasattr(cls, "_slots"):  # a mixin for estimators
        return
    cls._slots = {**slots, **_without(cls._slots, name)}
    cls._parameter_constraints = {
        **constraints,
        **_without(cls._parameter_constraints, name),
    }
    is_open = "parameters" in signature(cls.__init__).parameters
    if mixin in cls.__bases__ and is_open and not cls.__init__.__code__.co_names:
        others = _without(parameters_of(super(mixin, cls).__init__), name)
        others |= {} if types is None else typed_parameters(types, mixin)
        cls.__init__ = completed(others)(cls.__init__)
