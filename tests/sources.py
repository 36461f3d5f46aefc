"""Source files of the package, their syntax trees, and the public names."""

import ast
import functools
import importlib
import inspect
from pathlib import Path

import sktemper

__all__ = [
    "ALONE",
    "PACKAGE",
    "PUBLIC",
    "PUBLIC_MODULES",
    "ROOT",
    "objects",
    "signatures",
    "sources",
]

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sktemper.__file__).parent
#: Code for another interpreter that imports private modules without the package's
#: __init__, which is fast.
ALONE = f"""
import sys, types
sys.modules["sktemper"] = types.ModuleType("sktemper")
sys.modules["sktemper"].__path__ = {[*sktemper.__path__]!r}
"""
PUBLIC_MODULES = [
    "base",
    "dask",
    "datasets",
    "inspection",
    "learning_rates",
    "metrics",
    "model",
    "model_selection",
    "moves",
    "noise",
    "plotting",
    "renewals",
    "report",
    "schedules",
    "tempering",
    "testing",
    "text",
]
PUBLIC = {f"sktemper.{name}" for name in sktemper.__all__ if name != "__version__"} | {
    f"sktemper.{module}.{name}"
    for module in PUBLIC_MODULES
    for name in importlib.import_module(f"sktemper.{module}").__all__
}


@functools.cache
def sources():
    """Return a dict from paths of modules to pairs: text and syntax tree."""
    texts = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def objects():
    """Yield the public names and their values."""
    for name in sorted(PUBLIC):
        module, _, attribute = name.rpartition(".")
        yield name, getattr(importlib.import_module(module), attribute)


def signatures():
    """Yield the public names, of own members too, and the names of their parameters."""
    for name, thing in objects():
        yield name, parameters(thing)
        for member in dir(thing) if inspect.isclass(thing) else ():
            value = getattr(thing, member)
            module = str(getattr(value, "__module__", "sktemper"))
            inherited = callable(value) and not module.startswith("sktemper")
            if member[0] != "_" and not inherited:
                yield f"{name}.{member}", parameters(value)


def parameters(thing):
    try:
        return [name for name in inspect.signature(thing).parameters if name != "self"]
    except (TypeError, ValueError):  # no function, or a class without a signature
        return []
