"""The families of data sets; each has a module with a constant ``FAMILY``."""

import importlib
import pkgutil


def families():
    """Return a dict from names to families."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").FAMILY for name in modules]
    return {family.name: family for family in found}
