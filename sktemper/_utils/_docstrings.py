"""Docstrings that are completed from others when a module is imported."""

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

SECTION = re.compile(r"\n\n(?=\w[\w ]*\n-{3,}\n)")
PARAMETERS = "Parameters\n----------\n"
ENTRY = re.compile(r"^(?=\w+(?:, \w+)* : )", re.M)
#: The order of the sections of a function.
ORDER = (
    "Parameters",
    "Returns",
    "Raises",
    "See Also",
    "Warns",
    "Notes",
    "References",
    "Examples",
)


def sections(docstring):
    """Return the summary and the sections of a docstring."""
    return SECTION.split(inspect.cleandoc(docstring))


def descriptions(docstring):
    """Return the descriptions of parameters in a docstring, by name."""
    texts = sections(docstring or "")
    text = next((text for text in texts if text.startswith(PARAMETERS)), "")
    found = {}
    for entry in ENTRY.split(text.removeprefix(PARAMETERS))[1:]:
        for name in entry.partition(" : ")[0].split(", "):
            found[name] = entry.rstrip()
    return found


def with_parameters(docstring, known, names):
    """Return the sections of a docstring with descriptions of its parameters.

    ``known`` are descriptions by name, and ``names`` are the parameters in order.
    """
    entries = dict.fromkeys(known[name] for name in names if name in known)
    summary, *others = sections(docstring)
    others = [text for text in others if not text.startswith(PARAMETERS)]
    return [summary, PARAMETERS + "\n".join(entries), *others]


Function = TypeVar("Function", bound=Callable)


def completed_by(other: Callable, *titles: str) -> Callable[[Function], Function]:
    """Return a decorator that completes the docstring of a function by another's.

    Parameters that the function does not describe have the descriptions of the other,
    and sections with the ``titles`` are those of the other.
    """

    def complete(function):
        if function.__doc__ is None:  # python -OO
            return function
        known = descriptions(other.__doc__) | descriptions(function.__doc__)
        names = inspect.signature(function).parameters
        summary, *texts = with_parameters(function.__doc__, known, names)
        texts += [
            text
            for text in sections(other.__doc__)
            if text.partition("\n")[0] in titles
        ]
        texts.sort(key=lambda text: ORDER.index(text.partition("\n")[0]))
        function.__doc__ = "\n\n".join([summary, *texts])
        return function

    return complete
