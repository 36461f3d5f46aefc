"""The families of data sets: a module each, with a constant ``FAMILY``."""

import importlib
import pkgutil


def families():
    """Return all families by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").FAMILY for name in modules]
    return {family.name: family for family in found}
