"""What all policies share: values that can be nested, replaced and validated.

A policy is a plain `BaseEstimator`: its parameters are stored as given, its methods
are pure, and whatever changes during a fit lives in the state of the fit.
"""

from typing import Any, NamedTuple

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError


class Slot(NamedTuple):
    """A parameter that holds a policy.

    Parameters
    ----------
    resolve : callable
        Turns what a user may pass (an object, a number, a string, a callable, and
        None where None stands for a default) into a policy; raises otherwise.
    none_is_off : bool, default=False
        Whether None means "off" instead of a default.
    example : str, default=""
        What to pass in order to switch the slot on; for error messages.
    """

    resolve: Any
    none_is_off: bool = False
    example: str = ""


class SlotsMixin:
    """Nested parameters that reach policies which were never written down.

    ``set_params(schedule__start=3)`` on ``schedule=None`` (or on a number or string)
    first puts the policy there that the value stands for.
    """

    _slots: dict[str, Slot] = {}

    def set_params(self, **params):
        """Set parameters, those of policies as ``<parameter>__<name>``.

        Parameters
        ----------
        **params : dict
            Parameters of this object or of its policies.

        Returns
        -------
        self : object
        """
        nested = {key.partition("__")[0] for key in params if "__" in key}
        given = {key: params.pop(key) for key in list(params) if "__" not in key}
        if given:
            super().set_params(**given)
        for name in sorted(nested & self._slots.keys()):
            self._fill_slot(name)
        if params:
            super().set_params(**params)
        return self

    def _fill_slot(self, name):
        value, slot = getattr(self, name), self._slots[name]
        if value is None and slot.none_is_off:
            raise ValueError(
                f"{name}=None is off and has no parameters to set. Pass an object "
                f"first, for instance {name}={slot.example}."
            )
        if not isinstance(value, BaseEstimator):
            setattr(self, name, slot.resolve(value))


class Policy(SlotsMixin, BaseEstimator):
    """Base of all policies."""

    _parameter_constraints: dict = {}

    def knows(self, state):
        """Return whether ``state`` is one of this policy's, from which it can go on."""
        return state is None

    def validate(self):
        """Check the parameters, those of nested policies included; return self.

        Raises
        ------
        sklearn.utils._param_validation.InvalidParameterError
            A `ValueError` that names the parameter and what it may be.
        """
        self._validate_params()
        for name, slot in self._slots.items():
            policy = slot.resolve(getattr(self, name))
            if policy is not None:
                policy.validate()
        return self


def refuse(parameter, expected, value):
    """Raise the error that scikit-learn raises for a bad parameter."""
    raise InvalidParameterError(
        f"The {parameter!r} parameter must be {expected}. Got {value!r} instead."
    )
