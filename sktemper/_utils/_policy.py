"""Base of all policies: values that can be nested, replaced and validated.

A policy is a plain `BaseEstimator`.  Its parameters are stored as given, its methods
are pure, and values that change during a fit are in the state of the fit.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from functools import cache
from importlib import metadata
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from ._arguments import is_number, refuse
from ._cache import twin
from ._typing import Owner

if TYPE_CHECKING:
    from ..model import ConjugateModel
    from ..schedules import Plan

# -- link to the documentation in the HTML representation of an object -----------------
#: Path of the page of a class, relative to the address of the documentation.
PAGE = "reference/generated/{page}.html"


@cache
def address():
    """Return the address of the documentation, or "" if none is configured.

    It is configured in ``project.urls`` of pyproject.toml, as "Documentation".
    """
    try:
        urls = metadata.metadata("sktemper").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:  # the package is not installed
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


def page_of(cls):
    """Return the name of the page of a public class, such as "sktemper.AnnealedLDA"."""
    package, *modules = cls.__module__.split(".")
    if cls.__name__ in sys.modules[package].__all__:
        return f"{package}.{cls.__name__}"
    public = takewhile(lambda part: part[0] != "_", modules)
    return ".".join([package, *public, cls.__name__])


# -- base of all policies: values that can be nested, replaced and validated -----------
#: Largest finite number.
LARGEST = sys.float_info.max


class Slot(NamedTuple):
    """A parameter that holds a policy."""

    # Converts any valid value of the parameter (an object, a number, a string, a
    # callable or None) to a policy, and raises for other values.
    resolve: Any
    none_is_off: bool = False  # whether None means "off" instead of a default
    example: str = ""  # value that switches the slot on, for messages


def set_params(self: Owner, **params: Any) -> Owner:
    """Set parameters; set parameters of policies as ``<parameter>__<name>``.

    If a policy is given by a shortcut (None, a number or a string), the policy that the
    shortcut stands for replaces it first, as in ``set_params(schedule__start=3)`` on
    ``schedule=None``.

    Parameters
    ----------
    **params : dict
        Parameters of this object or of its policies.

    Returns
    -------
    self : object
        The object itself.
    """
    nested = {}
    for key in params:
        name, is_nested, inner = key.partition("__")
        if is_nested:
            nested.setdefault(name, []).append(inner.partition("__")[0])
    given = {key: params.pop(key) for key in list(params) if "__" not in key}
    if given:
        BaseEstimator.set_params(self, **given)
    own = self.get_params(deep=False).keys()
    for name in sorted(nested.keys() & self._slots.keys() & own):
        _fill_slot(self, name, nested[name])
    if params:
        BaseEstimator.set_params(self, **params)
    return self


def _fill_slot(owner, name, parameters):
    """Replace a shortcut by its policy, whose ``parameters`` are to be set."""
    value, slot = getattr(owner, name), owner._slots[name]
    if value is None and slot.none_is_off:
        raise ValueError(
            f"{name}=None is off and has no parameters to set. Pass an object first, "
            f"for instance {name}={slot.example}."
        )
    if isinstance(value, BaseEstimator):
        return
    policy = slot.resolve(value)
    known = sorted(policy.get_params(deep=False))
    unknown = sorted(set(parameters) - set(known))
    if unknown and slot.example:
        raise ValueError(
            f"{name}={value!r} stands for {policy!r}, which has no parameter "
            f"{unknown[0]!r}. Its parameters are {known}. Pass an object with other "
            f"parameters first, for instance {name}={slot.example}."
        )
    setattr(owner, name, policy)


#: Method of scikit-learn, cached because scikit-learn reads the signature at each
#: validation, and each call of `partial_fit` validates.
parameter_names = classmethod(functools.cache(BaseEstimator._get_param_names.__func__))


def link_to_documentation(cls):
    """Let the HTML representation of a class's objects link to its page."""
    cls._doc_link_module = "sktemper"
    cls._doc_link_template = property(lambda self: address() and f"{address()}/{PAGE}")
    cls._doc_link_url_param_generator = lambda self: {"page": page_of(type(self))}
    return cls


@link_to_documentation
class Policy(BaseEstimator):
    _parameter_constraints: dict = {}
    _slots: dict[str, Slot] = {}
    set_params = set_params

    #: Names of the capabilities that a model must have.
    requires = ()

    _get_param_names = parameter_names

    @classmethod
    @functools.cache
    def _defaults(cls):
        """Return the parameters' defaults, which are valid."""
        parameters = inspect.signature(cls).parameters.values()
        return {p.name: p.default for p in parameters}

    def check(self, model: ConjugateModel) -> None:
        """Raise ValueError if the model lacks what the policy requires."""
        for capability in self.requires:
            model.require(capability, self)

    def knows(self, state: Any) -> bool:
        """Return whether this policy can continue from ``state``."""
        return state is None

    def validate(self) -> Self:
        """Check the parameters, including parameters of nested policies; return self.

        Raises
        ------
        sklearn.utils._param_validation.InvalidParameterError
            A `ValueError` that names the parameter and its valid values.
        """
        defaults = self._defaults()
        changed = {}
        for name in self._get_param_names():
            if (value := getattr(self, name)) is not defaults.get(name, Slot):
                changed[name] = value
        if changed:
            validate_parameter_constraints(
                self._parameter_constraints, changed, type(self).__name__
            )
        for name in self._slots.keys() & changed.keys():
            policy = self._slots[name].resolve(changed[name])
            if policy is not None:
                policy.validate()
        return self

    def resolved(self, plan: Plan) -> Self:
        """Return the policy with each "auto" replaced by a value for the `Plan`."""
        return self

    def _with(self, **parameters):
        """Return a copy with other parameters; a subclass may have more of them."""
        return twin(self, **parameters)

    def _called(self):
        return type(self).__name__


def as_policy(value, kind, shortcuts, parameter, expected):
    """Return the policy that the value of a parameter stands for.

    ``shortcuts`` has constructors for None and for words, and ``expected`` describes
    all valid values.
    """
    if isinstance(value, kind):
        return value
    if (value is None or isinstance(value, str)) and value in shortcuts:
        return shortcuts[value]()
    refuse(parameter, expected, value)


def as_number(value, policy, what, least=-LARGEST, most=LARGEST):
    """Check a value that a policy returned, and return it as a float.

    Values are checked here and in `as_numbers`, because policies may be functions or
    classes of the user.

    ``what`` is the meaning of the value, for messages.  By default any finite number is
    valid.
    """
    if type(value) is float and least <= value <= most:  # as mostly
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not is_number(value):
        raise TypeError(
            f"{policy._called()} gave {value!r} as the {what}, which must be a real "
            "number."
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf if value > 0 else -math.inf
    if not least <= result <= most:
        _refuse_number(result, policy, f"the {what}, which", least, most)
    return result


def as_numbers(values, policy, what, n, least=-LARGEST, most=LARGEST):
    """Check ``n`` values of a policy, and return them as an array; see `as_number`."""
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
