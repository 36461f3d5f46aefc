"""Constructors that are completed by the parameters of other constructors."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TypeVar

#: Groups of parameters in the order of a signature; parameters in none of them are of
#: "The model".
GROUPS = {
    "First to set": (
        "n_components",
        "kinds",
        "effective_batch_size",
        "schedule",
        "tempering",
        "max_iter",
        "n_init",
        "random_state",
    ),
    "The model": ("covariance_type", "degrees_of_freedom"),
    "Temperature and step": (
        "target",
        "noise_distribution",
        "moves",
        "batch_size",
        "learning_rate",
        "gradient_noise",
        "doc_update",
        "local_cooling",
    ),
    "Length of the fit": (
        "tol",
        "n_iter_no_change",
        "evaluate_every",
        "validation_fraction",
        "warm_start",
        "mean_change_tol",
        "max_doc_update_iter",
    ),
    "Data and machine": (
        "n_jobs",
        "verbose",
        "verbose_interval",
        "shuffle",
        "total_samples",
        "half_life",
        "renewals",
    ),
}
PLACES = {
    name: (number, place)
    for number, names in enumerate(GROUPS.values())
    for place, name in enumerate(names)
}
#: The place of another parameter of "The model".
MODEL = list(GROUPS).index("The model"), len(GROUPS["The model"])

Constructor = TypeVar("Constructor", bound=Callable)


def parameters_of(constructor):
    """Return the named parameters of a constructor, a dict by name."""
    _, *parameters = inspect.signature(constructor).parameters.values()
    return {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}


def completed(others: Mapping) -> Callable[[Constructor], Constructor]:
    """Return a decorator that completes a constructor, and assigns all parameters.

    Parameters
    ----------
    others : dict of str to inspect.Parameter
        The parameters that the ``**parameters`` of the constructor stand for.  Those
        that the constructor names itself have its defaults.
    """

    def complete(written):
        own = parameters_of(written)
        parameters = sorted(
            (others | own).values(), key=lambda p: PLACES.get(p.name, MODEL)
        )
        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.Signature([this, *parameters])
        defaults = {parameter.name: parameter.default for parameter in parameters}
        positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]

        @functools.wraps(written)
        def __init__(self, *arguments, **given):
            named = dict(zip(positional, arguments, strict=False))
            if len(named) < len(arguments) or not (
                given.keys() <= defaults.keys() - named.keys()
            ):
                try:
                    signature.bind(self, *arguments, **given)
                except TypeError as error:
                    raise TypeError(f"{written.__qualname__}() {error}") from None
            vars(self).update(defaults | named | given)

        __init__.__signature__ = signature
        __init__.__annotations__ = {p.name: p.annotation for p in parameters}
        return __init__

    return complete
