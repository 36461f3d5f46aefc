"""Docstrings that are completed at import by those of others."""

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


def sections(docstring):
    """Return the sections of a docstring by title; the summary has the title ""."""
    summary, *texts = SECTION.split(inspect.cleandoc(docstring or ""))
    return {"": summary} | {text.partition("\n")[0]: text for text in texts}


def entries(section):
    """Return the entries of a section, such as parameters, by their names."""
    texts = ENTRY.split(section)[3:]  # a title and a line come first
    found = {}
    for text in texts:
        for name in text.partition("\n")[0].partition(" : ")[0].split(", "):
            found[name.lstrip("*")] = text.rstrip()
    return found


def with_entries(docstring, names, known):
    """Return a docstring with entries of parameters in the order of ``names``.

    ``known`` has entries by name; those that the docstring does not have are added.
    """
    own = sections(docstring)
    known = known | entries(own.get("Parameters", ""))
    texts = dict.fromkeys(known[name] for name in names if name in known)
    if texts:
        written = "\n".join(["Parameters\n----------", *texts])
        own = {"": own.pop(""), "Parameters": written} | own | {"Parameters": written}
    return "\n\n".join(own.values()) + "\n"


def references(section):
    """Return the references of a section by their numbers."""
    return {found[1]: found[0] for found in REFERENCE.finditer(section)}


def with_notes(docstring, notes, known):
    """Return a docstring with ``notes``, if it has none, and with what it cites.

    ``known`` has references by number; those that the docstring does not list are
    added.
    """
    own = sections(docstring)
    own = {"": own.pop(""), "Parameters": own.pop("Parameters", "")} | notes | own
    known = known | references(own.get("References", ""))
    cited = known.keys() & CITATION.findall("\n".join(own.values()))
    if cited:
        texts = ["References\n----------", *(known[number] for number in sorted(cited))]
        own["References"] = "\n".join(texts)
    examples = own.pop("Examples", "")
    return "\n\n".join(filter(None, [*own.values(), examples])) + "\n"


def methods(cls):
    """Yield the names of public methods that a class defines, and their functions."""
    for name, value in vars(cls).items():
        value = getattr(value, "__func__", value)  # a class method
        value = getattr(value, "fn", value)  # a method that is not always available
        if name[0] != "_" and inspect.isfunction(value) and value.__doc__:
            yield name, value


def complete(function, other, titles=TAKEN):
    """Add to a docstring what it lacks of another one.

    These are the descriptions of parameters, and the sections with some titles.
    """
    own, others = sections(function.__doc__), sections(other.__doc__)
    known = entries(others.pop("Parameters", ""))
    own |= {title: others[title] for title in titles if title in others.keys() - own}
    order = dict.fromkeys(["", *TAKEN, *titles, *own])
    text = "\n\n".join(own[title] for title in order if title in own)
    function.__doc__ = with_entries(text, inspect.signature(function).parameters, known)


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


#: Functions whose docstrings are complete.
COMPLETE = set()


def complete_methods(cls):
    """Complete the docstrings of methods by those of the methods that they override.

    The methods are those of the class and of the classes of this package that it
    inherits from, such as mixins.
    """
    package, known = __name__.partition(".")[0], {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] != package:
            continue
        for name, function in methods(base):
            if name in known and function not in COMPLETE:
                complete(function, known[name])
                COMPLETE.add(function)
            known[name] = function
