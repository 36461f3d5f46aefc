"""Docstrings that are completed at import by those of others."""

import functools
import inspect
import re
from collections.abc import Callable
from typing import TypeVar

#: Sections whose entries a method can take from the method that it overrides.
TAKEN = "Parameters", "Returns", "Raises"
#: The places where a section begins, and where an entry of a section begins.
SECTION = re.compile(r"\n\n(?=\w[\w ]*\n-{3,}\n)")
ENTRY = re.compile(r"^(?=\S)", re.M)
#: A citation of a reference, and a reference.
CITATION = re.compile(r"\[(\d+)\]_")
REFERENCE = re.compile(r"^\.\. \[(\d+)\].*(?:\n .*)*", re.M)


@functools.cache
def _sections(docstring):
    summary, *texts = SECTION.split(inspect.cleandoc(docstring or ""))
    return {"": summary} | {text.partition("\n")[0]: text for text in texts}


def sections(docstring):
    """Return the sections of a docstring by title; the summary has the title ""."""
    return _sections(docstring).copy()


@functools.cache
def entries(section):
    """Return the entries of a section, such as parameters, by their names."""
    texts = ENTRY.split(section)[3:]  # a title and a line come first
    found = {}
    for text in texts:
        for name in text.partition("\n")[0].partition(" : ")[0].split(", "):
            found[name.lstrip("*")] = text.rstrip()
    return found


def with_entries(own, names, known):
    """Return sections with entries of parameters in the order of ``names``.

    ``known`` has entries by name; those that the sections do not have are added.
    """
    known = known | entries(own.get("Parameters", ""))
    texts = dict.fromkeys(known[name] for name in names if name in known)
    if not texts:
        return own
    written = "\n".join(["Parameters\n----------", *texts])
    return {"": own[""], "Parameters": written} | own | {"Parameters": written}


def references(section):
    """Return the references of a section by their numbers."""
    return {found[1]: found[0] for found in REFERENCE.finditer(section)}


def with_notes(own, notes, known):
    """Return sections with ``notes``, if they have none, and with what they cite.

    ``known`` has references by number; those that the sections do not list are added.
    """
    own = dict.fromkeys(["", "Parameters"], "") | notes | own
    known = known | references(own.get("References", ""))
    cited = known.keys() & CITATION.findall("\n".join(own.values()))
    if cited:
        texts = ["References\n----------", *(known[number] for number in sorted(cited))]
        own["References"] = "\n".join(texts)
    return own | {"Examples": own.pop("Examples", "")}


def joined(own):
    """Return the docstring that has some sections."""
    return "\n\n".join(filter(None, own.values())) + "\n"


def methods(cls):
    """Yield the names of public methods that a class defines, and their functions."""
    for name, value in vars(cls).items():
        value = getattr(value, "__func__", value)  # a class method
        value = getattr(value, "fn", value)  # a method that is not always available
        if name[0] != "_" and inspect.isfunction(value) and value.__doc__:
            yield name, value


def complete(function, other, titles=TAKEN, known=None):
    """Add to a docstring what it lacks of another one.

    These are the sections with some titles, and the descriptions of parameters, which
    ``known`` has by name if it is not those of the other.
    """
    own, others = sections(function.__doc__), sections(other.__doc__)
    of_other = entries(others.pop("Parameters", ""))
    own |= {title: others[title] for title in titles if title in others.keys() - own}
    order = dict.fromkeys(["", *TAKEN, *titles, *own])
    own = {title: own[title] for title in order if title in own}
    names = inspect.signature(function).parameters
    known = of_other if known is None else known
    function.__doc__ = joined(with_entries(own, names, known))


Function = TypeVar("Function", bound=Callable)


def completed_by(other: Callable, *titles: str) -> Callable[[Function], Function]:
    """Return a decorator that completes the docstring of a function by another's.

    Parameters that the function does not describe have the descriptions of the other,
    and sections with the ``titles`` are those of the other.
    """

    def completed(function):
        if function.__doc__ is not None:  # as with python -OO
            complete(function, other, titles)
        return function

    return completed


#: Descriptions of parameters that a function had before its docstring was completed.
WRITTEN = {}


def parameters_of(function):
    return entries(sections(function.__doc__).get("Parameters", ""))


def complete_methods(cls):
    """Complete the docstrings of methods by those of the methods that they override.

    The methods are those of the class and of the classes of this package that it
    inherits from, such as mixins.  A parameter without a description has that of the
    last method above it in the class, or else that of the method that is overridden, or
    that of the last method of a base.
    """
    package, overridden, of_bases = __name__.partition(".")[0], {}, {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] != package:
            continue
        above = {}
        for name, function in methods(base):
            if function not in WRITTEN:
                WRITTEN[function] = parameters_of(function)
                other = overridden.get(name, function)
                known = of_bases | parameters_of(other) | above
                complete(function, other, known=known)
            above |= WRITTEN[function]
            overridden[name] = function
        of_bases |= above


def complete_docstrings(cls):
    """Add what bases describe to the docstrings of an estimator and its methods.

    These are parameters, notes if the estimator has none, and the references that it
    cites and does not list.
    """
    complete_methods(cls)
    if "__init__" not in vars(cls) or not vars(cls).get("__doc__"):
        return
    known, notes, listed = {}, {}, {}
    for base in reversed(cls.__mro__):
        text = sections(vars(base).get("__doc__"))
        known |= entries(text.get("Parameters", ""))
        notes |= {title: text[title] for title in text.keys() & {"Notes"}}
        listed |= references(text.get("References", ""))
    names = inspect.signature(cls.__init__).parameters
    own = with_entries(sections(cls.__doc__), names, known)
    cls.__doc__ = joined(with_notes(own, notes, listed))
