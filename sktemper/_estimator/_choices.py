"""What a fit decides besides its parameters, and the pickles of fits.

Pickles store a version, and are checked when they are loaded.
"""

import inspect
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from .._utils._checksums import checked, refusing_damage, with_checksum
from .._utils._notices import warn

# -- what a fit decides besides its parameters: a record in its state ------------------


@dataclass(frozen=True)
class Choices:
    """What a fit decided from its data; the state of the fit contains it.

    Attributes
    ----------
    names : sequence of str or None
        Names of the columns of a collection on disk, or of a table.
    library : {"pandas", "polars"}
        Library of the data frames that are returned.
    lengths : Lengths or None
        Numbers of different words of the documents so far.
    chosen_type : str or None
        Covariance type that stands for "auto".
    is_auto : bool
        Whether the covariance type was "auto".
    subspace : Subspace or None
        Subspace of the covariance type "low_rank".
    cells : Cells or None
        Cells of the covariates of documents.
    has_common_topic : bool
        Whether topic 0 has the common words of the others.
    prediction_prior : ndarray or None
        Prior of the topic weights of new documents, see ``fit_prior``.
    recurrence : ndarray or None
        Probability that a topic comes back, see ``fit_recurrence``.
    labels_and_bound : tuple or None
        Labels and lower bound of the training rows; None if they do not belong to the
        current parameters.
    residuals : ndarray or None
        Sums of products of residuals, see `sktemper.mixed_mixture._dependence`.
    """

    names: Any = None
    library: str = "pandas"
    lengths: Any = None
    chosen_type: str | None = None
    is_auto: bool = False
    subspace: Any = None
    cells: Any = None
    has_common_topic: bool = False
    prediction_prior: Any = None
    recurrence: Any = None
    labels_and_bound: Any = None
    residuals: Any = None


def choices_of(estimator):
    """Return the `Choices` of a fit that begins, or else of the last one."""
    if estimator._begun is not None:
        return estimator._begun
    state = vars(estimator).get("state_")
    return Choices() if state is None or state.choices is None else state.choices


def hyper_of_predictions(estimator):
    """Return the hyperparameters, or the prior that replaces them in predictions."""
    prior = choices_of(estimator).prediction_prior
    return estimator.state_.hyper if prior is None else prior


def choose(estimator, **choices):
    """Decide something in a fit that begins."""
    estimator._begun = replace(choices_of(estimator), **choices)


#: Attributes of estimators that had the choices in earlier versions.
EARLIER = {f"_{one.name}_": one.name for one in fields(Choices)}
EARLIER["prediction_prior_"] = "prediction_prior"


def with_choices(attributes):
    """Return the attributes of a pickle with the choices in the state."""
    state = attributes.get("state_")
    if state is None or state.choices is not None:
        return attributes
    fixed = state.fixed or {}  # of a covariance type, before it was an attribute
    found = {
        "chosen_type": fixed.get("covariance_type"),
        "subspace": fixed.get("subspace"),
    }
    found |= {new: attributes[old] for old, new in EARLIER.items() if old in attributes}
    state.choices = Choices(**found)
    return {k: v for k, v in attributes.items() if k not in EARLIER}


# -- pickles of fits ------------------------------------------------------------------
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


def defaults_of(estimator):
    """Return the defaults of parameters, which a pickle may lack if they are newer."""
    signature = inspect.signature(type(estimator).__init__).parameters.values()
    return {p.name: p.default for p in signature if p.default is not p.empty}


def get_state(self):
    """Return what a pickle stores: attributes, a checksum, and the version."""
    attributes = self._pickled_attributes()
    return with_checksum(attributes | {"_sktemper_version": package_version()})


def attributes(self):
    """Return the attributes without caches and past warnings."""
    state = dict(BaseEstimator.__getstate__(self))
    for name in NOT_PICKLED:
        state.pop(name, None)
    return state


def set_state(self, state):
    """Set the attributes, check the fit, and warn of another version.

    Raises
    ------
    ValueError
        If the checksum differs, or parameters of the fit have wrong shapes or are not
        finite, because kernels do not check them.
    """
    version = state.get("_sktemper_version", "of no known version")
    if version == package_version():
        with refusing_damage(self):
            state = checked(state)
    else:  # classes may have more attributes than in that version
        warn(
            VersionWarning(
                estimator_name=type(self).__name__,
                current_sklearn_version=package_version(),
                original_sklearn_version=version,
            )
        )
    state = {k: v for k, v in state.items() if k not in OF_PICKLES}
    BaseEstimator.__setstate__(self, defaults_of(self) | with_choices(state))
    if "state_" in state:
        self._warned, self._loaded = {}, True
        with refusing_damage(self):
            _check(self, self.state_)


def _check(estimator, state):
    """Raise if the fit does not match the model of its parameters."""
    if state.dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype is {state.dtype}")
    if estimator.n_features_in_ != state.n_features:
        raise ValueError(f"n_features_in_ is {estimator.n_features_in_}")
    settings = estimator._settings().replaced(
        **defaults_of(estimator) | (state.fixed or estimator._fixed())
    )
    model = estimator._make_model(settings, state.n_features, state.dtype)
    model.check(state.globals_, state.hyper)
    if state.best is not None:
        model.check(state.best.globals_, state.best.hyper)
    if state.local is not None:
        model.check_local(state.local)
    estimator.tempering_.check_state(state.policies.tempering)
    estimator._check_kept(model)
