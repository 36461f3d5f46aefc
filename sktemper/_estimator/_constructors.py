"""Parameters that many estimators share: types, constructors and descriptions.

The general estimator of a model has a literal constructor.  Those of its other
estimators are made from it: one parameter gives way to others, and all remaining ones
are the same.  The description of a parameter stands once, in the docstring of the base
class that is the first to have it, and the docstrings of estimators are completed when
they are imported.
"""

import functools
import inspect
import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypedDict, TypeVar

from .._utils._typing import Duration, Float, Int, Seed
from ..learning_rates import LearningRate
from ..renewals import Renewals


# -- types of parameters, for type checkers --------------------------------------------
class Training(TypedDict, total=False):
    """Parameters of the training of every estimator."""

    max_iter: Int
    n_init: Int
    random_state: Seed
    batch_size: Int | Literal["auto"] | None
    learning_rate: LearningRate | Float | None
    tol: Float
    n_iter_no_change: Int | None
    evaluate_every: Int
    validation_fraction: Float
    warm_start: bool
    n_jobs: Int | None
    verbose: Int
    shuffle: bool
    total_samples: Int | None


class Streaming(Training, total=False):
    """Parameters of estimators that can forget samples of a stream."""

    half_life: Float | Duration | None
    renewals: Renewals | Literal["auto"] | None


# -- constructors that are made from another -------------------------------------------
class Exchange(NamedTuple):
    """Exchange of a parameter of the general estimator for others.

    Attributes
    ----------
    old : str
        Name of the parameter that gives way.
    places : dict of str to tuple of str
        Names of the new parameters.  Each stands before the first parameter of the
        general estimator that its tuple has.
    """

    old: str
    places: dict

    def signature(self, general, own):
        """Return the signature of a constructor from the general one and its own."""
        parameters = dict(inspect.signature(general).parameters)
        del parameters[self.old]
        names = list(parameters)
        for name, before in self.places.items():
            place = next(other for other in before if other in parameters)
            names.insert(names.index(place), name)
        parameters |= own
        return inspect.Signature([parameters[name] for name in names])


Constructor = TypeVar("Constructor", bound=Callable)


def constructor(
    general: type, exchange: Exchange
) -> Callable[[Constructor], Constructor]:
    """Return a decorator that completes a constructor by parameters of another.

    Parameters
    ----------
    general : type
        The general estimator of the model.
    exchange : Exchange
        How the decorated constructor differs, apart from other defaults.  Its last
        parameter, ``**parameters``, stands for all others of the general estimator.
    """

    def complete(written):
        *own, _ = inspect.signature(written).parameters.values()
        own = {parameter.name: parameter for parameter in own}
        signature = exchange.signature(general.__init__, own)
        this, *parameters = signature.parameters.values()
        defaults = {parameter.name: parameter.default for parameter in parameters}
        positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]

        @functools.wraps(written)
        def __init__(self, *arguments, **given):
            named = dict(zip(positional, arguments, strict=False))
            if len(named) < len(arguments) or not (
                given.keys() <= defaults.keys() - named.keys()
            ):
                signature.bind(self, *arguments, **given)  # raises a TypeError
            vars(self).update(defaults | named | given)

        __init__.__signature__ = signature
        __init__.__annotations__ = {p.name: p.annotation for p in parameters}
        return __init__

    return complete


# -- docstrings ------------------------------------------------------------------------
SECTION = re.compile(r"\n\n(?=\w[\w ]*\n-{3,}\n)")
PARAMETERS = "Parameters\n----------\n"
ENTRY = re.compile(r"^(?=\w+ : )", re.M)


def sections(cls):
    """Return the summary and the sections of the docstring of a class."""
    return SECTION.split(inspect.cleandoc(vars(cls)["__doc__"]))


def descriptions(cls):
    """Return the descriptions of parameters in the docstring of a class, by name."""
    texts = sections(cls) if vars(cls).get("__doc__") else []
    text = next((text for text in texts if text.startswith(PARAMETERS)), "")
    entries = ENTRY.split(text.removeprefix(PARAMETERS))[1:]
    return {entry.partition(" : ")[0]: entry.rstrip() for entry in entries}


def complete_docstring(cls):
    """Add descriptions of inherited parameters to the docstring of an estimator."""
    if "__init__" not in vars(cls) or not vars(cls).get("__doc__"):
        return
    known = {}
    for base in reversed(cls.__mro__):
        known |= descriptions(base)
    names = inspect.signature(cls.__init__).parameters
    entries = "\n".join(known[name] for name in names if name in known)
    summary, *others = sections(cls)
    others = [text for text in others if not text.startswith(PARAMETERS)]
    cls.__doc__ = "\n\n".join([summary, PARAMETERS + entries, *others])
