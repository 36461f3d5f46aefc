"""Pickles of estimators, which store a version, and checks of loaded pickles."""

import contextlib
import inspect
import sys
from dataclasses import fields, is_dataclass, replace

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from .._checksums import checked, with_checksum
from .._notices import warn
from ._ready import ReadyModel

__all__ = [
    "NOT_PICKLED",
    "PicklesMixin",
    "Validation",
    "VersionWarning",
    "without_callbacks",
    "writable",
]

#: Attributes of a fit that a pickle leaves out: past warnings, and caches.
NOT_PICKLED = ("_warned", "_loaded", "_cache", "_ready")


#: Attributes that pickles only have.
OF_PICKLES = {"_checksum", "_sktemper_version"}


class VersionWarning(InconsistentVersionWarning):
    """Warning about an estimator that another version of sktemper has pickled."""

    def __str__(self):
        return (
            f"Trying to unpickle estimator {self.estimator_name} of sktemper "
            f"{self.original_sklearn_version} when using sktemper "
            f"{self.current_sklearn_version}. This might lead to breaking code or "
            "invalid results: fit it anew, or load it with the version that wrote it."
        )


class PicklesMixin:
    """Mixin of estimators with a state: pickles with a version and checks."""

    #: Whether the state comes from a pickle, so that its arrays may be read-only.
    _loaded = False

    def __getstate__(self):
        """Return the attributes with the version and a checksum."""
        attributes = self._pickled_attributes()
        return with_checksum(attributes | {"_sktemper_version": _version()})

    def _pickled_attributes(self):
        """Return the attributes without caches and past warnings."""
        state = dict(super().__getstate__())
        for name in NOT_PICKLED:
            state.pop(name, None)
        return state

    def __setstate__(self, state):
        """Set the attributes, check the fit, and warn of another version.

        Raises
        ------
        ValueError
            If the checksum differs, or parameters of the fit have wrong shapes or are
            not finite, because kernels do not check them.
        """
        version = state.get("_sktemper_version", "of no known version")
        if version == _version():
            with self._refusing_damage():
                state = checked(state)
        else:  # classes may have more attributes than in that version
            warn(
                VersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=_version(),
                    original_sklearn_version=version,
                )
            )
        state = {k: v for k, v in state.items() if k not in OF_PICKLES}
        super().__setstate__(state)
        self._warned, self._loaded = {}, True
        if "state_" in state:
            self._ready = ReadyModel()
            self._check_loaded()

    def _check_loaded(self):
        """Raise if the fit does not match the model of its parameters."""
        state = self.state_
        signature = inspect.signature(type(self).__init__).parameters.values()
        defaults = {p.name: p.default for p in signature if p.default is not p.empty}
        with self._refusing_damage():
            if state.dtype not in (np.float32, np.float64):
                raise ValueError(f"dtype is {state.dtype}")
            if self.n_features_in_ != state.n_features:
                raise ValueError(f"n_features_in_ is {self.n_features_in_}")
            model = self._model_of(defaults | (state.fixed or self._fixed()))
            model.check(state.globals_, state.hyper)
            if state.best is not None:
                model.check(state.best.globals_, state.best.hyper)
            if state.local is not None:
                model.check_local(state.local)
            self.tempering_.check_state(state.policies.tempering)
            self._check_kept(model)

    @contextlib.contextmanager
    def _refusing_damage(self):
        """Turn any error into one about damage."""
        try:
            yield
        except Exception as error:
            raise ValueError(
                f"This {type(self).__name__} cannot be loaded: it is damaged, or of "
                f"another version of sktemper ({error})."
            ) from error

    def _check_kept(self, model):
        """Raise if attributes other than the state do not match the model."""


class Validation:
    """The function ``validate(X)`` of an estimator, with a small pickle.

    The pickle contains no fitted parameters and no callbacks, because it is sent to
    workers.

    Parameters
    ----------
    estimator : TemperedEstimator
    method : str
        Name of the method that validates.
    reset : bool
        Argument of the method.
    """

    def __init__(self, estimator, method, reset):
        self.estimator, self.method, self.reset = estimator, method, reset

    def __call__(self, X):
        return getattr(self.estimator, self.method)(X, reset=self.reset)

    def __reduce__(self):
        attributes = {
            name: value
            for name, value in vars(self.estimator).items()
            if not name.startswith("_")
        }
        if "state_" in attributes:
            # validation needs dtypes and priors only
            attributes["state_"] = replace(
                attributes["state_"], globals_=None, local=None, best=None, history=None
            )
        arguments = type(self.estimator), attributes, self.method, self.reset
        return _light_validation, arguments


def _light_validation(cls, attributes, method, reset):
    estimator = object.__new__(cls)
    vars(estimator).update(attributes, _warned={})
    return Validation(estimator, method, reset)


def _version():
    return sys.modules[__name__.partition(".")[0]].__version__


def writable(value):
    """Return a value in which copies replace read-only arrays."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    if isinstance(value, dict):
        return {key: writable(part) for key, part in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*map(writable, value))
    if isinstance(value, list | tuple):
        return type(value)(map(writable, value))
    if is_dataclass(value):
        parts = {one.name: writable(getattr(value, one.name)) for one in fields(value)}
        return replace(value, **parts)
    return value


def without_callbacks(estimator, **others):
    """Return a shallow copy without callbacks, with some attributes replaced.

    It can be sent to workers even if callbacks cannot be pickled.
    """
    copied = object.__new__(type(estimator))
    kept = {k: v for k, v in vars(estimator).items() if "callback" not in k}
    vars(copied).update(kept, **others)
    return copied
