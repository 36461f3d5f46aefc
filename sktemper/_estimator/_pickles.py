"""Pickles of estimators, which store a version, and checks of loaded pickles."""

import contextlib
import inspect
import sys
from dataclasses import fields, is_dataclass, replace

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

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


def package_version():
    return sys.modules[__name__.partition(".")[0]].__version__


@contextlib.contextmanager
def refusing_damage(estimator):
    """Turn any error into one about damage."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"This {type(estimator).__name__} cannot be loaded: it is damaged, or of "
            f"another version of sktemper ({error})."
        ) from error


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


def check_loaded(estimator):
    """Raise if the fit does not match the model of its parameters."""
    state = estimator.state_
    signature = inspect.signature(type(estimator).__init__).parameters.values()
    defaults = {p.name: p.default for p in signature if p.default is not p.empty}
    with refusing_damage(estimator):
        if state.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype is {state.dtype}")
        if estimator.n_features_in_ != state.n_features:
            raise ValueError(f"n_features_in_ is {estimator.n_features_in_}")
        settings = estimator._settings().replaced(
            **defaults | (state.fixed or estimator._fixed())
        )
        model = estimator._make_model(settings, state.n_features, state.dtype)
        model.check(state.globals_, state.hyper)
        if state.best is not None:
            model.check(state.best.globals_, state.best.hyper)
        if state.local is not None:
            model.check_local(state.local)
        estimator.tempering_.check_state(state.policies.tempering)
        estimator._check_kept(model)
