"""What all policies share: values that can be nested, replaced and validated.

A policy is a plain `BaseEstimator`: its parameters are stored as given, its methods
are pure, and whatever changes during a fit lives in the state of the fit.
"""

import functools
import math
import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ._arguments import is_number
from ._documentation import DocumentationLinkMixin

#: The largest number that is finite.
LARGEST = sys.float_info.max


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


class SlotsMixin(DocumentationLinkMixin):
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
            The object itself.
        """
        nested = {key.partition("__")[0] for key in params if "__" in key}
        given = {key: params.pop(key) for key in list(params) if "__" not in key}
        if given:
            super().set_params(**given)
        own = self.get_params(deep=False).keys()
        for name in sorted(nested & self._slots.keys() & own):
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

    #: Names of the `sktemper.model.CAPABILITIES` that a model must have.
    requires = ()

    @classmethod
    @functools.cache
    def _get_param_names(cls):
        # of scikit-learn: it reads the signature each time that policies are validated,
        # which is in every call of `partial_fit`
        return super()._get_param_names()

    def check(self, model):
        """Raise ValueError if the model lacks what the policy requires."""
        for capability in self.requires:
            model.require(capability, self)

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

    def _called(self):
        """Return what an error about a value of this policy calls it."""
        return type(self).__name__


def as_number(value, policy, what, least=-LARGEST, most=LARGEST):
    """Return a value that a policy gave, as a float.

    What policies say is looked at here and in `as_numbers`, where it is used: they may
    be any function, or a class of the user's own.

    Parameters
    ----------
    value : object
    policy : Policy
    what : str
        What the value is meant to be.
    least, most : float
        By default any finite number is one.

    Raises
    ------
    TypeError
        If the value is no real number.
    ValueError
        If it is NaN, or not between ``least`` and ``most``.
    """
    result = float(value) if isinstance(value, float) else _float_of(value)
    if result is None:
        raise TypeError(
            f"{policy._called()} gave {value!r} as the {what}, which must be a real "
            "number."
        )
    if not least <= result <= most:
        _refuse_number(result, policy, f"the {what}, which", least, most)
    return result


def _float_of(value):
    """Return a real number as a float, infinite if it is too large; else None."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not is_number(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_numbers(values, policy, what, n, least=-LARGEST, most=LARGEST):
    """Return ``n`` values that a policy gave, as an array; see `as_number`."""
    array = np.asarray(values)
    if array.shape != (n,) or array.dtype.kind not in "fiu":
        raise TypeError(
            f"{policy._called()} gave {values!r} as the {what}, which must be {n} "
            "real numbers in an array."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if n and not (least <= array.min() and array.max() <= most):
        bad = array[~((least <= array) & (array <= most))][0]
        _refuse_number(bad, policy, f"one of the {what}, which", least, most)
    return array


def _refuse_number(value, policy, what, least, most):
    expected = [
        "finite" * (most == LARGEST),
        f"at least {least:g}" * (least > -LARGEST),
        f"at most {most:g}" * (most < LARGEST),
    ]
    expected = " and ".join(filter(None, expected)) or "a number"
    raise ValueError(f"{policy._called()} gave {value} as {what} must be {expected}.")
